"""``mdreel info`` on real trajectories."""

import json

import numpy as np
import pytest
from MDAnalysisTests import datafiles


def test_info_knows_what_mdanalysis_knows(run, adk):
    from MDAnalysis.coordinates.XTC import XTCReader

    done = run("info", "-f", datafiles.XTC, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    reader = XTCReader(datafiles.XTC)
    assert (facts["n_atoms"], facts["n_frames"]) == (reader.n_atoms, reader.n_frames)
    assert facts["first_time_ps"] == reader[0].time
    assert facts["last_time_ps"] == reader[-1].time
    np.testing.assert_array_equal(facts["first_box"], reader[0].dimensions)
    assert facts["files"][0]["format"] == "XTC"
    assert facts["files"][0]["path"] == datafiles.XTC


def test_info_says_what_is_in_a_netcdf_file(run):
    from MDAnalysis.coordinates.TRJ import NCDFReader

    done = run("info", "-f", datafiles.TRJ_NCBOX, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    reader = NCDFReader(datafiles.TRJ_NCBOX)
    assert (facts["n_atoms"], facts["n_frames"]) == (reader.n_atoms, reader.n_frames)
    assert (facts["first_time_ps"], facts["last_time_ps"]) == (reader[0].time, reader[-1].time)
    np.testing.assert_array_equal(facts["first_box"], reader[0].dimensions)
    (file,) = facts["files"]
    assert (file["format"], file["version"], file["conventions"]) == ("NCDF", "CDF-2", "AMBER")
    assert (file["frames counted by the header"], file["uncounted bytes"]) == (reader.n_frames, 0)
    assert file["velocities"]
    assert file["forces"]
    assert file["program"] == reader.trjfile.program.decode()


def test_info_is_readable(run, adk):
    done = run("info", "-f", adk["dcd"], "-s", adk["psf"])
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    facts = dict(line.strip().split("  ", 1) for line in lines)
    said = {name: value.strip() for name, value in facts.items()}
    assert head == str(adk["dcd"])
    assert said["atoms"] == "3,341"
    assert said["frames"] == "98"
    assert said["time"] == "1 to 98 ps, every 1 ps"
    assert said["box"] == "none"
    assert said["size"] == "3.93 MB, 40.1 kB per frame"
    assert said["topology"].endswith("214 residues")
    assert said["flavor"] == "CHARMM"
    assert said["frame interval"] == "1 ps"


def test_info_sums_several_files(run, adk):
    done = run("info", "-f", adk["dcd"], "-f", adk["xtc"])
    assert done.returncode == 0, done.stderr
    assert "2 files" in done.stdout.splitlines()[0]
    assert "  frames        196\n" in done.stdout
    assert str(adk["dcd"]) in done.stdout
    assert str(adk["xtc"]) in done.stdout


@pytest.mark.parametrize("kind", ["dcd", "xtc"])
def test_info_refuses_a_topology_of_other_atoms(run, adk, kind):
    done = run("info", "-f", adk[kind], "-s", datafiles.GRO)
    assert done.returncode == 3
    assert "47681" in done.stderr
    assert "3341" in done.stderr


def test_info_warns_of_a_torn_frame_and_tells_of_the_whole_ones(run, adk, tmp_path):
    (tmp_path / "torn.xtc").write_bytes(adk["xtc"].read_bytes()[:-100])
    done = run("info", "-f", "torn.xtc", "--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert facts["n_frames"] == 97
    assert facts["torn_end"].startswith("torn.xtc, frame 97, byte")
    assert done.stderr == f"mdreel: warning: {facts['torn_end']}\n"


def test_info_tells_of_irregular_times(run, adk, tmp_path):
    done = run("info", "-f", adk["xtc"], "-f", adk["xtc"])
    assert done.returncode == 0, done.stderr
    assert "  back in time  at frame 98" in done.stdout
    assert "  file system  " in done.stdout


def test_info_names_a_missing_file(run):
    done = run("info", "-f", "gone.xtc")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "mdreel: error: gone.xtc: No such file or directory\n"
