"""Generate: seed → blueprint, and environment → draft whose oracle has run."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from envmill.drafting.complaint import Complaint, spell
from envmill.drafting.contract import make_contract
from envmill.drafting.database import find_database_faults
from envmill.drafting.enacting import read_reply
from envmill.drafting.enlarging import Round, enlarge
from envmill.drafting.errands.outfitting import pose_errand
from envmill.drafting.finishing import finish, prepare
from envmill.drafting.locked import REASON, Locked, spell_facts, spell_rules
from envmill.drafting.perturbing import perturb
from envmill.drafting.plan import find_plan_faults
from envmill.drafting.rechecking import Seen, find_keys, hold, list_words
from envmill.drafting.repair import Repair, Unread, give_up, strive, tell_trouble
from envmill.drafting.rewording import Turn, ask_words, pick_operators, reword
from envmill.drafting.tracing import trace
from envmill.drafting.unfolding import unfold
from envmill.drafting.walked import list_complaints
from envmill.errors import BuildError
from envmill.gates.base import Finding, Means, Posed, drop, keep, pass_by
from envmill.gates.wording import judge_words
from envmill.kinds.start import CLOCK
from envmill.mill import Mill, Place, Result, Subject
from envmill.models.door import Account
from envmill.models.prompt import tell_prompt
from envmill.rehearsing import UNASKED, Guard, Rehearsal, doubt_request, hear_judge, rehearse
from envmill.sandbox import Invoke, Look, Observation, Program, Reset
from envmill.sandbox.machines.files import ERRAND
from envmill.toolgraph.topology import judge_chain
from envmill.verifiers.diff import diff_states
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
    complaints: tuple[Complaint, ...]

    @property
    def fault(self) -> Fault:
        return "spec" if self.complaints else "none"

    @property
    def content(self) -> Json:
        return self.blueprint.id


async def generate_blueprint(subject: Subject[Seed], mill: Mill, account: Account) -> Result:
    """Ask the recipe for an idea that a program can be written from. The seed is saved whatever comes of it."""
    seed, locks, held, guard = subject.record, mill.locks.of(subject.id), Locked(), Guard()

    async def write(before: _Idea | None, repair: Repair, asking: Account) -> _Idea:
        nonlocal held
        blueprint = await mill.recipe.think_up(seed, repair, asking, before.blueprint if before else None)
        weakened, rules = guard.refuse(blueprint, repair), spell_rules(blueprint.rules)
        if faults := held.find_faults(rules):
            return _Idea(blueprint, _complain("plan", REASON, faults))
        held = locks.within(rules)
        if weakened:
            return _Idea(blueprint, weakened)
        if faults := find_plan_faults(blueprint):
            return _Idea(blueprint, _complain("plan", "bad_plan", faults))
        return _Idea(blueprint, _complain("database", "bad_database", await find_database_faults(blueprint, mill.sandbox)))

    versions = await strive(write, account, lambda: held.tell())
    builds, last = tell_trouble(seed.id, versions), versions[-1]
    if isinstance(last, _Idea) and not last.complaints:
        return Result((*_save(seed), last.blueprint, *builds))
    return Result((*_save(seed), *builds), (drop("blueprint", *give_up(versions)),))


def _complain(source: str, code: str, faults: Sequence[str]) -> tuple[Complaint, ...]:
    return tuple(Complaint(source, code, fault) for fault in faults)


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
    complaints: tuple[Complaint, ...] = ()
    rehearsal: Rehearsal = UNASKED
    """What the gates found, where it got as far as them."""

    @property
    def objection(self) -> tuple[str, str] | None:
        """Why it does not stand."""
        return None if self.draft is not None else (self.complaints[0].code, spell(self.complaints))

    @property
    def fault(self) -> Fault:
        return "none" if not self.complaints else "state" if self.complaints[0].code in _STATE_REASONS else "spec"

    @property
    def content(self) -> Json:
        return self.reply.model_dump(mode="json")


async def generate_draft(subject: Subject[Place], mill: Mill, account: Account) -> Result:
    """Execute first: what the oracle does to a private copy is the only source of gold. What cannot stand is sent back."""
    place, locks, held, guard = subject.record, mill.locks.of(subject.id), Locked(), Guard()
    polarity = choose_polarity(mill.config.polarities, place.environment.id, place.number)
    turns = count()

    async def write(before: _Pose | None, repair: Repair, asking: Account) -> _Pose:
        nonlocal held
        if place.environment.kind == "terminal":
            return await _break_machine(place, mill, account, next(turns))
        try:
            reply = await mill.recipe.pose(place.environment, place.number, polarity, repair, asking)
        except BuildError as error:
            return _refuse(_NOTHING, f"chain_{error.facts.get('reason', 'failed')}", error.message)
        weakened, facts = guard.refuse(reply, repair), spell_facts(reply.facts)
        if faults := held.find_faults(facts):
            return _Pose(reply, None, _complain("oracle", REASON, faults))
        held = locks.within(facts)
        posed = await _execute(reply, place, mill, asking)
        if not mill.config.rehearse:
            return posed
        if weakened or posed.draft is None:
            return replace(posed, draft=None, complaints=(*posed.complaints, *weakened))
        rehearsed = await _rehearse(posed, place, mill, account)
        vaguer = doubt_request(before.reply if before else None, rehearsed.reply, repair)
        return replace(rehearsed, complaints=(*rehearsed.complaints, *vaguer))

    versions = await strive(write, account, lambda: held.tell())
    builds, best = tell_trouble(place.id, versions), _pick_best(versions)
    if best is None or best.draft is None:
        return Result(builds, (drop("oracle", *give_up(versions)),))
    reworded, findings = await _reword(best.reply, best.draft, place, mill, account)
    draft, larger = await _enlarge(reworded, best.draft, place, mill, account)
    return Result((draft, *builds), (*best.rehearsal.tell(), *findings, *larger))


async def _rehearse(posed: _Pose, place: Place, mill: Mill, account: Account) -> _Pose:
    """A draft that runs, finished for a moment and put to the gates."""
    assert posed.draft is not None
    try:
        prepared = await prepare(posed.draft, place.environment, mill.sandbox)
        scenario = await finish(prepared, mill.config.reward, mill.sandbox)
    except BuildError as error:
        return replace(posed, draft=None, complaints=(Complaint("verifier", str(error.facts["reason"]), error.message),))
    rehearsal = await rehearse(Posed(scenario, place.environment), mill, account)
    return replace(posed, rehearsal=rehearsal, complaints=rehearsal.complaints)


def _pick_best(versions: Sequence[_Pose | Unread]) -> _Pose | None:
    """The last version with the fewest complaints among those that run; the gates of verify have the last word about it."""
    ran = [version for version in versions if isinstance(version, _Pose) and version.draft is not None]
    return min(reversed(ran), key=lambda version: len(version.complaints), default=None)


async def _reword(reply: ScenarioReply, draft: Draft, place: Place, mill: Mill, account: Account) -> tuple[_Pose, tuple[Finding, ...]]:
    """The draft in the last words that stand, and a finding for each operator that was tried: what fails leaves the old words."""
    environment, means = place.environment, Means(mill.sandbox, seed=mill.config.seed or 0)

    async def hear(found: Sequence[Finding], posed: Posed) -> list[Finding]:
        return await hear_judge(found, posed, mill, account)

    async def judge(changed: ScenarioReply) -> _Pose:
        if isinstance(changed, ChainReply) and (refused := await judge_chain(environment, changed.chain, changed.polarity)):
            return _refuse(changed, f"chain_{refused.code}", refused.words)
        posed = await _execute(changed, place, mill, account)
        if posed.draft is None:
            return posed
        fault = await judge_words(posed.draft, environment, means, hear)
        return _refuse(posed.reply, *fault) if fault else posed

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

    async def hear(found: Sequence[Finding], posed: Posed) -> list[Finding]:
        return await hear_judge(found, posed, mill, account)

    async def still_holds(state: dict[str, Json]) -> tuple[str, str] | None:
        nonlocal larger
        tried = await _execute(posed.reply.model_copy(update={"initial_state": state}), place, mill, account)
        if tried.draft is None:
            return tried.objection
        if tried.draft.oracle != stands.oracle or tried.draft.changes != stands.changes:
            return "does_otherwise", "on more records the reference path does something else"
        if fault := await judge_words(tried.draft, place.environment, Means(mill.sandbox, seed=mill.config.seed or 0), hear):
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
        return _refuse(posed.reply, posed.reason, posed.detail)
    return await _execute(posed.reply, place, mill, account)


def _refuse(reply: ScenarioReply, code: str, words: str) -> _Pose:
    return _Pose(reply, None, (Complaint("oracle", code, words),))


async def _execute(reply: ScenarioReply, place: Place, mill: Mill, account: Account) -> _Pose:
    """Run the reference path on what the reply says the world is."""
    seed = mill.config.seed or 0
    reset = Reset(state=reply.initial_state, clock=CLOCK, seed=seed)
    program = Program.of(place.environment)
    try:
        reply = await unfold(reply, place.environment, reset, mill.sandbox)
    except BuildError as error:
        return _refuse(reply, f"chain_{error.facts.get('reason', 'failed')}", error.message)
    begun, kept, *seen = await mill.sandbox.play(program, [reset, Look(), *map(Invoke, reply.oracle), Look()])
    if complaints := list_complaints(reply, begun, kept, seen):
        return _Pose(reply, None, complaints)
    try:
        chain = await _find_chain(reply, place.environment, seen)
    except BuildError as error:
        return _refuse(reply, f"chain_{error.facts.get('reason', 'failed')}", error.message)
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
        variants=reply.variants,
        clock=CLOCK,
        seed=seed,
        changes=diff_states(reply.initial_state, end.state),
        gold_hash=end.state_hash,
        origin=Origin.model_validate(origin.model_dump()),
    )
