"""Declaration of Click commands, whose options and arguments are the annotated parameters of functions."""

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

from mdreel.cli.errors import CommandError, ExitCode, one_line
from mdreel.errors import MdreelError

HELP = "Help"


class Option:
    """An option in the annotation of a parameter, such as ``Annotated[int, Option("--step", help="...")]``.

    Parameters
    ----------
    *names : str
        The names of the option, such as ``"-o", "--output"``. By default, the name of the parameter is used. A switch
        can have the form ``"--pbc/--no-pbc"``.
    help : str
        The help text.
    metavar : str, optional
        The name of the value in the help text.
    group : str
        The heading under which the option is listed in the help. The default is that of the options of an analysis.
    minimum, maximum : float, optional
        The smallest and the largest allowed value.
    choices : sequence of str, optional
        The allowed values. If the type of the parameter is a ``Literal`` or a ``StrEnum``, they are taken from the
        type.
    is_advanced : bool
        Whether the option is shown only by ``--help-all``.
    takes_several : bool
        Whether all words up to the next option are values. For example, ``-f a.xtc b.xtc`` then means the same as ``-f
        a.xtc -f b.xtc``.
    callback : callable, optional
        Function that is called with the value before the command is run.
    """

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002
        metavar: str | None = None,
        group: str = "Analysis",
        minimum: float | None = None,
        maximum: float | None = None,
        choices: Sequence[str] | None = None,
        is_advanced: bool = False,
        takes_several: bool = False,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.names, self.help, self.metavar, self.group = names, help, metavar, group
        self.minimum, self.maximum, self.choices = minimum, maximum, choices
        self.is_advanced, self.takes_several, self.callback = is_advanced, takes_several, callback


class Argument:
    """A positional argument in the annotation of a parameter.

    Parameters
    ----------
    metavar : str, optional
        The name of the argument in the help text.
    help : str
        The help text.
    is_hidden : bool
        Whether the argument is the command line of another program, which is already shown in the usage line.
    """

    def __init__(self, *, metavar: str | None = None, help: str = "", is_hidden: bool = False) -> None:  # noqa: A002
        self.metavar, self.help, self.is_hidden, self.group = metavar, help, is_hidden, "Arguments"
        self.minimum = self.maximum = self.choices = None


