"""Units: Å, ps and degrees inside; sources convert when they read, reports when they write."""

ANGSTROM_PER_NANOMETRE = 10.0
PICOSECOND_PER_NANOSECOND = 1000.0
