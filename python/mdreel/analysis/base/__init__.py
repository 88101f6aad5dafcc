"""Base classes for analyses, and the pass that runs several analyses together."""
