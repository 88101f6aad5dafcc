"""Python code of the call that ran analyses."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdreel.foundation.urls import without_secrets

_LONGEST = 60
"""Maximum number of characters of an argument."""


def python_call(analyses: Sequence[object], **settings: Any) -> str:
    """Return the call that runs analyses, such as ``RMSD(...).run(step=10, n_workers=2)``.

    Parameters
    ----------
    analyses : sequence of Analysis
        The analyses.
    **settings
        Arguments of the call. None and empty sequences are considered defaults and are omitted.

    Examples
    --------
    >>> from mdreel.analysis.base.python_call import python_call
    >>> python_call([object()], start=None, step=10)
    'object(...).run(step=10)'
    """
    given = {name: value for name, value in settings.items() if not _is_default(value)}
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in given.items())
    names = [f"{type(analysis).__name__}(...)" for analysis in analyses]
    if len(names) == 1:
        return f"{names[0]}.run({arguments})"
    return f"mdreel.run([{', '.join(names)}]{', ' * bool(arguments)}{arguments})"


def _is_default(value: object) -> bool:
    return value is None or (isinstance(value, tuple | list) and not value)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of {value.size:,}>"
    try:
        text = without_secrets(" ".join(repr(value).split()))
    except Exception:  # noqa: BLE001 (objects of users may raise anything)
        text = ""
    is_plain = text and len(text) <= _LONGEST and " at 0x" not in text
    return text if is_plain else f"<{type(value).__name__}>"
