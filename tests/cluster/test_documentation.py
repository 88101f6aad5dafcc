"""docs/how-to/clusters.md shows what mdreel writes, and its recipes are what is tested."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.slurm_service import reason_to_skip, running_slurm

dask_jobqueue = pytest.importorskip("dask_jobqueue")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "clusters.md").read_text(encoding="utf-8")
HOME = "/home/me/adk"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def recipe(name: str) -> str:
    """The one block of Python that has this text."""
    (found,) = [block for block in blocks("python") if name in block]
    return found


@contextmanager
def cluster_of(code: str) -> Iterator[Any]:
    """The cluster that a recipe makes, on the network that every machine has."""
    names: dict[str, Any] = {}
    exec(compile(code.replace('"ib0"', '"lo"'), "clusters.md", "exec"), names)
    with names["cluster"] as cluster:
        yield cluster


@pytest.mark.parametrize("scheduler", ["slurm", "pbs"])
def test_page_shows_the_script_that_its_command_writes(mdreel, tmp_path, scheduler):
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "activate").touch()
    (command,) = [block for block in blocks("console") if f"cluster {scheduler}" in block]
    line = command.replace("\\\n", "").removeprefix("$ ").split("\n$ ")[0]
    mdreel(tmp_path, *shlex.split(line)[1:])
    script = (tmp_path / "rmsd.sh").read_text().replace(str(tmp_path), HOME)
    shown = {"slurm": blocks("bash")[0], "pbs": blocks("bash")[1]}[scheduler]
    if scheduler == "pbs":
        script = "".join(line for line in script.splitlines(keepends=True) if line.startswith("#PBS"))
    assert shown == script


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("SLURMCluster", ["#SBATCH -p compute", "#SBATCH -A chem", "#SBATCH --mem=240G", "#SBATCH -t 04:00:00"]),
        ("PBSCluster", ["#PBS -q workq", "#PBS -A chem", "#PBS -l select=1:ncpus=64:mem=240GB"]),
    ],
)
def test_recipe_for_dask_makes_the_job(name, lines):
    with cluster_of(recipe(f"import {name}")) as cluster:
        script = cluster.job_script().splitlines()
    assert set(lines) <= set(script)
    (worker,) = [line for line in script if "dask_worker" in line]
    assert "--nthreads 1 " in worker
    assert "--nworkers 64 " in worker


@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there")
@pytest.mark.filterwarnings("ignore:DCDReader currently makes independent timesteps:DeprecationWarning")
def test_recipe_for_dask_gives_the_bits_of_one_process(tmp_path, tmp_path_factory, monkeypatch):
    import MDAnalysis as mda
    from MDAnalysisTests.datafiles import DCD, PSF

    from mdreel.analysis.rmsd import RMSD

    monkeypatch.chdir(tmp_path)  # where Slurm puts the logs of the workers
    code = recipe("import SLURMCluster")
    for number in ("cores", "processes"):
        code = code.replace(f"{number}=64", f"{number}=1")
    names: dict[str, Any] = {"ca": mda.Universe(PSF, DCD).select_atoms("name CA")}
    with running_slurm(tmp_path_factory.mktemp("slurm"), n_nodes=2) as slurm:
        monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
        with cluster_of(code.replace("240GiB", "1GiB")) as names["cluster"]:
            exec(compile(recipe("Client(cluster)"), "clusters.md", "exec"), names)
    expected = RMSD(names["ca"]).run(backend="serial").results.rmsd
    assert np.array_equal(names["rmsd"].results.rmsd, expected)
