"""Every table of the lake and the record that is one row of it."""

from schemas.base import Record
from schemas.environment import Blueprint, Build, Environment, Test
from schemas.errand_plan import PlannedErrand
from schemas.ledger import Attack, Attrition, Evidence, ModelCall, RunEvent
from schemas.pair import Pair
from schemas.quality import Quarantine, Reverification, Review, Withdrawal
from schemas.rollout import Bundle, Rollout, Trajectory
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed

TABLES: dict[str, type[Record]] = {
    record.table: record
    for record in (
        RunEvent, Seed, Blueprint, Environment, Build, Test, PlannedErrand, Draft, Scenario,
        Rollout, Trajectory, Pair, Bundle, Attack, Attrition, Evidence, ModelCall, Reverification, Review, Quarantine, Withdrawal,
    )
}  # fmt: skip
