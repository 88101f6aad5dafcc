"""``mdreel rmsd`` on a real trajectory, from end to end."""

import json

import numpy as np
import pytest

CA = "protein and name CA"


def table(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


@pytest.mark.parametrize("kind", ["dcd", "xtc"])
def test_rmsd_agrees_with_mdanalysis(run, adk, expected, tmp_path, kind):
    done = run("rmsd", "-s", adk["psf"], "-f", adk[kind], "--select", CA, "-o", "rmsd.csv", "--plot", "rmsd.png")
    assert (done.returncode, done.stdout) == (0, "")
    np.testing.assert_allclose(table(tmp_path / "rmsd.csv"), expected(kind), atol=1e-6)
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["rmsd.csv", "rmsd.png"]


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["--select", "backbone"], {"selection": "backbone"}),
        (["--ref-frame", "40"], {"ref_frame": 40}),
        (["--weights", "mass"], {"weights": "mass"}),
        (["--start", "10", "--stop", "-5", "--step", "3"], {"start": 10, "stop": -5, "step": 3}),
        (["-b", "10", "-e", "50", "-dt", "5"], {"start": 9, "stop": 50, "step": 5}),
        (["-nt", "1", "--n-parts", "7"], {}),
        (["--backend", "serial"], {}),
    ],
)
def test_rmsd_options_mean_what_they_mean_in_mdanalysis(run, adk, expected, tmp_path, arguments, settings):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], *arguments, "-o", "rmsd.csv")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(table(tmp_path / "rmsd.csv"), expected(**settings), atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MDAnalysis, about its own future
def test_rmsd_without_superposition_is_the_distance_as_it_is(run, adk, tmp_path):
    # MDAnalysis's RMSD class always superimposes; its function does not.
    from MDAnalysis import Universe
    from MDAnalysis.analysis.rms import rmsd

    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--no-superposition", "-o", "rmsd.csv")
    assert done.returncode == 0, done.stderr
    atoms = Universe(str(adk["psf"]), str(adk["dcd"])).select_atoms(CA)
    frames = [atoms.positions.astype(np.float64) for _ in atoms.universe.trajectory]
    np.testing.assert_allclose(
        table(tmp_path / "rmsd.csv")[:, 2], [rmsd(frame, frames[0]) for frame in frames], atol=1e-6
    )


def test_rmsd_compares_with_another_structure(run, adk, expected, tmp_path):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--reference", adk["pdb"], "-o", "rmsd.csv")
    assert done.returncode == 0, done.stderr
    found = table(tmp_path / "rmsd.csv")
    np.testing.assert_allclose(found, expected(reference=adk["pdb"]), atol=1e-6)
    assert found[:, 2].argmin() == 50


def test_rmsd_reads_several_trajectories_one_after_the_other(run, adk, expected, tmp_path):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-f", adk["xtc"], "-o", "rmsd.csv")
    assert done.returncode == 0, done.stderr
    found = table(tmp_path / "rmsd.csv")
    assert found[:, 0].tolist() == list(range(196))
    np.testing.assert_allclose(found[:98, 1:], expected("dcd")[:, 1:], atol=1e-6)
    # The reference stays the first frame of the first file; XTC has rounded the same coordinates to 0.01 Å.
    np.testing.assert_allclose(found[98:, 2], expected("dcd")[:, 2], atol=0.01)


def test_rmsd_does_not_depend_on_the_number_of_threads(run, adk, tmp_path):
    for n_workers in ("1", "3"):
        run("rmsd", "-s", adk["psf"], "-f", adk["xtc"], "-nt", n_workers, "-o", f"{n_workers}.csv")
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()


def test_rmsd_describes_itself_in_the_file(run, adk, tmp_path):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--select", CA, "-o", "rmsd.json")
    assert done.returncode == 0, done.stderr
    metadata = json.loads((tmp_path / "rmsd.json").read_text())["metadata"]
    assert metadata["selection"] == CA
    assert metadata["n_atoms"] == 214
    assert metadata["reference"] == "frame 0"
    assert metadata["trajectory"] == str(adk["dcd"])


def test_rmsd_prints_a_summary_without_an_output(run, adk, expected):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"])
    assert done.returncode == 0, done.stderr
    values = expected()[:, 2]
    for value in (values.min(), values.mean(), values.max()):
        assert f"{value:.3f} Å" in done.stdout
    assert "98" in done.stdout.splitlines()[0]


def test_rmsd_tells_its_timing_and_nothing_when_quiet(run, adk):
    arguments = ("rmsd", "-s", adk["psf"], "-f", adk["dcd"])
    assert len(run(*arguments).stderr.splitlines()) in (1, 3)  # one if the run took less than 2 s
    quiet = run(*arguments, "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert len(run(*arguments, "--verbose").stderr.splitlines()) > 3


def test_rmsd_replaces_an_output_only_when_forced(run, adk, tmp_path):
    for name in ("rmsd.csv", "rmsd.png"):
        (tmp_path / name).write_text("mine")
    arguments = ("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "-o", "rmsd.csv", "--plot", "rmsd.png")
    refused = run(*arguments)
    assert refused.returncode == 2
    assert refused.stderr == "mdreel: error: rmsd.csv: the output exists already (--force replaces it)\n"
    assert (tmp_path / "rmsd.csv").read_text() == "mine"
    assert run(*arguments, "--force").returncode == 0
    assert len(table(tmp_path / "rmsd.csv")) == 98
    assert (tmp_path / "rmsd.png").read_bytes().startswith(b"\x89PNG")


def test_rmsd_prints_its_summary_where_there_is_no_angstrom(run, adk):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--quiet", PYTHONIOENCODING="iso8859-7")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.000 ?" in done.stdout


def test_rmsd_of_segments_is_that_of_the_whole(run, adk, tmp_path):
    assert run("split", "-f", adk["xtc"], "-o", "part.xtc", "--n-parts", "5").returncode == 0
    parts = [word for path in sorted(tmp_path.glob("part-*.xtc")) for word in ("-f", path.name)]
    arguments = ["--access", "segments", "--schedule", "static", "-nt", "2", "-o", "parts.csv"]
    for given in ([*parts, *arguments], ["-f", adk["xtc"], "--access", "shared", "-o", "whole.csv"]):
        done = run("rmsd", "-s", adk["psf"], *given)
        assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(table(tmp_path / "parts.csv"), table(tmp_path / "whole.csv"))
    done = run("rmsd", "-s", adk["psf"], "-f", adk["dcd"], "--access", "hdf5-independent")
    assert done.returncode == 3
    assert "--access hdf5-independent is for the backend mpi, not threads: use 'shared'" in done.stderr


def test_names_of_groups_are_in_the_table_and_in_the_summary(run, adk, tmp_path):
    files = ["-s", adk["psf"], "-f", adk["dcd"], "-q"]
    named = ["--group", "LID=name CA and resid 122:159", "--group", "NMP=name CA and resid 30:59"]
    done = run("rmsd", *files, *named, "-o", "named.csv")
    assert done.returncode == 0, done.stderr
    head = (tmp_path / "named.csv").read_text().splitlines()[0]
    assert head == "frame,time_ps,rmsd_angstrom,rmsd_lid_angstrom,rmsd_nmp_angstrom"
    assert [line.split()[-1] for line in run("rmsd", *files, *named).stdout.splitlines()[-2:]] == ["LID", "NMP"]
    done = run("rmsd", *files, *named[:3], named[1])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--group: 'LID' is given twice" in done.stderr
