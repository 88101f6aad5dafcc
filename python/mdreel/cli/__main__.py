"""Entry point for ``python -m mdreel.cli``, in case the script directory is not on the path."""

from mdreel.cli.main import main

main()
