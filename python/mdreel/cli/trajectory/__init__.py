"""Commands about trajectory files."""
