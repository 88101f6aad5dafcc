"""Analyses that can be added on the page of ``mdreel watch``, with the settings of recipes except for files."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from mdreel.analysis.recipe import AnalysisFormat, RecipeFormat, parse_recipe
from mdreel.cli.analyses.recipe import analysis_commands, recipe_format, requests_in
from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.options.declare import without_none
from mdreel.errors import MismatchError

PROGRAM = (sys.executable, "-m", "mdreel.cli.live.page_analysis")
"""Program that runs an analysis of the page."""

_WHERE = Path("page")
_PREFIX = "page: analysis 1 "


@cache
def page_format() -> RecipeFormat:
    """Return the settings that the page can set. They contain no files, which the page must neither read nor write."""
    form = recipe_format(analysis_commands())
    each = {
        name: AnalysisFormat(
            one.description, {key: setting for key, setting in one.settings.items() if not _is_file(setting.kind)}
        )
        for name, one in (form.analyses or {}).items()
    }
    return replace(form, inputs={}, run={}, analyses=each)


def page_schema() -> dict[str, Any]:
    """Return the JSON schema of each type of analysis by name."""
    each = page_format().schema()["properties"]["analysis"]["items"]["oneOf"]
    return {one["properties"]["type"]["const"]: one for one in each}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check the settings of an analysis as those of a recipe.

    Raises
    ------
    MismatchError
        If a setting is unknown, missing or names a file, or if its value has the wrong type or is not allowed.
    """
    try:
        parse_recipe(_WHERE, {"analysis": [dict(settings)]}, page_format())
    except MismatchError as error:
        raise MismatchError(str(error).removeprefix(_PREFIX).removeprefix("page: analysis 1: ")) from None


def page_requests(
    settings: Mapping[str, Any], channel: str, topology: Path, index: Path | None
) -> tuple[Request, list[AnalysisRequest]]:
    """Return the request for an analysis of the page; see `check_settings` for the errors."""
    check_settings(settings)
    given = {"topology": topology, "index": index, "channel": channel, "n_workers": 1, "quiet": True}
    return requests_in(_WHERE, {"analysis": [dict(settings)]}, **given)


def _is_file(kind: Any) -> bool:
    kind = without_none(kind)
    return kind is Path or (get_origin(kind) is list and get_args(kind)[0] is Path)
