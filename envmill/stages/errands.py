"""Errand plans of a run, the first act of `scenarios-generate`. Each block of an environment is
planned once; its scenarios wait for it.

place ─► block 0 ─► … ─► its block (each sees the lines before it) ─► its own line, and its neighbours'
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

from envmill.kinds.findings import Finding, pass_by
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.errands import (
    BLOCK,
    SOURCE,
    UNPLANNED,
    BlockPlan,
    ErrandBlock,
    ErrandBrief,
    PlanErrands,
    TakenLine,
)
from envmill.recipes.drafting.hardening import describe_easy, describe_errand
from envmill.stages.places import ScenarioSlot
from schemas.errand_plan import ErrandPlace, HarderPlace, PlannedErrand
from schemas.run import RunConfig

_Key = tuple[str, int]


@dataclass(frozen=True)
class PlacedErrand:
    """What the plan says of one place."""

    brief: ErrandBrief = UNPLANNED
    record: PlannedErrand | None = None
    findings: tuple[Finding, ...] = ()
    """Why the place has no line, where its block was planned."""

    def settle(self, left: str) -> tuple[tuple[PlannedErrand, ...], tuple[Finding, ...]]:
        """Row and findings once the scenario is written; `left` is why its author chose another
        errand."""
        if self.record is None:
            return (), self.findings
        if not left.strip():
            return (self.record,), self.findings
        return (self.record.model_copy(update={"reason": left}),), (
            *self.findings,
            pass_by(SOURCE, "left_by_author", left),
        )


@dataclass
class ErrandPlans:
    """Plans of one process. A plan is a function of journalled replies: a resumed run comes to the
    same one, and so does another process, which waits until the reply is journalled."""

    alone: Callable[[str], AbstractAsyncContextManager[object]] = nullcontext
    """Within it, no other process of the run asks for the plan of this name; what one of them was
    told before is known."""
    _plans: dict[_Key, BlockPlan] = field(default_factory=dict[_Key, BlockPlan])
    _asking: dict[_Key, "asyncio.Task[BlockPlan]"] = field(
        default_factory=dict[_Key, "asyncio.Task[BlockPlan]"]
    )

    async def find(
        self,
        place: ScenarioSlot,
        config: RunConfig,
        plan_errands: PlanErrands,
        models: ModelSession,
    ) -> PlacedErrand:
        """The place's line. The first place of a block asks for the plan and bears its cost; the
        others wait."""
        if not (config.plan or place.parents) or place.number >= place.places:
            return PlacedErrand()
        plan, _ = await self._find_plan(place, config, plan_errands, models)
        return _place(plan, place, config)

    async def redraw(
        self,
        place: ScenarioSlot,
        config: RunConfig,
        plan_errands: PlanErrands,
        draw: PlanErrands,
        models: ModelSession,
    ) -> PlacedErrand:
        """Another line for the place alone, which `draw` is asked for: the chain that its line was
        planned for is not offered any more.
        It sees the lines of the others as they were planned, so that it is the same whichever place
        comes first."""
        if not config.plan or place.number >= place.places:
            return PlacedErrand()
        plan, taken = await self._find_plan(place, config, plan_errands, models)
        others = {number: line for number, line in plan.lines.items() if number != place.number}
        block = _open_block(
            place,
            [place.number],
            [*taken, *_list_taken(replace(plan, lines=others), place, config)],
            config,
        )
        drawn = await _ask(draw, block, models)
        return _place(replace(drawn, lines={**others, **drawn.lines}), place, config)

    async def _find_plan(
        self,
        place: ScenarioSlot,
        config: RunConfig,
        plan_errands: PlanErrands,
        models: ModelSession,
    ) -> tuple[BlockPlan, list[TakenLine]]:
        """The plan of its block, and the lines of the blocks before."""
        taken, block = list(place.taken), (place.number - place.first) // BLOCK
        for number in range(block):
            plan = await self._find_block(place, number, taken, config, plan_errands, models)
            taken += _list_taken(plan, place, config)
        return await self._find_block(place, block, taken, config, plan_errands, models), taken

    async def _find_block(
        self,
        place: ScenarioSlot,
        number: int,
        taken: list[TakenLine],
        config: RunConfig,
        plan: PlanErrands,
        models: ModelSession,
    ) -> BlockPlan:
        key = place.environment.id, number
        if (known := self._plans.get(key)) is not None:
            return known
        asking = self._asking.get(key)
        if asking is None or asking.get_loop() is not asyncio.get_running_loop():
            start = place.first + number * BLOCK
            block = _open_block(
                place, range(start, min(start + BLOCK, place.places)), taken, config
            )
            asking = self._asking[key] = asyncio.ensure_future(
                self._ask_alone(f"errands-{key[0]}-{key[1]}", plan, block, models)
            )
        try:
            # Shielded: whoever waits may be cancelled without the others.
            found = await asyncio.shield(asking)
        finally:
            if asking.done() and self._asking.get(key) is asking:
                del self._asking[key]
        self._plans[key] = found
        return found

    async def _ask_alone(
        self, name: str, plan: PlanErrands, block: ErrandBlock, models: ModelSession
    ) -> BlockPlan:
        async with self.alone(name):
            return await _ask(plan, block, models)


async def _ask(plan: PlanErrands, block: ErrandBlock, models: ModelSession) -> BlockPlan:
    return await plan(block, models.afresh(0))


def _open_block(
    place: ScenarioSlot, numbers: Iterable[int], taken: list[TakenLine], config: RunConfig
) -> ErrandBlock:
    wanted = [_open_place(place, one, config) for one in numbers]
    return ErrandBlock(
        place.environment, tuple(wanted), tuple(taken), place.requirements, config.results
    )


def _open_place(place: ScenarioSlot, number: int, config: RunConfig) -> ErrandPlace:
    polarity = place.ask_polarity(config.polarities, number)
    if not place.parents:
        return ErrandPlace(number=number, polarity=polarity)
    parent = place.parents[number - place.first]
    return HarderPlace(
        number=number, polarity=polarity, parent=describe_easy(parent.scenario, parent.easy.rates)
    )


def _list_taken(plan: BlockPlan, place: ScenarioSlot, config: RunConfig) -> list[TakenLine]:
    return [
        TakenLine(place.ask_polarity(config.polarities, one), line)
        for one, line in sorted(plan.lines.items())
    ]


def _place(plan: BlockPlan, place: ScenarioSlot, config: RunConfig) -> PlacedErrand:
    line, others = plan.lines.get(place.number), [*place.taken, *_list_taken(plan, place, config)]
    neighbours = tuple(one.render() for one in others if one.line.number != place.number)
    if line is None:
        refused = plan.refused.get(place.number)
        told = (pass_by(SOURCE, refused.code, refused.render()),) if refused else ()
        return PlacedErrand(ErrandBrief(None, neighbours), None, told)
    polarity, parent = place.ask_polarity(config.polarities, place.number), place.parent
    told = line.model_dump() | {
        "environment": place.environment.id,
        "polarity": polarity,
        "source": plan.source,
    }
    if parent is None:
        return PlacedErrand(ErrandBrief(line, neighbours), PlannedErrand.model_validate(told))
    hard = describe_errand(line, describe_easy(parent.scenario, parent.easy.rates))
    told |= {"parent": parent.scenario.id, "rates": [one.model_dump() for one in parent.easy.rates]}
    return PlacedErrand(ErrandBrief(hard, neighbours), PlannedErrand.model_validate(told))
