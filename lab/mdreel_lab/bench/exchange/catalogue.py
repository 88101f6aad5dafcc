"""Names of the solutions, and the ways of synchronising of each."""

OWN = "own"
"""Way of synchronising of a solution that has only one."""

SERIALISED, PIPELINED, POLLING, INOTIFY = "barrier-serialised", "barrier-pipelined", "polling", "inotify"
SYNCHRONISATIONS = (SERIALISED, PIPELINED, POLLING, INOTIFY)
"""The ways of synchronising by files."""

RING, STAGED, MANAGED, LOCAL, XFS = "channel-ring", "channel-file", "managed", "local", "xfs"
SHARED, MOOSEFS = "shared", "moosefs"
"""Files on a file system that all nodes share: an existing one, and one that the benchmark starts."""

SST, DYAD = "sst", "dyad"
FILES = (LOCAL, XFS, SHARED, MOOSEFS)
SOLUTIONS = (RING, STAGED, MANAGED, *FILES, SST, DYAD)
"""The solutions of scenarios."""

ICEORYX, ZENOH, ZENOH_SHARED, REDIS, NATS, TCP = "iceoryx2", "zenoh", "zenoh-shared", "redis", "nats", "tcp"
"""Solutions whose latency alone is measured."""


def synchronisations_of(solution: str) -> tuple[str, ...]:
    """Return the ways of synchronising that a solution has."""
    return SYNCHRONISATIONS if solution in FILES else (OWN,)
