"""Tests of requests to a producer."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import pytest

import mdreel
from growing_file import N_ATOMS
from mdreel.errors import StreamError, StreamTimeoutError
from mdreel.live.channels.requests import FOLDER, Answer, Request, send_request
from publishing import publish

LONGEST_SECONDS = 60.0


@pytest.fixture
def asking() -> ThreadPoolExecutor:
    with ThreadPoolExecutor() as threads:
        yield threads


def taken(producer: mdreel.live.Producer) -> list[Request]:
    """Poll for requests until there are some."""
    until = monotonic() + LONGEST_SECONDS
    while monotonic() < until:
        if found := producer.requests():
            return found
        sleep(0.001)
    raise AssertionError("no request came")


def begun(channel: Path, n_requests: int) -> None:
    """Wait until a number of request files exist."""
    until = monotonic() + LONGEST_SECONDS
    while len(list((channel / FOLDER).glob("*.request"))) < n_requests:
        assert monotonic() < until
        sleep(0.001)


def left(channel: Path) -> list[str]:
    return sorted(path.name for path in (channel / FOLDER).iterdir())


def test_request_is_answered_once_and_leaves_nothing(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        publish(producer, 0)
        assert producer.requests() == []
        said: Future[Answer] = asking.submit(send_request, producer.path, "change-stride", {"stride": 7})
        (request,) = taken(producer)
        assert (request.kind, request.arguments) == ("change-stride", {"stride": 7})
        assert producer.requests() == []
        request.answer("done so", step=12)
        assert said.result(LONGEST_SECONDS) == Answer("done so", {"step": 12})
        assert left(producer.path) == []


def test_requests_come_in_the_order_of_asking(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        asked = []
        for number in range(5):
            asked.append(asking.submit(send_request, producer.path, f"kind {number}"))
            begun(producer.path, number + 1)
        requests = producer.requests()
        assert [request.kind for request in requests] == [f"kind {number}" for number in range(5)]
        for request in requests:
            request.answer(request.kind.upper())
        assert [one.result(LONGEST_SECONDS).message for one in asked] == [f"KIND {number}" for number in range(5)]


def test_refusal_is_an_error_with_its_reason(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        said = asking.submit(send_request, producer.path, "dance")
        taken(producer)[0].refuse("never learnt it")
        with pytest.raises(StreamError, match="the simulation refused the request: never learnt it"):
            said.result(LONGEST_SECONDS)
        assert left(producer.path) == []


def test_request_that_nobody_looks_at_is_withdrawn(tmp_path: Path) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        with pytest.raises(
            StreamTimeoutError, match=r"has not answered within 0\.05 s: it has not claimed the request"
        ):
            send_request(producer.path, "stop", timeout=0.05)
        assert left(producer.path) == []
        assert producer.requests() == []
        with pytest.raises(StreamError, match="the request was cancelled"):
            send_request(producer.path, "stop", is_cancelled=lambda: True)
        assert producer.requests() == []


def test_request_that_is_being_written_is_not_taken(
    tmp_path: Path, asking: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        seen: list[list[Request]] = []
        rename = Path.rename

        def late(path: Path, target: Path) -> Path:
            if target.suffix == ".request":  # the moment at which all is written and nothing is there
                seen.append(producer.requests())
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", late)
        said = asking.submit(send_request, producer.path, "stop")
        (request,) = taken(producer)
        request.answer("stopped")
        assert said.result(LONGEST_SECONDS).message == "stopped"
        assert seen == [[]]


def test_request_that_was_taken_is_said_to_have_begun(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        said = asking.submit(send_request, producer.path, "stop", timeout=0.5)
        taken(producer)
        with pytest.raises(StreamTimeoutError, match="it has claimed the request"):
            said.result(LONGEST_SECONDS)


@pytest.mark.parametrize("how", ["finished", "stopped", "failed"])
def test_request_to_a_simulation_that_ends_is_void(tmp_path: Path, asking: ThreadPoolExecutor, how: str) -> None:
    producer = mdreel.live.Producer(tmp_path / "run1", N_ATOMS).open()
    said = asking.submit(send_request, producer.path, "stop")
    begun(producer.path, 1)
    producer.end(how, "for a reason")
    with pytest.raises(StreamError, match=rf"the simulation ended \({how}\) before it answered"):
        said.result(LONGEST_SECONDS)
    assert left(producer.path) == []


def test_answer_before_the_end_counts(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        said = asking.submit(send_request, producer.path, "stop")
        taken(producer)[0].answer("stopped", checkpoint="here")
        producer.end("stopped")
        assert said.result(LONGEST_SECONDS).facts == {"checkpoint": "here"}


def test_request_to_a_producer_before_is_not_for_the_next(tmp_path: Path, asking: ThreadPoolExecutor) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        publish(producer, 0)
        folder = producer.path / FOLDER
        folder.mkdir()
        stale = {"kind": "stop", "arguments": {}, "epoch": producer.epoch}
    (folder / "1.request").write_text(json.dumps(stale))
    (folder / "0.taken").write_text("{}")
    (folder / "0.answer").write_text("{}")
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        assert producer.requests() == []
        assert left(producer.path) == ["1.answer"]
        assert "an earlier simulation" in (folder / "1.answer").read_text()


@pytest.mark.parametrize("content", ["", "[]", "{", "\0"])
def test_file_that_is_no_request_does_not_end_a_simulation(tmp_path: Path, content: str) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        (producer.path / FOLDER).mkdir()
        (producer.path / FOLDER / "1.request").write_text(content)
        assert producer.requests() == []
        assert "invalid request" in (producer.path / FOLDER / "1.answer").read_text()


def test_channel_with_requests_and_an_audit_log_is_read_listed_and_removed(tmp_path: Path) -> None:
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:
        with pytest.raises(StreamTimeoutError):
            send_request(producer.path, "stop", timeout=0.0)
        (producer.path / "steering.jsonl").write_text("{}\n")
        publish(producer, 0)
    with mdreel.live.Producer(tmp_path / "run1", N_ATOMS) as producer:  # opened again beside them
        publish(producer, 1)
    with mdreel.live.Consumer(tmp_path / "run1") as frames:
        assert [frame.step for frame in frames] == [10]
    mdreel.live.channel(tmp_path / "run1").remove()
    assert not (tmp_path / "run1").exists()
