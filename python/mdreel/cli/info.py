"""``mdreel info``: what is in a trajectory."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mdreel.cli import options


def info(
    trajectories: options.Trajectories,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=options.OUTPUT, help="As JSON.")] = False,
) -> None:
    """What is in a trajectory.

    \b
    Example:
      mdreel info -f adk.xtc
    """
