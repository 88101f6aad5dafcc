"""Run the experiments of the papers and compare with published values."""

import math
from pathlib import Path
from typing import Annotated, Literal

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, CommandGroup, Option
from mdreel.cli.output import echo, echo_json

LIST_EXAMPLES = """\
Example:
  mdreel bench list
"""
RUN_EXAMPLES = """\
Examples:
  mdreel bench run --all --repeats 1 -o results
  mdreel bench run --all --size largest --minutes 10 -o results
  mdreel bench run 2017-formats --size full -o results
  mdreel bench run '2024-*' -o results
  mdreel bench run mine.toml -o results
  mdreel bench run 2019-shared --size full -o results --hosts n1,n2 --launcher "ssh {host}"
  mdreel bench run --schema > scenario.schema.json
"""
REPORT_EXAMPLES = """\
Examples:
  mdreel bench report results
  mdreel bench report comet=results-1 bridges=results-2 -o merged
"""

bench = CommandGroup("bench", "Run benchmarks from scenario files and compare them with published values.")


@bench.add(name="list", summary="List scenarios.", examples=LIST_EXAMPLES)
def list_scenarios() -> None:
    """List the scenarios of mdreel: names, titles and numbers of points at both sizes."""
    from mdreel_lab.bench.plans import plan
    from mdreel_lab.bench.scenario import SIZES
    from mdreel_lab.bench.scenario_files import read_scenario, shipped

    for name, path in shipped().items():
        scenario = read_scenario(path)
        numbers = [f"{len(plan(name, scenario, size)):,}" for size in SIZES]
        echo(f"{name}: {scenario.title} ({' or '.join(numbers)} points)")
        if scenario.paper:
            echo(f"    {scenario.paper}")


