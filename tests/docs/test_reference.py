"""Every public name, command, option and error is in the reference."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from docs.public_names import REFERENCE, described_names, object_of, public_names, undescribed
from mdreel import errors
from mdreel.cli import commands


def test_every_public_name_is_in_the_reference() -> None:
    public = public_names()
    assert len(public) > 120, "the search found the names"
    assert not undescribed(public, described_names()), "add them to a page of docs/reference/api"


def test_missing_name_is_found() -> None:
    described = [name for name in described_names() if name not in ("mdreel.RMSD", "mdreel.live.channel")]
    assert undescribed(public_names(), described) == ["mdreel.RMSD", "mdreel.live.channel"]


def test_reference_describes_each_object_once_and_with_a_docstring() -> None:
    described = described_names()
    assert len({id(object_of(name)) for name in described}) == len(described)
    assert not [name for name in described if not inspect.getdoc(object_of(name))]


def test_every_error_and_warning_has_a_remedy() -> None:
    sections = (REFERENCE / "errors.md").read_text(encoding="utf-8").split("\n### ")[1:]
    with_a_fix = {section.split("\n")[0] for section in sections if "**How to fix it.** " in section}
    kinds = [getattr(errors, name) for name in dir(errors)]
    bases = {"MdreelError", "MdreelWarning"}  # mdreel raises only their subclasses
    assert with_a_fix == {kind.__name__ for kind in kinds if issubclass(kind, Warning | Exception)} - bases


def commands_of(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, nested in command.commands.items():
            yield from commands_of(nested, f"{path} {name}")


@pytest.fixture(scope="module")
def pages(extensions: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from command_pages import write_pages

    folder = tmp_path_factory.mktemp("commands")
    write_pages(folder)
    return folder


def test_every_command_and_option_is_in_the_reference(pages: Path) -> None:
    listing = (pages / "index.rst").read_text(encoding="utf-8")
    n_options = 0
    for entry in [entry for entries in commands.groups().values() for entry in entries]:
        text = (pages / f"{entry.name}.rst").read_text(encoding="utf-8")
        assert f":doc:`mdreel {entry.name} <{entry.name}>`" in listing
        for path, command in commands_of(commands.load(entry), f"mdreel {entry.name}"):
            section = text.split(f"\n.. program:: {path}\n")[1].split("\n.. program::")[0]
            declared = re.findall(r"^\.\. option:: (.+)$", section, re.MULTILINE)
            found = {name.split()[0] for names in declared for name in names.split(", ") if name.startswith("-")}
            wanted = {
                name
                for option in command.params
                if isinstance(option, click.Option) and not option.hidden
                for name in [*option.opts, *option.secondary_opts]
            }
            assert wanted <= found, path
            n_options += len(wanted)
    assert n_options > 500, "the search found the options"


def test_page_of_a_removed_command_is_removed(pages: Path) -> None:
    from command_pages import write_pages

    (pages / "removed.rst").write_text("", encoding="utf-8")
    write_pages(pages)
    assert not (pages / "removed.rst").exists()
