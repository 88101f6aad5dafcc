"""The main command, which loads other commands only when they are run or when their own help is shown."""

from typing import Any

import click

from mdreel.cli import commands
from mdreel.cli.output import echo


class LazyGroup(click.Group):
    """The main command. Its subcommands are listed in the table of commands."""

    def __init__(self) -> None:
        completion = {"is_flag": False, "flag_value": "", "is_eager": True, "expose_value": False, "metavar": "SHELL"}
        super().__init__(
            "mdreel",
            invoke_without_command=True,
            callback=_show_help,
            params=[
                _option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version),
                _option("--install-completion", callback=_install_completion, **completion),
                _option("--show-completion", callback=_show_completion, **completion),
            ],
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [entry.name for entries in commands.groups().values() for entry in entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        entry = commands.find(cmd_name)
        return None if entry is None else commands.load(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command for the first word. If the word is unknown, the error suggests a similar command."""
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and commands.find(name) is None:
            if name in commands.LAB:
                raise click.UsageError(
                    f"The command {name!r} is part of mdreel-lab, which is not installed: in a clone of mdreel's "
                    f"repository, run ./task build, or pip install '.[bench]' ./lab",
                    ctx,
                )
            from difflib import get_close_matches  # rarely needed

            close = get_close_matches(name.lower(), self.list_commands(ctx))
            close.sort(key=lambda one: sorted(one) != sorted(name.lower()))  # letters that are swapped come first
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help without loading any command."""
        from mdreel.cli.help_page import help_page

        return help_page()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete options and command names. Command names are shown with their short help from the table."""
        from click.shell_completion import CompletionItem

        entries = (entry for group in commands.groups().values() for entry in group)
        found = [CompletionItem(one.name, help=one.help) for one in entries if one.name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def _option(name: str, **settings: Any) -> click.Option:
    text = next(text for names, text in commands.OPTIONS.items() if names.split()[0] == name)
    return click.Option([name], help=text, **settings)


@click.pass_context
def _show_help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        echo(context.get_help())


def _print_version(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        from importlib.metadata import version  # imports the whole of email

        echo(f"mdreel {version('mdreel')}")
        context.exit()


def _show_completion(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    if shell is not None and not context.resilient_parsing:
        from mdreel.cli.options.completion import script_of

        echo(script_of(context.command, shell))
        context.exit()


def _install_completion(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    if shell is not None and not context.resilient_parsing:
        from mdreel.cli.options.completion import install

        echo(install(context.command, shell))
        context.exit()
