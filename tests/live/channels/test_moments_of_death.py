"""Tests of producers, consumers and group members that die before, during and after a frame or a commit.

Within: a process dies by a signal that it causes there. Positions in a file that has been cut off end it (SIGBUS) while
they are copied into the ring; a limit on the size of files ends it (SIGXFSZ) when half of a record or of a commit is
written.
"""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mdreel.errors import MismatchError, StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.staging import Staging
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from publishing import said

N_ATOMS = 2000  # several pages
SECONDS = 60.0  # more than a busy machine needs
FATAL = "import os, resource, signal, sys\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
LIMIT = """
def limit(n_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
"""

PRODUCER = """
import numpy as np
from pathlib import Path
from mdreel.live.producers.producer import Producer
from mdreel.live.channels.staging import Staging
moment, staging, source = sys.argv[1:]
producer = Producer("run", 2000, n_slots=4, timeout=60, staging=Staging(staging) if staging else None).open()
for frame in range(3):
    producer.publish(np.full((2000, 3), frame, np.float32), 10 * frame, 0.0)
producer.await_consumers(1, 60)
last = np.full((2000, 3), 3, np.float32)
if moment == "ring":
    last.tofile(source)
    last = np.memmap(source, np.float32, "r", shape=(2000, 3))
    os.truncate(source, 8192)
if moment == "staging":
    limit(sum(path.stat().st_size for path in Path(staging).glob("segment-*")) + 10_000)
if moment != "before":
    producer.publish(last, 30, 0.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def started(code: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-u", "-c", FATAL + LIMIT + code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def published(frame: Frame | None) -> int:
    """Check the contents of a frame and return its number in the simulation."""
    assert frame is not None
    number = frame.step // 10
    np.testing.assert_array_equal(frame.positions, np.full((N_ATOMS, 3), number, np.float32))
    return number


@pytest.mark.parametrize(
    ("moment", "level", "death", "n_seen"),
    [
        ("before", "ring", signal.SIGKILL, 3),
        ("before", "file", signal.SIGKILL, 3),
        ("ring", "ring", signal.SIGBUS, 3),
        ("ring", "file", signal.SIGBUS, 3),
        ("staging", "file", signal.SIGXFSZ, 3),
        ("after", "ring", signal.SIGKILL, 4),
        ("after", "file", signal.SIGKILL, 4),
    ],
)
def test_producer_that_dies_before_within_or_after_a_frame_leaves_it_whole_or_not_at_all(
    tmp_path: Path, moment: str, level: str, death: signal.Signals, n_seen: int
) -> None:
    place = tmp_path / "staging" if level == "file" else None
    with started(PRODUCER, moment, place or "", tmp_path / "source") as process:
        consumer = Consumer("run", timeout=SECONDS, wait=SECONDS).open()
        assert [published(consumer.next()) for _ in range(n_seen)] == list(range(n_seen))
        with pytest.raises(StreamError, match=r"the producer was lost: process \d+ \(.+\) on \S+ has died"):
            consumer.next()
        assert process.wait(SECONDS) == -death
    staging = Staging(place) if place else None
    with Producer("run", N_ATOMS, n_slots=4, timeout=SECONDS, resume_step=30, staging=staging) as producer:
        for frame in (3, 4):
            producer.publish(np.full((N_ATOMS, 3), frame, np.float32), 10 * frame, 0.0)
    assert [published(frame) for frame in consumer] == list(range(n_seen, 5))
    assert consumer.missed == 0
    if place:
        assert [published(frame) for frame in Consumer("run", timeout=SECONDS).open()] == list(range(5))


CONSUMER = """
from mdreel.live.channels.consumer import Consumer
consumer = Consumer("run", wait=60, timeout=60).open()
if sys.argv[1] != "before":
    frame = consumer.next()
    assert frame.positions[0, 0] == 0
if sys.argv[1] == "after":
    frame = consumer.next()
    del frame
print("there")
sys.stdin.read()
"""


@pytest.mark.parametrize("full", ["block", "drop-oldest"])
@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_consumer_that_is_killed_before_within_or_after_a_frame_does_not_stop_the_producer(
    moment: str, full: str
) -> None:
    with (
        Producer("run", N_ATOMS, n_slots=4, timeout=SECONDS, full=full) as producer,
        Consumer("run", timeout=SECONDS) as other,
    ):
        for frame in range(2):
            producer.publish(np.full((N_ATOMS, 3), frame, np.float32), 10 * frame, 0.0)
        with started(CONSUMER, moment) as process:
            assert said(process) == "there"
            process.kill()
        seen = []
        for frame in range(2, 12):
            seen.append(published(other.next()))
            producer.publish(np.full((N_ATOMS, 3), frame, np.float32), 10 * frame, 0.0)
        assert (seen, other.missed, producer.n_consumers) == (list(range(10)), 0, 1)


MEMBER = """
from mdreel.live.channels.consumer import Consumer
member = Consumer("run", group="sum", timeout=60).open()
for _ in range(2):
    for _ in range(2):
        frame = member.next()
    if frame.step == 10:
        member.commit(b"two")
if sys.argv[1] == "within":
    limit(20)
if sys.argv[1] != "before":
    member.commit(b"four")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("level", ["ring", "file"])
@pytest.mark.parametrize(
    ("moment", "death", "committed"),
    [
        ("before", signal.SIGKILL, b"two"),
        ("within", signal.SIGXFSZ, b"two"),
        ("after", signal.SIGKILL, b"four"),
    ],
)
def test_member_that_dies_before_within_or_after_a_commit_has_that_or_the_one_before(
    tmp_path: Path, level: str, moment: str, death: signal.Signals, committed: bytes
) -> None:
    staging = Staging(tmp_path / "staging") if level == "file" else None
    with Producer("run", N_ATOMS, n_slots=8, staging=staging) as producer:
        for frame in range(6):
            producer.publish(np.full((N_ATOMS, 3), frame, np.float32), 10 * frame, 0.0)
    with started(MEMBER, moment) as process:
        assert process.wait(SECONDS) == -death
    with Consumer("run", group="sum", timeout=SECONDS) as member:
        assert member.committed == committed
        first = {b"two": 2, b"four": 4}[committed]
        assert [published(frame) for frame in member] == list(range(first, 6))
        member.commit(b"all")


DIES = """
import os, signal, sys
import numpy as np
from mdreel.live import Producer
with Producer("run", int(sys.argv[1]), n_slots=4) as producer:
    for frame in range(int(sys.argv[2])):
        producer.publish(np.zeros((int(sys.argv[1]), 3), np.float32), frame, 0.0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("n_published", [0, 1])
def test_run_that_died_before_its_first_frame_can_be_started_again(n_published: int) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(N_ATOMS), str(n_published)], check=False, timeout=SECONDS)
    if n_published:
        with pytest.raises(MismatchError, match=r"died after 1 frame; set .*\(mdreel channels \S*run --remove\)"):
            Producer("run", N_ATOMS, n_slots=4).open()
        return
    with Producer("run", N_ATOMS, n_slots=4) as producer:
        producer.publish(np.zeros((N_ATOMS, 3), np.float32), 0, 0.0)
        assert Status.read(producer.path).n_published == 1
