"""Tests of parameters in wrong units."""

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any, get_args

import MDAnalysis
import numpy as np
import pytest

import mdreel
from every_analysis import analyses
from mdreel.analysis.base.analysis import Analysis
from mdreel.cli.analyses.recipe import analysis_commands
from mdreel.errors import MismatchError, UnitWarning
from peptide_system import System, in_memory, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*:UserWarning:MDAnalysis")


def bridges(universe: MDAnalysis.Universe, **limits: float) -> Any:
    """Water bridges in a peptide. Some of its residues stand for water."""
    return mdreel.analysis.WaterBridgeAnalysis(universe, "resid 1:4", "resid 8:14", "resid 5:7", **limits)


Make = Callable[[MDAnalysis.Universe, Any], Any]
CHECKED: dict[tuple[str, str], tuple[float, Make]] = {
    # Of each parameter: a usual value, and how an analysis is made with another.
    ("Contacts", "radius"): (
        4.5,
        lambda u, x: mdreel.Contacts(u, ("name C*", "name O*"), refgroup=None, method="count", radius=x),
    ),
    ("DSSP", "longest_bond"): (2.5, lambda u, x: mdreel.DSSP(u, longest_bond=x)),
    ("DistanceArray", "cutoff"): (8.0, lambda u, x: mdreel.DistanceArray(u.atoms, cutoff=x)),
    ("DensityClustering", "cutoff"): (2.0, lambda u, x: mdreel.analysis.DensityClustering(u, cutoff=x)),
    ("HierarchicalClustering", "cutoff"): (2.0, lambda u, x: mdreel.analysis.HierarchicalClustering(u, cutoff=x)),
    ("OnlineClustering", "cutoff"): (2.0, lambda u, x: mdreel.analysis.OnlineClustering(u, cutoff=x)),
    ("GromosClustering", "cutoff"): (2.0, lambda u, x: mdreel.analysis.GromosClustering(u, cutoff=x)),
    ("HydrogenBondAnalysis", "d_h_cutoff"): (1.2, lambda u, x: mdreel.HydrogenBondAnalysis(u, d_h_cutoff=x)),
    ("HydrogenBondAnalysis", "d_a_cutoff"): (3.5, lambda u, x: mdreel.HydrogenBondAnalysis(u, d_a_cutoff=x)),
    ("HydrogenBondAnalysis", "d_h_a_angle_cutoff"): (
        150.0,
        lambda u, x: mdreel.HydrogenBondAnalysis(u, d_h_a_angle_cutoff=x),
    ),
    ("WaterBridgeAnalysis", "distance"): (3.0, lambda u, x: bridges(u, distance=x)),
    ("WaterBridgeAnalysis", "angle"): (120.0, lambda u, x: bridges(u, angle=x)),
    ("InterRDF", "range"): (15.0, lambda u, x: mdreel.InterRDF(u.atoms, u.atoms, range=(0, x))),
    ("InterRDF_s", "range"): (15.0, lambda u, x: mdreel.InterRDF_s(u, [(u.atoms[:2], u.atoms[5:7])], range=(0, x))),
    ("InteractionFingerprint", "parameters"): (
        4.5,
        lambda u, x: mdreel.analysis.InteractionFingerprint(u, parameters={"Hydrophobic": {"distance": x}}),
    ),
    ("LDDT", "radius"): (15.0, lambda u, x: mdreel.analysis.LDDT(u, radius=x)),
    ("NativeContacts", "radius"): (4.5, lambda u, x: mdreel.analysis.NativeContacts(u, radius=x)),
    ("ResidueContacts", "cutoff"): (4.5, lambda u, x: mdreel.ResidueContacts(u, cutoff=x)),
    ("ResidueContacts", "soft_min_beta"): (
        200.0,
        lambda u, x: mdreel.ResidueContacts(u, soft_min=True, soft_min_beta=x),
    ),
    ("SASA", "probe_radius"): (1.4, lambda u, x: mdreel.SASA(u.atoms, probe_radius=x)),
    ("SASA", "radii"): (1.7, lambda u, x: mdreel.SASA(u.atoms, radii=np.full(len(u.atoms), x))),
}
ANGLES = {("HydrogenBondAnalysis", "d_h_a_angle_cutoff"), ("WaterBridgeAnalysis", "angle")}
REFUSED = {
    ("HydrogenBondAnalysis", "d_h_cutoff"),
    ("HydrogenBondAnalysis", "d_a_cutoff"),
    ("WaterBridgeAnalysis", "distance"),
}
MAY_BE_SMALL = {
    ("AverageStructure", "tol_mass"): "a difference of masses, amu",
    ("Contacts", "kwargs"): "the steepness of a function of distances, not a distance",
    ("Contacts", "method"): "a function of distances, not a distance",
    ("DensityAnalysis", "delta"): "a grid of 0.1 Å is fine, but large: a grid that is too large is refused",
    ("DensityAnalysis", "padding"): "0 Å and more mean something",
    ("DensityAnalysis", "gridcenter"): "a position, of which any is possible",
    ("DensityAnalysis", "xdim"): "a grid about one atom is possible",
    ("DensityAnalysis", "ydim"): "a grid about one atom is possible",
    ("DensityAnalysis", "zdim"): "a grid about one atom is possible",
    ("Dihedrals", "features"): "degrees are a choice, not a value",
    ("DistanceArray", "reference"): "any positions are possible",
    ("DistanceMatrix", "cutoff"): "distances up to it count as 0, and the default is below 0",
    ("DistanceMatrix", "metric"): "a function",
    ("LinearDensity", "binsize"): "bins of 0.025 Å are fine",
    ("PCA", "mean"): "any positions are possible",
    ("Projection", "fit_to"): "any positions are possible",
    ("Projection", "origin"): "any positions are possible",
    ("RMSD", "reference"): "any positions are possible",
    ("RMSF", "reference"): "any positions are possible",
    ("WaterBridgeAnalysis", "distance_type"): "a choice, not a distance",
    ("WaterBridgeAnalysis", "filter_first"): "whether atoms are left out",
    ("FunctionAnalysis", "limits"): "numbers of a function of the user",
}
OPTIONS = {
    ("cluster-frames", "cutoff"): ("GromosClustering", "cutoff"),
    ("compare", "radius"): ("LDDT", "radius"),
    ("contacts", "radius"): ("Contacts", "radius"),
    ("density", "delta"): ("DensityAnalysis", "delta"),
    ("density", "padding"): ("DensityAnalysis", "padding"),
    ("distances", "cutoff"): ("DistanceArray", "cutoff"),
    ("dssp", "longest_bond"): ("DSSP", "longest_bond"),
    ("water-bridges", "angle"): ("WaterBridgeAnalysis", "angle"),
    ("water-bridges", "distance"): ("WaterBridgeAnalysis", "distance"),
    ("hbonds", "angle"): ("HydrogenBondAnalysis", "d_h_a_angle_cutoff"),
    ("hbonds", "distance"): ("HydrogenBondAnalysis", "d_a_cutoff"),
    ("residue-contacts", "cutoff"): ("ResidueContacts", "cutoff"),
    ("residue-contacts", "soft_min_beta"): ("ResidueContacts", "soft_min_beta"),
    ("linear-density", "binsize"): ("LinearDensity", "binsize"),
    ("rdf", "high"): ("InterRDF", "range"),
    ("rdf", "low"): ("InterRDF", "range"),
    ("site-rdf", "high"): ("InterRDF_s", "range"),
    ("site-rdf", "low"): ("InterRDF_s", "range"),
    ("sasa", "probe_radius"): ("SASA", "probe_radius"),
}
LIKE_A_LENGTH = re.compile(r"cutoff|radi|range|limits|distance|delta|padding|probe|bond|size|angle|dim$|center|spacing")
NO_LENGTH = {"n_sphere_points"}


