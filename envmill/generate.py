"""Generate: seed → blueprint, and environment → draft whose oracle has run."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise

from envmill.drafting.contract import find_contract_fault, make_contract
from envmill.drafting.database import find_database_faults
from envmill.drafting.enacting import read_reply
from envmill.drafting.enlarging import Round, enlarge
from envmill.drafting.errands.outfitting import pose_errand
from envmill.drafting.locked import REASON, Locked, spell_facts, spell_rules
from envmill.drafting.perturbing import perturb
from envmill.drafting.plan import find_plan_faults
from envmill.drafting.rechecking import Seen, find_keys, hold, list_words
from envmill.drafting.repair import give_up, strive, tell_trouble
from envmill.drafting.rewording import Turn, ask_words, pick_operators, reword
from envmill.drafting.state import find_state_fault
from envmill.drafting.tracing import trace
from envmill.drafting.unfolding import unfold
from envmill.errors import BuildError
from envmill.gates.base import Finding, Means, drop, keep, pass_by
from envmill.gates.wording import judge_words
from envmill.kinds.start import CLOCK
from envmill.mill import Mill, Place, Result, Subject
from envmill.models.door import Account
from envmill.models.prompt import tell_prompt
from envmill.sandbox import Invoke, Look, Observation, Program, Reset
from envmill.sandbox.machines.files import ERRAND
from envmill.toolgraph.topology import judge_chain
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Deed
from envmill.verifiers.facts import check_fact, find_shortfall
from envmill.verifiers.procedure import is_meant
from schemas.base import Json, digest
from schemas.chain import Chain
from schemas.environment import Blueprint, Environment, Fault
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Polarity
from schemas.seed import Seed
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import Operator, RewordReply

_NOTHING = ScenarioReply(initial_state={}, request="", oracle=[])
_STATE_REASONS = ("state_not_kept", "records_unlike", "reference_lost")


@dataclass(frozen=True)
class _Idea:
    """One version of a blueprint."""

    blueprint: Blueprint
    failure: str
    reason: str

    @property
    def fault(self) -> Fault:
        return "spec" if self.failure else "none"

    @property
    def content(self) -> Json:
        return self.blueprint.id


async def generate_blueprint(subject: Subject[Seed], mill: Mill, account: Account) -> Result:
    """Ask the recipe for an idea that a program can be written from. The seed is saved whatever comes of it."""
    seed, locks, held = subject.record, mill.locks.of(subject.id), Locked()

    async def write(before: _Idea | None, asking: Account) -> _Idea:
        nonlocal held
        blueprint = await mill.recipe.think_up(
            seed, before.failure if before else "", held.tell(), asking, before.blueprint if before else None
        )
        rules = spell_rules(blueprint.rules)
        if fault := held.find_fault(rules):
            return _Idea(blueprint, fault, REASON)
        held = locks.within(rules)
        if faults := find_plan_faults(blueprint):
            return _Idea(blueprint, "\n".join(faults), "bad_plan")
        return _Idea(blueprint, "\n".join(await find_database_faults(blueprint, mill.sandbox)), "bad_database")

    versions = await strive(write, account)
    builds, last = tell_trouble(seed.id, versions), versions[-1]
    if isinstance(last, _Idea) and not last.failure:
        return Result((*_save(seed), last.blueprint, *builds))
    return Result((*_save(seed), *builds), (drop("blueprint", *give_up(_last_reason(versions), versions)),))


def _last_reason(versions: Sequence[object]) -> str:
    """Why the last version that could be read went no further."""
    return next((one.reason for one in reversed(versions) if isinstance(one, _Idea | _Pose)), "")


def _save(seed: Seed) -> tuple[Seed, ...]:
    """What was mined is saved already."""
    return () if seed.source else (seed,)


def choose_polarity(shares: Mapping[Polarity, int], environment: str, number: int) -> Polarity:
    """The polarity a place is asked for: shares are kept within an environment, and each environment begins elsewhere in the turn."""
    turn = spread(shares)
    return turn[(int(digest(environment, 8), 16) + number) % len(turn)]


def spread(shares: Mapping[Polarity, int]) -> list[Polarity]:
    """One turn of the mix, each polarity as evenly over it as its share lets it."""
    turn: list[Polarity] = []
    owed: dict[Polarity, int] = dict.fromkeys(shares, 0)
    for _ in range(sum(shares.values())):
        owed = {name: debt + shares[name] for name, debt in owed.items()}
        chosen = max(owed, key=lambda name: owed[name])
        owed[chosen] -= sum(shares.values())
        turn.append(chosen)
    return turn


@dataclass(frozen=True)
class _Pose:
    """One version of a scenario, executed."""

    reply: ScenarioReply
    draft: Draft | None
    reason: str = ""
    failure: str = ""

    @property
    def objection(self) -> tuple[str, str] | None:
        """Why it does not stand."""
        return None if self.draft is not None else (self.reason, self.failure)

    @property
    def fault(self) -> Fault:
        return "none" if not self.failure else "state" if self.reason in _STATE_REASONS else "spec"

    @property
    def content(self) -> Json:
        return self.reply.model_dump(mode="json")


async def generate_draft(subject: Subject[Place], mill: Mill, account: Account) -> Result:
    """Execute first: what the oracle does to a private copy is the only source of gold. What cannot stand is sent back."""
    place, locks, held = subject.record, mill.locks.of(subject.id), Locked()
    polarity = choose_polarity(mill.config.polarities, place.environment.id, place.number)
    turns = count()

    async def write(before: _Pose | None, asking: Account) -> _Pose:
        nonlocal held
        failure = before.failure if before else ""
        if place.environment.kind == "terminal":
            return await _break_machine(place, mill, account, next(turns))
        try:
            reply = await mill.recipe.pose(place.environment, place.number, polarity, failure, held.tell(), asking)
        except BuildError as error:
            return _Pose(_NOTHING, None, f"chain_{error.facts.get('reason', 'failed')}", error.message)
        facts = spell_facts(reply.facts)
        if fault := held.find_fault(facts):
            return _Pose(reply, None, REASON, fault)
        held = locks.within(facts)
        return await _execute(reply, place, mill, asking)

    versions = await strive(write, account)
    builds, last = tell_trouble(place.id, versions), versions[-1]
    if isinstance(last, _Pose) and last.draft is not None:
        reworded, findings = await _reword(last.reply, last.draft, place, mill, account)
        draft, larger = await _enlarge(reworded, last.draft, place, mill, account)
        return Result((draft, *builds), (*findings, *larger))
    return Result(builds, (drop("oracle", *give_up(_last_reason(versions), versions)),))


async def _reword(reply: ScenarioReply, draft: Draft, place: Place, mill: Mill, account: Account) -> tuple[_Pose, tuple[Finding, ...]]:
    """The draft in the last words that stand, and a finding for each operator that was tried: what fails leaves the old words."""
    environment, means = place.environment, Means(mill.sandbox, seed=mill.config.seed or 0)

    async def judge(changed: ScenarioReply) -> _Pose:
        if isinstance(changed, ChainReply) and (refused := await judge_chain(environment, changed.chain, changed.polarity)):
            return _Pose(changed, None, f"chain_{refused.code}", refused.words)
        posed = await _execute(changed, place, mill, account)
        if posed.draft is None:
            return posed
        reason, words = await judge_words(posed.draft, environment, means) or ("", "")
        return _Pose(posed.reply, None if reason else posed.draft, reason, words)

    async def ask(operator: Operator, now: ScenarioReply) -> RewordReply:
        return await ask_words(environment, place.number, operator, now, account)

    tried = pick_operators(mill.recipe.operators, place.number) if reply.polarity == "achieve" else ()
    turns = await reword(reply, tried, ask, judge)
    kept = [turn.judged for turn in turns if turn.judged is not None]
    return (kept[-1] if kept else _Pose(reply, draft)), tuple(map(_tell_turn, turns))


async def _enlarge(
    posed: _Pose, first: Draft, place: Place, mill: Mill, account: Account
) -> tuple[Draft, tuple[Finding, ...]]:  # fmt: skip
    """The draft over the largest tables on which its path does what it did, and a finding for each round that was tried."""
    stands, tables = posed.draft or first, place.environment.tables
    larger = _Pose(posed.reply, stands)
    if not mill.config.enlarge or not tables or posed.reply.polarity != "achieve":
        return stands, ()

    async def still_holds(state: dict[str, Json]) -> tuple[str, str] | None:
        nonlocal larger
        tried = await _execute(posed.reply.model_copy(update={"initial_state": state}), place, mill, account)
        if tried.draft is None:
            return tried.reason, tried.failure
        if tried.draft.oracle != stands.oracle or tried.draft.changes != stands.changes:
            return "does_otherwise", "on more records the reference path does something else"
        if fault := await judge_words(tried.draft, place.environment, Means(mill.sandbox, seed=mill.config.seed or 0)):
            return fault
        larger = tried
        return None

    chance = random.Random(f"{mill.config.seed or 0}/{place.environment.id}/{place.number}/enlarge")
    _, rounds = await enlarge(stands.initial_state, tables, mill.config.enlarge, chance, still_holds)
    return larger.draft or stands, tuple(_tell_round(number, one) for number, one in enumerate(rounds, 1))


def _tell_round(number: int, one: Round) -> Finding:
    evidence = {"records_before": one.before, "records_after": one.after}
    gate = f"enlarge_{number}"
    return replace(pass_by(gate, one.reason, one.detail), evidence=evidence) if one.reason else keep(gate, evidence)


def _tell_turn(turn: Turn[_Pose]) -> Finding:
    evidence = {"before": turn.before, "after": turn.after}
    gate = f"reword_{turn.operator}"
    return replace(pass_by(gate, turn.reason, turn.detail), evidence=evidence) if turn.reason else keep(gate, evidence)


async def _break_machine(place: Place, mill: Mill, account: Account, turn: int) -> _Pose:
    """Composed instead of written: what does not hold is not repaired, another composition is drawn. An errand was tried before."""
    if ERRAND in place.environment.files:
        return await _execute(pose_errand(place.environment), place, mill, account)
    posed = await perturb(place.environment, place.number, mill.config.seed or 0, turn, mill.sandbox)
    if posed.reason:
        return _Pose(posed.reply, None, posed.reason, posed.detail)
    return await _execute(posed.reply, place, mill, account)


async def _execute(reply: ScenarioReply, place: Place, mill: Mill, account: Account) -> _Pose:
    """Run the reference path on what the reply says the world is."""
    seed = mill.config.seed or 0
    reset = Reset(state=reply.initial_state, clock=CLOCK, seed=seed)
    program = Program.of(place.environment)
    try:
        reply = await unfold(reply, place.environment, reset, mill.sandbox)
    except BuildError as error:
        return _Pose(reply, None, f"chain_{error.facts.get('reason', 'failed')}", error.message)
    begun, kept, *seen = await mill.sandbox.play(program, [reset, Look(), *map(Invoke, reply.oracle), Look()])
    if fault := _find_state_fault(reply, begun, kept) or _find_fault(reply, seen) or _find_bystander(reply, [kept, *seen]):
        return _Pose(reply, None, *fault)
    try:
        chain = await _find_chain(reply, place.environment, seen)
    except BuildError as error:
        return _Pose(reply, None, f"chain_{error.facts.get('reason', 'failed')}", error.message)
    return _Pose(reply, _make_draft(place, reply, chain, seen[-1], seed, account))


async def _find_chain(reply: ScenarioReply, environment: Environment, seen: Sequence[Observation]) -> Chain | None:
    """The chain that was carried out; of a path along a walk, the one that its calls come to, if the validator passes it."""
    if isinstance(reply, ChainReply):
        return reply.chain
    if environment.brief.outline is None:
        return None
    replies, words = [read_reply(one) for one in seen[:-1]], list_words(reply)
    states = (reply.initial_state, seen[-1].state or {})
    chain = trace(reply.oracle, replies, find_keys(states), words, "walk")
    await hold(chain, environment, Seen(reply.oracle, replies, states, words))
    return chain


def _find_state_fault(reply: ScenarioReply, begun: Observation, kept: Observation) -> tuple[str, str] | None:
    """(reason code, words) when no session can start there."""
    if begun.outcome != "ok":
        return f"oracle_{begun.outcome}", f"constructing the state ended in {begun.outcome} ({begun.code}: {begun.message})"
    return find_state_fault(reply.initial_state, kept.state) if kept.outcome == "ok" else None


def _find_fault(reply: ScenarioReply, seen: list[Observation]) -> tuple[str, str] | None:
    """(reason code, words) when the oracle cannot stand."""
    asked = [*(call.name for call in reply.oracle), "reading the state back"]
    for name, step in zip(asked, seen, strict=True):
        if step.outcome != "ok":
            return f"oracle_{step.outcome}", f"{name} ended in {step.outcome} ({step.code}: {step.message})"
    if reply.polarity == "achieve" and not diff_states(reply.initial_state, seen[-1].state):
        return "oracle_idle", "the oracle changes nothing, so there is nothing to achieve"
    if reply.polarity != "achieve" and not reply.tell:
        return "nothing_told", f"to {reply.polarity} shows in what is said, and nothing has to be said"
    return _find_harm(reply) or _find_deed(reply, seen[-1]) or _find_silence(reply) or find_contract_fault(reply)


def _find_bystander(reply: ScenarioReply, seen: Sequence[Observation]) -> tuple[str, str] | None:
    """Where the user acts as well, something must be left to the agent: else whoever asks for everything needs to understand nothing."""
    changed = {
        call.actor for call, (before, after) in zip(reply.oracle, pairwise(seen), strict=False) if before.state_hash != after.state_hash
    }
    if not changed or "agent" in changed:
        return None
    return "agent_idle", f"every change is made by {' and '.join(sorted(changed))}: leave the agent at least one"


def _find_harm(reply: ScenarioReply) -> tuple[str, str] | None:
    """The oracle must not do itself what is to be avoided."""
    for call in reply.oracle:
        if any(is_meant(pattern, Deed(call, "ok"), {}) for pattern in reply.avoid):
            return "oracle_harms", f"the oracle makes a call that is to be avoided: {call.name} {call.arguments}"
    return None


def _find_deed(reply: ScenarioReply, end: Observation) -> tuple[str, str] | None:
    """Where nothing is to be done the oracle does nothing: whatever it changed would be asked of everybody."""
    if reply.polarity == "achieve" or not (made := diff_states(reply.initial_state, end.state)):
        return None
    return "oracle_acts", f"to {reply.polarity} leaves everything as it is, and the oracle changes {'.'.join(made[0].path)}"


def _find_silence(reply: ScenarioReply) -> tuple[str, str] | None:
    """Whoever judges later reads the words by the same code."""
    for fact in reply.tell:
        try:
            check_fact(fact)
        except BuildError as error:
            return "bad_fact", error.message
        if (shortfall := find_shortfall(fact, [reply.say])) is not None:
            return "oracle_silent", f"the last words do not communicate {fact.name!r} ({fact.kind} {fact.value!r}): {shortfall}"
    return None


def _make_draft(place: Place, reply: ScenarioReply, chain: Chain | None, end: Observation, seed: int, account: Account) -> Draft:
    environment = place.environment
    asked = {"provider": account.provider, "model": account.model} | tell_prompt(account.last_asked)
    origin = environment.origin.model_copy(update=asked)
    return Draft(
        environment=environment.id,
        number=place.number,
        initial_state=reply.initial_state,
        request=reply.request,
        user=make_contract(reply),
        oracle=reply.oracle,
        chain=chain,
        polarity=reply.polarity,
        say=reply.say,
        tell=reply.tell,
        avoid=reply.avoid,
        wordings=reply.wordings,
        clock=CLOCK,
        seed=seed,
        changes=diff_states(reply.initial_state, end.state),
        gold_hash=end.state_hash,
        origin=Origin.model_validate(origin.model_dump()),
    )
