"""Keeping a path: the state of a scenario may get more records as long as its reference path does
what it did."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.reading.wording import judge_words
from envmill.models.gateway import ModelSession
from envmill.stages.context import RunContext
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import ScenarioVersion, execute
from envmill.stages.rehearsal import ask_judge
from schemas.base import Json
from schemas.scenario import Draft


@dataclass
class KeptPath:
    """A scenario that stands, on the largest state that was admitted so far."""

    version: ScenarioVersion
    draft: Draft
    place: ScenarioSlot
    context: RunContext
    models: ModelSession
    strict: bool = False
    """Whether words that get suspect by more records are refused, too: they stood above suspicion
    before, and the records are no part of
    the errand."""
    _suspect: set[tuple[str, str]] | None = field(default=None, init=False)
    """Gate and reason of what was suspect from the beginning."""

    async def admit(self, state: dict[str, Json]) -> tuple[str, str] | None:
        """(reason code, words) where the path does something else on a state, or its words do not
        hold there; else the state stands."""
        tried = await execute(
            self.version.reply.model_copy(update={"initial_state": state}),
            self.place,
            self.context,
            self.models,
        )
        if tried.draft is None:
            return tried.objection
        if tried.draft.oracle != self.draft.oracle or tried.draft.changes != self.draft.changes:
            return "does_otherwise", "on more records the reference path does something else"
        if self.strict and self._suspect is None:
            noted = set[tuple[str, str]]()
            await self._judge(self.draft, noted)
            self._suspect = noted
        if fault := await self._judge(tried.draft):
            return fault
        self.version, self.draft = tried, tried.draft
        return None

    async def _judge(
        self, draft: Draft, noted: set[tuple[str, str]] | None = None
    ) -> tuple[str, str] | None:
        """What refuses a draft's words; suspicions are noted instead where there is a set for
        them."""

        async def ask_about(found: Sequence[Finding], posed: ScenarioCase) -> list[Finding]:
            heard = await ask_judge(found, posed, self.context, self.models)
            if noted is not None:
                noted.update((one.gate, one.reason) for one in heard if one.outcome == "suspected")
                return []
            return [replace(one, outcome="dropped") if self._is_new(one) else one for one in heard]

        means = GateContext(self.context.sandbox, seed=self.context.config.run_seed)
        return await judge_words(draft, self.place.environment, means, ask_about)

    def _is_new(self, finding: Finding) -> bool:
        return (
            self.strict
            and finding.outcome == "suspected"
            and (finding.gate, finding.reason) not in (self._suspect or set())
        )