@pytest.fixture(scope="module")
def universe() -> MDAnalysis.Universe:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = peptide()
        universe.load_new(peptide_positions()[:2])
    return universe


def parameters_in_units() -> set[tuple[str, str]]:
    """Return the parameters of analyses that are lengths or angles by their name or documentation."""
    found = set()
    for kind in analyses():
        described = inspect.getdoc(kind).partition("Parameters\n")[2].partition("\nAttributes\n")[0]
        entries = re.split(r"\n(?=\w[\w, ]* : )", described)
        for name, parameter in inspect.signature(kind).parameters.items():
            about = next((one for one in entries if name in re.split(r", | : ", one.split("\n")[0])), "")
            in_units = re.search(r"\bÅ(?!\^)|degrees", about.partition("\n")[2])
            is_named = LIKE_A_LENGTH.search(name) and parameter.annotation is not bool
            if (in_units or is_named) and name not in NO_LENGTH:
                found.add((kind.__name__, name))
    return found


def test_every_length_and_angle_is_checked_or_may_be_small() -> None:
    listed = set(CHECKED) | set(MAY_BE_SMALL)
    assert parameters_in_units() - listed == set(), (
        "check it (mdreel.foundation.unit_check), or say why it may be small"
    )


def test_every_option_in_units_is_one_of_a_checked_parameter() -> None:
    found = set()
    for name, command in analysis_commands().items():
        for parameter in command.own:
            option = get_args(parameter.annotation)[1]
            if option.metavar in ("Å", "DEGREES") or "Å" in (option.help or ""):
                found.add((name, parameter.name))
    assert found == set(OPTIONS)
    assert set(OPTIONS.values()) <= set(CHECKED) | set(MAY_BE_SMALL)


