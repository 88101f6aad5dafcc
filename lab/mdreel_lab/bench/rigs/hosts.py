"""Hosts with a network, a name, a clock and mounts of their own, on this machine: namespaces of the kernel.

A bridge, which has its own namespace, connects them. Interfaces, addresses and names of a cluster are therefore not
visible from outside, and clusters do not disturb each other. All processes are in a process namespace. Its first
process ends if a pipe of this process is closed, even after SIGKILL. The kernel then ends all other processes and
removes the namespaces.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IN_TIME = ("timeout", "--signal=KILL", "120")
"""Prefix of commands that kills hanging processes, also those that this process may not kill."""

_PROGRAMS = ("ip", "nsenter", "unshare")
_NAMESPACES = "--net --uts --mount --time"

_CLUSTER = f"""
set -e
folder=$1
networks=$2
shift 2
suffix_of() {{
    [ $1 = 0 ] || echo -$1
}}
for network in $networks; do
    ip link add bridge$(suffix_of $network) up type bridge
done
number=0
for name; do
    number=$((number + 1))
    echo "10.83.71.$number $name" >> $folder/hosts
    mkfifo $folder/$name
    unshare {_NAMESPACES} --monotonic=$((86400 * number)) --fork -- sh -c '
        set -e
        echo $1 > /proc/sys/kernel/hostname
        mount --bind $2/hosts /etc/hosts
        mount -t sysfs sysfs /sys # has the interfaces of this network
        echo $$ > $2/$1
        exec sleep infinity > /dev/null
    ' sh $name $folder &
    read process < $folder/$name
    rm $folder/$name
    echo $process > $folder/$name
    for network in $networks; do
        suffix=$(suffix_of $network)
        ip link add $name$suffix up master bridge$suffix type veth peer name eth$network netns $process
        nsenter --target=$process --net ip address add 10.83.$((71 + network)).$number/24 dev eth$network
        nsenter --target=$process --net ip link set eth$network up
    done
    nsenter --target=$process --net ip link set lo up
done
echo ready
exec cat > /dev/null
"""

_REMOTE_SHELL = f"""#!/bin/sh
[ "$1" != -x ] || shift # MPICH wants no X11
host=$1
shift
exec nsenter --target=$(cat $(dirname $0)/$host) {_NAMESPACES} -- sh -c "$*"
"""


def why_there_are_none() -> str | None:
    """Return the reason why no hosts can be created here, or None if they can."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"hosts with a network of their own need {', '.join(missing)} (Debian: iproute2, util-linux)"
    bridge = ("unshare", *_NAMESPACES.split(), "--", "ip", "link", "add", "bridge", "type", "bridge")
    tried = subprocess.run(bridge, capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    return f"hosts with a network of their own are made by root, where the kernel allows it: {tried.stderr.strip()}"


@dataclass(frozen=True)
class Host:
    """One of several hosts, the address of its ``eth0``, and the command that runs another one here.

    The remote shell is a program that is called as ssh is, and reaches the other hosts. A host without an entrance is
    this machine itself. The switch is the prefix of commands that configure the other ends of its links. They are named
    after the host, with the number of the network at the end from the second network on (``anna``, ``anna-1``).
    """

    name: str
    address: str
    entrance: tuple[str, ...] = ()
    remote_shell: Path = Path()
    switch: tuple[str, ...] = ()

    def command(self, *words: str | Path) -> list[str]:
        """Return the command that runs a command on this host."""
        return [*self.entrance, *map(str, words)]

    def run(self, *words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on this host, and wait for its end; kill it after the timeout."""
        return subprocess.run(self.command(*IN_TIME, *words), capture_output=True, text=True, **options)

    @contextmanager
    def hiding(self, folder: Path) -> Iterator[None]:
        """Hide the content of a folder from this host alone."""
        self.run("mount", "-t", "tmpfs", "tmpfs", folder, check=True)
        try:
            yield
        finally:
            self.run("umount", folder, check=True)


@contextmanager
def network_hosts(names: Sequence[str], folder: Path, n_networks: int = 1) -> Iterator[list[Host]]:
    """Make hosts that see the same files, with monotonic clocks that are days apart; put their files into a folder.

    Each network has a bridge and a link to each host of its own (``eth0``, ``eth1``, ...).
    """
    (folder / "hosts").write_text("127.0.0.1 localhost\n")
    remote_shell = folder / "remote-shell"
    remote_shell.write_text(_REMOTE_SHELL)
    remote_shell.chmod(0o755)
    first = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "--")
    networks = " ".join(map(str, range(n_networks)))
    command = (*first, "sh", "-c", _CLUSTER, "sh", str(folder), networks, *names)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "standard error says why there are no hosts"
        inside = f"/proc/{process.pid}/ns"
        enter = ("nsenter", f"--pid={inside}/pid_for_children", f"--mount={inside}/mnt", "--", "nsenter")
        switch = ("nsenter", f"--net={inside}/net", "--")
        yield [
            Host(
                name,
                f"10.83.71.{number}",
                (*enter, f"--target={held}", *_NAMESPACES.split(), "--"),
                remote_shell,
                switch,
            )
            for number, name in enumerate(names, 1)
            for held in [(folder / name).read_text().strip()]
        ]


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until a condition holds, and fail if the process that brings it about ends before."""
    while not is_so():
        assert process.poll() is None, "it ended before"
        time.sleep(0.005)
