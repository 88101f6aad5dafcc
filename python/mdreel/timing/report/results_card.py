"""Card of the report page that shows the results of the run."""

from mdreel.foundation.html.markup import Markup, element, table
from mdreel.foundation.html.picture import image
from mdreel.timing.report.card import card
from mdreel.timing.run_description import AnalysisDescription, RunDescription

_MOST_LINES = 40
"""Maximum number of lines of a summary on the page."""


def results_card(description: RunDescription | None) -> Markup:
    """Show the command, the input, and the results of each analysis.

    Parameters
    ----------
    description : RunDescription, optional
        Description of the run.
    """
    if description is None:
        return card("results", "Results", note="The record does not contain what the run computed.")
    facts = [
        ("command", element("code", description.call)),
        ("topology", description.topology),
        ("trajectory", description.trajectory),
        ("frames", description.frames),
    ]
    rows = [(name, value) for name, value in facts if value]
    body = element("div", table(("property", "value"), rows, class_="facts run"), class_="scroll")
    return card("results", "Results", body, *map(_analysis, description.analyses))


def _analysis(one: AnalysisDescription) -> Markup:
    atoms = f"{one.n_atoms:,} atom{'s' * (one.n_atoms != 1)}"
    parts = [element("h3", one.title), element("p", f"{atoms}: {one.selection}" if one.selection else atoms)]
    if one.picture is not None:
        parts.append(element("div", image(one.picture, f"Plot of {one.title}, {atoms}"), class_="picture"))
    elif one.no_picture:
        parts.append(element("p", f"There is no plot: {one.no_picture}.", class_="note"))
    if one.summary:
        parts.append(element("pre", _shortened(one.summary)))
    return element("div", *parts, class_="analysis")


def _shortened(text: str) -> str:
    lines = text.splitlines()
    more = [f"... and {len(lines) - _MOST_LINES:,} more lines"] if len(lines) > _MOST_LINES else []
    return "\n".join([*lines[:_MOST_LINES], *more])
