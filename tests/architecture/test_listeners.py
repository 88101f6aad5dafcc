"""Everything that listens is in a table: who is let in, by what he is known, and which test proves that."""

import ast
import re
from dataclasses import dataclass

import pytest

from architecture.checkout import PACKAGE, ROOT, package_files, place_of, tracked_files

LISTENS = {
    "create_server",
    "create_unix_server",
    "start_server",
    "start_unix_server",
    "listen",
    "bind",
    "bind_to_random_port",
    "HTTPServer",
    "ThreadingHTTPServer",
    "TCPServer",
    "ThreadingTCPServer",
    "UnixStreamServer",
    "Listener",
    "run_simple",
}
"""Names of calls and of base classes by which a process comes to listen; ``zenoh.open`` is looked for, too."""


@dataclass(frozen=True)
class Door:
    """A place where others may connect.

    Attributes
    ----------
    who : str
        Who is let in, and by what he is known.
    tests : tuple of str
        Tests that others are not.
    """

    who: str
    tests: tuple[str, ...]


DOORS = {
    "live/nodes/link.py": Door(
        "mdreel serve: a token, made and found by itself at loopback addresses, or certificates, on both sides",
        (
            "test_other_user_of_this_machine_gets_nothing_of_a_local_server",
            "test_token_lets_in_who_has_it_and_nobody_else",
            "test_certificates_let_in_those_of_the_same_authority_and_nobody_else",
            "test_nobody_listens_everywhere_or_to_everybody_unasked",
        ),
    ),
    "live/engines/imd/hub.py": Door(
        "mdreel hub: this user on this machine, as the kernel says; hosts that were named; or a token",
        (
            "test_stranger_is_sent_away",
            "test_token_is_shown_by_another_hub_and_by_nobody_else",
            "test_hub_that_anybody_could_reach_is_refused",
        ),
    ),
    "live/watch/connections.py": Door(
        "mdreel watch --web, with the page, the state and the metrics for Prometheus: a token in each request, and "
        "another one for whoever changes something",
        (
            "test_without_the_token_everything_is_forbidden",
            "test_names_that_others_can_point_at_us_are_refused",
            "test_viewer_is_told_that_he_may_only_look",
            "test_without_a_token_nothing_can_be_changed",
            "test_other_pages_cannot_send_requests",
        ),
    ),
    "lab/mdreel_lab/bench/exchange/barrier.py": Door(
        "two processes of a benchmark: one connection, from the host of the benchmark, and one byte at a time is read",
        ("test_barrier_takes_nobody_but_its_partner",),
    ),
    "lab/mdreel_lab/bench/exchange/work.py": Door("a free port is looked for: nobody is accepted", ()),
    "lab/mdreel_lab/bench/exchange/solutions/zenoh.py": Door(
        "a benchmark for some seconds, on a loopback or between namespaces: frames of random numbers",
        (),
    ),
}
"""By file of the package. A file that listens and is not here fails the test."""


def files_that_listen() -> set[str]:
    found = set()
    for path in package_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[ast.expr] = []
            if isinstance(node, ast.Call):
                names = [node.func]
            elif isinstance(node, ast.ClassDef):
                names = node.bases
            for name in names:
                last = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
                if last in LISTENS or ast.unparse(name) == "zenoh.open":
                    found.add(place_of(path))
    return found


def test_everything_that_listens_says_who_is_let_in() -> None:
    assert files_that_listen() == set(DOORS), "add the file to DOORS, with a test that it refuses others"


@pytest.mark.parametrize("place", DOORS)
def test_tests_of_who_is_let_in_exist(place: str) -> None:
    tests = [path for path in tracked_files(".py") if path.is_relative_to(ROOT / "tests")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    exist = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    assert not set(DOORS[place].tests) - exist
    path = (ROOT if place.startswith("lab/") else PACKAGE) / place
    accepts = ".accept(" in path.read_text(encoding="utf-8")
    assert DOORS[place].tests or not accepts, "who is accepted is tested"
