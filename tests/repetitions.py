"""How often what happens at random moments is tried."""

import os

N_TIMES = 20 if os.environ.get("MDREEL_SLOW_TESTS") else 2
"""Repetitions; MDREEL_SLOW_TESTS=1 for many."""
