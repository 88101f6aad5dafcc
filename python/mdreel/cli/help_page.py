"""Help text of the main command. It is created from the table of commands, without importing Click."""

from collections.abc import Iterator

from mdreel.cli.commands import OPTIONS, groups

_EXAMPLE = "mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --plot rmsd.png"


def help_page() -> str:
    """Return the help text of the main command."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "Usage: mdreel [OPTIONS] COMMAND [ARGS]..."
    yield ""
    yield "  Analyse molecular dynamics trajectories and running simulations in parallel."
    sections = {title: {entry.name: entry.help for entry in entries} for title, entries in groups().items()}
    for title, rows in {**sections, "Options": OPTIONS}.items():
        yield ""
        yield f"{title}:"
        width = max(16, *map(len, rows))
        for name, text in rows.items():
            yield f"  {name:{width}}  {text}".rstrip()
    yield ""
    yield "  mdreel COMMAND --help shows the options of a command."
    yield f"  Example:  {_EXAMPLE}"
