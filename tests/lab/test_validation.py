"""The agreement with peers holds, and its table is made by one command."""

import subprocess
from pathlib import Path

from forked_python.command import forked_python

ROOT = Path(__file__).parents[2]


def test_analyses_agree_with_their_peers(tmp_path: Path) -> None:
    script, table = ROOT / "lab" / "validation" / "agree.py", tmp_path / "table.md"
    command = [forked_python(), "-W", "ignore", str(script), "--every", "14", "--output", str(table)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert " 0 differ by more than is allowed" in done.stdout
    kept = (ROOT / "lab" / "validation" / "agreement.md").read_text(encoding="utf-8")
    assert table.read_text(encoding="utf-8").splitlines()[0] == kept.splitlines()[0]
