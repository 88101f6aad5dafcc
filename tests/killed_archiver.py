"""Archivers that are killed: each time a bit later, until one is not.

``python killed_archiver.py CHANNEL FILE GROUP OPERATION`` archives a channel, commits each frame, and is killed before
the operation of that number: a write, a sync, a commit, a file that gets another name or goes. Without one it is not.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mdreel
from mdreel.live.archives import archiver
from mdreel.live.channels.consumer import Consumer

ENDED = 0
N_MOST = 200


def archive_until(channel: str, path: Path, group: str, operation: int | None) -> int:
    """Archive in a process of its own, which is killed before an operation; return how that has ended."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    count = 0

    def dying(act: Callable[..., Any]) -> Callable[..., Any]:
        def acting(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            if count == operation:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return act(*arguments, **options)

        return acting

    archiver.COMMIT_SECONDS = 0.0
    for holder, name in ((os, "pwrite"), (os, "fdatasync"), (Consumer, "commit"), (Path, "replace"), (Path, "unlink")):
        setattr(holder, name, dying(getattr(holder, name)))
    try:
        mdreel.live.archive(channel, path, group=group)
    except BaseException as error:  # noqa: BLE001 (the other process is told)
        print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(1)
    os._exit(ENDED)


def main(channel: str, folder: Path, ending: str) -> None:
    """Kill an archiver at each of its operations, have another one finish, and compare; then kill one repeatedly."""
    whole = folder / f"whole{ending}"
    assert archive_until(channel, whole, "whole", None) == ENDED
    expected = whole.read_bytes()
    for operation in range(N_MOST):
        path, group = folder / f"{operation}{ending}", f"killed{operation}"
        how = archive_until(channel, path, group, operation)
        assert how in (ENDED, -signal.SIGKILL)
        assert archive_until(channel, path, group, None) == ENDED
        assert path.read_bytes() == expected, operation
        if how == ENDED:
            break
    path = folder / f"again{ending}"
    n_killed = 0
    while archive_until(channel, path, "again", 4 + n_killed // 3) != ENDED:
        n_killed += 1
    assert path.read_bytes() == expected
    hidden = [left.name for left in folder.iterdir() if left.name.startswith(".")]
    assert not hidden, hidden
    print(operation, n_killed, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
