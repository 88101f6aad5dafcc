"""Thresholds of the guidelines in the papers."""

COMPUTE_BOUND = 1.0
"""R_comp/io above which a task is limited by computing.

Khoshlessan et al. 2019, section 8, heuristics 2 and 3; their preprint of 2018 has 100, from fewer data.
"""

NEGLIGIBLE_COMMUNICATION = 1.0
"""R_comp/comm above which communication is negligible: Khoshlessan et al. 2019, heuristics 2.1 and 2.2."""
