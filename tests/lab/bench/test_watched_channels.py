"""Tests of the measurement of the page's server."""

import os

import pytest

from mdreel_lab.bench import watched_channels


def test_table_has_the_resources_of_the_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDREEL_CHANNELS", "/before")
    watched_channels.main(["--channels", "2", "--analyses", "2", "--rows", "300", "--seconds", "1"])
    assert os.environ["MDREEL_CHANNELS"] == "/before"
    _, _, *rows = capsys.readouterr().out.splitlines()
    found = {page: list(map(float, numbers)) for page, *numbers in (row.strip("| ").split(" | ") for row in rows)}
    assert list(found) == ["no page", "a page", "a page, 2 open channels"]
    for rss, pss, private, _ in found.values():
        assert 5 < private <= pss <= rss < 1000
