"""Cases: contenders with the same job on the same file, and the goals of mdreel."""

import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from mdreel.errors import MismatchError
from mdreel.foundation.toml_schema import checked, entry
from mdreel_lab.bench.data import FORMS, SYSTEMS

KINDS = ("ours", "peer", "floor")
_FOLDER = Path(str(files("mdreel_lab.bench.contests").joinpath("cases")))


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to do the job of a case."""

    label: str = entry("Its name in the tables.")
    program: str = entry("The program: one of `peers.process.PROGRAMS`, or of those in Rust.")
    way: str = entry("The program's way to do it.", "")
    what: str = entry("Its job.  [default: that of the case]", "")
    cores: int = entry("Cores that it may use.", 1, least=1)
    workers: int = entry("Threads, processes or segments.  [default: as many as cores]", 0)
    family: str = entry("The fastest contender of a family stands for it in the short tables.  [default: its key]", "")
    kind: str = entry("Whose it is.", "peer", choices=KINDS)
    index: str = entry("Whether mdreel finds an index of the frames.", "kept", choices=("kept", "none"))
    needs: str = entry("Requirement: python:MODULE, program:NAME or file:PATH.  [default: by program]", "")
    share: int = entry("It reads the trajectory one in so many of the times of the case.", 1, least=1)
    key: str = entry("Its name within the case: that of its table.", "")


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A bound on the ratio of two times."""

    text: str = entry("Its name in the tables.")
    over: tuple[str, ...] = entry("Contenders: the time of the fastest is divided ...")
    under: tuple[str, ...] = entry("... by that of the fastest of these.")
    bound: float = entry("The bound.")
    at_least: bool = entry("Whether the bound is a lower one.", True)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case; ``{system}`` in its name and title stands for each of its systems."""

    title: str = entry("Its title.")
    systems: tuple[str, ...] = entry("The systems.", ("adk",), choices=tuple(SYSTEMS))
    format: str = entry("Format of the trajectory.", "xtc", choices=tuple(FORMS))
    what: str = entry("The job.", "rmsd")
    place: str = entry("Where the selected atoms are in a frame.", "start", choices=("start", "end"))
    step: int = entry("Every how many frames are analysed.", 1, least=1)
    times: int = entry("The file is read this often, one time after another; 0 for as often as takes long enough.", 1)
    long: bool = entry("Whether it takes a long trajectory, on demand only.", False)
    contenders: tuple[str, ...] = entry("Keys of the contenders.")
    floors: bool = entry("Whether reading and copying as many bytes is measured as well.", False)
    goals: tuple[Goal, ...] = entry("The goals.", ())
    file: str = entry("Name of its file.", "")

    @property
    def system(self) -> str:
        """The system of a case that was made for one."""
        return self.systems[0]


PAGES = {
    "table": ("table",),
    "analyses": ("analyses",),
    "pairs": ("pairs",),
    "executors": ("executors",),
    "formats": ("formats", "storage"),
    "arrays": ("arrays",),
}
"""The files whose cases are on a page."""


@dataclass(frozen=True)
class Cases:
    """Cases by name, each for one system, in the order in which they run; contenders by file and key."""

    by_name: dict[str, Case]
    contenders: dict[str, dict[str, Contender]]

    def names_of(self, *names: str) -> list[str]:
        """Return the names of the cases of files."""
        return [name for name, case in self.by_name.items() if case.file in names]

    def contenders_of(self, case: Case) -> list[Contender]:
        """Return the contenders of a case, without floors."""
        return [self.contenders[case.file][key] for key in case.contenders]


def read_cases() -> Cases:
    """Read the files of cases; raise a `MismatchError` if something is unknown, missing or of a wrong type."""
    found = Cases({}, {})
    for path in (
        _FOLDER / f"{name}.toml" for name in ("table", "formats", "arrays", "storage", "executors", "analyses", "pairs")
    ):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        found.contenders[path.stem] = {
            key: replace(checked(Contender, f"{path}: {key}", table), key=key)
            for key, table in content["contender"].items()
        }
        cases = {name: _checked(name, table, path, found) for name, table in content["case"].items()}
        for number in range(len(SYSTEMS)):
            for name, case in cases.items():
                for system in case.systems[number : number + 1]:
                    title = case.title.format(system=system)
                    found.by_name[name.format(system=system)] = replace(case, systems=(system,), title=title)
    return found


def _checked(name: str, table: object, path: Path, found: Cases) -> Case:
    case = replace(checked(Case, f"{path}: {name}", table), file=path.stem)
    for key in {*case.contenders, *(key for goal in case.goals for key in (*goal.over, *goal.under))}:
        if key not in found.contenders[path.stem] and not key.startswith("floor-"):
            raise MismatchError(f"{path}: {name}: there is no contender {key!r}")
    return case
