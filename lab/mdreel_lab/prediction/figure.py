"""Figure of simulated time, speed-up and efficiency over ranks, with published points."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mdreel.results.style import COLOURS, GRID, INK, STYLE
from mdreel_lab.prediction.published import Series
from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.prediction.simulate import Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (15.0, 7.2)  # inches
_LINES, _MARKERS = ("-", "--", ":"), ("o", "s", "^")


def draw(scalings: Mapping[str, Scaling], points: Mapping[str, Series], title: str) -> "Figure":
    """Draw how schemes scale.

    Parameters
    ----------
    scalings : mapping of str to Scaling
        Simulated values by scheme, drawn as lines.
    points : mapping of str to Series
        Published values by scheme, drawn as open markers if the scheme is in `scalings`.
    title : str
        Workload and cluster.
    """
    import matplotlib
    from matplotlib.figure import Figure as NewFigure

    with matplotlib.rc_context(STYLE):
        figure = NewFigure(figsize=_SIZE, layout="constrained")
        time, speedup, efficiency = figure.subplots(1, 3)
        for number, (name, simulated) in enumerate(scalings.items()):
            colour, turn = COLOURS[number % len(COLOURS)], number // len(COLOURS) % len(_LINES)
            look = {"color": colour, "linestyle": _LINES[turn], "linewidth": 2.0}
            label = f"{SCHEMES[name].title} (simulated)"
            n_ranks = simulated.n_ranks
            time.plot(n_ranks, simulated.mean_t_total, **look)
            speedup.plot(n_ranks, simulated.speedup, **look)
            efficiency.plot(n_ranks, simulated.efficiency, label=label, **look)
            if name in points:
                _draw_points((time, speedup, efficiency), points[name], colour, _MARKERS[turn])
        _finish(time, "t_total (s)", "log")
        _finish(speedup, "Speed-up S(N)", "log")
        _finish(efficiency, "Efficiency E(N)", "linear")
        _draw_ideal(speedup, scalings)
        efficiency.set_ylim(0.0, max(1.1, efficiency.get_ylim()[1]))
        if any(name in points for name in scalings):
            efficiency.plot([], [], "o", color=INK, fillstyle="none", label="published (Comet, 2019)")
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        figure.suptitle(f"Simulated, not measured: {title}", x=0.01, ha="left")
    return figure


def _draw_points(panels: tuple["Axes", "Axes", "Axes"], series: Series, colour: str, marker: str) -> None:
    n_ranks = np.array(series.n_ranks)
    times = [series.times["t_total"][n] for n in series.n_ranks]
    for panel, values in zip(panels, (times, series.speedups, series.speedups / n_ranks), strict=True):
        panel.plot(n_ranks, values, marker, color=colour, fillstyle="none", markersize=7)


def _draw_ideal(panel: "Axes", scalings: Mapping[str, Scaling]) -> None:
    most = max(int(simulated.n_ranks.max()) for simulated in scalings.values())
    panel.plot([1, most], [1, most], color=GRID, linewidth=2.0, zorder=0)


def _finish(panel: "Axes", label: str, scale: str) -> None:
    panel.set_xscale("log")
    panel.set_yscale(scale)
    panel.set_xlabel("Ranks")
    panel.set_ylabel(label)
    panel.grid(color=GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