@pytest.mark.parametrize("which", CHECKED, ids=" ".join)
def test_value_in_another_unit_warns_or_is_refused(which: tuple[str, str], universe: MDAnalysis.Universe) -> None:
    usual, make = CHECKED[which]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitWarning)
        make(universe, usual)
    value = np.radians(usual) if which in ANGLES else usual / 10
    expected = "the unit of mdreel is degrees" if which in ANGLES else "the unit of mdreel is Å"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if which in REFUSED:
            with pytest.raises(MismatchError, match=expected):
                make(universe, value)
            return
        make(universe, value)
    (one,) = (one for one in caught if one.category is UnitWarning)
    assert expected in str(one.message)
    assert one.filename == __file__


@pytest.mark.parametrize("wrong", [0.0, -3.0, float("nan")])
@pytest.mark.parametrize("which", [one for one in CHECKED if one not in ANGLES], ids=" ".join)
def test_length_that_finds_nothing_is_refused(
    which: tuple[str, str], wrong: float, universe: MDAnalysis.Universe
) -> None:
    if (which[0] == "SASA" or which[0].endswith("Clustering")) and wrong == 0:
        CHECKED[which][1](universe, wrong)  # surfaces of points or without a probe; clusters of equal frames
        return
    with pytest.raises(MismatchError):
        CHECKED[which][1](universe, wrong)


@pytest.mark.parametrize("wrong", [180.0, 400.0, float("nan")])
def test_angle_that_nothing_exceeds_is_refused(wrong: float, universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match=r"must be less than 180 degrees|must be a number, not nan"):
        mdreel.HydrogenBondAnalysis(universe, d_h_a_angle_cutoff=wrong)


@pytest.mark.parametrize(("wrong", "message"), [(0.35, "0.35 nm are 3.5 Å"), (1.0, "must be more than 1 Å")])
def test_hydrogen_bond_shorter_than_any_is_refused(wrong: float, message: str, universe: MDAnalysis.Universe) -> None:
    with pytest.raises(MismatchError, match=message):
        mdreel.HydrogenBondAnalysis(universe, d_a_cutoff=wrong)


def test_warning_of_units_changes_no_value() -> None:
    system = System(peptide(), in_memory(peptide_positions()[:3]))
    made: list[Analysis] = []
    with pytest.warns(mdreel.errors.UnitWarning, match=r"radius is 1\.5 Å.*1\.5 nm are 15 Å"):
        made.append(
            mdreel.Contacts(
                system.universe, ("all", "all"), refgroup=None, method="count", radius=1.5, trajectory=system.trajectory
            )
        )
    positions = peptide_positions()[0].astype(np.float64)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
    counted = made[0].run().results.timeseries[0, 1]
    assert 2 * counted == (distances <= 1.5).sum() - len(positions)
