"""``python -m mdreel.cli``: the command line, where no script directory is on the path."""

from mdreel.cli.main import main

main()
