"""Stand-in for a Python process that the fork server runs: passes signals on to it and ends as it does.

    python -IS launcher.py ADDRESS [-m MODULE | -c CODE | SCRIPT] ...

A process that the server refuses to fork is started in the usual way.
"""

import marshal
import os
import signal
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket  # `socket` itself takes 10 ms to import

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def main() -> None:
    _, address, *words = sys.argv
    server = socket(AF_UNIX)
    server.connect(address)
    ignored = [int(number) for number in PASSED_ON if signal.getsignal(number) == signal.SIG_IGN]
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until there is a process to pass them on to
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
    request = marshal.dumps((os.getcwd(), words, dict(os.environ), ignored))  # noqa: PTH109 (pathlib takes 10 ms)
    server.sendmsg([len(request).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    server.sendall(request)
    process = int(server.recv(16))
    if process:
        for number in PASSED_ON:
            if number not in ignored:
                signal.signal(number, lambda number, _: os.kill(process, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    if not process:
        os.execv(sys.executable, [sys.executable, *words])
    status = int(server.recv(16) or signal.SIGKILL)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


main()
