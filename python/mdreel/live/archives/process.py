"""Process that writes the archive of a producer. It is started by `mdreel.live.archives.archiver_process`.

``python -m mdreel.live.archives.process CHANNEL FILE PRECISION GROUP FORCE`` writes a message to standard output when
it has joined the channel. If it cannot join, it writes a pickled exception instead. Later errors are reported as a
single line on standard error.
"""

import pickle
import signal
import sys
import warnings
from pathlib import Path

from mdreel.foundation.printable import printable
from mdreel.live.archives.archive import archive_with
from mdreel.live.archives.archiver import ArchiverOptions
from mdreel.live.archives.archiver_process import DONE, JOINED

WAIT_SECONDS = 60.0
"""Maximum time to wait for an earlier process that is still writing the archive, in s."""


def main(channel: str, path: str, precision: str, group: str, force: str) -> None:
    """Archive a channel. The process exits with 0 if the file is complete, and with 1 after an error."""
    # Ctrl-C stops the simulation, which then ends the channel.
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

    options = ArchiverOptions(float(precision) if precision else None, force=force == "force")
    try:
        archive_with(Path(channel), Path(path), options, group=group, wait=WAIT_SECONDS, restart=0.0, joined=joined)
    except Exception as error:  # noqa: BLE001 (the producer must receive any error)
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
