"""Stand-in for a Python process that the fork server runs: passes signals on to it and ends as it does.

A copy lies beside the socket of the server, as the program `python`. It takes the arguments of an interpreter. A
process that the server refuses to fork is started in the usual way.
"""

import marshal
import os
import signal
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket  # `socket` itself takes 10 ms to import

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def inherited() -> list[object]:
    """What a process has from its parent that a process of the server would not have from the launcher."""
    mask = os.umask(0)
    os.umask(mask)
    with open("/proc/self/limits") as limits:  # noqa: PTH123 (pathlib takes 10 ms to import)
        return [
            mask,
            limits.read(),
            sorted(os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")),  # noqa: PTH115
            sorted(os.sched_getaffinity(0)),
            os.getpriority(os.PRIO_PROCESS, 0),
            os.getresuid(),
            os.getresgid(),
        ]


def _pass_on(process: int, number: int) -> None:
    """Send a signal to the process, unless it has just ended."""
    try:  # noqa: SIM105 (contextlib takes 10 ms to import)
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _is_open(number: int) -> bool:
    """Whether a file is open, unlike that of the listing of all."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def main() -> None:
    own, *words = sys.argv
    given = [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2 and _is_open(number)]
    server = socket(AF_UNIX)
    server.connect(own.rpartition("/")[0] + "/server")
    ignored = [int(number) for number in PASSED_ON if signal.getsignal(number) == signal.SIG_IGN]
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until there is a process to pass them on to
    handles = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, *given))
    folder = os.getcwd()  # noqa: PTH109 (pathlib takes 10 ms to import)
    request = marshal.dumps((folder, words, dict(os.environ), ignored, given, inherited()))
    server.sendmsg([len(request).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, handles)])
    server.sendall(request)
    process = int.from_bytes(server.recv(8), "big")  # not more: how it ended may follow at once
    if process:
        for number in PASSED_ON:
            if number not in ignored:
                signal.signal(number, lambda number, _: _pass_on(process, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    if not process:
        os.execv(sys.executable, [sys.executable, *words])
    for number in given:
        os.close(number)
    answer = server.recv(8)
    status = int.from_bytes(answer, "big") if answer else signal.SIGKILL
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
