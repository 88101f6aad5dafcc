"""Steering: rules on live results of analyses, and what is done with the simulation when they hold."""

from mdreel.live.steering.actions import Action
from mdreel.live.steering.engine_control import ByRequests, BySignal, Done, Reach
from mdreel.live.steering.log import AuditLog, Moment
from mdreel.live.steering.rules import Condition, Finding, Rule, effective_sample_size
from mdreel.live.steering.rules_file import EngineTable, Plan, plan_of, read_plan, schema_of_plans
from mdreel.live.steering.steer import Observed, Steered, steer
from mdreel.live.steering.trigger import Verdict, Watch

__all__ = [
    "Action",
    "AuditLog",
    "ByRequests",
    "BySignal",
    "Condition",
    "Done",
    "EngineTable",
    "Finding",
    "Moment",
    "Observed",
    "Plan",
    "Reach",
    "Rule",
    "Steered",
    "Verdict",
    "Watch",
    "effective_sample_size",
    "plan_of",
    "read_plan",
    "schema_of_plans",
    "steer",
]
