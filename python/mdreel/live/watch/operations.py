"""Requests of operators, which change the analyses and the alerts of the page."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mdreel.errors import MismatchError
from mdreel.foundation.printable import printable
from mdreel.foundation.toml_schema import checked, entry
from mdreel.foundation.untrusted_input import object_of
from mdreel.live.watch.alerts import Alerts, Threshold
from mdreel.live.watch.managed_analyses import ManagedAnalyses
from mdreel.live.watch.simulation_control import SimulationControl

T = TypeVar("T")

_MOST_NAME = 60
_NO_TOPOLOGY = "analyses need a topology: start mdreel watch with -s FILE"


@dataclass(frozen=True, kw_only=True)
class _Numbered:
    """Request for an existing analysis or alert."""

    id: int = entry("Number of the analysis or of the alert.")


@dataclass(frozen=True, kw_only=True)
class _OfChannel:
    """Request for the simulation of a channel."""

    channel: str = entry("Directory of the channel.")


@dataclass(frozen=True, kw_only=True)
class _Addition:
    """Request for a new analysis, without its settings."""

    channel: str = entry("Directory of the channel.")
    name: str | None = entry("Name of the analysis.", None)


@dataclass(frozen=True, kw_only=True)
class _Change:
    """Request for other settings of an analysis, without the settings."""

    id: int = entry("Number of the analysis.")
    name: str | None = entry("Name of the analysis.", None)


class Operations:
    """Carries out the requests of operators.

    Parameters
    ----------
    analyses : ManagedAnalyses or None
        Analyses of the page, or None if there is no topology.
    alerts : Alerts
        Alerts of the page.
    simulations : SimulationControl
        Pauses of simulations.
    """

    def __init__(self, analyses: ManagedAnalyses | None, alerts: Alerts, simulations: SimulationControl) -> None:
        self._analyses = analyses
        self._simulations = simulations
        self._alerts = alerts

    def carry_out(self, body: bytes, channels: Collection[Path]) -> dict[str, Any]:
        """Carry out a request.

        Parameters
        ----------
        body : bytes
            The request, a JSON object. Its entry ``do`` is the name of the operation.
        channels : collection of Path
            Directories of the channels that the page shows. Requests for other channels are refused.

        Returns
        -------
        dict
            The answer.

        Raises
        ------
        FormatError
            If the body is not a JSON object.
        MismatchError
            If the request is invalid.
        StreamError
            If a simulation refuses the request or does not answer.
        """
        said = object_of(body)
        name = said.pop("do", None)
        operations: dict[str, Callable[[], dict[str, Any] | None]] = {
            "add-analysis": lambda: self._add_analysis(said, channels),
            "change-analysis": lambda: self._change_analysis(said),
            "remove-analysis": lambda: self._with_topology().remove(_number(said)),
            "pause-analysis": lambda: self._with_topology().pause(_number(said)),
            "resume-analysis": lambda: self._with_topology().resume(_number(said)),
            "add-alert": lambda: self._add_alert(said, channels),
            "remove-alert": lambda: self._alerts.remove(_number(said)),
            "pause-simulation": lambda: {"message": self._simulations.pause(_simulation(said, channels))},
            "resume-simulation": lambda: {"message": self._simulations.resume(_simulation(said, channels))},
        }
        if not isinstance(name, str) or name not in operations:
            raise MismatchError(f"unknown operation {name!r:.80}")
        return operations[name]() or {}

    def _add_analysis(self, said: dict[str, Any], channels: Collection[Path]) -> dict[str, Any]:
        settings = _settings_of(said)
        added = _checked(_Addition, said)
        channel = _channel(added.channel, channels)
        return {"id": self._with_topology().add(channel, settings, _name(added.name))}

    def _change_analysis(self, said: dict[str, Any]) -> None:
        settings = _settings_of(said)
        changed = _checked(_Change, said)
        self._with_topology().change(changed.id, settings, _name(changed.name))

    def _add_alert(self, said: dict[str, Any], channels: Collection[Path]) -> dict[str, Any]:
        threshold = _checked(Threshold, said)
        if threshold.channel is not None:
            _channel(threshold.channel, channels)
        return {"id": self._alerts.add(threshold)}

    def _with_topology(self) -> ManagedAnalyses:
        if self._analyses is None:
            raise MismatchError(_NO_TOPOLOGY)
        return self._analyses


def _checked(kind: type[T], said: Mapping[str, Any]) -> T:
    given = {name: value for name, value in said.items() if value is not None}
    return checked(kind, "request", given)


def _number(said: Mapping[str, Any]) -> int:
    return _checked(_Numbered, said).id


def _simulation(said: Mapping[str, Any], channels: Collection[Path]) -> Path:
    return _channel(_checked(_OfChannel, said).channel, channels)


def _settings_of(said: dict[str, Any]) -> dict[str, Any]:
    settings = said.pop("settings", None)
    if not isinstance(settings, dict):
        raise MismatchError("request: settings: expected an object")
    return settings


def _channel(name: str, channels: Collection[Path]) -> Path:
    for path in channels:
        if str(path) == name:
            return path
    raise MismatchError(f"the page shows no channel {name!r:.80}")


def _name(name: str | None) -> str | None:
    if name is None or not name.strip():
        return None
    if len(name) > _MOST_NAME:
        raise MismatchError(f"the name must have at most {_MOST_NAME} characters, not {len(name)}")
    return printable(name.strip())
