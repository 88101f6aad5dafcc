"""The benchmark of reporters of OpenMM: every reporter runs, and its cost reaches the page."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from forked_python.command import forked_python


def test_reporters_are_measured_beside_none(tmp_path: Path, data: Path) -> None:
    pytest.importorskip("openmm", reason="OpenMM is not installed")
    command = [forked_python(), "-m", "mdreel_lab.bench.contests", "--quick", "--only", "engine-cost"]
    command += ["--data", str(data)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    page = json.loads((data / "quick-results" / "engine-cost.json").read_text(encoding="utf-8"))
    names = [figure["text"].split(":")[0] for figure in page["figures"]]
    expected = ["XTC reporter of OpenMM", "DCD reporter of OpenMM"]
    assert names == [*expected, "channel without a consumer", "channel with a consumer"]
    for figure in page["figures"]:
        assert figure["met"] == (figure["value"] <= figure["bound"])
        assert figure["text"] in done.stdout
