"""Detection of notebooks and interactive Python sessions."""

import sys


def in_notebook() -> bool:
    """Return whether this process is a notebook kernel, without importing IPython."""
    shell = _shell()
    return shell is not None and hasattr(shell, "kernel")


def is_interactive() -> bool:
    """Return whether a person is using this process interactively, in a notebook, in IPython or in Python."""
    return hasattr(sys, "ps1") or _shell() is not None


def _shell() -> object | None:
    ipython = sys.modules.get("IPython")
    shell: object | None = ipython.get_ipython() if ipython is not None else None
    return shell
