"""Tests of access to data that was not read, from user analyses."""

import ast
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.coordinates.base import ProtoReader
from MDAnalysis.coordinates.memory import MemoryReader
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.core import selection as selection_module
from MDAnalysis.core.selection import _SELECTIONDICT

import mdreel
from mdreel.errors import UnsupportedError
from peptide_system import peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore")
BACKENDS: list[dict[str, Any]] = [
    {"backend": "serial"},
    {"n_workers": 2},
    {"backend": "processes", "n_workers": 2},
]
N_FRAMES = 3
READ = slice(0, 120, 2)
Look = Callable[[Any], Any]

TURN = np.array([[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]], float)
# What members of groups are called with, where they need something.
CALLS: dict[str, Look] = {
    "accumulate": lambda g: g.accumulate("masses"),
    "align_principal_axis": lambda g: g.align_principal_axis(0, [0, 0, 1]),
    "center": lambda g: g.center(g.masses),
    "convert_to": lambda g: g.positions,  # to other packages, which get positions
    "get_connections": lambda g: g.get_connections("bonds"),
    "groupby": lambda g: [chosen for _, chosen in sorted(g.groupby("resnames").items())],
    "guess_bonds": lambda g: g.positions,  # of which it guesses; it changes the topology
    "rotate": lambda g: g.rotate(TURN[:, :3]),
    "rotateby": lambda g: g.rotateby(30, [0, 0, 1]),
    "select_atoms": lambda g: g.select_atoms("name CA"),
    "split": lambda g: g.split("residue"),
    "sort": lambda g: g.sort("masses"),
    "transform": lambda g: g.transform(np.vstack([TURN, [0, 0, 0, 1]])),
    "translate": lambda g: g.translate([1, 2, 3]),
}
OF_TWO = ["concatenate", "difference", "intersection", "is_strict_subset", "is_strict_superset", "isdisjoint"]
OF_TWO += ["issubset", "issuperset", "subtract", "symmetric_difference", "union"]


def _with_some(name: str) -> Look:
    return lambda g: getattr(g, name)(g[::3])


CALLS |= {name: _with_some(name) for name in OF_TWO}
# The same members, in ways that look at cells, compounds and bonds.
MORE: dict[str, Look] = {
    "wrapped": lambda g: g.center_of_mass(wrap=True),
    "unwrapped": lambda g: g.center_of_geometry(unwrap=True, compound="residues"),
    "of residues": lambda g: g.radius_of_gyration(wrap=True),
    "by fragments": lambda g: g.wrap(compound="fragments"),
    "bonds": lambda g: g.bonds.values(pbc=True),
    "angles": lambda g: g.angles.values(pbc=True),
    "dihedrals": lambda g: g.dihedrals.values(pbc=True),
    "a bond": lambda g: g.bonds[0].length(pbc=True),
    "an atom": lambda g: g[1].position,
    "velocity of an atom": lambda g: g[1].velocity,
    "force on an atom": lambda g: g[1].force,
    "a residue": lambda g: g.residues.center_of_mass(),
    "distances": lambda g: MDAnalysis.lib.distances.self_distance_array(g, box=g.dimensions),
    "capped": lambda g: MDAnalysis.lib.distances.capped_distance(g, g[:5], 4, box=g.dimensions)[1],
    "merged": lambda g: MDAnalysis.Merge(g).atoms.positions,
    "a chosen moment": lambda g: g.universe.trajectory[int(g.universe.trajectory.ts.frame)].positions[g.ix],
}


