"""A page per command of ``mdreel``, made from the objects of Click that run it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from sphinx.application import Sphinx

from mdreel.cli import commands
from mdreel.cli.lazy_group import LazyGroup

_MARKUP = re.compile(r"([\\`*_|])")
_OPTION = re.compile(r"(?<![\w`/'-])(--[a-z][\w-]*[a-z]|-[a-z]{1,2})(?![\w=`-])")
_HELP = ("--help", "--help-all")


def _plain(text: str) -> str:
    """Escape a text, so that reStructuredText shows it as it is."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _marked(text: str) -> str:
    """Escape a text and set the names of options in it as code."""
    return _OPTION.sub(r"``\1``", _plain(text).replace("\\`\\`", "``"))


def _prose(text: str) -> Iterator[str]:
    r"""Give the paragraphs of a help text; Click shows those behind a line of ``\b`` as they are."""
    for paragraph in re.split(r"\n[ \t]*\n", text.strip()):
        if paragraph.lstrip().startswith("\b"):
            yield from ("::", "", *(f"   {line}" for line in paragraph.lstrip("\b\n").splitlines()), "")
        else:
            yield from (_marked(paragraph), "")


def _title(text: str, line: str) -> Iterator[str]:
    yield from (_plain(text), line * (len(_plain(text)) + 2), "")


def _sections(command: click.Command, context: click.Context) -> dict[str, list[tuple[click.Parameter, str, str]]]:
    """Sort the parameters of a command by the headings of its help, the help options last."""
    sections: dict[str, list[tuple[click.Parameter, str, str]]] = {}
    for parameter in command.get_params(context):
        if getattr(parameter, "is_hidden", False):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            heading = getattr(parameter, "group", "Help")
            sections.setdefault(heading, []).append((parameter, *record))
    sections["Help"] = sections.pop("Help", [])
    return sections


def _value(parameter: click.Parameter, shown: str) -> str:
    """Return the value of an option as its help shows it: what stands behind the names."""
    last = shown.rsplit(", ", maxsplit=1)[-1] if not shown.endswith("]") else shown
    names = [*parameter.opts, *parameter.secondary_opts]
    for name in sorted(names, key=len, reverse=True):
        if f"{name} " in f"{last} ":
            return last.rsplit(name, 1)[1].strip(" /")
    return ""


def _options(command: click.Command, context: click.Context, level: str) -> Iterator[str]:
    for heading, rows in _sections(command, context).items():
        if not rows:
            continue
        yield from _title(heading, level)
        for parameter, shown, text in rows:
            is_argument = isinstance(parameter, click.Argument)
            value = _value(parameter, shown)
            names = [*parameter.opts, *parameter.secondary_opts]
            signature = shown if is_argument else ", ".join([*names[:-1], f"{names[-1]} {value}".strip()])
            yield f".. {'describe' if is_argument else 'option'}:: {signature}"
            if not is_argument and any(name in names for name in _HELP):
                yield "   :no-index-entry:"
            yield ""
            yield f"   {_marked(text)}"
            if getattr(parameter, "is_advanced", False):
                yield ""
                yield "   .. container:: advanced"
                yield ""
                yield "      Shown by ``--help-all``."
            yield ""
    if command.epilog:
        yield from _examples(command.epilog, level)


def _examples(epilog: str, level: str) -> Iterator[str]:
    """Give the examples at the end of a help text as a block of shell commands."""
    lines = epilog.strip().splitlines()
    heading = lines.pop(0).rstrip(":") if lines and lines[0].startswith("Example") else ""
    first = next((line for line in lines if line.strip()), "")
    if re.match(r"Examples?:\s+\S", epilog.strip()):
        heading, lines = "Example", [epilog.strip().split(":", 1)[1].strip()]
    yield from _title(heading or "Examples", level)
    yield f".. code-block:: {'sh' if heading or first.strip().startswith('mdreel') else 'text'}"
    yield ""
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    yield from (f"   {line[indent:]}".rstrip() for line in lines)
    yield ""


def _described(command: click.Command, context: click.Context, level: str) -> Iterator[str]:
    """Give the usage, the help and the options of a command."""
    yield f".. program:: {context.command_path}"
    yield ""
    yield ".. code-block:: text"
    yield ""
    yield "   " + " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    yield ""
    yield from _prose(command.help or "")
    yield from _options(command, context, level)


def _main() -> click.Context:
    """Return the context of the main command, from which commands take the names of their help options."""
    group = LazyGroup()
    return click.Context(group, info_name="mdreel", help_option_names=group.context_settings["help_option_names"])


def page_of(entry: commands.Entry) -> str:
    """Return the page of a command, and of its commands if it has any, as reStructuredText."""
    command = commands.load(entry)
    context = click.Context(command, info_name=entry.name, parent=_main())
    lines = [*_title(f"mdreel {entry.name}", "=")]
    lines += _described(command, context, "-")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            nested = command.get_command(context, name)
            if nested is not None and not nested.hidden:
                inner = click.Context(nested, info_name=name, parent=context)
                lines += _title(f"mdreel {entry.name} {name}", "-")
                lines += _described(nested, inner, "~")
    return "\n".join(lines) + "\n"


def write_pages(folder: Path) -> None:
    """Write the pages of all commands into a folder, with a list of them; leave a page as it is that is the same."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {}
    listing = [*_title("Commands", "=")]
    for heading, entries in commands.groups().items():
        listing += [*_title(heading, "-"), ".. list-table::", "   :widths: 25 75", "   :class: commands", ""]
        for entry in entries:
            listing += [f"   * - :doc:`mdreel {entry.name} <{entry.name}>`", f"     - {_plain(entry.help)}"]
            pages[f"{entry.name}.rst"] = page_of(entry)
        listing += ["", ".. toctree::", "   :hidden:", "", *(f"   {entry.name}" for entry in entries), ""]
    listing += [*_title("Options of mdreel", "-"), ".. program:: mdreel", ""]
    for names, text in commands.OPTIONS.items():
        listing += [f".. option:: {names}", "", f"   {_plain(text)}", ""]
    pages["index.rst"] = "\n".join(listing) + "\n"
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _write_pages(app: Sphinx) -> None:
    write_pages(Path(app.srcdir, "reference", "cli", "commands"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", _write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
