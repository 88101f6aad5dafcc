"""Thresholds of the published guidelines."""

COMPUTE_BOUND = 1.0
"""Value of R_comp/io above which a task is limited by computation.

It is taken from Khoshlessan et al. 2019, section 8, heuristics 2 and 3. Their preprint from 2018, which is based on
fewer data, uses 100.
"""

NEGLIGIBLE_COMMUNICATION = 1.0
"""Value of R_comp/comm above which communication is negligible (Khoshlessan et al. 2019, heuristics 2.1 and 2.2)."""
