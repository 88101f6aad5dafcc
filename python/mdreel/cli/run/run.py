"""The command ``mdreel run``, which runs the analyses of a recipe in a single pass."""

from pathlib import Path
from typing import Annotated

import click

from mdreel.cli.analyses.recipe import analysis_commands, recipe_format, requests_in, required_path
from mdreel.cli.analyses.request import AnalysisRequest, Request, Runner
from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo_json
from mdreel.foundation.toml_file import read_toml

EXAMPLES = """\
Examples:
  mdreel run recipe.toml
  mdreel run recipe.toml -nt 4
  mpirun -n 8 mdreel run recipe.toml -q
  mdreel run --schema > recipe.schema.json

A recipe:
  topology = "adk.psf"
  trajectory = "adk.xtc"
  [run]
  step = 10
  [[analysis]]
  type = "rmsd"
  output = "rmsd.csv"
  [[analysis]]
  type = "dihedrals"
  kind = ["phi", "psi", "chi1"]
  output = "torsions.parquet"
"""


@command(examples=EXAMPLES)
def run(
    context: click.Context,
    path: Annotated[Path | None, Argument(metavar="RECIPE", help="Recipe (TOML).")] = None,
    schema: Annotated[bool, Option(group=shared.INPUT, help="Print the JSON schema of recipes.")] = False,
    trajectories: shared.RepeatedTrajectories = None,
    backend: shared.Backend = None,
    n_workers: shared.OptionalWorkers = None,
    access: shared.Access = None,
    schedule: shared.OptionalSchedule = None,
    communication: shared.Communication = None,
    checkpoint: shared.Checkpoint = None,
    timing: shared.TimingFile = None,
    report: shared.ReportFile = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Run the analyses in a recipe, reading each frame only once. Options override settings in the recipe."""
    if schema:
        echo_json(recipe_format(analysis_commands()).schema(), indent=2)
        return
    of_command = {
        "trajectories": trajectories,
        "backend": backend,
        "n_workers": n_workers,
        "access": access,
        "schedule": schedule,
        "communication": communication,
        "checkpoint": checkpoint,
        "timing": timing,
        "report": report,
        "force": force,
        "quiet": quiet,
        "verbose": verbose,
    }
    run_analyses: Runner = context.obj
    run_analyses(*requests_of(path, **of_command))


def requests_of(path: Path | None, **of_command: object) -> tuple[Request, list[AnalysisRequest]]:
    """Return the requests in a recipe. `of_command` contains the fields that are set on the command line.

    Raises
    ------
    CommandError
        If no recipe is specified, if it cannot be read, or if a setting is unknown, missing or has the wrong type.
    """
    path = required_path(path, "no recipe given (mdreel run recipe.toml)")
    with failing_with(ExitCode.INPUT):
        content = read_toml(path)
    return requests_in(path, content, **of_command)
