"""How commands let atoms count."""

from enum import StrEnum


class Weights(StrEnum):
    """How atoms count."""

    NONE = "none"
    MASS = "mass"
