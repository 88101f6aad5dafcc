"""Tests of the 3-D view: its atoms, its frames, and the picture in a browser."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Browser, why_there_is_none
from mdreel.errors import MismatchError
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from mdreel.live.watch.molecule import Molecule
from mdreel.live.watch.molecule_outline import outline
from watched_page import address_of, eventually, press, text_of

N_ATOMS = 3341
BOX = np.array([[40.0, 0, 0], [5.0, 42.0, 0], [-3.0, 4.0, 44.0]])
pytestmark = pytest.mark.filterwarnings("ignore:No coordinate reader found")
in_browser = pytest.mark.skipif(why_there_is_none() is not None, reason=str(why_there_is_none()))
NUMBER = "return Number(document.querySelector('.stage').dataset.number || 0)"
SHOWN = """
const view = [...cards.values()][0].molecule;
return [view.painted.step, view.model.selectedAtoms({}).map((atom) => [atom.x, atom.y, atom.z])];
"""


def positions_of(frame: int) -> np.ndarray:
    return np.random.default_rng(frame).normal(scale=10, size=(N_ATOMS, 3)).astype(np.float32)


def parsed(answer: bytes) -> tuple[dict[str, Any], np.ndarray]:
    head, _, rest = answer.partition(b"\n")
    return json.loads(head), np.frombuffer(rest, "<f4").reshape(-1, 3)


def test_outline_has_the_atoms_and_the_bonds_of_the_topology(adk: dict[str, Path]) -> None:
    import MDAnalysis

    found = outline(adk["psf"])
    atoms = MDAnalysis.Universe(adk["psf"]).atoms
    assert (found["selection"], found["n_system"], found["n_left"]) == ("all", N_ATOMS, 0)
    assert found["names"] == atoms.names.tolist()
    assert [found["resids"][i] for i in found["residues"]] == atoms.resids.tolist()
    assert [found["resnames"][i] for i in found["residues"]] == atoms.resnames.tolist()
    assert sorted(map(tuple, found["bonds"])) == sorted(map(tuple, atoms.bonds.indices.tolist()))
    assert set(found["elements"]) == {"C", "H", "N", "O", "S"}
    placed = {-1}
    bonded = {frozenset(bond) for bond in found["bonds"]}
    for atom in found["order"]:
        parent = found["parents"][atom]
        assert parent in placed
        assert parent == -1 or frozenset((atom, parent)) in bonded
        placed.add(atom)
    assert len(placed) == N_ATOMS + 1
    assert found["parents"].count(-1) == 1  # one protein


def test_outline_of_a_selection_numbers_its_own_atoms(adk: dict[str, Path]) -> None:
    found = outline(adk["psf"], None, "resid 5 7")
    assert set(found["resids"]) == {5, 7}
    assert len(found["names"]) == len(found["indices"]) == max(found["order"]) + 1
    assert max(max(bond) for bond in found["bonds"]) < len(found["names"])
    assert found["parents"].count(-1) == 2


@pytest.mark.parametrize("selection", ["name XX", "name ("])
def test_selection_that_matches_nothing_is_refused(adk: dict[str, Path], selection: str) -> None:
    with pytest.raises(MismatchError, match="name "):
        Molecule(adk["psf"], None, selection).outline()


def test_topology_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match=r"missing\.psf"):
        Molecule(tmp_path / "missing.psf").outline()


def test_latest_frame_has_the_positions_that_were_published(adk: dict[str, Path], folder: Path) -> None:
    molecule = Molecule(adk["psf"], None, "name CA")
    indices = outline(adk["psf"], None, "name CA")["indices"]
    channel = folder / "run1"
    with Producer("run1", N_ATOMS, n_slots=4) as producer:
        for frame in range(7):
            producer.publish(positions_of(frame), 10 * frame, 0.5 * frame, BOX)
        head, positions = parsed(molecule.frame(channel, 0))
        assert (head["number"], head["step"], head["time"], head["box"]) == (1, 60, 3.0, BOX.ravel().tolist())
        np.testing.assert_array_equal(positions, positions_of(6)[indices])
        again = molecule.frame(channel, 1)
        assert again.endswith(b"\n")
        assert parsed(molecule.frame(channel, 0))[1].shape == (214, 3)  # for another client
        for frame in range(7, 40):  # more than there are slots: nobody waits
            producer.publish(positions_of(frame), 10 * frame, 0.5 * frame, BOX)
        head, positions = parsed(molecule.frame(channel, 1))
        assert head["step"] == 390
        np.testing.assert_array_equal(positions, positions_of(39)[indices])
        assert len(Status.read(channel).consumers) == 1
        molecule.leave_idle()
        assert len(Status.read(channel).consumers) == 1
        molecule._latest[channel].asked_at -= 60.0
        molecule.leave_idle()
        assert len(Status.read(channel).consumers) == 0
    last = head["number"]
    molecule._latest[channel].retry_at = 0.0
    assert parsed(molecule.frame(channel, last))[0]["number"] == last  # the run has ended
    molecule.close()


def test_channel_of_another_system_is_refused(adk: dict[str, Path], folder: Path) -> None:
    molecule = Molecule(adk["psf"])
    with Producer("run1", 20, n_slots=4) as producer:
        producer.publish(np.zeros((20, 3), np.float32), 0, 0.0)
        with pytest.raises(MismatchError, match="the topology has 3,341 atoms, the channel 20"):
            molecule.frame(folder / "run1", 0)
        assert len(Status.read("run1").consumers) == 0


@in_browser
def test_picture_shows_the_frame_of_the_simulation(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], tmp_path: Path
) -> None:
    import MDAnalysis

    running("produce", *[adk["dcd"]] * 50, "--channel", "run1", "--rate", "5", "-q")
    browser.visit(address_of(running("watch", "--web", "--interval", "0.3", "-s", adk["psf"])), 1280)
    press(browser, "Show the 3-D view")
    eventually(browser, NUMBER, lambda number: number > 2)
    step, shown = browser.run(SHOWN)
    universe = MDAnalysis.Universe(adk["psf"], adk["dcd"])
    # Of the frames of the trajectory, this one is the closest to the picture, and equal to it.
    far = [np.abs(one.positions - np.array(shown)).max() for one in universe.trajectory]
    assert min(far) < 2e-3, step
    for style in ("sticks", "spheres", "lines", "cartoon"):
        browser.run(
            """
        const select = document.querySelector(".molecule select");
        select.value = arguments[0];
        select.dispatchEvent(new Event("change"));
        """,
            style,
        )
        inked = eventually(
            browser,
            """
        const view = [...cards.values()][0].molecule;
        const canvas = document.querySelector(".stage canvas");
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext("2d");
        view.viewer.render();
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        let n = 0;
        for (let i = 0; i < data.length; i += 4) n += Math.abs(data[i] - data[0]) + Math.abs(data[i + 1] - data[1]) > 9;
        return n / (data.length / 4);
        """,
            lambda share: share > 0.002,
        )
        assert inked < 0.9
        browser.picture(tmp_path / f"{style}.png")
    # The driver of the graphics card remarks that the test reads pixels.
    assert [one for one in browser.log() if "GPU stall" not in one["message"]] == []
    requests = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert {name.split("/")[2] for name in requests} == {browser.run("return location.host")}
    browser.resize(400)
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    eventually(browser, widths, lambda found: found[0] <= found[1] == 400)


@in_browser
def test_molecule_that_crosses_the_cell_is_shown_whole(
    browser: Browser, running: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    chain = np.cumsum(rng.normal(scale=0.8, size=(30, 3)), axis=0)  # a chain without jumps
    inverse = np.linalg.inv(BOX)
    wrapped = chain - np.floor(chain @ inverse) @ BOX
    assert np.abs(np.diff(wrapped, axis=0)).max() > 20
    lines = [f"ATOM  {i + 1:5d}  C   MOL A{1:4d}    {0.0:8.3f}{0.0:8.3f}{0.0:8.3f}" for i in range(30)]
    bonds = [f"CONECT{i + 1:5d}{i + 2:5d}" for i in range(29)]
    (tmp_path / "chain.pdb").write_text("\n".join([*lines, *bonds, "END"]) + "\n")
    with Producer("run1", 30, n_slots=4) as producer:
        producer.publish(wrapped.astype(np.float32), 0, 0.0, BOX)
        browser.visit(address_of(running("watch", "--web", "--interval", "0.3", "-s", tmp_path / "chain.pdb")))
        press(browser, "Show the 3-D view")
        eventually(browser, NUMBER, lambda number: number == 1)
        _, shown = browser.run(SHOWN)
    np.testing.assert_allclose(np.diff(np.array(shown), axis=0), np.diff(chain, axis=0), atol=5e-3)


@in_browser
def test_page_says_why_there_is_no_view(
    browser: Browser, running: Callable[..., Any], adk: dict[str, Path], folder: Path
) -> None:
    with Producer("run1", 20, n_slots=4) as producer:
        producer.publish(np.zeros((20, 3), np.float32), 0, 0.0)
        browser.visit(address_of(running("watch", "--web", "--interval", "0.3", "-s", adk["psf"])))
        press(browser, "Show the 3-D view")
        eventually(browser, "return document.body.innerText", lambda text: "3,341 atoms, the channel 20" in text)
        assert "Show the 3-D view" not in text_of(browser)
