"""Possible values of arguments that concern running simulations.

The command line offers the same values. This module does not import any other module, so that help texts can be printed
without importing NumPy.
"""

from typing import Literal, TypeAlias

WhenFull: TypeAlias = Literal["block", "drop-oldest", "spill"]
"""What to do if the ring is full: wait for the slowest consumer, overwrite the oldest frame, or rely on staging."""

FirstFrame: TypeAlias = Literal["earliest", "latest"]
"""First frame that a client receives."""

DialectName: TypeAlias = Literal["imd", "gromacs", "kcal", "metal", "real"]
"""IMD dialect that an engine uses."""

ForwardedCommand: TypeAlias = Literal["pause", "kill"]
"""Command from a client that a hub forwards to the engine."""
