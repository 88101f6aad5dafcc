"""Command ``python3 -m tasks.new_analysis HelixTilt "Tilt of a helix in each frame."``."""

import argparse
import sys

from tasks.environment import ROOT
from tasks.new_analysis import new_analysis
from tasks.output import TaskError


def main() -> int:
    """Write the files of a new analysis and print their paths."""
    parser = argparse.ArgumentParser(prog="python3 -m tasks.new_analysis", description=main.__doc__)
    parser.add_argument("name", metavar="CLASS", help="public name of the analysis, such as HelixTilt")
    parser.add_argument(
        "summary", metavar="SUMMARY", help='first line of its docstring: "Tilt of a helix in each frame."'
    )
    chosen = parser.parse_args()
    try:
        paths = new_analysis(chosen.name, chosen.summary)
    except TaskError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    for path in paths:
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
