"""Main program of the archiver process.

``python -m mdreel.live.archives.process CHANNEL FILE PRECISION GROUP FORCE`` says on its output when it has joined the
channel, or the error, pickled, that keeps it from that; what comes later is said on its error output, in one line.
"""

import pickle
import signal
import sys
import warnings
from pathlib import Path

from mdreel.foundation.printable import printable
from mdreel.live.archives.archive import archive_with
from mdreel.live.archives.archiver import Choices
from mdreel.live.archives.archiver_process import DONE, JOINED

WAIT_SECONDS = 60.0
"""For how long a process of before may still write the archive."""


def main(channel: str, path: str, precision: str, group: str, force: str) -> None:
    """Archive a channel; leave with 0 when the file is whole, else with 1."""
    # Ctrl-C is for the simulation, which says how the channel ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.showwarning = lambda message, *_: print(f"warning: {printable(str(message))}", file=sys.stderr, flush=True)
    has_joined = False

    def say(content: bytes) -> None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()

    def joined() -> None:
        nonlocal has_joined
        has_joined = True
        say(JOINED)

    choices = Choices(float(precision) if precision else None, force=force == "force")
    try:
        archive_with(Path(channel), Path(path), choices, group=group, wait=WAIT_SECONDS, restart=0.0, joined=joined)
    except Exception as error:  # noqa: BLE001 (whatever it is, the producer must be told)
        if not has_joined:
            say(pickle.dumps(error))
        print(_one_line(error), file=sys.stderr, flush=True)
        sys.exit(1)
    if not has_joined:
        say(DONE)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return printable(f"{error.filename}: {error.strerror}")
    return printable(str(error)) or type(error).__name__


if __name__ == "__main__":
    main(*sys.argv[1:])