def _written(group: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        group.write(f"{folder}/a.gro")
        return Path(folder, "a.gro").read_text()


CALLS["write"] = _written
# Geometric selections, and all others: for each keyword at least one.
GEOMETRIC = {
    "around": ["around 5 resid 3", "name CA and around 5 resid 10", "global around 4 name O"],
    "sphlayer": ["sphlayer 3 9 resid 4"],
    "isolayer": ["isolayer 2 6 resid 4"],
    "sphzone": ["sphzone 7 resid 4", "byres sphzone 4 name CA"],
    "cyzone": ["cyzone 8 5 -5 resid 4"],
    "cylayer": ["cylayer 2 9 5 -5 resid 4"],
    "point": ["point 5 5 5 12"],
    "prop": ["prop x > 4", "prop abs z <= 5.0"],
    "same": ["same x as name CA"],
}
STATIC = {
    "prop": ["prop mass > 5"],
    "same": ["same residue as name CA", "same fragment as resid 2"],
    "and": ["resid 2 and name CA"],
    "or": ["resid 2 or name CA"],
    "not": ["not name CA"],
    "group": ["group given"],
    "bonded": ["bonded name CA"],
    "atom": ["atom 4AKE 3 CA"],
    "byres": ["byres name OG"],
    "bynum": ["bynum 3:9"],
    "resid": ["resid 3:5"],
    "name": ["name CA CB"],
    "resname": ["resname LYS"],
}


def _plain(value: Any) -> Any:
    """Return a message without the name of the Universe."""
    if type(value).__module__.startswith("mdreel.analysis") and not isinstance(value, Timestep | ProtoReader):
        return _plain(value[...])  # stands for numbers, and raises where they are looked at
    if isinstance(value, Timestep):
        return value.frame, value.time, _plain(value.dimensions), np.array(value.positions)
    if isinstance(value, type):
        return value.__name__
    if hasattr(value, "universe"):
        return ("atoms", *np.ravel(value.indices if hasattr(value, "indices") else value.ix).tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return np.array(value) if isinstance(value, np.ndarray) else value


def _looked(look: Look, at: Any, group: Any, frame: int | None = None) -> Any:
    """Return the value of an access and the positions of the group after it, or the error that the access raises."""
    before = group.positions
    try:
        found = _plain(look(at))
        after = group.positions
    except Exception as error:  # noqa: BLE001 (whatever it is)
        return error
    finally:
        if frame is not None:
            group.universe.trajectory[frame]  # MDAnalysis may have been moved on
        group.positions = before
    if np.array_equal(before, after):
        return "said", found
    return "moved", found, after


def _members(kind: Any) -> dict[str, Look]:
    """Return functions that access all public members of an object."""

    def look(name: str) -> Look:
        def at(owner: Any) -> Any:
            member = getattr(owner, name)
            return member() if callable(member) else member

        return at

    return {name: CALLS.get(name, look(name)) for name in dir(kind) if not name.startswith("_")}


class Looks(mdreel.AnalysisBase):
    """An analysis that accesses all members in each frame, for atoms that were read and for other atoms."""

    def __init__(self, universe: MDAnalysis.Universe, **options: Any) -> None:
        super().__init__(universe.atoms[READ], **options)

    def _prepare(self) -> None:
        self.results.seen = []

    def _single_frame(self) -> None:
        self.results.seen.append(seen_of(self.atomgroup))


def seen_of(read: Any, frame: int | None = None) -> dict[tuple[str, str], Any]:
    universe, found = read.universe, {}
    for kind, group in (("read", read), ("partly", universe.atoms[:60]), ("other", universe.atoms[1:120:2])):
        for name, look in (_members(read) | MORE).items():
            found[kind, name] = _looked(look, group, read, frame)
        for name in {*_members(universe.atoms[0])} - {*_members(read)}:
            found[kind, f"an atom's {name}"] = _looked(_members(universe.atoms[0])[name], group[0], read, frame)
    for kind, at in (("timestep", universe.trajectory.ts), ("universe", universe), ("trajectory", universe.trajectory)):
        for name in TOLD[kind]:
            found[kind, name] = _looked(_members(at).get(name, lambda _, name=name: getattr(_, name)), at, read, frame)
    return found


def _told(universe: MDAnalysis.Universe) -> dict[str, list[str]]:
    # What changes the topology or the trajectory, or is about a file and not about a frame.
    changing = (
        "add_",
        "del",
        "guess_",
        "from_",
        "load_new",
        "empty",
        "set_groups",
        "models",
        "kwargs",
        "filename",
        "trajectory",
    )
    of_file = ("Writer", "OtherWriter", "close", "convert_", "format", "parse_", "units", "get_array", "set_array")
    of_reader = ("stored_", "coordinate_array", "velocity_array", "force_array", "dimensions_array", "add", "iter_")
    of_aux = (
        "aux",
        "next_as",
        "get_aux",
        "set_aux",
        "rename",
        "remove",
        "check_slice",
        "transformations",
        "trajectory",
    )
    left = {
        "universe": changing,
        "trajectory": (*of_file, *of_reader, *of_aux, "filename", "copy"),
        "timestep": ("from_",),
    }
    each = {"timestep": universe.trajectory.ts, "universe": universe, "trajectory": universe.trajectory}
    more = {"timestep": ["_pos", "_x", "_y", "_z", "_velocities", "_forces"], "universe": [], "trajectory": []}
    return {
        kind: [*more[kind], *(n for n in dir(at) if not n.startswith(("_", *left[kind])) and n != "ts")]
        for kind, at in each.items()
    }


def system(folder: Path | None = None, *, is_moving: bool = False) -> MDAnalysis.Universe:
    """Return a peptide in a changing triclinic cell, in memory or in a file, optionally with velocities and forces."""
    universe, rng = peptide(), np.random.default_rng(1)
    positions = peptide_positions()[10 : 10 + N_FRAMES].copy()
    cells = np.array([[50 + i, 55, 60, 80, 75 + i, 70] for i in range(N_FRAMES)], np.float32)
    moving = rng.normal(size=positions.shape).astype(np.float32)
    more = {"velocities": moving, "forces": moving} if is_moving else {}
    universe.load_new(positions, format=MemoryReader, dimensions=cells, dt=2.5, **more)
    if folder is None:
        return universe
    universe.atoms.write(folder / "frames.trr", frames="all")
    universe.load_new(str(folder / "frames.trr"))
    return universe


TOLD = _told(system())


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_agree(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray) or isinstance(one, float):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype.kind in "fiub" and other.dtype.kind in "fiub":
            return one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-4, equal_nan=True)
        return one.shape == other.shape and bool((one == other).all())
    return bool(one == other)


@pytest.mark.parametrize("has_more", [False, True], ids=["positions", "velocities"])
@pytest.mark.parametrize("options", BACKENDS, ids=lambda options: options.get("backend", "threads"))
def test_all_that_mdanalysis_tells_of_a_frame_is_right_or_raises(
    tmp_path: Path, options: dict[str, Any], has_more: bool
) -> None:
    universe = system(tmp_path, is_moving=has_more)
    found = Looks(universe).run(n_parts=2, **options).results.seen
    expected = [seen_of(universe.atoms[READ], universe.trajectory[i].frame) for i in range(N_FRAMES)]
    wrong, refused = [], set()
    for own, theirs in zip(found, expected, strict=True):
        assert own.keys() == theirs.keys()
        for what, seen in own.items():
            if isinstance(seen, Exception):
                refused.add(what)
            elif isinstance(theirs[what], Exception) or not _agree(seen, theirs[what]):
                wrong.append((what, seen, theirs[what]))
    assert not wrong
    assert {
        ("partly", "positions"),
        ("other", "center_of_mass"),
        ("timestep", "positions"),
        ("timestep", "dt"),
    } <= refused
    # Whatever looks at atoms that were read is there, except for what is not read of them.
    both = {what for what in refused if what[0] == "read" and not isinstance(expected[0][what], Exception)}
    beside = {
        "velocities",
        "forces",
        "an atom's velocity",
        "an atom's force",
        "velocity of an atom",
        "force on an atom",
    }
    moved = {"rotate", "rotateby", "transform", "align_principal_axis", "ts", "write"}  # velocities go with atoms
    of_bonds = {
        "bonds",
        "angles",
        "dihedrals",
        "a bond",
        "a residue",
        "unwrapped",
        "by fragments",
        "unwrap",
    }  # to others
    allowed = {("read", name) for name in of_bonds | (beside | moved if has_more else set())}
    assert both <= allowed
    assert {("read", name) for name in beside} <= both or not has_more


class Selects(mdreel.AnalysisBase):
    def __init__(self, read: MDAnalysis.AtomGroup) -> None:
        super().__init__(read)

    def _prepare(self) -> None:
        self.results.chosen = []

    def _single_frame(self) -> None:
        self.results.chosen.append(chosen_of(self.atomgroup))


def chosen_of(read: Any) -> dict[tuple[str, str], Any]:
    found = {}
    for each in (GEOMETRIC, STATIC):
        for selections in each.values():
            for selection in selections:
                given = {"given": read[:5]} if "given" in selection else {}
                for kind, group in (("read", read), ("universe", read.universe)):
                    try:
                        found[kind, selection] = group.select_atoms(selection, **given).ix.tolist()
                    except Exception as error:  # noqa: BLE001 (whatever it is)
                        found[kind, selection] = error
    return found


@pytest.mark.parametrize("reads", ["some", "all"])
@pytest.mark.parametrize("options", BACKENDS, ids=lambda options: options.get("backend", "threads"))
def test_every_selection_in_a_frame_is_right_or_raises(tmp_path: Path, options: dict[str, Any], reads: str) -> None:
    universe = system(tmp_path)
    group = universe.atoms[READ] if reads == "some" else universe.atoms
    found = Selects(group).run(n_parts=2, **options).results.chosen
    expected = [chosen_of(group) for _ in universe.trajectory]
    geometric = {selection for selections in GEOMETRIC.values() for selection in selections}
    refused = set()
    for own, theirs in zip(found, expected, strict=True):
        for what, chosen in own.items():
            if not isinstance(chosen, Exception):
                assert chosen == theirs[what], what
            elif not isinstance(theirs[what], Exception):
                assert isinstance(chosen, UnsupportedError)
                refused.add(what)
    # Only what is geometric, and looks beyond the atoms that were read.
    assert {selection for _, selection in refused} <= geometric
    assert {selection for kind, selection in refused if kind == "read"} <= {"global around 4 name O"}
    assert len(refused) >= len(geometric) - 3 if reads == "some" else not refused
    assert any(expected[0]["read", selection] != expected[1]["read", selection] for selection in geometric)


def test_every_geometric_keyword_of_mdanalysis_is_looked_at() -> None:
    text = inspect.getsource(selection_module)
    lines = text.splitlines()
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    code_of = {one.name: "\n".join(lines[one.lineno - 1 : one.end_lineno]) for one in classes}

    def code(kind: type) -> str:
        # Classes for topology attributes are created when MDAnalysis is imported; their bases have the code.
        return "".join(code_of.get(one.__name__, "") for one in kind.__mro__)

    words = (".positions", '"positions"', ".center_of", ".dimensions", "capped_distance")
    looking = {token for token, kind in _SELECTIONDICT.items() if any(word in code(kind) for word in words)}
    assert looking == {*GEOMETRIC}
