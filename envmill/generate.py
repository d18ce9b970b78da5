"""Generate: seed → blueprint, and environment → draft whose oracle has run."""

from collections.abc import Mapping

from envmill.drafting.contract import find_contract_fault, make_contract
from envmill.errors import BuildError
from envmill.gates.base import drop
from envmill.kinds.start import CLOCK
from envmill.mill import Mill, Place, Result, Subject
from envmill.models.door import Account
from envmill.sandbox import Invoke, Look, Observation, Program, Reset
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Deed
from envmill.verifiers.facts import check_fact, find_shortfall
from envmill.verifiers.procedure import is_meant
from schemas.base import digest
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Polarity
from schemas.seed import Seed


async def generate_blueprint(subject: Subject[Seed], mill: Mill, account: Account) -> Result:
    """Ask the recipe for an idea. The seed is saved whatever comes of it."""
    blueprint = await mill.recipe.think_up(subject.record, account)
    return Result((subject.record, blueprint))


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


async def generate_draft(subject: Subject[Place], mill: Mill, account: Account) -> Result:
    """Execute first: what the oracle does to a private copy is the only source of gold."""
    place = subject.record
    polarity = choose_polarity(mill.config.polarities, place.environment.id, place.number)
    reply = await mill.recipe.pose(place.environment, place.number, polarity, account)
    seed = mill.config.seed or 0
    reset = Reset(state=reply.initial_state, clock=CLOCK, seed=seed)
    seen = await mill.sandbox.play(Program.of(place.environment), [reset, *map(Invoke, reply.oracle), Look()])
    if fault := _find_fault(reply, seen):
        return Result(findings=(drop("oracle", *fault),))
    return Result((_make_draft(place, reply, seen[-1], seed, account),))


def _find_fault(reply: ScenarioReply, seen: list[Observation]) -> tuple[str, str] | None:
    """(reason code, words) when the oracle cannot stand."""
    asked = ["constructing the state", *(call.name for call in reply.oracle), "reading the state back"]
    for name, step in zip(asked, seen, strict=True):
        if step.outcome != "ok":
            return f"oracle_{step.outcome}", f"{name} ended in {step.outcome} ({step.code}: {step.message})"
    if reply.polarity == "achieve" and not diff_states(reply.initial_state, seen[-1].state):
        return "oracle_idle", "the oracle changes nothing, so there is nothing to achieve"
    if reply.polarity != "achieve" and not reply.tell:
        return "nothing_told", f"to {reply.polarity} shows in what is said, and nothing has to be said"
    return _find_harm(reply) or _find_silence(reply) or find_contract_fault(reply)


def _find_harm(reply: ScenarioReply) -> tuple[str, str] | None:
    """The oracle must not do itself what is to be avoided."""
    for call in reply.oracle:
        if any(is_meant(pattern, Deed(call, "ok"), {}) for pattern in reply.avoid):
            return "oracle_harms", f"the oracle makes a call that is to be avoided: {call.name} {call.arguments}"
    return None


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


def _make_draft(place: Place, reply: ScenarioReply, end: Observation, seed: int, account: Account) -> Draft:
    environment = place.environment
    origin = environment.origin.model_copy(update={"provider": account.provider, "model": account.model, "prompt": "scenario"})
    return Draft(
        environment=environment.id,
        number=place.number,
        initial_state=reply.initial_state,
        request=reply.request,
        user=make_contract(reply),
        oracle=reply.oracle,
        polarity=reply.polarity,
        say=reply.say,
        tell=reply.tell,
        avoid=reply.avoid,
        clock=CLOCK,
        seed=seed,
        changes=diff_states(reply.initial_state, end.state),
        gold_hash=end.state_hash,
        origin=Origin.model_validate(origin.model_dump()),
    )
