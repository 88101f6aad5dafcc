"""Planning: all points of a scenario, whichever kind it is of."""

from collections.abc import Sequence

from mdreel_lab.bench.exchange.points import exchange_points_of
from mdreel_lab.bench.exchange.scenario import Exchange
from mdreel_lab.bench.grid import points_of
from mdreel_lab.bench.kept import AnyPoint
from mdreel_lab.bench.scenario import Scenario


def plan(name: str, scenario: Scenario | Exchange, size: str) -> Sequence[AnyPoint]:
    """Return all points of a scenario at one of `mdreel_lab.bench.scenario.SIZES`."""
    if isinstance(scenario, Exchange):
        return exchange_points_of(name, scenario, scenario.size(size))
    return points_of(name, scenario, scenario.size(size))
