"""The reporter of OpenMM publishes the numbers that OpenMM's own conversion of units gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mdreel
from mdreel.errors import MismatchError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

N_ATOMS, N_FRAMES, INTERVAL = 50, 6, 3
ENERGIES = ["kinetic", "potential"]


@pytest.fixture(autouse=True)
def _needs_openmm() -> None:
    pytest.importorskip("openmm", reason="openmm is not installed")


def argon(*, is_periodic: bool = True) -> Any:
    """Create a simulation of argon, in which atoms leave the cell."""
    import openmm
    from openmm import app, unit

    system, topology, force = openmm.System(), app.Topology(), openmm.NonbondedForce()
    residue = topology.addResidue("AR", topology.addChain())
    for _ in range(N_ATOMS):
        system.addParticle(40.0)
        topology.addAtom("AR", app.element.argon, residue)
        force.addParticle(0.0, 0.34, 1.0)
    system.setDefaultPeriodicBoxVectors((2.5, 0, 0), (0.3, 2.5, 0), (-0.2, 0.1, 2.5))
    if is_periodic:
        force.setNonbondedMethod(force.CutoffPeriodic)
    system.addForce(force)
    integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, 2 * unit.femtosecond)
    integrator.setRandomNumberSeed(1)
    platform = openmm.Platform.getPlatformByName("Reference")
    simulation = app.Simulation(topology, system, integrator, platform)
    corners = np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(-1, 3)[:N_ATOMS]
    simulation.context.setPositions(0.6 * corners + 0.5)
    simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    return simulation


class Converting:
    """Reporter that lets OpenMM convert every quantity, and keeps the numbers."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    def describeNextReport(self, simulation: Any) -> tuple[int, bool, bool, bool, bool, None]:  # noqa: N802
        return INTERVAL - simulation.currentStep % INTERVAL, True, True, True, True, None

    def report(self, simulation: Any, state: Any) -> None:
        from openmm import unit

        energy = unit.kilojoule_per_mole
        self.frames.append(
            {
                "positions": state.getPositions(asNumpy=True).value_in_unit(unit.angstrom),
                "velocities": state.getVelocities(asNumpy=True).value_in_unit(unit.angstrom / unit.picosecond),
                "forces": state.getForces(asNumpy=True).value_in_unit(energy / unit.angstrom),
                "box": state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.angstrom),
                "energies": [
                    state.getKineticEnergy().value_in_unit(energy),
                    state.getPotentialEnergy().value_in_unit(energy),
                ],
                "time": state.getTime().value_in_unit(unit.picosecond),
            }
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "type and float64"])
@pytest.mark.parametrize("is_periodic", [True, False])
def test_every_frame_has_the_bits_of_openmms_conversion(tmp_path: Path, dtype: str, is_periodic: bool) -> None:
    simulation, converting = argon(is_periodic=is_periodic), Converting()
    settings = {"velocities": True, "forces": True, "energies": ENERGIES, "dtype": dtype}
    producer = mdreel.live.Producer(tmp_path / "run1", N_ATOMS, n_slots=2 * N_FRAMES, **settings)
    simulation.reporters += [mdreel.live.OpenMMReporter(producer, INTERVAL), converting]
    with producer:
        for number in range(N_FRAMES):
            if number % 2:  # the cell of the frames before and after is the same, and then another one
                length = 2.5 + 0.1 * number
                simulation.context.setPeriodicBoxVectors((length, 0, 0), (0.3, length, 0), (-0.2, 0.1, length))
            simulation.step(INTERVAL)
    with mdreel.live.Consumer(producer.path) as consumer:
        frames = [frame.copy() for frame in consumer]
    assert len(frames) == len(converting.frames) == N_FRAMES
    assert len({expected["box"][0, 0] for expected in converting.frames}) == 1 + N_FRAMES // 2
    bits = np.dtype(dtype.removeprefix("type and "))
    for frame, expected in zip(frames, converting.frames, strict=True):
        for name in ("positions", "velocities", "forces"):
            assert getattr(frame, name).dtype == bits
            np.testing.assert_array_equal(getattr(frame, name), expected[name].astype(bits))
        np.testing.assert_array_equal(frame.energies, expected["energies"])
        assert frame.time == expected["time"]
        if is_periodic:
            np.testing.assert_array_equal(frame.box, expected["box"])
        else:
            assert frame.box is None


def test_compressed_positions_are_those_that_a_producer_compresses(tmp_path: Path) -> None:
    simulation, converting = argon(), Converting()
    producer = mdreel.live.Producer(tmp_path / "run1", N_ATOMS, n_slots=2 * N_FRAMES, dtype="xtc")
    simulation.reporters += [mdreel.live.OpenMMReporter(producer, INTERVAL), converting]
    with producer:
        simulation.step(N_FRAMES * INTERVAL)
    with mdreel.live.Producer(tmp_path / "run2", N_ATOMS, n_slots=2 * N_FRAMES, dtype="xtc") as other:
        for step, frame in enumerate(converting.frames):
            other.publish(frame["positions"], step, frame["time"], frame["box"])
    found = []
    for name in ("run1", "run2"):
        with mdreel.live.Consumer(tmp_path / name) as consumer:
            found.append([frame.positions.copy() for frame in consumer])
    assert len(found[0]) == N_FRAMES
    np.testing.assert_array_equal(found[0], found[1])


def test_simulation_of_another_size_is_refused(tmp_path: Path) -> None:
    simulation = argon()
    producer = mdreel.live.Producer(tmp_path / "run1", N_ATOMS + 1)
    simulation.reporters.append(mdreel.live.OpenMMReporter(producer, INTERVAL))
    with pytest.raises(MismatchError, match=rf"\({N_ATOMS + 1}, 3\), got \({N_ATOMS}, 3\)"), producer:
        simulation.step(INTERVAL)
