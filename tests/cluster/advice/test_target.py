"""Targets: machines that are, and machines that are not."""

import pytest

from mdreel.cluster.advice.target import FILE_SYSTEMS, kind_of, target_of
from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ext4", "local"),
        ("xfs", "local"),
        ("tmpfs", "local"),
        ("overlay", "local"),
        (None, "local"),
        ("nfs", "nfs"),
        ("nfs4", "nfs"),
        ("fuse.sshfs", "nfs"),
        ("beegfs", "nfs"),
        ("lustre", "lustre"),
        ("gpfs", "gpfs"),
    ],
)
def test_file_systems_are_known_by_what_the_system_calls_them(name, kind):
    assert kind_of(name) == kind


def test_target_is_this_machine_by_default():
    target = target_of(found="ext4")
    assert (target.n_nodes, target.n_cores, target.is_here) == (1, available_processors(), True)
    assert target.n_workers == available_processors()
    assert str(target).startswith("this machine, ")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"n_nodes": 2, "n_cores": 1}, "lustre"),
        ({"n_cores": available_processors() + 1}, "ext4"),
        ({"file_system": "lustre"}, "ext4"),
        ({"file_system": "local"}, "nfs4"),
    ],
)
def test_target_is_elsewhere_where_something_is_different(arguments, found):
    assert not target_of(**arguments, found=found).is_here


def test_file_system_that_is_named_as_it_is_found_is_this_one():
    assert target_of(1, file_system="local", found="ext4").is_here
    assert target_of(1, 1, "lustre", found="lustre").is_here


def test_stripes_add_up_to_what_all_servers_give():
    lustre = FILE_SYSTEMS["lustre"]
    assert target_of(24, 6, found="lustre", n_stripes=8).file_system.file_bytes_per_s == 8 * lustre.file_bytes_per_s
    many = target_of(24, 6, found="lustre", n_stripes=10_000).file_system
    assert many.file_bytes_per_s == lustre.total_bytes_per_s
    # What lies elsewhere now will have the stripes that there are by default.
    assert target_of(24, 6, "lustre", found="ext4", n_stripes=8).file_system == lustre
    assert target_of(24, 6, "gpfs", found="gpfs", n_stripes=8).file_system == FILE_SYSTEMS["gpfs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_nodes": 0}, "at least 1 node"),
        ({"n_cores": 0}, "at least 1 node with 1 core"),
        ({"n_cores": -3}, "not 1 with -3"),
        ({"file_system": "floppy"}, "unknown file system 'floppy'; known: local, nfs, lustre, gpfs"),
        ({"n_nodes": 2}, "2 nodes cannot share ext4 of this machine"),
        ({"n_nodes": 2, "file_system": "local"}, "2 nodes cannot share a local file system"),
    ],
)
def test_machines_that_are_none_are_refused(arguments, message):
    with pytest.raises(MismatchError) as caught:
        target_of(**arguments, found="ext4")
    assert message in str(caught.value)


def test_target_is_said_in_words():
    assert str(target_of(24, 6, "lustre")) == "6 nodes with 24 cores each"
    assert str(target_of(1, 2, "nfs")) == "2 nodes with 1 core each"
    assert str(target_of(10_000, 1, "lustre")) == "1 node with 10,000 cores"
