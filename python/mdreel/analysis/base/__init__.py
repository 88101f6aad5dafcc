"""The base class of all analyses and the pass that runs several of them together."""