class _DescribedArgument(click.Argument):
    """A positional argument with a help text."""

    def __init__(self, names: Sequence[str], text: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.text = text

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the line for this argument in the help text."""
        return self.make_metavar(ctx), self.text + "  [required]" * self.required


class SectionedCommand(click.Command):
    """A command whose help text lists its options under headings.

    Parameters
    ----------
    usage : str, optional
        The usage text that follows the name of the command.
    hides_advanced : bool
        Whether advanced options are shown only by ``--help-all``.
    """

    def __init__(self, *args: Any, usage: str | None = None, hides_advanced: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.usage, self.hides_advanced = usage, hides_advanced
        hidden: dict[str, None] = dict.fromkeys(
            _declared(one, "group", HELP) for one in self.params if _declared(one, "is_advanced", False)
        )
        text = f"Show all options, including {', '.join(heading.lower() for heading in hidden)}."
        show: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all}
        # Where `--help` hides nothing, both options do the same, and the help names one of them.
        self.params.append(click.Option(["--help-all"], help=text, hidden=not hides_advanced, **show))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command. Some options can take several values."""
        names = {
            name
            for one in self.params
            if isinstance(one, click.Option) and _declared(one, "takes_several", False)
            for name in one.opts
        }
        first = next(iter(args), "-")
        selections = {name for one in self.params if (one.metavar or "").endswith("SELECTION") for name in one.opts}
        if not ctx.resilient_parsing and not selections.isdisjoint(word.partition("=")[0] for word in args):
            from mdreel.cli.options.usage_hints import check_quotes  # needs shlex

            takes_arguments = any(isinstance(one, click.Argument) for one in self.params)
            check_quotes(ctx, args, selections, takes_arguments=takes_arguments)
        long = {name for one in self.params if isinstance(one, click.Option) for name in one.opts}
        single = next((word for word in args if f"-{word.partition('=')[0]}" in long), None)
        if single is not None and "-- " not in (self.usage or ""):
            raise click.UsageError(f"No such option '{single}'. Did you mean '-{single}'?", ctx)
        try:
            return super().parse_args(ctx, _repeated(args, names) if names else args)
        except click.MissingParameter as error:
            if first.startswith("-") or error.param is None or "-s" not in error.param.opts:
                raise
            message = f"there is no option in front of {first!r}: name the topology with -s, the trajectory with -f"
            raise click.UsageError(message, ctx) from error
        except click.NoSuchOption as error:
            from mdreel.cli.options.usage_hints import with_synonym  # only for errors

            suggestion = with_synonym(error, self.params)
            if "-- " not in (self.usage or "") or "--" in args:
                raise suggestion from None
            raise click.UsageError(f"{suggestion.format_message()} Write -- before the other command", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Its error messages contain the names of options, not of library parameters."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (CommandError, MdreelError, OSError, MemoryError) as error:
            from mdreel.cli.option_names import in_options  # only for errors

            if isinstance(error, CommandError):
                raise CommandError(in_options(str(error), self, ctx.params), error.code) from error
            raise CommandError(in_options(one_line(error), self, ctx.params), ExitCode.INPUT) from error

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage text that follows the name of the command."""
        return [self.usage] if self.usage else super().collect_usage_pieces(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order in which their headings first occur, followed by the help options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = None if _declared(parameter, "is_hidden", False) else parameter.get_help_record(ctx)
            is_hidden = self.hides_advanced and _declared(parameter, "is_advanced", False) and not ctx.meta.get(HELP)
            if record is not None and not is_hidden:
                sections.setdefault(_declared(parameter, "group", HELP), []).append(record)
        longest = max((len(name) for records in sections.values() for name, _ in records if len(name) <= 32), default=0)
        last = sections.pop(HELP, [])
        for heading, records in (*sections.items(), (HELP, last)):
            with formatter.section(heading):
                # One column for the texts of all sections.
                formatter.write_dl([(f"{name:{longest}}", text) for name, text in records], col_max=34)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples without changing them."""
        if self.epilog:
            formatter.write("\n" + self.epilog.rstrip() + "\n")


class CommandGroup(click.Group):
    """A command with subcommands."""

    def __init__(self, name: str, help: str) -> None:  # noqa: A002
        super().__init__(name, help=help, no_args_is_help=False)

    def add(self, *, summary: str, name: str | None = None, **settings: Any) -> "Callable[[Callable[..., Any]], Any]":
        """Create a command from a function and add it; see `command`."""

        def made(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add_command(command(name=name, short_help=summary, **settings)(function))
            return function

        return made


def command(
    *, name: str | None = None, examples: str = "", usage: str | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], SectionedCommand]:
    """Create a command from a function.

    Parameters
    ----------
    name : str, optional
        Name of the command. By default, the name of the function.
    examples : str
        Examples that are shown at the end of the help.
    usage : str, optional
        The usage text that follows the name of the command, if the default text of Click is not sufficient.
    **settings
        Additional arguments of `click.Command`.
    """

    def made(function: Callable[..., Any]) -> SectionedCommand:
        parameters = list(inspect.signature(function).parameters.values())
        has_context = bool(parameters) and parameters[0].annotation is click.Context
        return SectionedCommand(
            name or function.__name__.replace("_", "-"),
            callback=click.pass_context(function) if has_context else function,
            params=[click_parameter(one) for one in parameters[has_context:]],
            help=inspect.getdoc(function),
            epilog=examples,
            usage=usage,
            **settings,
        )

    return made


def click_parameter(parameter: inspect.Parameter) -> click.Parameter:
    """Return the option or argument that an annotated parameter declares."""
    hint, declared = get_args(parameter.annotation)[:2]
    kind = without_none(hint)
    is_many = get_origin(kind) is list
    if is_many:
        kind = get_args(kind)[0]
    is_required = parameter.default is inspect.Parameter.empty
    settings: dict[str, Any] = {"required": is_required, "metavar": declared.metavar}
    if not is_required and not is_many:
        settings["default"] = parameter.default
    if is_many or getattr(declared, "callback", None):
        settings["callback"] = _callback(parameter.default, declared, is_many)
    found: click.Parameter
    if isinstance(declared, Argument):
        settings |= {"type": _type(kind, declared), "nargs": -1 if is_many else 1}
        found = _DescribedArgument([parameter.name], declared.help, **settings)
    else:
        names = declared.names or (f"--{parameter.name.replace('_', '-')}",)
        if kind is bool:
            settings |= {"is_flag": True, "metavar": None}
        else:
            settings |= {"type": _type(kind, declared), "multiple": is_many}
        found = click.Option([*names, parameter.name], help=declared.help, show_default=True, **settings)
    for attribute in ("group", "is_advanced", "is_hidden", "takes_several"):
        if hasattr(declared, attribute):
            setattr(found, attribute, getattr(declared, attribute))
    return found


def long_name(parameter: inspect.Parameter) -> str:
    """Return the long name of an option without its dashes. For a switch with two names, return the name for true."""
    declared = get_args(parameter.annotation)[1]
    spelled = [name for name in declared.names if name.startswith("--")]
    return spelled[0].removeprefix("--").split("/")[0] if spelled else parameter.name.replace("_", "-")


def without_none(hint: Any) -> Any:
    """Remove None from a type."""
    if get_origin(hint) in (UnionType, Union):
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


def _declared(parameter: click.Parameter, attribute: str, default: Any) -> Any:
    return getattr(parameter, attribute, default)


def _callback(default: object, declared: Any, is_many: bool) -> Callable[..., Any]:
    def called(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if is_many:
            value = list(value) if value else (None if default is inspect.Parameter.empty else default)
        act = getattr(declared, "callback", None)
        return value if act is None else act(value)

    return called


def _type(kind: Any, declared: Any) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if declared.choices is not None or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return click.Choice(declared.choices or [one.value for one in kind])
    if kind is Path:
        return FilePath(path_type=Path)
    has_limits = declared.minimum is not None or declared.maximum is not None
    if kind is float:
        metavar = declared.metavar
        return NumberInRange(metavar, declared.minimum, declared.maximum) if has_limits else Number(metavar)
    if has_limits:
        return WholeNumberInRange(declared.minimum, declared.maximum)
    return kind


def _repeated(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Repeat the names of options before each of their values. For example, ``-f a b`` becomes ``-f a -f b``."""
    found: list[str] = []
    name = None  # of the option whose values follow
    for number, word in enumerate(words):
        if word == "--":
            return [*found, *words[number:]]
        if word.startswith("-") and word != "-":
            name = word if word in names else None
        elif name is not None and found[-1] != name:
            found.append(name)
        found.append(word)
    return found


def _show_all(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        from mdreel.cli.output import echo

        context.meta[HELP] = True
        echo(context.get_help())
        context.exit()


class FilePath(click.Path):
    """The path of a file. An empty text, such as that of an unset variable of the shell, is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            raise click.BadParameter("the name of the file is empty: give the path of a file", ctx, param)
        return super().convert(value, param, ctx)


class Number(click.types.FloatParamType):
    """A number in a given unit. For a value such as ``10ns``, the error message suggests the number to enter.

    Parameters
    ----------
    metavar : str or None
        Name of the value in the help text, which is the unit.
    """

    name = "number"

    def __init__(self, metavar: str | None) -> None:
        self.metavar = metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        with _suggesting_number(value, self.metavar, param, ctx):
            return super().convert(value, param, ctx)


class NumberInRange(click.FloatRange):
    """A number in a given unit and within limits; see `Number`."""

    name = "number"

    def __init__(self, metavar: str | None, minimum: float | None, maximum: float | None) -> None:
        super().__init__(minimum, maximum)
        self.metavar = metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        with _suggesting_number(value, self.metavar, param, ctx):
            return super().convert(value, param, ctx)


class WholeNumberInRange(click.IntRange):
    """A whole number within limits."""

    name = "whole number"


@contextmanager
def _suggesting_number(
    value: Any, metavar: str | None, param: click.Parameter | None, ctx: click.Context | None
) -> Iterator[None]:
    """Replace the error about a number with a unit by one that suggests the number."""
    try:
        yield
    except click.BadParameter:
        from mdreel.cli.options.usage_hints import check_unit  # only for errors

        check_unit(value, metavar, param, ctx)
        raise
