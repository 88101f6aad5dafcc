"""Tests of the line that explains why a process failed."""

import sys

import pytest

from mdreel_lab.bench.processes import ProcessError, last_line, run_process


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("reading\nValueError: no frames\nrank 1 ended\n", "ValueError: no frames"),
        ("mdreel: error: no such file\n---\n", "mdreel: error: no such file"),
        (
            (
                "no component for this network\n"
                "[n1:00038] 2 more processes have sent help message help-osc-pt2pt.txt / mpi-thread\n"
                '[n1:00038] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n'
            ),
            "no component for this network",
        ),
        ("", "it said nothing"),
    ],
)
def test_reason_is_found_among_other_lines(output: str, expected: str) -> None:
    assert last_line(output) == expected


def test_failed_process_is_an_error_with_its_reason() -> None:
    with pytest.raises(ProcessError, match=r"^exit code 1: ZeroDivisionError: division by zero$"):
        run_process([sys.executable, "-c", "1 / 0"], {}, 60)
