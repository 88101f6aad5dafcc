"""The environment of a run: what is said of versions, machine and files is what others say."""

import json
import os
import platform
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import mdreel.timing.environment as environment_module
from mdreel.timing.environment import environment_of, versions

ROOT = Path(__file__).resolve().parents[2]


def test_environment_is_that_of_this_machine() -> None:
    found = environment_of([])
    assert found["mdreel"] == version("mdreel")
    assert found["python"] == platform.python_version()
    assert found["versions"]["numpy"] == np.__version__
    assert found["n_cores"] == len(os.sched_getaffinity(0))
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert found["memory_bytes"] == int(total.split()[1]) * 1024
    assert found["kernel"] == f"Linux {os.uname().release}"
    assert found["hostname"] == socket.gethostname()
    assert found["cpu"] in Path("/proc/cpuinfo").read_text() or found["cpu"] == platform.machine()
    assert abs(datetime.fromisoformat(found["date"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert found["files"] == []
    assert json.loads(json.dumps(found)) == found


def test_commit_is_one_of_the_checkout_that_this_was_built_in() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    commit = environment_of([])["commit"]
    named = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", f"{commit}^{{commit}}"], capture_output=True, text=True, check=True
    )
    assert named.stdout.strip() == commit


def test_files_are_said_with_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xtc").write_bytes(b"x" * 10_000)
    first, second = environment_of(["a.xtc", Path("gone.xtc")])["files"]
    assert first["path"] == str(tmp_path / "a.xtc")
    assert first["n_bytes"] == 10_000
    named = subprocess.run(["stat", "-c", "%m", "a.xtc"], capture_output=True, text=True, check=True)
    assert first["mount"] == named.stdout.strip()
    assert isinstance(first["file_system"], str)
    assert first["stripe"] is None
    assert first["cached_share"] == 1
    unknown = dict.fromkeys(("n_bytes", "file_system", "mount", "stripe", "cached_share"))
    assert second == {"path": str(tmp_path / "gone.xtc"), **unknown}


def test_files_behind_a_network_are_said_by_their_url() -> None:
    (file,) = environment_of(["s3://bucket/adk.xtc"])["files"]
    assert (file["path"], file["file_system"], file["n_bytes"]) == ("s3://bucket/adk.xtc", "s3", None)


def test_stripes_are_those_of_the_widest_layout() -> None:
    stripe = environment_module._stripe
    one, two = environment_module.Stripes(1, 1 << 20), environment_module.Stripes(8, 4 << 20)
    assert stripe(()) is None
    assert stripe((one,)) == {"count": 1, "size": 1 << 20}
    assert stripe((one, two)) == {
        "count": 8,
        "size": 4 << 20,
        "components": [{"count": 1, "size": 1 << 20}, {"count": 8, "size": 4 << 20}],
    }


def test_versions_are_of_packages_that_are_loaded() -> None:
    program = "from mdreel.timing.environment import versions\nimport json\nprint(json.dumps(versions()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {"numpy"}
    import h5py

    assert versions()["h5py"] == h5py.__version__


def test_secrets_of_urls_are_not_recorded() -> None:
    (file,) = environment_of(["https://me:secret@example.org/adk.xtc?signature=abc"])["files"]
    assert file["file_system"] == "https"
    assert "example.org/adk.xtc" in file["path"]
    assert not {"secret", "abc"} & set(re.findall(r"\w+", file["path"]))
