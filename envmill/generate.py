"""Generate: seed → blueprint, and environment → draft whose oracle has run."""

from envmill.gates.base import drop
from envmill.kinds.start import CLOCK
from envmill.mill import Mill, Place, Result, Subject
from envmill.models.door import Account
from envmill.sandbox import Invoke, Look, Observation, Program, Reset
from envmill.verifiers.diff import diff_states
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, UserContract
from schemas.seed import Seed


async def generate_blueprint(subject: Subject[Seed], mill: Mill, account: Account) -> Result:
    """Ask the recipe for an idea. The seed is saved whatever comes of it."""
    blueprint = await mill.recipe.think_up(subject.record, account)
    return Result((subject.record, blueprint))


async def generate_draft(subject: Subject[Place], mill: Mill, account: Account) -> Result:
    """Execute first: what the oracle does to a private copy is the only source of gold."""
    place = subject.record
    reply = await mill.recipe.pose(place.environment, place.number, account)
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
    return None


def _make_draft(place: Place, reply: ScenarioReply, end: Observation, seed: int, account: Account) -> Draft:
    environment = place.environment
    origin = environment.origin.model_copy(update={"provider": account.provider, "model": account.model, "prompt": "scenario"})
    return Draft(
        environment=environment.id,
        number=place.number,
        initial_state=reply.initial_state,
        request=reply.request,
        user=UserContract(opening=reply.request, facts=reply.facts),
        oracle=reply.oracle,
        polarity=reply.polarity,
        clock=CLOCK,
        seed=seed,
        changes=diff_states(reply.initial_state, end.state),
        gold_hash=end.state_hash,
        origin=Origin.model_validate(origin.model_dump()),
    )
