"""Pages that promise something: each row of their tables names the tests that show it, and these tests exist."""

import re

import pytest

from architecture.checkout import ROOT, names_of_tests

PAGES = {"explanation/correctness.md": 30, "explanation/security.md": 20}
"""Pages of claims, and how many claims each has at least."""


LIMITS = "## What cannot be detected"
"""The heading of the part that promises nothing, and has no tests."""


def claims(page: str) -> list[list[str]]:
    """The rows of all tables of a page, without their heads and without the limits."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split(LIMITS)[0]
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = [line for table in tables for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("page", PAGES)
def test_each_claim_names_tests_that_exist(page: str) -> None:
    exist, found = names_of_tests(), claims(page)
    assert len(found) >= PAGES[page], "the tables were found"
    for row in found:
        assert len(row) == 3, f"expected a claim, what mdreel does, and tests: {row}"
        names = re.findall(r"`(\w+)`", row[-1])
        assert names, f"no test: {row[0]}"
        assert not set(names) - exist, f"{row[0]}: no such test: {sorted(set(names) - exist)}"


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_claims_make_no_claim_outside_of_their_tables(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    items = re.findall(r"^\s*(?:[*-]|\d+\.) .*", text, re.MULTILINE)
    assert not items, f"a list makes claims without tests; put them into a table: {items}"
