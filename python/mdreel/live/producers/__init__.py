"""Producers, which publish the frames of a simulation on a channel."""
