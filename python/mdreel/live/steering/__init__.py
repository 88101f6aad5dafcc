"""Steering of running simulations, based on rules about live analysis results."""

from mdreel.live.steering.actions import Action
from mdreel.live.steering.engine_control import ActionResult, EngineConnection, RequestControl, SignalControl
from mdreel.live.steering.log import AuditLog, EventFrame
from mdreel.live.steering.rules import Condition, Finding, Rule, effective_sample_size
from mdreel.live.steering.rules_file import EngineTable, Plan, parse_plan, plan_schema, read_plan
from mdreel.live.steering.steer import ObservedAnalysis, SteeringStatistics, steer
from mdreel.live.steering.trigger import Decision, RuleState

__all__ = [
    "Action",
    "ActionResult",
    "AuditLog",
    "Condition",
    "Decision",
    "EngineConnection",
    "EngineTable",
    "EventFrame",
    "Finding",
    "ObservedAnalysis",
    "Plan",
    "RequestControl",
    "Rule",
    "RuleState",
    "SignalControl",
    "SteeringStatistics",
    "effective_sample_size",
    "parse_plan",
    "plan_schema",
    "read_plan",
    "steer",
]
