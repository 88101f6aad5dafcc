"""Clusters are read from files, in which nothing wrong is let pass."""

from pathlib import Path

import pytest

from mdreel.errors import FormatError, MismatchError
from mdreel_lab.prediction.cluster import named_clusters, read_cluster, table_of

COMET = read_cluster("comet")


def written(path: Path, old: str = "", new: str = "") -> Path:
    """A file as that of Comet, with one thing in it changed."""
    source = Path(__file__).parents[3] / "lab" / "mdreel_lab" / "prediction" / "machines" / "comet.toml"
    text = source.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_clusters_that_come_with_mdreel_can_be_read() -> None:
    assert named_clusters() == ["comet", "present-day"]
    for name in named_clusters():
        assert read_cluster(name).title


def test_cluster_of_a_file_is_that_of_its_numbers(tmp_path: Path) -> None:
    assert read_cluster(written(tmp_path / "mine.toml")) == COMET
    other = read_cluster(written(tmp_path / "other.toml", "cores_per_node = 24 ", "cores_per_node = 96 "))
    assert other.cores_per_node == 96
    assert (other.n_nodes(96), other.n_nodes(97), other.node_of(95), other.node_of(96)) == (1, 2, 0, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cores_per_node = 24 ", "cores_per_node = 0 ", "cores_per_node must be more than 0, not 0"),
        ("cores_per_node = 24 ", "cores_per_node = 2.5 ", "cores_per_node must be a whole number"),
        ("cores_per_node = 24 ", "", "cores_per_node is missing"),
        ("cores_per_node = 24 ", "cores = 3\ncores_per_node = 24 ", "unknown: cores"),
        ("latency_s = 1.5e-6 ", "latency_s = -1 ", "latency_s must be more than 0"),
        ("latency_s = 1.5e-6 ", 'latency_s = "x" ', "latency_s must be a number, not 'x'"),
        ("latency_s = 1.5e-6 ", "latency_s = true ", "latency_s must be a number, not True"),
        ("latency_s = 1.5e-6 ", "latency_s = nan ", "latency_s must be a number, not nan"),
        ("latency_s = 1.5e-6 ", "latency_s = inf ", "latency_s must be a number, not inf"),
        ("stall_probability = 0.041 ", "stall_probability = 1.0 ", "stall_probability must be less than 1"),
        ("stall_shortest_s = 10.0 ", "stall_shortest_s = 200.0 ", "is more than stall_longest_s"),
        ("[storage]", "[disks]", "storage: missing"),
        ('title = "SDSC', "title = 5 #", "title must be text, not 5"),
        ("[interconnect]", "[interconnect", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path / "wrong.toml", old, new)
    with pytest.raises(FormatError) as caught:
        read_cluster(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="not TOML"):
        read_cluster(path)


def test_unknown_names_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"neither a known cluster \(comet, present-day\) nor a file"):
        read_cluster("mars")
    with pytest.raises(FileNotFoundError):
        read_cluster(tmp_path / "none.toml")


def test_numbers_can_be_changed_one_by_one() -> None:
    other = COMET.changed({"interconnect.connect_s": 0.0, "cores_per_node": 12.0, "storage.stall_probability": 0.0})
    assert (other.interconnect.connect_s, other.cores_per_node, other.storage.stall_probability) == (0.0, 12, 0.0)
    assert other.storage.open_s == COMET.storage.open_s
    assert COMET.changed({}) == COMET
    assert table_of(COMET)["storage"]["n_targets"] == COMET.storage.n_targets


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("storage.speed", 1.0, "unknown parameter of a cluster 'storage.speed'; known: cores_per_node"),
        ("title", 1.0, "unknown parameter of a cluster 'title'"),
        ("storage", 1.0, "unknown parameter of a cluster 'storage'"),
        ("disks.open_s", 1.0, "unknown parameter of a cluster 'disks.open_s'"),
        ("storage.open_s", -1.0, "open_s must be more than 0"),
        ("cores_per_node", 2.5, "cores_per_node must be a whole number"),
        ("storage.stall_shortest_s", 1e6, "is more than stall_longest_s"),
    ],
)
def test_impossible_numbers_are_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(MismatchError) as caught:
        COMET.changed({name: value})
    assert message in str(caught.value)
