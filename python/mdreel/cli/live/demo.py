"""The command ``mdreel demo``, which runs a simulation with live analyses that you can watch in a browser."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live.ending import ended_by_one_signal
from mdreel.cli.options import shared
from mdreel.cli.options.declare import CommandGroup, Option
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from mdreel.live.demos.demo_files import Demo

EXAMPLES = """\
Examples:
  mdreel demo {name}
  mdreel demo {name} --seconds 300 -o {name}-demo
"""

demo = CommandGroup("demo", "Run a simulation with live analyses, and watch it in a browser. Requires OpenMM.")

Folder = Annotated[
    Path | None,
    Option(
        *("-o", "--output"),
        metavar="FOLDER",
        group=shared.OUTPUT,
        help="New folder for all files.  [default: mdreel-demo, or mdreel-demo-2 and so on if it exists]",
    ),
]
Seconds = Annotated[
    float | None,
    Option(
        "--seconds", metavar="SECONDS", minimum=0, group=shared.OUTPUT, help="Time to run.  [default: until Ctrl-C]"
    ),
]


@demo.add(summary="Run a protein in water.", examples=EXAMPLES.format(name="openmm"))
def openmm(folder: Folder = None, seconds: Seconds = None) -> None:
    """Simulate a protein in water with OpenMM, analyse it, and save a checkpoint when a rule fires, until Ctrl-C.

    The page shows the RMSD, the hydrogen bonds and the secondary structure (DSSP). With the operator address, you can
    change the analyses.
    """
    from mdreel.live.demos.demo_files import water_demo

    _run(water_demo, folder, seconds)


@demo.add(summary="Run an ensemble of eight replicas.", examples=EXAMPLES.format(name="ensemble"))
def ensemble(folder: Folder = None, seconds: Seconds = None) -> None:
    """Simulate eight replicas of a peptide with OpenMM, and cluster the frames of all replicas, until Ctrl-C.

    The page shows the RMSD and the radius of gyration of each replica, and the populations of the clusters.
    """
    from mdreel.live.demos.demo_files import ensemble_demo

    _run(ensemble_demo, folder, seconds)


def _run(make: "Callable[[Path], Demo]", folder: Path | None, seconds: float | None) -> None:
    """Serve the page of a demo and run its programs until Ctrl-C."""
    from mdreel.cli.live.page_analyses import PROGRAM, check_settings, page_schema
    from mdreel.live.demos.simulations import check_openmm
    from mdreel.live.watch.managed_analyses import AnalysisTypes, ManagedAnalyses
    from mdreel.live.watch.molecule import Molecule
    from mdreel.live.watch.server import PageFeatures, WatchServer
    from mdreel.live.watch.watcher import Watcher

    with failing_with(ExitCode.INPUT):
        check_openmm()
    with failing_with(ExitCode.OUTPUT):
        place = _new_folder(folder)
    until = None if seconds is None else monotonic() + seconds
    with suppress(KeyboardInterrupt), ended_by_one_signal(), failing_with(ExitCode.INPUT), ExitStack() as stack:
        demo = make(place)
        task = {"topology": str(demo.topology), "index": None}
        analyses = ManagedAnalyses(AnalysisTypes(page_schema(), check_settings, PROGRAM, task))
        features = PageFeatures(True, analyses, molecule=Molecule(demo.topology))
        stack.callback(demo.stop)
        server = stack.enter_context(WatchServer(Watcher(demo.channels), features=features))
        echo(f"{server.url} (viewer)\n{server.operator_url} (operator)")
        sys.stdout.flush()
        echo(f"files: {place}; the first frames appear in about half a minute; press Ctrl-C to stop", err=True)
        demo.start()
        while until is None or monotonic() < until:
            server.refresh()
            for channel, settings in demo.due_analyses():
                analyses.add(channel, settings, None)
            demo.check()
            sleep(1.0)
    echo(f"the demo has been stopped; its files are in {place}", err=True)


def _new_folder(folder: Path | None) -> Path:
    """Create a folder, and return its absolute path."""
    if folder is not None:
        if os.path.lexists(folder):
            raise CommandError(f"{folder}: already exists; name a new folder with -o", ExitCode.OUTPUT)
        folder.mkdir(parents=True)
        return folder.absolute()
    number = 1
    while True:
        place = Path("mdreel-demo" if number == 1 else f"mdreel-demo-{number}")
        with suppress(FileExistsError):
            place.mkdir()
            return place.absolute()
        number += 1
