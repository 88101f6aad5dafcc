"""Pages of benchmark cases, and the generated parts of README files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdreel_lab.bench.contests.cases import Case, Goal
from mdreel_lab.bench.contests.rounds import ContestPoint, fastest, point_json, ratio
from mdreel_lab.bench.data import System
from mdreel_lab.bench.records import DONE, Kept, of_json, read_json, write_json, write_text
from mdreel_lab.bench.table import VERDICTS, WRITTEN, Table, aim_of, machine, markdown, number

Record = Kept[ContestPoint]
Page = dict[str, Any]
"""A kept page: title and environment; ``data``, ``records`` and ``goals`` of a case, or ``figures``."""

BEGIN = "<!-- speed-table:begin -->"
END = "<!-- speed-table:end -->"

FAMILIES: Mapping[str, str] = {
    "mdreel-1": "mdreel",
    "mdreel-2": "mdreel, 2 threads",
    "mdanalysis": "MDAnalysis",
    "mdanalysis-2": "MDAnalysis, 2 processes",
    "mdtraj": "mdtraj",
    "molly": "molly (reads only)",
    "xdrfile": "xdrfile (reads only)",
    "gmx": "gmx rms",
    "cpptraj": "cpptraj",
}
"""Families of contenders that the figure of the README shows."""

_READERS = ("mdreel", "MDAnalysis", "mdtraj", "chemfiles", "molly")
_READ = {"read": "all atoms", "read-selected": "Cα atoms"}
_FLOORS = {"floor-pread": "reading the file", "floor-memcpy": "copying as many bytes"}


def keep_case(
    place: Path, case: Case, system: System, n_frames: int, records: Sequence[Record], environment: dict[str, Any]
) -> None:
    """Keep the records of a case and the results of its goals."""
    path = system.trajectory(case.format)
    write_json(
        place,
        {
            "title": case.title,
            "environment": environment,
            "data": {"file": path.name, "n_bytes": path.stat().st_size, "n_frames": n_frames},
            "records": [point_json(kept) for kept in records],
            "goals": [_goal(goal, records) for goal in case.goals],
        },
    )


def _goal(goal: Goal, records: Sequence[Record]) -> dict[str, Any]:
    over, under = (fastest(kept for kept in records if kept.point.key in keys) for keys in (goal.over, goal.under))
    kept: dict[str, Any] = {"text": goal.text, "bound": goal.bound, "at_least": goal.at_least}
    if over is None or under is None:
        return kept | {"ratio": None}
    found = ratio(over, under)
    met = found["median"] >= goal.bound if goal.at_least else found["median"] <= goal.bound
    return kept | {"ratio": found, "over": over.point.key, "under": under.point.key, "met": met}


def bounded(text: str, value: float, bound: float, unit: str, *, at_least: bool = False) -> dict[str, Any]:
    """Return a figure that must stay below a bound, or above it with `at_least`."""
    is_met = value >= bound if at_least else value <= bound
    return {"text": text, "value": value, "bound": bound, "unit": unit, "at_least": at_least, "met": is_met}


def load(place: Path) -> Page | None:
    """Return a kept page, its records as such; None if there is none."""
    if not place.exists():
        return None
    page: Page = read_json(place)
    if "records" in page:
        page["records"] = [of_json(one, place, ContestPoint(**one["point"])) for one in page["records"]]
    return page


def full(pages: Sequence[Page]) -> str:
    """Return the page with every contender, every floor, every goal and every figure."""
    parts = [f"# Speed\n\n{WRITTEN}\n"]
    said = ""
    for page in pages:
        parts.append(f"## {page['title']}\n")
        if "records" in page:
            data = page["data"]
            size = f"{data['file']}, {data['n_frames']:,} frames, {data['n_bytes'] / 1e9:.2f} GB"
            parts += [f"{size}; medians of {_n_rounds(page)}.\n", _contenders(page)]
            found = [_spread(goal["ratio"]) if goal["ratio"] else "not measured" for goal in page["goals"]]
            parts += [_goals("Goal", page["goals"], found)] if found else []
        else:
            found = [f"{figure['value']:.3g} {figure['unit']}" for figure in page["figures"]]
            parts.append(_goals("", page["figures"], found))
        where = machine(page["environment"])
        parts.append("Run as above.\n" if where == said else f"{where}\n")
        said = where
    return "\n".join(parts)


def csv_of(pages: Sequence[Page]) -> str:
    """Return all contenders of cases as comma-separated values."""
    rows = []
    for page in pages:
        for kept in page.get("records", ()):
            if kept.status == DONE:
                times = _times_ours(page, kept) or {}
                ratios = (times.get(name, "") for name in ("median", "low", "high"))
                rows.append((page["title"], kept.point.label, kept.point.cores, microseconds(kept), *ratios))
    head = ("Case", "Contender", "Cores", "µs a frame", "times ours", "lowest", "highest")
    return Table("contenders", "", head, rows).csv


def _n_rounds(page: Page) -> int:
    return max((len(kept.rounds) for kept in page["records"]), default=0)


def _mine(page: Page) -> Record | None:
    return next((kept for kept in page["records"] if kept.point.kind == "ours" and kept.status == DONE), None)


def _times_ours(page: Page, kept: Record) -> dict[str, float] | None:
    mine = _mine(page)
    return None if mine is None else ratio(kept, mine)


def microseconds(kept: Record) -> float:
    """Return the time a frame, µs."""
    return 1e6 * kept.seconds / kept.point.n_frames


def _contenders(page: Page) -> str:
    mine = _mine(page)
    rows = []
    for kept in page["records"]:
        if kept.status == DONE:
            times = _times_ours(page, kept)
            cells = (number(microseconds(kept)), _spread(times) if times else "")
        else:
            cells = ("not measured", kept.message.strip().splitlines()[-1])
        rows.append((kept.point.label, str(kept.point.cores), *cells))
    ours = "mdreel" if mine is None else mine.point.label
    return markdown(("", "cores", "µs a frame", f"time / time of {ours} (lowest to highest)"), rows, "lrrr")


def _goals(heading: str, goals: Sequence[dict[str, Any]], found: Sequence[str]) -> str:
    rows = [
        (goal["text"], aim_of(goal), text, VERDICTS[goal.get("met")]) for goal, text in zip(goals, found, strict=True)
    ]
    return markdown((heading, "aimed at", "measured", ""), rows, "lrrl")


def of_readme_pages(pages: Sequence[Page]) -> list[Page]:
    """Return the cases that the README shows: those that MDAnalysis can do as well."""
    return [page for page in pages if any(kept.point.family == "mdanalysis" for kept in page["records"])]


def of_readme(pages: Sequence[Page], figure: str) -> str:
    """Return the figure of the README with its caption: measured times, ratios to MDAnalysis and the machine."""
    pages = of_readme_pages(pages)
    if not pages:
        return ""
    ratios = [_times_ours(page, kept) for page in pages if (kept := best_of_family(page, "mdanalysis"))]
    found = [times["median"] for times in ratios if times]
    alternative = (
        f"Time for one frame of mdreel and other libraries in {len(pages)} jobs. On one core, MDAnalysis takes "
        f"{number(min(found))} to {number(max(found))} times as long as mdreel."
    )
    data = ", ".join(dict.fromkeys(f"{page['data']['n_frames']:,} frames of {page['data']['file']}" for page in pages))
    return (
        f"![{alternative}]({figure})\n\n"
        f"Medians of {min(map(_n_rounds, pages))} rounds with the fastest way of using each library. "
        f"Hollow markers: two cores. {data}. {_commits(pages)}{machine(pages[0]['environment'])}\n"
    )


def of_formats(pages: Sequence[Page]) -> str:
    """Return the table of formats: µs per frame, the ratio to the time of mdreel, and the floors of the machine."""
    if not pages:
        return ""
    rows = []
    for page in pages:
        for what, text in _READ.items():
            best = [best_of_family(page, f"{reader}-{what}") for reader in _READERS]
            floors = [next((one for one in page["records"] if one.point.key == key), None) for key in _FLOORS]
            cells = [_times(one, best[0]) for one in best] + [_times(one, None) for one in floors]
            rows.append([f"{page['title'].removesuffix(' read')}, {text}", *cells])
    columns = [*_READERS, *_FLOORS.values()]
    return (
        f"{markdown(['µs a frame', *columns], rows, 'l' + 'r' * len(columns))}\nIn brackets: time divided by that of "
        f"mdreel, medians of {min(map(_n_rounds, pages))} rounds. Every reader uses one core; the fastest way of using "
        "molly is shown. The floors are of the whole file. "
        f"{_commits(pages)}{machine(pages[0]['environment'])}\n"
    )


def _commits(pages: Sequence[Page]) -> str:
    """List the commits of cases that were measured at a different commit than the first case."""
    first = pages[0]["environment"]["commit"]
    others = {page["title"]: page["environment"]["commit"] for page in pages[1:]}
    said = [f"{title}: {commit}" for title, commit in others.items() if commit != first]
    return f"Measured at another commit: {'; '.join(said)}. " if said else ""


def best_of_family(page: Page, family: str) -> Record | None:
    """Return the fastest record of a family of contenders, or None if the family has no record."""
    return fastest(kept for kept in page["records"] if kept.point.family == family)


def _times(kept: Record | None, ours: Record | None) -> str:
    if kept is None or kept.status != DONE:
        return ""
    text = number(microseconds(kept))
    return text if ours is None or kept is ours else f"{text} ({number(kept.seconds / ours.seconds)}x)"


def _spread(found: Mapping[str, float]) -> str:
    return f"{number(found['median'])}x, {number(found['low'])}–{number(found['high'])}"


def insert(readme: Path, text: str) -> bool:
    """Insert a generated part between the markers of a README; return whether it has the markers."""
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        return False
    write_text(readme, f"{before}{BEGIN}\n{text}{END}{after}")
    return True
