"""Tests that consumers receive the published frames unchanged and without copies."""

import gc
import os
import threading
from contextlib import nullcontext
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.coordinates.XTC import XTCWriter

import mdreel
from growing_file import N_ATOMS, positions
from mdreel._core import FrameSet
from mdreel.errors import MismatchError, MissedFramesWarning, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from mdreel.trajectory.open import open as open_trajectory
from publishing import BOX, publish

SHORT = 0.1


def take(consumer: Consumer) -> Frame:
    frame = consumer.next(timeout=20)
    assert frame is not None
    return frame


def test_consumers_are_awaited_before_the_first_frame_also_where_there_is_staging(tmp_path: Path) -> None:
    for name, staging in (("run", None), ("staged", Staging(tmp_path / "staging"))):
        with Producer(name, N_ATOMS, staging=staging) as producer, Consumer(name) as consumer:
            producer.await_consumers(1, timeout=20)  # it has asked for nothing yet
            publish(producer, 0)
            assert take(consumer).step == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_frame_comes_as_it_was_published(dtype: str) -> None:
    rng = np.random.default_rng(1)
    given = {name: rng.normal(size=(4, 3)).astype(dtype) for name in ("positions", "velocities", "forces")}
    names = ("potential", "kinetic")
    has = {"velocities": True, "forces": True, "energies": names, "dtype": dtype, "time_step": 0.002, "stride": 5}
    with Producer("run", 4, topology_hash=bytes(range(32)), **has) as producer:
        consumer = Consumer("run").open()
        energies = {"kinetic": 2.0, "potential": -1.0}
        assert producer.publish(step=10, time=0.5, box=BOX, energies=energies, **given) == (0, "ring")
        assert producer.publish(given["positions"], 15, 0.75) == (1, "ring")
        assert (producer.epoch, producer.lag, producer.n_consumers, producer.dropped) == (0, 2, 1, 0)
    first, second = list(consumer)
    assert (first.sequence, first.epoch, first.step, first.time) == (0, 0, 10, 0.5)
    np.testing.assert_array_equal(first.box, BOX)
    np.testing.assert_array_equal(first.energies, [-1, 2])
    for name, values in given.items():
        found = getattr(first, name)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, values)
    assert (second.step, second.box, second.velocities, second.energies, second.types) == (15, None, None, None, None)
    manifest = consumer.manifest
    assert (manifest.n_atoms, manifest.energies, manifest.time_step, manifest.stride) == (4, names, 0.002, 5)
    assert manifest.topology_hash == bytes(range(32))
    assert manifest.sections[0] == ("positions", dtype)
    assert (consumer.end, consumer.missed) == ("finished", 0)


@pytest.mark.parametrize("precision", [1000.0, 50.0])
def test_positions_that_are_compressed_are_those_of_a_file(tmp_path: Path, precision: float) -> None:
    given = [positions(frame) for frame in range(3)]
    staging = Staging(tmp_path / "staging")
    with Producer("run", N_ATOMS, dtype="xtc", precision=precision, velocities=True, staging=staging) as producer:
        consumer = Consumer("run").open()
        for frame, values in enumerate(given):
            producer.publish(values, 10 * frame, 0.5 * frame, BOX, velocities=values)
    found = list(consumer)
    atoms = MDAnalysis.Universe.empty(N_ATOMS, trajectory=True).atoms
    path = tmp_path / "file.xtc"
    with XTCWriter(str(path), N_ATOMS) as file:
        for values in given:
            atoms.positions = values
            file.write(atoms)
    source, indices = open_trajectory(path), np.arange(N_ATOMS, dtype=np.uint32)
    for i, (frame, values) in enumerate(zip(found, given, strict=True)):
        assert frame.positions is not None
        assert np.abs(frame.positions - values).max() <= 5.01 / precision
        if precision == 1000:  # MDAnalysis writes powers of ten
            np.testing.assert_array_equal(frame.positions, source.read(FrameSet.range(i, 1, 1), indices).positions[0])
        np.testing.assert_array_equal(frame.velocities, values)
    live = mdreel.RMSD(atoms).run(source=mdreel.live.channel("run")).results.rmsd  # from staging
    if precision == 1000:
        np.testing.assert_array_equal(live[:, 2], mdreel.RMSD(atoms).run(source=path).results.rmsd[:, 2])


def test_type_of_each_atom_stands_before_its_position() -> None:
    given = positions(3).astype(np.float64) / 3
    with Producer("run", N_ATOMS, dtype="type and float64", forces=True) as producer:
        consumer = Consumer("run").open()
        producer.publish(given, 0, 0.0, types=range(N_ATOMS), forces=given)
        producer.publish(given, 1, 0.0)
        with pytest.raises(MismatchError, match="expected types of shape"):
            producer.publish(given, 2, 0.0, types=[1, 2])
    typed, untyped = list(consumer)
    np.testing.assert_array_equal(typed.types, np.arange(N_ATOMS))
    np.testing.assert_array_equal(untyped.types, 0)
    for values in (typed.positions, typed.forces, untyped.positions):
        np.testing.assert_array_equal(values, given)


