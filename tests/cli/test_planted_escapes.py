"""Escape sequences that are planted in each text of each file and message do not reach a terminal."""

import ast
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import far_channels as far
from architecture.checkout import PACKAGE
from imd_client import LONG
from mdreel.live.channels.requests import FOLDER as REQUESTS
from mdreel.live.channels.requests import Requests, send_request
from mdreel.live.ensemble.journal import Journal
from mdreel.live.notices.notice import FOLDER as NOTICES
from mdreel.live.producers.producer import Producer
from steering_lines import line

PLANTED = "a\x1b[31mb\x9b31mc\u202ed\x07e\x1b]0;title\x07"
FORBIDDEN = ("\x9b", "\u202e", "\x07", "\x1b[31mb", "\x1b]0;title")
N_ATOMS = 5

PRINTS = {
    "output.py": "the functions that escape",
    "live/watch.py": "rich draws what `watch.terminal` has made of what is seen",
}
"""Files of commands that may print by themselves, with the reason."""


def test_commands_print_by_functions_that_escape() -> None:
    """A new command that prints by itself fails here."""
    found = set()
    for path in sorted((PACKAGE / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            said = ast.unparse(node.func)
            if said in ("print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "Console"):
                found.add(str(path.relative_to(PACKAGE / "cli")))
            if said.endswith(("stdout.write", "stderr.write", "console.print")):
                found.add(str(path.relative_to(PACKAGE / "cli")))
    assert found == set(PRINTS), "print with mdreel.cli.output"


def planted(value: Any) -> Any:
    """A JSON value with the planted text in place of each text, except where that has a meaning."""
    if isinstance(value, dict):
        kept = ("state", "event", "boot", "host")
        return {key: value[key] if key in kept else planted(value[key]) for key in value}
    if isinstance(value, list):
        return [planted(one) for one in value]
    return PLANTED if isinstance(value, str) else value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of channels, all of whose texts are planted."""
    folder = tmp_path / "channels"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(folder))
    head = {
        "generation": 1,
        "name": "x",
        "process": 1,
        "process_start": 1,
        "columns": [["frame", ""], ["time", "ps"], ["rmsd", "x"]],
        "n_columns": 3,
        "is_of_frames": True,
    }
    said = {
        "state": "failed",
        "reason": "x",
        "n_frames": 1,
        "seconds": {"wall": 1.0, PLANTED: 1.0},
        "rows": [[0, 0, 1]],
    }
    for name in ("run", PLANTED):
        producer = Producer(folder / name, N_ATOMS, energies=[PLANTED[:10]]).open()
        producer.publish([[0.0] * 3] * N_ATOMS, 0, 0.0)
        notices = producer.path / NOTICES
        notices.mkdir()
        lines = [planted(head), planted({**said, "last": [0, 0, 1]})]
        (notices / "x-1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        (notices / f"{PLANTED}.jsonl").write_text("no notice\n")
        events = line(1, rule=PLANTED, event=PLANTED, message=PLANTED, action=PLANTED, values={PLANTED: 1.0})
        (producer.path / "steering.jsonl").write_bytes(events)
        producer.end("failed", PLANTED)
    return folder


def on_terminal(*words: object, wait: float = LONG) -> str:
    """Run a command on a terminal; return all that this is sent."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "300", "LINES": "60"}
    with subprocess.Popen(far.mdreel(*words), stdin=terminal, stdout=terminal, stderr=terminal, env=environment) as run:
        os.close(terminal)
        said = b""
        try:
            while some := os.read(controller, 65536):
                said += some
        except OSError:
            pass  # the other end was closed
        run.wait(wait)
    os.close(controller)
    return said.decode("utf-8", "replace")


def check(said: str) -> None:
    assert r"\x1b[31mb" in said or "\\u001b[31mb" in said, f"what was planted is shown: {said!r}"
    found = [text for text in FORBIDDEN if text in said]
    assert not found, f"{found} in {said!r}"


@pytest.mark.parametrize(
    "words",
    [
        ("watch", "--once"),
        ("watch", "--once", "--json"),
        ("channels", "--seconds", 0),
        ("channels", "--seconds", 0, "--json"),
        ("channels", "run", "--seconds", 0),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_nothing_that_was_planted_reaches_the_terminal(folder: Path, words: tuple[object, ...]) -> None:
    check(on_terminal(*words))


def test_nothing_that_was_planted_in_an_error_reaches_the_terminal(folder: Path) -> None:
    check(on_terminal("watch", PLANTED))
    check(on_terminal("info", "-f", f"{PLANTED}.xtc"))
    check(on_terminal("relay", f"tcp/{PLANTED}:1", "run"))


def test_nothing_that_was_planted_in_a_pipe_goes_through(folder: Path) -> None:
    for words in (("watch", "--once"), ("channels", "--seconds", "0")):
        done = subprocess.run(far.mdreel(*words), capture_output=True, check=True)
        check(done.stdout.decode())


def test_nothing_that_a_relay_says_of_itself_reaches_the_terminal(folder: Path, tmp_path: Path) -> None:
    zenoh = pytest.importorskip("zenoh")
    from mdreel.live.nodes.link import connect_to
    from mdreel.live.nodes.messages import Join
    from mdreel.live.nodes.security import Security

    endpoint = "tcp/127.0.0.1:39417"
    join = Join("a1", PLANTED, 1, ("earliest", None)).encode()
    bad = json.dumps({"version": 1, "relay": PLANTED, "host": "h", "session": 1, "start": [PLANTED, None]}).encode()
    with far.program("serve", "run", "--listen", endpoint) as server:
        far.says(server, "served at")
        with connect_to(endpoint, Security(), LONG) as session:
            for content in (bad, join):
                assert list(session.get("mdreel/1/run/join", payload=zenoh.ZBytes(content), timeout=LONG))
        assert server.stderr is not None
        check(server.stderr.readline() + server.stderr.readline())


def test_nothing_that_a_server_says_reaches_the_terminal(folder: Path) -> None:
    pytest.importorskip("zenoh")
    from mdreel.live.nodes.link import listen_at
    from mdreel.live.nodes.local_token import make_token
    from mdreel.live.nodes.security import Security

    endpoint = "tcp/127.0.0.1:39418"
    with listen_at(endpoint, Security(make_token(endpoint))) as session:
        refusal = f"refused: {PLANTED}".encode()
        declared = session.declare_queryable("mdreel/1/far/join", lambda query: query.reply_err(refusal))
        check(on_terminal("relay", endpoint, "far", "--wait", 5))
        declared.undeclare()


def test_nothing_that_a_simulation_answers_reaches_the_terminal(folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with Producer(folder / "asked", N_ATOMS) as producer, ThreadPoolExecutor() as threads:
        (producer.path / REQUESTS).mkdir()
        said = threads.submit(send_request, producer.path, "dance", timeout=LONG)
        requests: list[Any] = []
        while not requests:
            requests = Requests(producer.path, producer.epoch).take()
        requests[0].refuse(PLANTED)
        error = said.exception(LONG)
    check(str(error))


def test_nothing_that_was_planted_in_a_journal_reaches_the_table(tmp_path: Path) -> None:
    from mdreel.cli.live.ensemble import _table

    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.write("died", PLANTED + "\nreplica-9  finished")
        message = journal.history.message
    facts = {"replica": "r0", "state": "failed", "n_frames": 1, "n_deaths": 1, "process": None, "message": message}
    rows = list(_table([facts]))
    check("\n".join(rows))
    assert not any("\n" in row for row in rows), "no line is made up"


def test_nothing_that_was_planted_in_an_archive_reaches_the_terminal(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        subprocess.run(
            [sys.executable, "-m", "mdreel.live.archives.process", str(folder / PLANTED), "x.xtc", "", "g", ""],
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )
    check(caught.value.stderr.decode("utf-8", "replace"))
