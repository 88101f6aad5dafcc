"""TOML files that are written by users."""

import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from mdreel.errors import FormatError
from mdreel.foundation.trusted_files import open_trusted


def read_toml(path: str | PathLike[str], *, has_commands: bool = False) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path : path
        The file.
    has_commands : bool
        Whether mdreel runs commands from the file. Such a file is rejected if other users can modify it.

    Returns
    -------
    dict
        The content of the file.

    Raises
    ------
    FormatError
        If the file is not valid TOML.
    UnsupportedError
        If mdreel runs commands from the file, and other users can modify it.
    OSError
        If the file cannot be opened.
    """
    path = Path(path)
    try:
        with open_trusted(path, root_may_own=True) if has_commands else path.open("rb") as file:
            return tomllib.load(file)
    except ValueError as error:  # invalid TOML, or bytes that are not UTF-8
        hint = ': texts need quotation marks, as in select = "name CA"' if "Invalid value" in str(error) else ""
        raise FormatError(f"no TOML: {error}{hint}", path=path) from error
