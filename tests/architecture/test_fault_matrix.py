"""The tables of faults of channels: each fault has a test, and the tests exist. Nobody waits by the wall clock."""

import re

import pytest

from architecture.checkout import CHANNEL, PACKAGE, ROOT, names_of_tests, tracked_files, where

DESIGN = ROOT / "docs" / "design"
MATRICES = {"017-fault-matrix.md": 30, "015-across-nodes.md": 15}
"""Pages with a table of faults, and how many it has at least."""
WALL_CLOCK = re.compile(r"SystemTime::now|\btime\.time\b|from time import .*\btime\b|\bdatetime\b")


def rows(page: str) -> list[list[str]]:
    text = (DESIGN / page).read_text(encoding="utf-8")
    section = text.split("<!-- faults:begin -->")[1].split("<!-- faults:end -->")[0]
    _, _, *body = section.strip().splitlines()
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in body]


@pytest.mark.parametrize("page", MATRICES)
def test_each_fault_of_channels_has_names_of_tests(page: str) -> None:
    exist = names_of_tests()
    assert len(rows(page)) > MATRICES[page], "the table was found"
    for fault, when, _, proof in rows(page):
        names = re.findall(r"`(\w+)`", proof)
        assert names, f"{fault}, {when}: no test"
        assert not set(names) - exist, f"{fault}, {when}: no such test: {sorted(set(names) - exist)}"


def test_waiting_knows_no_wall_clock() -> None:
    live = (PACKAGE / "live" / name for name in ("channels", "engines", "managed", "nodes"))
    rooms = (CHANNEL / "src", *live)
    sources = [path for path in tracked_files(".rs", ".py") if any(path.is_relative_to(room) for room in rooms)]
    sources = [path for path in sources if "tests" not in path.parts and path.stem != "tests"]
    sources.remove(CHANNEL / "src" / "date.rs")  # what people read, such as the time at which a run ended
    assert len(sources) > 30, "the search found the sources"
    found = [
        f"{where(path, number)}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if WALL_CLOCK.search(line)
    ]
    assert not found, "the wall clock may be set while somebody waits:\n" + "\n".join(found)
