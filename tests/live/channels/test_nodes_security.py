"""Tests of the authentication between servers and relays."""

import subprocess
from pathlib import Path

import pytest

from mdreel.errors import MismatchError, StreamTimeoutError
from mdreel.live.channels.status import Status
from mdreel.live.nodes import Relay, Security, Server
from mdreel.live.producers.producer import Producer

pytest.importorskip("zenoh")

N_ATOMS = 50
LONG = 30.0


def publish(producer: Producer, frames: range) -> None:
    for frame in frames:
        producer.publish([[float(frame)] * 3] * N_ATOMS, frame, 0.5 * frame)


@pytest.mark.parametrize("place", ["0.0.0.0", "[::]"])
def test_nobody_listens_everywhere_or_to_everybody_unasked(place: str) -> None:
    with pytest.raises(MismatchError, match="all interfaces"):
        Server("run", f"tcp/{place}:7447", without_authentication=True)
    with pytest.raises(MismatchError, match="anyone who can reach this address"):
        Server("run", f"tcp/{place}:7447", all_interfaces=True)
    with pytest.raises(MismatchError, match="anyone who can reach this address"):
        Server("run", "tcp/10.1.2.3:7447")
    Server("run", f"tcp/{place}:7447", all_interfaces=True, without_authentication=True)


@pytest.mark.parametrize("wrong", ["", "10.0.0.1:7447", "udp/10.0.0.1:7447", "tcp/10.0.0.1", "tcp/a:0", "tcp/a:1#b=c"])
def test_addresses_that_are_none_are_refused(wrong: str) -> None:
    for made in (lambda: Server("run", wrong), lambda: Relay(wrong, "run")):
        with pytest.raises(MismatchError, match="expected an address"):
            made()


def secret(path: Path, text: str) -> Path:
    path.touch(0o600)
    path.write_text(text)
    return path


def test_token_lets_in_who_has_it_and_nobody_else(endpoint: str, tmp_path: Path) -> None:
    right, wrong = secret(tmp_path / "right", "r" * 32), secret(tmp_path / "wrong", "w" * 32)
    producer = Producer("run", N_ATOMS).open()
    with Server("run", endpoint, Security(right)):
        for security in (Security(wrong), Security()):
            with pytest.raises(StreamTimeoutError, match="refuses the token"):
                Relay(endpoint, "run", "there", security).start()
        with Relay(endpoint, "run", "there", Security(right)) as relay:
            publish(producer, range(2))
            producer.end()
            relay.wait(LONG)
    assert Status.read("there").n_published == 2
    right.chmod(0o640)
    with pytest.raises(PermissionError, match="expected no rights for others, got mode 640"):
        Server("run", endpoint, Security(right))
    with pytest.raises(MismatchError, match="16 or more printable"):
        Server("run", endpoint, Security(secret(tmp_path / "short", "short"))).open()


def certificates(folder: Path, authority: str, name: str) -> Security:
    """Create a certificate for 127.0.0.1, and its authority if necessary."""

    def openssl(*words: object) -> None:
        subprocess.run(["openssl", *map(str, words)], cwd=folder, check=True, capture_output=True)

    def key(path: str) -> None:
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
        (folder / path).chmod(0o600)

    if not (folder / f"{authority}.pem").exists():
        key(f"{authority}.key")
        subject = ("-subj", f"/CN={authority}", "-days", "2", "-out", f"{authority}.pem")
        openssl("req", "-x509", "-new", "-key", f"{authority}.key", *subject)
    key(f"{name}.key")
    openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr")
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    by = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", f"{name}.csr", *by, "-extfile", "extensions", "-out", f"{name}.pem")
    return Security(None, folder / f"{name}.pem", folder / f"{name}.key", folder / f"{authority}.pem")


def test_certificates_let_in_those_of_the_same_authority_and_nobody_else(endpoint: str, tmp_path: Path) -> None:
    endpoint = endpoint.replace("tcp", "tls")
    here, there = certificates(tmp_path, "ours", "here"), certificates(tmp_path, "ours", "there")
    theirs = certificates(tmp_path, "theirs", "stranger")
    stranger = Security(None, theirs.certificate, theirs.key, here.authority)  # believes us, but is not believed
    producer = Producer("run", N_ATOMS).open()
    with Server("run", endpoint, here):
        for security in (stranger, theirs):
            with pytest.raises(StreamTimeoutError, match="or certificate"):
                Relay(endpoint, "run", "there", security).start()
        with Relay(endpoint, "run", "there", there) as relay:
            publish(producer, range(2))
            producer.end()
            relay.wait(LONG)
    assert Status.read("there").n_published == 2
    for wrong in (Security(None, here.certificate), Security()):
        with pytest.raises(MismatchError, match=r"TLS requires|certificates require"):
            Server("run", endpoint, wrong, without_authentication=True)