def test_atoms_with_types_are_published_as_they_are() -> None:
    atoms = np.zeros(N_ATOMS, [("type", "<i4"), ("position", "<f8", (3,))])
    atoms["type"], atoms["position"] = np.arange(N_ATOMS), np.arange(3.0 * N_ATOMS).reshape(-1, 3) / 7
    with Producer("run", N_ATOMS, dtype="type and float64") as producer:
        producer.publish(atoms, 1, 0.5)
        producer.publish(np.repeat(atoms, 2)[::2], 2, 1.0)
        with pytest.raises(MismatchError, match=rf"expected atoms of shape \({N_ATOMS},\), got \({N_ATOMS - 1},\)"):
            producer.publish(atoms[1:], 3, 1.5)
        with pytest.raises(MismatchError, match="no types, because the atoms"):
            producer.publish(atoms, 3, 1.5, types=np.arange(N_ATOMS))
    with Consumer("run") as consumer:
        for frame in consumer:
            kept = frame.copy()
            for one in (frame, kept):
                assert one.atoms is not None
                assert np.array_equal(one.atoms, atoms)
                assert np.array_equal(one.positions, atoms["position"])
                assert np.array_equal(one.types, atoms["type"])
    with Producer("other", N_ATOMS) as producer, pytest.raises(MismatchError, match="expected positions of shape"):
        producer.publish(atoms, 1, 0.5)


def test_types_and_precisions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="float32, float64, xtc, type and float64"):
        Producer("run", 4, dtype="int8")
    with pytest.raises(MismatchError, match="precision must be a positive number"):
        Producer("run", 4, dtype="xtc", precision=0)
    with Producer("run", 4) as producer, pytest.raises(MismatchError, match="without types"):
        producer.publish(np.zeros((4, 3)), 0, 0.0, types=[1, 2, 3, 4])
    with Producer("other", 12, dtype="xtc") as producer, pytest.raises(MismatchError, match="atom 0"):
        producer.publish(np.full((12, 3), np.nan), 0, 0.0)


@pytest.mark.parametrize(
    "given",
    [
        positions(3).tolist(),
        positions(3).astype(">f4"),
        np.asfortranarray(positions(3)),
        positions(3).astype(np.float64),
        np.repeat(positions(3), 2, axis=0)[::2],
    ],
    ids=["lists", "big endian", "by columns", "float64", "strided"],
)
def test_positions_of_any_kind_are_converted(given: object) -> None:
    with Producer("run", N_ATOMS) as producer:
        producer.publish(given, 0, 0.0)
        np.testing.assert_array_equal(take(Consumer("run").open()).positions, positions(3))


def test_positions_that_fit_are_not_converted() -> None:
    producer = Producer("run", N_ATOMS)
    given = positions(0)
    assert np.shares_memory(producer._encoder.positions(given, 0, 0.0, None)[2], given)
    given.flags.writeable = False
    with producer:
        producer.publish(given, 0, 0.0)


def test_arrays_lie_in_the_ring_and_stay_while_somebody_has_them() -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=SHORT) as producer:
        consumer = Consumer("run").open()
        for frame in range(4):
            publish(producer, frame)
        kept = take(consumer).positions
        assert kept is not None
        assert not kept.flags.owndata
        assert not kept.flags.writeable
        with pytest.raises(StreamTimeoutError, match=r"has not taken|has borrowed"):
            publish(producer, 4)
        row = kept[3]  # an array over an array holds it as well
        del kept
        gc.collect()
        with pytest.raises(StreamTimeoutError):
            publish(producer, 4)
        np.testing.assert_array_equal(row, positions(0)[3])
        del row
        assert publish(producer, 4) == 4
        assert [take(consumer).step for _ in range(4)] == [10, 20, 30, 40]


def test_loop_that_still_has_the_frame_before_goes_on() -> None:
    seen = []

    def simulate() -> None:
        with producer:
            for frame in range(50):
                publish(producer, frame)

    producer = Producer("run", N_ATOMS, n_slots=4).open()
    consumer = Consumer("run", timeout=20).open()
    simulation = threading.Thread(target=simulate)
    simulation.start()
    for frame in consumer:
        array = frame.positions
        np.testing.assert_array_equal(array, positions(frame.sequence))
        seen.append(frame.step)
    simulation.join()
    assert seen == list(range(0, 500, 10))


@pytest.mark.parametrize(
    ("start", "step"),
    [("earliest", 20), (("sequence", 4), 40), (("step", 25), 30), (("time", 2.0), 40), ("latest", 60)],
)
def test_consumer_begins_where_it_was_told(start: str | tuple[str, float], step: int) -> None:
    with Producer("run", N_ATOMS, n_slots=4) as producer:
        for frame in range(6):
            publish(producer, frame)
        consumer = Consumer("run", start=start).open()
        if start == "latest":
            publish(producer, 6)
        is_late = start == "earliest"
        with pytest.warns(MissedFramesWarning, match="2 frames had left") if is_late else nullcontext():
            assert take(consumer).step == step
        assert consumer.missed_at_start == (2 if is_late else 0)


