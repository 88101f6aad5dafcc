"""Base classes of analyses, and the pass that runs several analyses together."""
