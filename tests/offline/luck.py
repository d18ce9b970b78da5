"""Luck by the domain model: whether calls end where the reference path ends, without any jail, a
hundred times as fast.

calls ──► domain model ──► rows that changed, new ids erased ── as those of the oracle? ──► won
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from envmill.agents.attackers.base import AttackerView
from envmill.agents.attackers.random_valid import RandomValid
from offline.domain import TODAY, Domain
from offline.world import DomainWorld
from schemas.base import canonical_json
from schemas.environment import Call, Tool
from schemas.prompts import ScenarioReply


@dataclass(frozen=True)
class Table:
    """A scenario that is played on the model."""

    domain: Domain
    reply: ScenarioReply
    tools: list[Tool]

    @cached_property
    def wanted(self) -> list[str]:
        """What the reference path leaves behind."""
        return self.end(self.reply.oracle)

    def wins(self, calls: Sequence[Call]) -> bool:
        return self.end(calls) == self.wanted

    def end(self, calls: Sequence[Call]) -> list[str]:
        """What became other than it was; a call that the model refuses changes nothing."""
        start = self.reply.initial_state
        changes = [each for each in calls if self.domain.operations[each.name].effect == "change"]
        world = DomainWorld(self.domain, start, TODAY, "luck").copy()
        for call in changes:
            operation = self.domain.operations[call.name]
            if world.allows(operation, call.arguments):
                world.apply(operation, call.arguments)
        new = {
            row_id
            for name, rows in world.state.items()
            for row_id in rows
            if row_id not in start[name]
        }
        return sorted(
            canonical_json(
                [name, {key: "new" if value in new else value for key, value in row.items()}]
            )
            for name, rows in world.state.items()
            for row_id, row in rows.items()
            if row != start[name].get(row_id)
        )

    def plan(self, seed: int) -> list[Call]:
        """What the attacker that calls at random would do."""
        return RandomValid().plan(self.view, seed)

    @cached_property
    def view(self) -> AttackerView:
        return AttackerView(self.reply.initial_state, self.tools, self.reply.request)

    def count_wins(self, tries: int) -> int:
        return sum(self.wins(self.plan(seed)) for seed in range(tries))
