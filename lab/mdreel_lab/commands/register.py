"""Registration of the commands of mdreel-lab."""

import typer

from mdreel.cli.sections import SectionedCommand
from mdreel_lab.commands.bench import bench
from mdreel_lab.commands.predict import EXAMPLES, predict


def register(app: typer.Typer) -> None:
    """Add the commands of mdreel-lab to the command line of mdreel.

    Parameters
    ----------
    app : typer.Typer
        The command line.
    """
    app.command(cls=SectionedCommand, short_help="Simulate a run on a cluster.", epilog=EXAMPLES)(predict)
    app.add_typer(bench, name="bench", short_help="Run the experiments of the papers.")
