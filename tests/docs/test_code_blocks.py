"""Every code block of the pages runs, or says why it does not."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import GRO, PSF, TPR, XTC, PDB_small

from architecture.checkout import ROOT
from docs import page_runner
from docs.code_blocks import INSTALLS, OTHER, RUN, blocks, commands, outline, pages
from forked_python.command import forked_python

LONG = 240
"""Seconds after which a page hangs."""

BEFORE = """\
import matplotlib
matplotlib.use("agg")
import MDAnalysis as mda
import numpy as np
import mdreel
u = universe = mda.Universe("adk.psf", "adk.xtc")
"""
"""What the pages take for granted."""


def names_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, adk_xtc: Path, adk_dcd: Path) -> Path:
    """A folder with the files that the pages name: `adk.*` is a protein in vacuum, `run.*` one in water."""
    folder = tmp_path_factory.mktemp("files")
    of_adk = {"adk.xtc": adk_xtc, "adk.dcd": adk_dcd, "adk.psf": PSF, "crystal.pdb": PDB_small}
    of_water = {"run.tpr": TPR, "run.xtc": XTC, "run.gro": GRO}
    of_demo = {"demo/adk.psf": PSF, "demo/adk_dims.xtc": adk_xtc, "demo/adk_dims.dcd": adk_dcd}
    (folder / "demo").mkdir()
    for name, path in {**of_adk, **of_water, **of_demo}.items():
        shutil.copyfile(path, folder / name)
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs that start without the time of their imports."""
    folder = tmp_path_factory.mktemp("programs")
    for name, module in {"python": "", "mdreel": "-P -m mdreel.cli "}.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {forked_python()} {module}"$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize("page", pages()[1:], ids=names_of)  # tests/architecture/test_readme.py runs the README
def test_blocks_of_the_page_run(page: Path, files: Path, programs: Path, tmp_path: Path) -> None:
    to_run = [block for block in blocks(page) if block.is_run]
    if not to_run:
        pytest.skip("the page has no block that runs")
    installing = [block.line for block in to_run if INSTALLS.search(block.code)]
    assert not installing, f"blocks that install something need a comment with the reason: lines {installing}"
    folder = tmp_path / "page"
    shutil.copytree(files, folder)
    text = json.dumps({"name": names_of(page), "before": BEFORE, "blocks": [asdict(block) for block in to_run]})
    (folder / "blocks.json").write_text(text, encoding="utf-8")
    channels = tmp_path / "channels"
    channels.mkdir(mode=0o700)
    python_path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        [forked_python(), page_runner.__file__],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": python_path, "PATH": path, "MDREEL_CHANNELS": str(channels)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            _, errors = running.communicate(timeout=LONG)
        finally:
            with suppress(ProcessLookupError):  # commands that the page left behind
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 0, errors[-3000:]


@pytest.mark.parametrize("page", pages(), ids=names_of)
def test_blocks_have_a_language(page: Path) -> None:
    for block in blocks(page):
        where = f"{names_of(page)}:{block.line}"
        if page.name != "README.md":
            assert block.language in RUN | OTHER or block.language.startswith("{"), f"{where}: {block.language!r}"
        if block.language == "console":
            assert commands(block.code), f"{where}: a console block begins with a command after '$ '"


def test_console_blocks_are_read_as_commands_with_output() -> None:
    code = "$ one \\\n    --more\nfirst 1.5 s\n\n$ two\n"
    assert commands(code) == [("one \\\n    --more", ["first 1.5 s", ""]), ("two", [])]
    assert outline("first   1.5 s, -3e-5") == outline("first 22 s, 4") == "first # s, #"
    assert outline("read < 1 %  on 2 threads") == outline("read 3 % on 1 thread")
