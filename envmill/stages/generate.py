"""Generate: seed → blueprint, and environment → draft whose oracle has run."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from envmill.base.errors import BuildError
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, pass_by
from envmill.gates.reading.wording import judge_words
from envmill.kinds import kind_of
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import (
    Repair,
    UnreadableVersion,
    describe_trouble,
    give_up,
    strive,
)
from envmill.kinds.base import NOTHING_COMPOSED, Composition
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.enlarging import EnlargingRound, enlarge
from envmill.recipes.drafting.errands import NO_LINE, SOURCE, find_left
from envmill.recipes.drafting.hardening import plan_harder
from envmill.recipes.drafting.length import find_length_fault
from envmill.recipes.drafting.locked import REASON, Locked, render_facts, render_rules
from envmill.recipes.drafting.rewording import RewordingRound, ask_words, pick_operators, reword
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.growing import grow_world
from envmill.stages.hardening import HardnessRuler, open_ruler
from envmill.stages.keeping import KeptPath
from envmill.stages.offering import ChainOffering, give_in, plan_offered
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import ScenarioVersion, execute, refuse, rehearse_draft
from envmill.stages.rehearsal import WeakeningGuard, ask_judge, doubt_questions, doubt_request
from envmill.stages.waiving import waive
from envmill.toolgraph.topology import judge_chain
from schemas.base import Json
from schemas.environment import Blueprint, Environment, Fault
from schemas.errand_plan import ErrandLine
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft
from schemas.seed import Seed
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import Operator, RewordReply

_DRAWS = 12
"""Compositions that are drawn for one place, where an author words them."""
_NOTHING = ScenarioReply(initial_state={}, request="", oracle=[])


@dataclass(frozen=True)
class _Idea:
    """One version of a blueprint."""

    blueprint: Blueprint
    complaints: tuple[Complaint, ...]

    @property
    def fault(self) -> Fault:
        return "spec" if self.complaints else "none"

    @property
    def content(self) -> Json:
        return self.blueprint.id


async def generate_blueprint(
    subject: Subject[Seed], context: RunContext, models: ModelSession
) -> Result:
    """Ask the recipe for an idea that a program can be written from. The seed is saved whatever
    comes of it."""
    seed, locks, held, guard = (
        subject.record,
        context.locks.of(subject.id),
        Locked(),
        WeakeningGuard(),
    )

    async def write(before: _Idea | None, repair: Repair, asking: ModelSession) -> _Idea:
        nonlocal held
        blueprint = await context.recipe.think_up(
            seed, repair, asking, before.blueprint if before else None
        )
        weakened, rules = guard.refuse(blueprint, repair), render_rules(blueprint.rules)
        if faults := held.find_faults(rules):
            return _Idea(blueprint, _complain("plan", REASON, faults))
        held = locks.within(rules)
        if weakened:
            return _Idea(blueprint, weakened)
        kind = kind_of(blueprint)
        if faults := kind.find_plan_faults(blueprint):
            return _Idea(blueprint, _complain("plan", "bad_plan", faults))
        return _Idea(
            blueprint,
            _complain("database", "bad_database", await kind.try_plan(blueprint, context.sandbox)),
        )

    versions = await strive(write, models, lambda: held.render())
    builds, last = describe_trouble(seed.id, versions), versions[-1]
    if isinstance(last, _Idea) and not last.complaints:
        return Result((*_save(seed), last.blueprint, *builds))
    return Result((*_save(seed), *builds), (drop("blueprint", *give_up(versions)),))


def _complain(source: str, code: str, faults: Sequence[str]) -> tuple[Complaint, ...]:
    return tuple(Complaint(source, code, fault) for fault in faults)


def _save(seed: Seed) -> tuple[Seed, ...]:
    """What was mined is saved already."""
    return () if seed.source else (seed,)


async def generate_draft(
    subject: Subject[ScenarioSlot], context: RunContext, models: ModelSession
) -> Result:
    """Execute first: what the oracle does to a private copy is the only source of gold. What cannot
    stand is sent back."""
    place, locks, held, guard = (
        subject.record,
        context.locks.of(subject.id),
        Locked(),
        WeakeningGuard(),
    )
    offering, ruler = await _prepare(place, context, models)
    drawing = _Drawing(place, context)
    if place.parents and offering.planned.record is None:
        return Result(
            (),
            (
                *offering.planned.findings,
                drop(SOURCE, NO_LINE, "no line of a harder scenario stands for this place"),
            ),
        )

    async def write(
        before: ScenarioVersion | None, repair: Repair, asking: ModelSession
    ) -> ScenarioVersion:
        nonlocal held
        if before is None:
            offering.composed = None
        if offering.composed is None and (composed := await drawing.compose()):
            if composed.reason or not context.recipe.poses:
                return await _pose(composed, place, context, models)
            offering.composed = composed.reply
            before, repair = None, replace(repair, complaints=())
        try:
            reply, repair = await offering.ask(repair, asking)
        except BuildError as error:
            return refuse(_NOTHING, f"chain_{error.facts.get('reason', 'failed')}", error.message)
        if (hopeless := give_in(reply)) is not None:
            return hopeless
        weakened, facts = guard.refuse(reply, repair), render_facts(reply.facts)
        if faults := held.find_faults(facts):
            return ScenarioVersion(reply, None, _complain("oracle", REASON, faults))
        held = locks.within(facts)
        posed = await ruler.hold(
            _hold_to_line(
                await execute(reply, offering.slot, context, asking),
                offering.told.line,
                place.environment,
            )
        )
        if not context.config.rehearse:
            return posed
        if weakened or posed.draft is None:
            return replace(posed, draft=None, complaints=(*posed.complaints, *weakened))
        rehearsed = await rehearse_draft(posed, offering.slot, context, models)
        vaguer = doubt_request(before.reply if before else None, rehearsed.reply, repair)
        return replace(
            rehearsed,
            complaints=(*rehearsed.complaints, *vaguer, *doubt_questions(rehearsed.reply)),
        )

    versions = await strive(write, models, lambda: held.render(), lambda version: version.hopeless)
    builds, best = describe_trouble(place.id, versions), _pick_best(versions)
    errand, told = offering.planned.settle(best.reply.left if best is not None else "")
    told += (*drawing.findings, *offering.list_findings(), *ruler.list_findings(best))
    if best is None or best.draft is None:
        return Result((*builds, *errand), (*told, drop("oracle", *give_up(versions))))
    draft, findings = await _finish(best, best.draft, place, context, models)
    return Result((draft, *builds, *errand), (*told, *findings))


async def _prepare(
    place: ScenarioSlot, context: RunContext, models: ModelSession
) -> tuple[ChainOffering, HardnessRuler]:
    """What the author is offered, with the line of the place, and what a harder scenario is
    compared with."""
    plan = plan_harder if place.parents else partial(plan_offered, place, context)
    planned = await context.plans.find(place, context.config, plan, models)
    return await ChainOffering.prepare(place, planned, context), await open_ruler(
        place, planned.record, context
    )


async def _finish(
    best: ScenarioVersion,
    first: Draft,
    place: ScenarioSlot,
    context: RunContext,
    models: ModelSession,
) -> tuple[Draft, tuple[Finding, ...]]:
    """The draft in its last words, in the largest world in which its path does what it did."""
    reworded, turns = await _reword(best.reply, first, place, context, models)
    grown, reached = await grow_world(
        reworded, waive(reworded.draft or first, first.waived), place, context, models
    )
    draft, larger = await _enlarge(grown, first, place, context, models)
    seen = grown.rehearsal.list_findings() or best.rehearsal.list_findings()
    return waive(draft.model_copy(update={"overlap": first.overlap}), first.waived), (
        *seen,
        *turns,
        *reached,
        *larger,
    )


def _hold_to_line(
    posed: ScenarioVersion, line: ErrandLine | None, environment: Environment
) -> ScenarioVersion:
    """What runs, refused where it left the errand that was planned for it, or is of another length
    than the brief asks for."""
    if posed.draft is not None and (fault := find_length_fault(environment.brief, posed.draft)):
        return replace(posed, draft=None, complaints=(fault,))
    if posed.draft is None or line is None:
        return posed
    left = find_left(line, posed.reply, {tool.name: tool.effect for tool in environment.tools})
    return replace(posed, draft=None, complaints=(left,)) if left else posed


@dataclass
class _Drawing:
    """Compositions for a place, drawn until one holds. What is wrong with one is nothing that an
    author of words could mend."""

    place: ScenarioSlot
    context: RunContext
    findings: list[Finding] = field(default_factory=list[Finding])
    """One for each that did not hold."""
    _turns: Iterator[int] = field(default_factory=count)

    async def compose(self) -> Composition | None:
        """The next one that holds, or the last one that does not; None where the kind composes
        none."""
        kind, worded = kind_of(self.place.environment), self.context.recipe.poses
        known = self.place.environment, self.place.number, self.context.config.run_seed
        composed = None
        for _ in range(_DRAWS if worded else 1):
            turn = next(self._turns)
            composed = await kind.compose_scenario(*known, turn, self.context.sandbox)
            if composed is None or not composed.reason:
                return composed
            if worded:
                gate = f"composition_{turn + 1}"
                self.findings.append(pass_by(gate, composed.reason, composed.detail))
            if composed.reason == NOTHING_COMPOSED:
                break
        return composed


async def _pose(
    composed: Composition, place: ScenarioSlot, context: RunContext, models: ModelSession
) -> ScenarioVersion:
    """Composed instead of written. Where so many were drawn that an author was to word, no other
    one is."""
    if composed.reason:
        refused = refuse(composed.reply, composed.reason, composed.detail)
        return replace(refused, hopeless=context.recipe.poses)
    return await execute(composed.reply, place, context, models)


def _pick_best(versions: Sequence[ScenarioVersion | UnreadableVersion]) -> ScenarioVersion | None:
    """The last version with the fewest complaints among those that run; the gates of verify have
    the last word about it."""
    ran = [
        version
        for version in versions
        if isinstance(version, ScenarioVersion) and version.draft is not None
    ]
    return min(reversed(ran), key=lambda version: len(version.complaints), default=None)


async def _reword(
    reply: ScenarioReply,
    draft: Draft,
    place: ScenarioSlot,
    context: RunContext,
    models: ModelSession,
) -> tuple[ScenarioVersion, tuple[Finding, ...]]:
    """The draft in the last words that stand, and a finding for each operator that was tried: what
    fails leaves the old words."""
    environment, means = (
        place.environment,
        GateContext(context.sandbox, seed=context.config.run_seed),
    )

    async def ask_about(found: Sequence[Finding], posed: ScenarioCase) -> list[Finding]:
        return await ask_judge(found, posed, context, models)

    async def judge(changed: ScenarioReply, expanded: ScenarioReply | None) -> ScenarioVersion:
        if isinstance(changed, ChainReply) and (
            refused := await judge_chain(environment, changed.chain)
        ):
            return refuse(changed, f"chain_{refused.code}", refused.words)
        posed = await execute(changed, place, context, models, expanded)
        if posed.draft is None:
            return posed
        fault = await judge_words(posed.draft, environment, means, ask_about)
        return refuse(posed.reply, *fault) if fault else posed

    async def ask(operator: Operator, now: ScenarioReply) -> RewordReply:
        return await ask_words(environment, place.number, operator, now, models)

    tried = (
        pick_operators(context.recipe.operators, place.number)
        if reply.polarity == "achieve" and not draft.parts
        else ()
    )
    turns = await reword(reply, tried, ask, judge)
    kept = [turn.judged for turn in turns if turn.judged is not None]
    return (kept[-1] if kept else ScenarioVersion(reply, draft)), tuple(map(_describe_turn, turns))


async def _enlarge(
    posed: ScenarioVersion, first: Draft, place: ScenarioSlot, context: RunContext, models: ModelSession
) -> tuple[Draft, tuple[Finding, ...]]:  # fmt: skip
    """The draft over the largest tables on which its path does what it did, and a finding for each
    round that was tried."""
    stands = posed.draft or first
    if (
        not context.config.enlarge
        or not kind_of(place.environment).tabled
        or posed.reply.polarity != "achieve"
    ):
        return stands, ()
    path = KeptPath(replace(posed, draft=stands), stands, place, context, models)
    chance = random.Random(
        f"{context.config.run_seed}/{place.environment.id}/{place.number}/enlarge"
    )
    _, rounds = await enlarge(
        stands.initial_state, place.environment.tables, context.config.enlarge, chance, path.admit
    )
    return path.draft, tuple(_describe_round(number, one) for number, one in enumerate(rounds, 1))


def _describe_round(number: int, one: EnlargingRound) -> Finding:
    evidence = {"records_before": one.before, "records_after": one.after}
    gate = f"enlarge_{number}"
    return (
        replace(pass_by(gate, one.reason, one.detail), evidence=evidence)
        if one.reason
        else keep(gate, evidence)
    )


def _describe_turn(turn: RewordingRound[ScenarioVersion]) -> Finding:
    evidence = {"before": turn.before, "after": turn.after}
    gate = f"reword_{turn.operator}"
    return (
        replace(pass_by(gate, turn.reason, turn.detail), evidence=evidence)
        if turn.reason
        else keep(gate, evidence)
    )
