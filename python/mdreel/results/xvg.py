"""Tables in XVG format, the input format of Grace, which is also used by GROMACS.

See https://plasma-gate.weizmann.ac.il/Grace/doc/UsersGuide.html.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel.results.column import Column


def write(path: Path, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
    """Write the time (or the first column if there is no time) as the abscissa and every other quantity as a curve.

    The frame number is omitted because it would be shown as a curve. Text columns are written as comments, one per row,
    because the format does not support text values.
    """
    texts = [column for column in columns if column.is_text]
    columns = [column for column in columns if not column.is_text]
    abscissa = next((c for c in columns if c.name == "time"), columns[0])
    curves = [column for column in columns if column is not abscissa and column.name != "frame"]
    with path.open("w", encoding="utf-8") as file:
        for name, value in metadata.items():
            file.writelines(f"# {name}: {line}\n" for line in str(value).splitlines() or [""])
        for number, row in enumerate(zip(*(column.values.tolist() for column in texts), strict=True)):
            named = ", ".join(f"{column.name} {value}" for column, value in zip(texts, row, strict=True))
            file.write(f"# row {number}: {named}\n")
        file.write(f'@    title "{_quoted(str(metadata.get("title", "")))}"\n')
        file.write(f'@    xaxis  label "{_label(abscissa)}"\n')
        file.write(f'@    yaxis  label "{_label(curves[0])}"\n')
        file.write("@TYPE xy\n@ legend on\n")
        file.writelines(f'@ s{n} legend "{_label(curve)}"\n' for n, curve in enumerate(curves))
        for row in zip(*(column.values.tolist() for column in [abscissa, *curves]), strict=True):
            file.write(" ".join(map(repr, row)) + "\n")


def _label(column: Column) -> str:
    name = column.name.upper() if column.name == "rmsd" else column.name.capitalize()
    return f"{name} ({column.ascii_unit})" if column.unit else name


def _quoted(text: str) -> str:
    """Return text without quotation marks, line breaks and backslashes, which have a special meaning in Grace."""
    return " ".join(text.split()).replace('"', "'").replace("\\", "/")
