"""Values that arguments about running simulations may have.

The command line offers the same values. This module imports nothing else, so that help is printed without NumPy.
"""

from typing import Literal, TypeAlias

WhenFull: TypeAlias = Literal["block", "drop-oldest", "spill"]
"""Behaviour of a full ring: wait for the slowest consumer, overwrite the oldest frame, or leave it to the staging."""

FirstFrame: TypeAlias = Literal["earliest", "latest"]
"""First frame that a client receives."""

DialectName: TypeAlias = Literal["imd", "gromacs", "kcal", "metal", "real"]
"""Dialect of IMD that an engine speaks."""

ForwardedCommand: TypeAlias = Literal["pause", "kill"]
"""Command of a client that a hub forwards to the engine."""