@bench.add(summary="Run scenarios.", examples=RUN_EXAMPLES)
def run(
    scenarios: Annotated[
        list[str] | None,
        Argument(metavar="SCENARIO...", help="Scenarios: names such as 2017-formats or '2024-*', or TOML files."),
    ] = None,
    everything: Annotated[bool, Option("--all", group=shared.INPUT, help="Run all scenarios of mdreel.")] = False,
    size: Annotated[
        Literal["small", "full", "largest"],
        Option(
            group=shared.INPUT,
            help="Size of the runs: small, full as in the papers, or the largest that this machine allows.",
        ),
    ] = "small",
    minutes: Annotated[
        float | None,
        Option(
            metavar="N",
            group=shared.INPUT,
            help="Time of each scenario at the size largest, in minutes.  [default: 60]",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            group=shared.INPUT,
            help="Repeats of each point at the sizes small and full.  [default: as the scenario specifies]",
        ),
    ] = None,
    schema: Annotated[bool, Option(group=shared.INPUT, help="Print the schema of scenarios (JSON Schema).")] = False,
    folder: Annotated[
        Path | None,
        Option(
            "-o",
            "--output-folder",
            metavar="FOLDER",
            group=shared.OUTPUT,
            help="Folder of the records; a run continues from the records that it contains.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            group=shared.OUTPUT,
            help="Folder of the generated trajectories.  [default: data in the folder of records]",
        ),
    ] = None,
    shared: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            group=shared.OUTPUT,
            help="Folder on a file system that all nodes share, for scenarios that exchange frames through files.",
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        Option(
            metavar="NAME[=ADDRESS],...",
            group=shared.INPUT,
            help="Hosts for MPI ranks, and nodes that exchange frames.  [default: the Slurm job, or this machine]",
        ),
    ] = None,
    launcher: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            group=shared.INPUT,
            help="Prefix that runs a command on a node: 'srun --overlap --nodes=1 --ntasks=1 --nodelist={host}'.",
        ),
    ] = None,
    mpi_launcher: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            group=shared.INPUT,
            help=(
                "Command that starts {n} MPI ranks on {nodes} nodes: 'srun --mpi=pmix -n {n} -N {nodes} -w {hosts}'. "
                "Also {places} (a:2,b:1) and {per-node}.  [default: the launcher of the MPI library]"
            ),
        ),
    ] = None,
    cores: Annotated[
        int | None,
        Option(
            "--cores-per-host",
            metavar="N",
            minimum=1,
            group=shared.INPUT,
            help="Cores of each host for MPI ranks.  [default: asked from Slurm, or from each host]",
        ),
    ] = None,
    per_core: Annotated[
        int | None,
        Option(
            "--oversubscribe",
            metavar="N",
            minimum=1,
            group=shared.INPUT,
            help="Workers per core; points with more are skipped.  [default: 4 on this machine, 1 on other hosts]",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            group=shared.INPUT,
            help="Dask scheduler whose workers are used.  [default: a cluster on this machine for each point]",
        ),
    ] = None,
    with_report: Annotated[
        bool,
        Option(
            "--report/--no-report",
            group=shared.OUTPUT,
            help="Make tables and figures at the end, in the subfolder report of the records.",
        ),
    ] = True,
    quiet: Annotated[bool, Option("-q", "--quiet", group=shared.OUTPUT, help="Print no progress.")] = False,
) -> None:
    """Run scenarios, each point in a separate process; points with a record are not run again."""
    from mdreel_lab.bench.scenario_files import find_scenarios, schema_of_scenarios, shipped

    if schema:
        echo_json(schema_of_scenarios(), indent=2)
        return
    if bool(scenarios) == everything:
        raise CommandError("give either names or files of scenarios (see mdreel bench list) or --all", ExitCode.USAGE)
    if folder is None:
        raise CommandError("give the folder of the records: -o FOLDER", ExitCode.USAGE)
    _check_size(size, minutes, repeats)
    if (hosts is None) != (launcher is None):
        raise CommandError("--hosts and --launcher go together", ExitCode.USAGE)

    from mdreel_lab.bench.allocation import Allocation, allocation_of
    from mdreel_lab.bench.exchange.nodes import launched_nodes
    from mdreel_lab.bench.runner import Runner
    from mdreel_lab.bench.scenario import Scenario
    from mdreel_lab.bench.scenario_files import read_scenario

    with failing_with(ExitCode.INPUT):
        paths = (
            list(shipped().values())
            if everything
            else [path for name in scenarios or () for path in find_scenarios(name)]
        )
        log = (lambda line: None) if quiet else (lambda line: echo(line, err=True))
        names = [] if hosts is None else hosts.split(",")
        are_analyses = [isinstance(read_scenario(path), Scenario) for path in paths]
        # Each is checked before anything is run, and only if a scenario uses it.
        nodes = () if launcher is None or all(are_analyses) else launched_nodes(names, launcher)
        allocation = Allocation()
        if any(are_analyses):
            allocation = allocation_of(names, launcher, mpi_launcher, cores, per_core, scheduler)
        tally = Runner(folder, data, log, shared, nodes, allocation).run(paths, size, 60 * (minutes or 60), repeats)
        if with_report:
            from mdreel_lab.bench.machines import machines_of
            from mdreel_lab.bench.report import write_reports

            echo(str(write_reports(machines_of([str(folder)]), folder / "report", [path.stem for path in paths])))
    if not quiet:
        counts = f"{tally.n_done} done, {tally.n_kept} done before, {tally.n_left_out} left out"
        echo(f"{counts}, {len(tally.failed)} failed", err=True)
    if tally.failed:
        n_points = len(tally.failed)
        points = f"{n_points} point{'s' if n_points > 1 else ''}"
        message = f"{points} failed, the first of them: {tally.failed[0]} (the report contains the reason)"
        raise CommandError(message, ExitCode.DEFECT)


def _check_size(size: str, minutes: float | None, repeats: int | None) -> None:
    if minutes is not None and (size != "largest" or not 0 < minutes < math.inf):
        raise CommandError("--minutes is a positive time for --size largest", ExitCode.USAGE)
    if repeats is not None and size == "largest":
        raise CommandError("--repeats is for the sizes small and full: --minutes limits the largest", ExitCode.USAGE)


@bench.add(summary="Make tables and figures of records.", examples=REPORT_EXAMPLES)
def report(
    folders: Annotated[
        list[str],
        Argument(
            metavar="[NAME=]FOLDER...",
            help="The folder of the records. Several folders, each of one machine, give one report with all machines.",
        ),
    ],
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output-folder",
            metavar="FOLDER",
            group=shared.OUTPUT,
            help="Folder of the report.  [default: report in the folder of the records, if there is only one]",
        ),
    ] = None,
) -> None:
    """Make tables (Markdown, CSV) and figures (PNG, SVG) that compare records with published values."""
    from mdreel_lab.bench.machines import machines_of
    from mdreel_lab.bench.report import write_reports

    if output is None and len(folders) > 1:
        raise CommandError("give the folder of the report of several machines: -o FOLDER", ExitCode.USAGE)
    with failing_with(ExitCode.INPUT):
        machines = machines_of(folders)
        echo(str(write_reports(machines, output or machines[0].folder / "report")))
