"""Kind of the Python session: notebook, interactive or script."""

import sys


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, without importing IPython."""
    shell = _shell()
    return shell is not None and hasattr(shell, "kernel")


def is_interactive() -> bool:
    """Return whether a person types statements into this process: in a notebook, in IPython or in Python."""
    return hasattr(sys, "ps1") or _shell() is not None


def _shell() -> object | None:
    ipython = sys.modules.get("IPython")
    shell: object | None = ipython.get_ipython() if ipython is not None else None
    return shell
