"""Round of the fault run: processes start, faults meet them, and in the end everyone has to finish."""

import heapq
import queue
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from fault_run.cast import LONG, A, Actor, Place, actors, final_archives, judges
from fault_run.host_agents import HostAgents
from fault_run.plan import Fault

FINISH_BEFORE = 6.0
"""Time before the last faults at which the simulations are asked to finish, s: ends meet faults, too."""

_CLOSE_SECONDS = 30.0
_LOOK = 0.1


class FaultRunError(AssertionError):
    """Something went wrong that mdreel should have borne."""


@dataclass
class Outcome:
    """What happened in a round.

    Attributes
    ----------
    applied : Counter
        Number of faults of each kind that met something.
    restarts : Counter
        Number of restarts of each role.
    stops : dict
        Times, s since 1970, at which each actor was stopped and went on.
    seconds : float
        Duration of the round.
    events : deque
        The last events.
    """

    applied: Counter[str] = field(default_factory=Counter)
    restarts: Counter[str] = field(default_factory=Counter)
    stops: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    seconds: float = 0.0
    events: deque[str] = field(default_factory=lambda: deque(maxlen=40))


class Round:
    """Director of a round."""

    def __init__(self, agents: HostAgents, place: Place, faults: list[Fault], seconds: float) -> None:
        self.outcome = Outcome()
        self._agents = agents
        self._place = place
        self._faults = faults
        self._seconds = seconds
        self._actors = {actor.name: actor for actor in actors()}
        self._running: set[str] = set()
        self._done: set[str] = set()
        self._restart_at: dict[str, float] = {}  # of actors that were killed
        self._stopped_at: dict[str, float] = {}
        self._lasting: set[str] = set()  # cut links and the full disk
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._n_planned = 0
        self._begun = time.monotonic()
        self._log = (place.folder / "events").open("w", buffering=1)

    def play(self) -> Outcome:
        """Let the round happen. Raise FaultRunError if an actor fails or does not end."""
        with self._log:
            self._agents.command_all(do="place", place=self._place.described())
            everyone = list(self._actors)
            for actor in list(self._actors.values()):
                self._start(actor)
            for fault in self._faults:
                self._plan(fault.at, lambda fault=fault: self._meet(fault))  # type: ignore[misc]
            self._plan(self._seconds - FINISH_BEFORE, self._place.finish.touch)
            self._until(lambda: not self._agenda and not self._restart_at, self._seconds + LONG)
            self._note("no more faults")
            # What has to end first comes first, so that a hang names its cause.
            simulations = [name for name in everyone if self._actors[name].role == "simulate"]
            self._await(simulations, LONG)
            self._await((name for name in everyone if name != "server"), LONG)
            self._place.close.touch()
            self._await(["server"], _CLOSE_SECONDS)
            for late in (final_archives(), judges()):
                for actor in late:
                    self._actors[actor.name] = actor
                    self._start(actor)
                self._await((actor.name for actor in late), LONG)
            self.outcome.seconds = self._time()
        return self.outcome

    def _time(self) -> float:
        return time.monotonic() - self._begun

    def _note(self, what: str) -> None:
        line = f"{self._time():8.3f} {what}"
        self.outcome.events.append(line)
        self._log.write(f"{line}\n")

    def _plan(self, at: float, act: Callable[[], None]) -> None:
        self._n_planned += 1
        heapq.heappush(self._agenda, (at, self._n_planned, act))

    def _await(self, names: Iterable[str], seconds: float) -> None:
        wanted = set(names)
        self._until(lambda: wanted <= self._done, seconds)

    def _until(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Hear what happens, and do what is planned, until something holds; at most so many s."""
        until = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > until:
                left = ", ".join(sorted(self._running))
                raise FaultRunError(f"hang: {seconds:.0f} s have passed, and these processes have not ended: {left}")
            pause = min(_LOOK, self._agenda[0][0] - self._time()) if self._agenda else _LOOK
            if pause <= 0:
                heapq.heappop(self._agenda)[2]()
                continue
            try:
                self._hear(*self._agents.told.get(timeout=pause))
            except queue.Empty:
                continue

    def _hear(self, host: str, said: dict[str, Any]) -> None:
        self._note(f"{host} {said}")
        if said["did"] == "die":
            raise FaultRunError(f"the agent of {host} has died")
        if said["did"] != "exit":
            return
        name, code = said["actor"], said["code"]
        self._running.discard(name)
        self._end_stop(name)
        if code == 0:
            self._done.add(name)
            self._restart_at.pop(name, None)  # it had ended before it was killed
        elif code == -signal.SIGKILL and name in self._restart_at:
            self._plan(self._restart_at[name], lambda: self._restart(name))
        else:
            raise FaultRunError(f"{name} has ended with {code}:\n{self._said_by(name)}")

    def _said_by(self, name: str) -> str:
        said = self._place.folder / f"{name}.said"
        return said.read_text()[-3000:] if said.exists() else ""

    def _start(self, actor: Actor) -> None:
        self._running.add(actor.name)
        self._agents.command(actor.host, do="start", actor=actor.described())

    def _restart(self, name: str) -> None:
        del self._restart_at[name]
        self.outcome.restarts[self._actors[name].role] += 1
        self._start(self._actors[name])

    def _meet(self, fault: Fault) -> None:
        acts = {
            "kill": self._kill,
            "stop": self._stop,
            "cut": self._cut,
            "fill": self._fill,
            "kill-archiver": self._kill_archiver,
            "kill-host": self._kill_host,
        }
        is_met = acts[fault.kind](fault)
        self._note(f"{'fault' if is_met else 'meets nobody:'} {fault}")
        self.outcome.applied[fault.kind] += is_met

    def _kill(self, fault: Fault) -> bool:
        return self._kill_actor(fault.target, fault.seconds)

    def _kill_host(self, fault: Fault) -> bool:
        here = [name for name, actor in self._actors.items() if actor.host == fault.target]
        return sum(self._kill_actor(name, fault.seconds) for name in here) > 0

    def _kill_actor(self, name: str, seconds: float) -> bool:
        if name not in self._running or name in self._restart_at:
            return False
        self._restart_at[name] = self._time() + seconds
        self._signal(name, signal.SIGKILL)
        return True

    def _stop(self, fault: Fault) -> bool:
        name = fault.target
        if name not in self._running or name in self._restart_at or name in self._stopped_at:
            return False
        since = self._stopped_at[name] = time.time()

        def go_on() -> None:
            if self._stopped_at.get(name) == since:
                self._signal(name, signal.SIGCONT)
                self._end_stop(name)

        self._signal(name, signal.SIGSTOP)
        self._plan(self._time() + fault.seconds, go_on)
        return True

    def _end_stop(self, name: str) -> None:
        since = self._stopped_at.pop(name, None)
        if since is not None:
            self.outcome.stops.setdefault(name, []).append((since, time.time()))

    def _cut(self, fault: Fault) -> bool:
        return self._last(fault, fault.target, {"do": "link", "state": "down"}, {"do": "link", "state": "up"})

    def _fill(self, fault: Fault) -> bool:
        return self._last(fault, fault.target, {"do": "fill"}, {"do": "free"})

    def _last(self, fault: Fault, host: str, begin: dict[str, str], end: dict[str, str]) -> bool:
        """Begin something on a host that lasts, unless it lasts already, and plan its end."""
        what = f"{fault.kind} {host}"
        if what in self._lasting:
            return False
        self._lasting.add(what)

        def stop() -> None:
            self._lasting.discard(what)
            self._agents.command(host, **end)

        self._agents.command(host, **begin)
        self._plan(self._time() + fault.seconds, stop)
        return True

    def _kill_archiver(self, fault: Fault) -> bool:
        if fault.target not in self._running:
            return False
        self._agents.command(A, do="kill-archiver", actor=fault.target)
        return True

    def _signal(self, name: str, number: int) -> None:
        self._agents.command(self._actors[name].host, do="signal", actor=name, signal=int(number))
