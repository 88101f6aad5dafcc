"""Conversion of library messages for the command line, in which parameters are replaced by options."""

import re
from collections.abc import Mapping
from os.path import normpath

import click

_RENAMED = {
    "acceptors_sel": "acceptors",
    "d_a_cutoff": "distance",
    "d_h_a_angle_cutoff": "angle",
    "groupselections": "group",
    "hydrogens_sel": "hydrogens",
    "msd_type": "axes",
    "n_components": "components",
    "n_sphere_points": "points",
    "nbins": "bins",
    "nojump": "unwrap_jumps",
    "ref_frame": "reference_frame",
    "select": "selection",
    "select_remove": "remove",
    "trajectory": "trajectories",
    "transformations": "transforms",
}
"""Library parameters whose options have a different name."""

_SAYS_BOTH = "on the command line"
"""Text that is found in messages that already contain both parameters and options."""

_OF_FILES = ".toml: "
"""A place in a recipe or a rules file, where keys are not options."""

_GIVEN = re.compile(r"""\b([A-Za-z_]\w*)=("[^"]*"|'[^']*'|\([^)]*\)|[\w.+-]*\w)""")
"""A parameter with its value, such as ``pbc=False``."""

_OFFERED = re.compile(rf", or (?:give|use) {_GIVEN.pattern}$")
"""A hint at the end of a message, which is omitted if the command has no such option."""

_SUBJECT = re.compile(r"(?:^|(?<=: ))([A-Za-z_]\w*)(?:\[(?:\d+|'[^']*')\])?(?= must | is | has | needs |: )")
"""A parameter that is the subject of a sentence, such as ``memory must be``."""

_WORD = re.compile(r"(?<![\w/.=-])([A-Za-z]+(?:_[A-Za-z]+)+|nbins|groupselections)(?![\w/(=]|\.\w)")
"""A parameter whose name is not an English word."""


def in_options(text: str, command: click.Command, values: Mapping[str, object] | None = None) -> str:
    """Replace the library parameters in a message by the options of a command.

    Parameters
    ----------
    text : str
        The message.
    command : click.Command
        The command that was called.
    values : mapping, optional
        Values of the options by parameter. A word of the message that is also the value of the option, such as the
        path ``channel`` of ``--channel channel``, is not replaced.

    Examples
    --------
    >>> import click
    >>> from mdreel.cli.option_names import in_options
    >>> in_options("n_workers must be at least 1, or give pbc=False", click.Command(
    ...     "rdf", params=[click.Option(["-nt", "--n-workers"]), click.Option(["--pbc/--no-pbc"])]))
    '--n-workers must be at least 1, or give --no-pbc'
    """
    if _SAYS_BOTH in text or _OF_FILES in text:
        return text
    options = {str(one.name): one for one in command.params if isinstance(one, click.Option)}

    def given(match: re.Match[str]) -> str:
        option = _find(options, match[1])
        return match[0] if option is None else _with_value(option, match[2].strip("\"'"))

    def named(match: re.Match[str]) -> str:
        option = _find(options, match[1])
        is_value = option is not None and normpath(str((values or {}).get(str(option.name)))) == match[1]
        return match[0] if option is None or is_value else _long(option)

    def offered(match: re.Match[str]) -> str:
        return match[0] if _find(options, match[1]) else ""

    text = _GIVEN.sub(given, _OFFERED.sub(offered, text))
    return _WORD.sub(named, _SUBJECT.sub(named, text))


def _find(options: Mapping[str, click.Option], name: str) -> click.Option | None:
    return options.get(_RENAMED.get(name, name))


def _long(option: click.Option) -> str:
    return max(option.opts, key=len)


def _with_value(option: click.Option, value: str) -> str:
    name = _long(option)
    if option.is_flag:
        if value == "True":
            return name
        return option.secondary_opts[-1] if option.secondary_opts else f"no {name}"
    if value == "None":
        choices = getattr(option.type, "choices", ())
        return f"{name} none" if "none" in choices else f"no {name}"
    return f"{name} '{value}'" if " " in value else f"{name} {value}"
