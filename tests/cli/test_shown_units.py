"""Tables, plots and summaries of all analyses in the units of ``--units`` and ``-tu``."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

from command_results import ALL_TEXT, refused, table
from mdreel.cli.commands import ANALYSES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
INPUT = ("-s", PSF, "-f", DCD)
SMALL = "name CA and resid 1:20"
SETTINGS = {
    "rmsd": {"group": ["name CA and resid 122:159"]},
    "rmsf": {},
    "compare": {"score": "residue-rmsd", "select": SMALL, "residues": True},
    "rmsd2d": {},
    "cluster-frames": {"cutoff": 1.0},
    "average": {},
    "pca": {"select": SMALL},
    "projection": {"select": SMALL},
    "cross-correlation": {"select": SMALL},
    "rg": {},
    "dihedrals": {},
    "dihedral": {"atoms": [f"index {i}" for i in (4, 6, 8, 19)]},
    "ramachandran": {},
    "janin": {},
    "distances": {"select": SMALL},
    "end-to-end": {},
    "helices": {"segment": ["13:24"], "squared": True},
    "dssp": {},
    "sasa": {"select": "resid 1:20", "points": 50},
    "rdf": {"norm": "density", "select": SMALL},
    "site-rdf": {"norm": "density", "select": "name CA and resid 1:2", "other": "name CA and resid 3:9", "to": 12.0},
    "contacts": {},
    "residue-contacts": {},
    "fingerprint": {"select": "resid 1:20"},
    "hbonds": {"select": "resid 1:40"},
    "water-bridges": {"select": "resid 1:20", "other": "resid 30:60", "water": "resid 21:29 61:120"},
    "density": {"select": "resid 1:40", "delta": 2.0},
    "linear-density": {},
    "select": {"dynamic": "name N and around 5 resid 13"},
    "survival": {"dynamic": "name N and around 5 resid 13", "tau-max": 4},
    "water-relaxation": {"dynamic": "name OW and around 3.5 protein", "tau-max": 2},
    "msd": {"select": SMALL},
}
NEEDS_CELL = ("linear-density", "water-relaxation")
FACTORS = {"angstrom": 0.1, "angstrom2": 0.01, "per_angstrom3": 1000, "ps": 0.001}
NAMES = {"angstrom": "nm", "angstrom2": "nm2", "per_angstrom3": "per_nm3", "ps": "ns"}
IN_TEXT = {"nm": 0.1, "nm^2": 0.01, "nm^-3": 1000, "nm²": 0.01, "nm²/ns": 10, "ns": 0.001}


def recipe(folder: Path, has_cell: bool, has_output: bool, units: str) -> Path:
    """Write a recipe of all analyses."""
    topology, trajectory = (TPR, XTC) if has_cell else (PSF, DCD)
    lines = [f"topology = {json.dumps(topology)}", f"trajectory = {json.dumps(trajectory)}", "[run]", "stop = 12"]
    if units:
        lines += [f'units = "{units}"', 'time-unit = "ns"']
    for name, settings in SETTINGS.items():
        if has_cell != (name in NEEDS_CELL):
            continue
        lines += ["[[analysis]]", f'type = "{name}"', *(f"{key} = {json.dumps(one)}" for key, one in settings.items())]
        files = [f"{name}{units}.csv", *[f"{name}{units}.png"] * bool(units)]
        lines += [f"output = {json.dumps(files)}"] * has_output
    path = folder / f"{has_cell}-{has_output}-{units}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def unit_of(heading: str) -> str | None:
    """Return the unit of length or time at the end of a heading."""
    return next((unit for unit in sorted(FACTORS, key=len, reverse=True) if heading.endswith(f"_{unit}")), None)


def test_every_analysis_is_covered() -> None:
    assert set(SETTINGS) == {entry.name for entry in ANALYSES}


@pytest.mark.parametrize("has_cell", [False, True])
def test_tables_are_converted_with_their_headings(run, tmp_path: Path, has_cell: bool) -> None:
    for units in ("", "nm"):
        done = run("run", recipe(tmp_path, has_cell, True, units), "-q")
        assert done.returncode == 0, done.stderr
    for name in SETTINGS:
        if has_cell != (name in NEEDS_CELL) or name == "dssp":  # whose table is text
            continue
        (head, rows), (shown, values) = (table(tmp_path / f"{name}{units}.csv") for units in ("", "nm"))
        texts = [one for one in head if one not in ALL_TEXT]
        numbers = [one for one in shown if one not in ALL_TEXT]
        for heading, column, new, found in zip(texts, rows.T, numbers, values.T, strict=True):
            unit = unit_of(heading)
            if unit is None:
                assert new == heading
                np.testing.assert_array_equal(found, column)
            else:
                assert new == f"{heading.removesuffix(unit)}{NAMES[unit]}"
                np.testing.assert_allclose(found, column * FACTORS[unit], rtol=1e-14)
        assert (tmp_path / f"{name}nm.png").stat().st_size > 1000


def amounts(text: str) -> list[float]:
    """Return all numbers of a text."""
    return [float(one.replace(",", "")) for one in re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?", text)]


@pytest.mark.parametrize("has_cell", [False, True])
def test_summaries_are_converted_number_by_number(run, tmp_path: Path, has_cell: bool) -> None:
    plain, shown = (run("run", recipe(tmp_path, has_cell, False, units), "-q").stdout for units in ("", "nm"))
    assert len(plain.splitlines()) == len(shown.splitlines())
    assert not re.search(r"Å|\bps\b", shown)
    n_converted = 0
    for line, new in zip(plain.splitlines(), shown.splitlines(), strict=True):
        # A number may share the unit of the next number, as in 1 to 10 ps.
        parts = re.findall(r"(-?[\d,]+(?:\.\d+)?(?:e[-+]\d+)?)(?: (?:to|and|±) (-?[\d.,]+))? +(\S+)", new)
        numbers = dict(zip(amounts(new), amounts(line), strict=True))
        for first, second, unit in parts:
            for number in (first, second) if unit.rstrip(",") in IN_TEXT else ():
                if number:
                    value = float(number.replace(",", ""))
                    assert value == pytest.approx(numbers[value] * IN_TEXT[unit.rstrip(",")], rel=1e-9, abs=1e-12)
                    n_converted += 1
    assert n_converted >= (3 if has_cell else 40)


def test_units_of_files_are_told(run, tmp_path: Path) -> None:
    assert run("rmsd", *INPUT, "-q", "--units", "nm", "-tu", "us", "-o", "a.json", "-o", "a.xvg").returncode == 0
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["units"] == {"frame": "", "time": "us", "rmsd": "nm"}
    assert content["metadata"]["units_of_settings"] == "Å, ps"
    assert 'xaxis  label "Time (us)"' in (tmp_path / "a.xvg").read_text()


def test_units_by_default_are_those_of_today(run, tmp_path: Path) -> None:
    for options, name in (((), "a.json"), (("--units", "A"), "b.json"), (("--units", "angstrom"), "c.json")):
        assert run("rmsd", *INPUT, "-q", *options, "-o", name).returncode == 0
    first, *others = ((tmp_path / name).read_text() for name in ("a.json", "b.json", "c.json"))
    assert others == [first, first]


def test_info_shows_the_units(run) -> None:
    text = run("info", XTC, "--units", "nm", "-tu", "ns").stdout
    assert "0 to 0.9 ns, every 0.1 ns" in text
    assert "8.0017 x 8.0017 x 8.0017 nm" in text
    refused(run("info", XTC, "--json", "-tu", "ns"), 2, "--json prints Å and ps")


def test_unknown_units_are_refused(run) -> None:
    refused(run("rmsd", *INPUT, "--units", "pm"), 2, "--units", "nm")
    refused(run("rmsd", *INPUT, "-tu", "fs"), 2, "-tu", "ns")
