"""The benchmark of the second thread: its jobs run, and its results reach the page."""

import json
import os
import subprocess
from pathlib import Path

from forked_python.command import forked_python


def test_jobs_are_measured_with_both_allocators_and_beside_the_floor(tmp_path: Path, data: Path) -> None:
    command = [forked_python(), "-m", "mdreel_lab.bench.contests", "--quick", "--only", "second-thread"]
    command += ["--data", str(data)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    page = json.loads((data / "quick-results" / "second-thread.json").read_text(encoding="utf-8"))
    texts = [figure["text"] for figure in page["figures"]]
    # Two formats, all atoms and some; three analyses, one of them twice; two allocators.
    assert len(set(texts)) == 2 * (2 * 2 + 4)
    assert sum("floor" in text for text in texts) == 2 * 2
    for figure in page["figures"]:
        assert figure["value"] > 0
        assert figure["met"] == (figure["value"] >= figure["bound"])
        assert figure["text"] in done.stdout
