"""Reports: tables and figures made from the records of a folder."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from mdreel.errors import WorkerError
from mdreel.execution.available_cores import available_processors
from mdreel.results.figure import save
from mdreel_lab.bench import figures
from mdreel_lab.bench.exchange import page as exchange
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.machines import Machine, OfMachine, comparison, machine_table, merged, scenarios_of
from mdreel_lab.bench.measures import series_of
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept, write_text
from mdreel_lab.bench.scenario import QUANTITIES, Scenario
from mdreel_lab.bench.scenario_files import read_scenario
from mdreel_lab.bench.table import Table
from mdreel_lab.bench.tables import TABLES, beside

_ENDINGS = (".png", ".svg")


def write_reports(machines: Sequence[Machine], output: Path, names: Sequence[str] | None = None) -> Path:
    """Write a page for each scenario, its tables and figures, and a page that leads to them; return the latter.

    The pages of analyses compare all machines; scenarios of exchange have a page for each machine.

    Raise a `MismatchError` if there are no records, or machines have run different scenarios under one name. Raise a
    `FormatError` or `OSError` if a record cannot be read or a page cannot be written, and a `WorkerError` if a process
    that writes pages was killed.
    """
    found = scenarios_of(machines)
    output.mkdir(parents=True, exist_ok=True)
    lines = ["# Benchmarks", ""]
    exchanged = []
    wanted = []
    for name, several in found.items():
        scenario = read_scenario(several[0].path)
        is_wanted = names is None or name in names
        if isinstance(scenario, Exchange):
            pages = [(_page_name(name, one), [one]) for one in several]
        else:
            pages = [(name, list(several))]
        for page, shown in pages:
            if is_wanted:
                wanted.append((output, page, scenario, shown))
            records = merged(shown) if isinstance(scenario, Scenario) else shown[0].records
            n_done = sum(kept.status == DONE for kept in records)
            said = ", ".join(one.machine.name for one in shown if one.machine.name)
            where = f" on {said}" if said else ""
            size = shown[0].size
            lines.append(f"* [{scenario.title}]({page}.md): {n_done:,} of {len(records):,} points, {size} size{where}")
            if isinstance(scenario, Exchange) and scenario.claim:
                exchanged.append((page, scenario, records))
    _write_pages(wanted)
    if exchanged:
        write_text(output / "findings.md", "\n".join(exchange.overview(exchanged)).rstrip() + "\n")
        lines.append("* [Five findings](findings.md) of Lumsden et al. (2024), and what is found here")
    first = output / "index.md"
    write_text(first, "\n".join(lines) + "\n")
    return first


def _page_name(name: str, one: OfMachine) -> str:
    """Return the name of the page of a scenario on one machine."""
    return f"{name}-{one.machine.name}" if one.machine.name else name


def _write_pages(wanted: Sequence[tuple[Path, str, Scenario | Exchange, Sequence[OfMachine]]]) -> None:
    """Write pages, several at a time if there are processors for them, because Matplotlib uses only one."""
    n_processes = min(available_processors(), len(wanted))
    if n_processes < 2:
        for page in wanted:
            _write_page(*page)
        return
    try:
        with ProcessPoolExecutor(n_processes, get_context("spawn")) as processes:
            list(processes.map(_write_page, *zip(*wanted, strict=True)))  # an error cancels the rest
    except BrokenProcessPool as error:
        raise WorkerError(
            "a process that writes pages was killed, perhaps because there is too little memory"
        ) from error


def _write_page(output: Path, name: str, scenario: Scenario | Exchange, several: Sequence[OfMachine]) -> None:
    """Write the page of a scenario on some machines, with a folder of its tables and figures."""
    size, is_exchange = several[0].size, isinstance(scenario, Exchange)
    records = several[0].records if is_exchange else merged(several)
    folder = output / name
    folder.mkdir(exist_ok=True)
    lines = [f"# {scenario.title}", ""]
    lines += [f"After {scenario.paper.rstrip('.')}.", ""] if scenario.paper else []
    lines += [scenario.about.strip(), ""] if scenario.about else []
    if len(several) == 1:
        lines += [_facts(size, records), ""]
    else:
        lines += [f"Size: {size}.", "", *_table(folder, machine_table(several)), *_table(folder, comparison(several))]
    if isinstance(scenario, Exchange):
        lines += _of_exchange(folder, scenario, records)
    else:
        lines += _of_analysis(folder, scenario, records)
    for status, heading in ((LEFT_OUT, "Left out"), (FAILED, "Failed")):
        lines += _not_done(records, status, heading)
    write_text(output / f"{name}.md", "\n".join(lines).rstrip() + "\n")


def _of_analysis(folder: Path, scenario: Scenario, records: Sequence[Kept[Any]]) -> list[str]:
    series = series_of(records)
    if not series:
        return []
    tables = [TABLES[which](series, scenario.published) for which in scenario.tables]
    tables += [beside(series, scenario.published)] if scenario.published else []
    lines = [line for table in tables for line in _table(folder, table)]
    for which in scenario.figures:
        if which in QUANTITIES:
            figure = figures.over_workers(scenario.title, which, series, scenario.published)
        else:
            figure = figures.OF_SERIES[which](scenario.title, series)
        lines += _drawn(folder, which, figure)
    return lines


def _of_exchange(folder: Path, scenario: Exchange, records: Sequence[Kept[Any]]) -> list[str]:
    drawn = [_drawn(folder, which, figure) for which, figure in exchange.figures_of(scenario, records).items()]
    tables = [_table(folder, table) for table in exchange.tables_of(scenario, records)]
    return list(chain(exchange.findings(scenario, records), *drawn, *tables))


def _table(folder: Path, table: Table) -> list[str]:
    write_text(folder / f"{table.name}.csv", table.csv)
    return [f"## {table.title}", "", table.markdown, f"[CSV]({folder.name}/{table.name}.csv)", ""]


def _drawn(folder: Path, name: str, figure: Figure) -> list[str]:
    for ending in _ENDINGS:
        save(figure, folder / f"{name}{ending}", force=True)
        figure.set_layout_engine("none")  # the layout of the first file also fits the others
    return [f"![{name}]({folder.name}/{name}.png)", ""]


def _facts(size: str, records: Sequence[Kept[Any]]) -> str:
    """List the commit, machine and state of the cache with which the numbers were measured."""
    done = [kept for kept in records if kept.status == DONE]
    if not done:
        return f"Size: {size}. Nothing was measured."
    last = done[-1]
    environment = last.environment
    of_kind = exchange.facts_of(done) if isinstance(last.point, ExchangePoint) else _facts_of_analyses(done)
    several = {
        "Size": size,
        **of_kind,
        **_missing_spans(done),
        "mdreel": f"{environment.get('mdreel')}, commit {environment.get('commit') or 'unknown'}",
        "Machine": f"{environment.get('cpu')}, {last.facts.get('n_cores')} cores, {environment.get('kernel')}",
        "Versions": ", ".join(f"{name} {text}" for name, text in sorted(environment.get("versions", {}).items())),
        "Date": str(environment.get("date", "unknown")),
    }
    return "\n".join(f"* {name}: {text}" for name, text in several.items())


def _facts_of_analyses(done: Sequence[Kept[Any]]) -> dict[str, str]:
    frames = sorted({kept.point.n_frames for kept in done})
    return {
        "Frames": " and ".join(f"{n:,}" for n in frames),
        "Cache": "; ".join(sorted({str(kept.facts.get("cache", "unknown")) for kept in done})),
        "Files": "; ".join(sorted({_file(kept) for kept in done})),
        **_hosts(done),
    }


def _missing_spans(done: Sequence[Kept[Any]]) -> dict[str, str]:
    """State how many records lack their spans, which tables and figures of observables need."""
    n_missing = sum(kept.lacks_spans for kept in done)
    said = f"missing for {n_missing:,} of {len(done):,} points, so tables and figures of observables leave them out"
    return {"Spans": said} if n_missing else {}


def _hosts(done: Sequence[Kept[Any]]) -> dict[str, str]:
    """Describe the hosts of the workers, if they were more than one."""
    names = sorted({host for kept in done for host in kept.facts.get("hosts", {})})
    allocated = sorted({str(kept.facts["allocation"]) for kept in done if "allocation" in kept.facts})
    return {"Hosts": f"{', '.join(names)} ({', '.join(allocated)})"} if len(names) > 1 else {}


def _file(kept: Kept[Any]) -> str:
    """Describe the format and the file system of the first file."""
    found: dict[str, Any] = next(iter(kept.environment.get("files", [])), {})
    stripe = found.get("stripe")
    striped = f", {stripe.get('count')} stripes" if stripe else ", no stripes"
    return f"{kept.point.format.upper()} on {found.get('file_system') or 'an unknown file system'}{striped}"


def _not_done(records: Sequence[Kept[Any]], status: str, heading: str) -> list[str]:
    """List points with a status, one line per series and message."""
    reasons: dict[tuple[str, str], set[int]] = {}
    for kept in records:
        if kept.status == status:
            reasons.setdefault((kept.point.series, kept.message), set()).add(kept.point.n_workers)
    if not reasons:
        return []
    lines = [
        f"* {series}, N = {', '.join(map(str, sorted(workers)))}: {message}"
        for (series, message), workers in reasons.items()
    ]
    return [f"## {heading}", "", *lines, ""]
