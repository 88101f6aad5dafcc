"""What goes from one process to another arrives as it was."""

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

from mdreel._core import FrameSet, Part, Pass, plan, rmsd
from mdreel.execution.executors.local.pipe import Pipe
from mdreel.execution.executors.pickle_buffers import from_pieces, in_pieces
from mdreel.execution.job import Job
from mdreel.trajectory.open import open as open_trajectory

KERNEL = Pass.of(rmsd(np.random.default_rng(1).random((100, 3)), None, True))


@pytest.fixture
def part(adk_xtc: Path) -> Part:
    source = open_trajectory(str(adk_xtc), index="none")
    atoms = np.arange(100, dtype=np.uint32)
    job = Job(source, atoms, KERNEL)
    blocks = plan(source, FrameSet.range(0, 1, source.n_frames), 4, 1)
    return job.map(blocks, 1, 3)


def test_what_is_said_is_heard_with_its_arrays() -> None:
    ours, theirs = Pipe.pair()
    said = [("a", 1), {"large": np.arange(3_000_000.0), "small": np.arange(3, dtype=np.uint8)}, np.empty((0, 3))]
    with ours, theirs:
        assert not theirs.has_message()
        speaker = threading.Thread(target=lambda: [ours.send(what) for what in said])
        speaker.start()
        heard = [theirs.receive() for _ in said]
        speaker.join()
    assert heard[0] == said[0]
    assert heard[1]["large"].tobytes() == said[1]["large"].tobytes()
    assert heard[1]["small"].tolist() == [0, 1, 2]
    assert heard[2].shape == (0, 3)


def test_who_hangs_up_is_noticed_by_both_ends() -> None:
    ours, theirs = Pipe.pair()
    ours.close()
    with theirs:
        assert theirs.has_message()
        with pytest.raises(EOFError):
            theirs.receive()
        with pytest.raises(OSError):
            theirs.send("anybody?")


def test_error_of_what_is_understood_is_not_taken_for_the_end() -> None:
    ours, theirs = Pipe.pair()
    with ours, theirs:
        ours.send(Path("/nowhere"))
        ours.send(_Missing())
        assert theirs.receive() == Path("/nowhere")
        with pytest.raises(FileNotFoundError):
            theirs.receive()


class _Missing:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return open, ("/nowhere",)


@pytest.mark.parametrize("shift", [0, 1, 8])
def test_part_is_the_same_wherever_its_rows_arrive(part: Part, shift: int) -> None:
    content, *arrays = in_pieces(part)
    assert arrays, "rows are sent from where they are"
    moved = []
    for array in arrays:
        memory = np.empty(len(array) + shift, np.uint8)
        memory[shift:] = array
        moved.append(memory[shift:])
    came = from_pieces([content, *moved])
    assert (came.first, came.end, came.n_frames) == (part.first, part.end, part.n_frames)
    assert came.to_bytes() == part.to_bytes()
    whole = Part.empty(part.first, KERNEL)
    whole.merge(from_pieces([content, *moved]))
    assert whole.to_bytes() == part.to_bytes()
    assert pickle.loads(pickle.dumps(part, protocol=2)).to_bytes() == part.to_bytes()


def test_rows_that_are_none_are_refused(part: Part) -> None:
    wrong = Part.of(Part.empty(part.end, KERNEL).to_bytes(), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="4 columns, expected 3"):
        part.merge(wrong)
