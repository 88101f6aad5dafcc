"""Every analysis of MDAnalysis gives with mdreel what the table in the docs says."""

import subprocess
from pathlib import Path

from forked_python.command import forked_python

ROOT = Path(__file__).parents[2]


def test_analyses_work_as_the_table_says(tmp_path: Path) -> None:
    script, found = ROOT / "lab" / "validation" / "mdanalysis_analyses.py", tmp_path / "found.md"
    command = [forked_python(), str(script), "--output", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kept = (ROOT / "docs" / "reference" / "mdanalysis-analyses.md").read_text(encoding="utf-8")
    assert found.read_text(encoding="utf-8").splitlines()[:-1] == kept.splitlines()[:-1]  # the last says the version
    assert "fails" not in kept
    assert "differs" not in kept
