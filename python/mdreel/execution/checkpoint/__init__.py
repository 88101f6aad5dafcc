"""Checkpoints, from which interrupted runs can be continued."""