@pytest.mark.parametrize("start", ["soon", ("step", "5"), ("step", 2.5), ("frame", 3), 7])
def test_consumer_refuses_a_start_that_means_nothing(start: object) -> None:
    with pytest.raises(MismatchError, match="start must be one of"):
        Consumer("run", start=start)


def test_full_ring_makes_the_producer_wait_and_its_frame_may_be_published_again() -> None:
    with Producer("run", N_ATOMS, n_slots=4, timeout=SHORT) as producer:
        consumer = Consumer("run").open()
        for frame in range(4):
            publish(producer, frame)
        with pytest.raises(StreamTimeoutError, match=r"no room for frame 4: in 0\.\d s, process .* has not taken"):
            publish(producer, 4)
        assert take(consumer).sequence == 0
        assert publish(producer, 4) == 4
        producer.end()
        assert [frame.step for frame in consumer] == [10, 20, 30, 40]


def test_oldest_frames_are_dropped_where_that_is_allowed_and_counted() -> None:
    with Producer("run", N_ATOMS, n_slots=4, full="drop-oldest") as producer:
        consumer = Consumer("run").open()
        for frame in range(10):
            publish(producer, frame)
        assert take(consumer).step == 60
        assert (producer.dropped, consumer.missed) == (6, 6)


@pytest.mark.parametrize("level", ["file", "fsync"])
def test_frames_are_staged_before_they_are_published(tmp_path: Path, level: str) -> None:
    staging = Staging(tmp_path / "staging", level, n_frames=5, segment_bytes=1000)
    with Producer("run", N_ATOMS, n_slots=4, staging=staging) as producer:
        for frame in range(20):
            assert producer.publish(positions(frame), frame, 0.0) == (frame, level)
    sizes = [path.stat().st_size for path in (tmp_path / "staging").glob("segment-*")]
    assert 0 < sum(sizes) < 20 * 12 * N_ATOMS
    with pytest.raises(UnsupportedError, match="unknown level"):
        Producer("other", N_ATOMS, staging=Staging(tmp_path / "other", "paper")).open()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"positions": np.zeros((3, N_ATOMS))}, r"positions of shape \(20, 3\), got \(3, 20\)"),
        ({"positions": np.zeros((N_ATOMS, 3), complex)}, "positions as numbers, got complex128"),
        ({"positions": np.full((N_ATOMS, 3), "a")}, "positions as numbers"),
        ({"box": [1, 2, 3]}, r"box as vectors of shape \(3, 3\), or .*, got the shape \(3,\)"),
        ({"velocities": np.zeros((N_ATOMS, 3))}, "opened without velocities"),
        ({"forces": np.zeros((N_ATOMS - 1, 3))}, r"forces of shape \(20, 3\), got \(19, 3\)"),
        ({"energies": {"kinetic": 1.0}}, "expected the energies potential, got kinetic"),
        ({"energies": [1.0, 2.0]}, r"energies of shape \(1,\), got \(2,\)"),
    ],
)
def test_frame_that_does_not_fit_is_refused_and_the_next_one_is_not(wrong: dict[str, object], words: str) -> None:
    with Producer("run", N_ATOMS, forces=True, energies=("potential",)) as producer:
        with pytest.raises(MismatchError, match=f"run, step 7: .*{words}"):
            producer.publish(**{"positions": positions(0), "step": 7, "time": 0.0, **wrong})
        assert publish(producer, 0) == 0


@pytest.mark.parametrize(
    "arguments",
    [{"n_atoms": 0}, {"dtype": "int32"}, {"n_slots": 1}, {"topology_hash": b"short"}, {"full": "spill"}],
)
def test_producer_refuses_arguments_that_make_no_sense(arguments: dict[str, object]) -> None:
    with pytest.raises((MismatchError, UnsupportedError)):
        Producer(**{"channel": "run", "n_atoms": 3, **arguments})
    with pytest.raises(UnsupportedError, match="unknown way with a full ring"):
        Producer("run", 3, full="panic").open()


def test_end_is_told_with_the_exception_of_the_simulation() -> None:
    with pytest.raises(ValueError, match="exploded"), Producer("run", N_ATOMS) as producer:
        publish(producer, 0)
        raise ValueError("the box has exploded")
    consumer = Consumer("run").open()
    assert take(consumer).step == 0
    for _ in range(2):
        with pytest.raises(StreamError, match="the simulation has failed: ValueError: the box has exploded"):
            consumer.next()
    assert consumer.end == "failed"
    with pytest.raises(KeyboardInterrupt), Producer("other", N_ATOMS):
        raise KeyboardInterrupt
    other = Consumer("other").open()
    assert list(other) == []
    assert other.end == "stopped"


def test_producer_that_has_ended_publishes_no_more() -> None:
    with Producer("run", N_ATOMS) as producer:
        producer.end()
        producer.end()
        with pytest.raises(MismatchError, match="has left the channel"):
            publish(producer, 0)


def test_channel_may_be_named_by_its_directory(tmp_path: Path) -> None:
    with Producer(tmp_path / "here", N_ATOMS) as producer:
        publish(producer, 3)
        assert take(Consumer(os.fspath(tmp_path / "here")).open()).step == 30
