"""Python package of DYAD, as far as the adapter uses it: it replays a recorded session."""
