"""Help in sections: the options of a command under headings, in plain text, for rich would double its time."""

from typing import Any

from typer.core import TyperCommand


class SectionedCommand(TyperCommand):
    """A command whose help lists its options by the heading (``rich_help_panel``) that each of them names."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections, in the order in which their headings first occur."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                heading = getattr(parameter, "rich_help_panel", None) or "Other"
                sections.setdefault(heading, []).append(record)
        width = max(len(name) for records in sections.values() for name, _ in records)
        for heading, records in sections.items():
            with formatter.section(heading):
                # One width for all, so that the explanations of all sections begin in one column.
                formatter.write_dl([(f"{name:{width}}", explanation) for name, explanation in records])
