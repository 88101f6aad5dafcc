"""Tests of shells, Python and small tools in managed directories."""

import sys

import numpy as np
import pytest

from managed_programs import Programs, await_waiting, end_of


def test_python_cat_and_numpy_wait_for_what_shells_write(programs: Programs) -> None:
    readers = [
        ["cat", programs.frames / "text"],
        [sys.executable, "-c", f"print(open({str(programs.frames / 'text')!r}).read(), end='')"],
        [
            sys.executable,
            "-c",
            f"import pathlib; print(pathlib.Path({str(programs.frames)!r}, 'text').read_text(), end='')",
        ],
        ["sh", "-c", f"cat < '{programs.frames / 'text'}'"],
    ]
    waiting = [programs.start(command) for command in readers]
    for process in waiting:
        await_waiting(process)
    script = f"(echo one; read line; echo two) > '{programs.frames / 'text'}'"
    with programs.start(["sh", "-c", script]) as shell:
        assert end_of(shell)[0] == 0
    for process in waiting:
        assert end_of(process)[:2] == (0, "one\ntwo\n")
    load = f"import numpy; print(numpy.load({str(programs.frames / 'array.npy')!r}).sum())"
    save = f"import numpy; numpy.save({str(programs.frames / 'array.npy')!r}, numpy.arange(1000.0))"
    with programs.start([sys.executable, "-c", load]) as process:
        await_waiting(process)
        assert end_of(programs.start([sys.executable, "-c", save]))[0] == 0
        assert end_of(process)[:2] == (0, f"{np.arange(1000.0).sum()}\n")


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo one > FILE", "one\n"),
        ("cat /dev/null > FILE", ""),
        ("printf one > FILE; printf two >> FILE", "onetwo"),
        ("{ echo one; cat /dev/null; /bin/echo two; } > FILE", "one\ntwo\n"),
        ("(/bin/echo one; /bin/echo two) > FILE", "one\ntwo\n"),
        ("exec > FILE; echo one; /bin/echo two", "one\ntwo\n"),
        ("/bin/echo one | cat > FILE", "one\n"),
        ("sh -c 'echo one; /bin/echo two' > FILE", "one\ntwo\n"),
        ("cp /dev/null FILE; tee FILE < /dev/null; dd if=/dev/zero of=FILE bs=3 count=1 2> /dev/null", "\0\0\0"),
        ("echo one > FILE-new; mv FILE-new FILE", "one\n"),
        ("echo before > FILE; (/bin/echo half; sh -c 'kill -9 $PPID'; true) > FILE", "before\n"),
        ("sh -c 'echo half; exit 3' > FILE", None),
        ("sh -c 'echo half; kill -9 $$' > FILE", None),
        ("{ sh -c 'echo half; kill -9 $$'; echo rest; } > FILE", None),
        ("{ echo half; sh -c 'echo torn; exit 3'; echo rest; } > FILE", None),
        ("{ echo one; ls /nowhere; echo two; } > FILE", "one\ntwo\n"),
        ("exec > FILE; /usr/bin/test -d /nowhere; /bin/echo one", "one\n"),
        ("exec 5> FILE; ls /nowhere; echo one >&5", "one\n"),
        ("exec sh -c 'echo one >&5' 5> FILE", "one\n"),
    ],
)
def test_output_of_a_shell_is_published_when_what_writes_it_ends_well(
    programs: Programs, shell: str, script: str, expected: str | None
) -> None:
    with programs.start([shell, "-c", script.replace("FILE", f"'{programs.frames / 'file'}'")]) as process:
        end_of(process)
    assert programs.names() == ([] if expected is None else ["file"])
    if expected is not None:
        assert (programs.frames / "file").read_text() == expected
