"""Posing a scenario: its reference path is run on a private copy, the only source of gold, and what
stands is put to the gates.

reply ─► execute ─► draft, or all that is wrong with it ─► rehearse ─► what the gates send back
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.gates.base import ScenarioCase
from envmill.kinds.authoring.complaint import Complaint, render
from envmill.kinds.endings import list_keys
from envmill.kinds.start import CLOCK
from envmill.models.gateway import ModelSession
from envmill.models.prompt import describe_prompt
from envmill.recipes.drafting.contract import make_contract
from envmill.recipes.drafting.dag import list_dag_complaints
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.recipes.drafting.offered import complain_of_left
from envmill.recipes.drafting.rechecking import PlayedChain, find_keys, hold, list_words
from envmill.recipes.drafting.requests import list_part_complaints
from envmill.recipes.drafting.servers import list_server_complaints
from envmill.recipes.drafting.tracing import trace
from envmill.recipes.drafting.unfolding import unfold
from envmill.recipes.drafting.walked import list_bad_references, list_complaints
from envmill.sandbox import Invoke, Look, Observation, Program, Reset
from envmill.sandbox.results import link, record, refer_to, settle
from envmill.stages.context import RunContext
from envmill.stages.places import ScenarioSlot
from envmill.stages.rehearsal import UNASKED, GateFindings, rehearse
from envmill.stages.waiving import list_waivable, waive
from envmill.toolgraph.chain_player import read_reply
from envmill.verifiers.diff import diff_states
from schemas.base import Json, order_keys
from schemas.chain import Chain
from schemas.environment import Call, Environment, Fault
from schemas.origin import Origin
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, RequestPart
from schemas.tool_prompts import ChainReply

_STATE_REASONS = ("state_not_kept", "records_unlike", "reference_lost")


@dataclass(frozen=True)
class ScenarioVersion:
    """One version of a scenario, executed."""

    reply: ScenarioReply
    draft: Draft | None
    complaints: tuple[Complaint, ...] = ()
    rehearsal: GateFindings = UNASKED
    """What the gates found, where it got as far as them."""
    hopeless: bool = False
    """Whether its author said that there is none."""

    @property
    def objection(self) -> tuple[str, str] | None:
        """Why it does not stand."""
        return (
            None if self.draft is not None else (self.complaints[0].code, render(self.complaints))
        )

    @property
    def fault(self) -> Fault:
        return (
            "none"
            if not self.complaints
            else "state"
            if self.complaints[0].code in _STATE_REASONS
            else "spec"
        )

    @property
    def content(self) -> Json:
        return self.reply.model_dump(mode="json")


async def rehearse_reply(
    reply: ScenarioReply, place: ScenarioSlot, context: RunContext, models: ModelSession
) -> ScenarioVersion:
    """A scenario that is there already, run and put to the gates."""
    posed = await execute(reply, place, context, models)
    return posed if posed.draft is None else await rehearse_draft(posed, place, context, models)


async def rehearse_draft(
    posed: ScenarioVersion, place: ScenarioSlot, context: RunContext, models: ModelSession
) -> ScenarioVersion:
    """A draft that runs, finished for a moment and put to the gates."""
    assert posed.draft is not None
    try:
        prepared = await prepare(posed.draft, place.environment, context.sandbox)
        scenario = await finish(prepared, context.config.reward, context.sandbox)
    except BuildError as error:
        return replace(
            posed,
            draft=None,
            complaints=(Complaint("verifier", str(error.facts["reason"]), error.message),),
        )
    rehearsal = await rehearse(ScenarioCase(scenario, place.environment), context, models)
    rehearsed = replace(posed, rehearsal=rehearsal, complaints=rehearsal.complaints)
    if not (names := list_waivable(scenario, rehearsal.findings)):
        return rehearsed
    lighter = await rehearse_draft(
        replace(posed, draft=waive(posed.draft, names)), place, context, models
    )
    # Where something is wrong only without the look-up, such as an attack that is paid then, it
    # stays, and its author is told.
    better = lighter.draft is not None and all(
        one in rehearsed.complaints for one in lighter.complaints
    )
    return lighter if better and len(lighter.complaints) < len(rehearsed.complaints) else rehearsed


def refuse(reply: ScenarioReply, code: str, words: str) -> ScenarioVersion:
    """A version that does not stand."""
    return ScenarioVersion(reply, None, (Complaint("oracle", code, words),))


async def execute(
    reply: ScenarioReply,
    place: ScenarioSlot,
    context: RunContext,
    models: ModelSession,
    expanded: ScenarioReply | None = None,
) -> ScenarioVersion:
    """Run the reference path on what the reply says the world is. `expanded`: the scenario that
    this one expands."""
    # As the lake gives it back: a program lists rows in the order of keys, and verify must see the
    # same replies.
    reply = reply.model_copy(update={"initial_state": order_keys(reply.initial_state)})
    seed = context.config.run_seed
    reset = Reset(state=reply.initial_state, clock=CLOCK, seed=seed)
    program = Program.of(place.environment)
    try:
        unfolded = await unfold(reply, place.environment, reset, context.sandbox, expanded)
    except BuildError as error:
        return refuse(reply, f"chain_{error.facts.get('reason', 'failed')}", error.message)
    reply, parts = unfolded.reply, unfolded.parts
    linked, bad = (
        link(reply.oracle, place.environment.tools)
        if context.config.results
        else (reply.oracle, ())
    )
    if bad:
        return ScenarioVersion(reply, None, list_bad_references(reply, bad))
    begun, kept, *seen = await context.sandbox.play(
        program, [reset, Look(), *map(Invoke, linked), Look()]
    )
    complaints, match = (
        list_complaints(reply, begun, kept, seen, results=context.config.results),
        None,
    )
    if all(one.outcome == "ok" for one in (begun, kept, *seen)):
        complaints = (*complaints, *list_part_complaints(reply, parts, [kept, *seen[:-1]]))
    complaints = (*complaints, *list_server_complaints(reply, unfolded.enacted, place.environment))
    checks = context.config.dag
    complaints += await list_dag_complaints(
        reply, unfolded.enacted, checks, place.environment, reset, context.sandbox
    )
    if (
        place.offered is not None
        and place.offered.binding
        and all(one.outcome == "ok" for one in (begun, kept, *seen))
    ):
        match = place.offered.compare(
            settle(linked, seen[:-1]), [read_reply(one) for one in seen[:-1]]
        )
        complaints = (*complaints, *complain_of_left(match))
    if complaints:
        return ScenarioVersion(reply, None, complaints)
    if context.config.results and isinstance(reply, ChainReply):
        # The chain says where values come from; its calls hold what this session gave.
        replies, made = (
            [read_reply(one) for one in seen[:-1]],
            list_keys(seen[-1].state) - list_keys(reply.initial_state),
        )
        linked, _ = link(
            refer_to(made - set(map(str, reply.filling.said.values())), reply.oracle, replies),
            place.environment.tools,
        )
    path = record(linked, seen[:-1])
    try:
        chain = await _find_chain(reply, path, place.environment, seen)
    except BuildError as error:
        return refuse(reply, f"chain_{error.facts.get('reason', 'failed')}", error.message)
    draft = _make_draft(place, reply, path, parts, chain, seen[-1], seed, models)
    return ScenarioVersion(
        reply, draft.model_copy(update={"overlap": match.overlap}) if match else draft
    )


async def _find_chain(
    reply: ScenarioReply,
    path: Sequence[Call],
    environment: Environment,
    seen: Sequence[Observation],
) -> Chain | None:
    """The chain that was carried out; of a path along a walk, the one that its calls come to, if
    the validator passes it."""
    if isinstance(reply, ChainReply):
        return reply.chain
    if environment.brief.outline is None:
        return None
    replies, words = [read_reply(one) for one in seen[:-1]], list_words(reply)
    states = (reply.initial_state, seen[-1].state or {})
    chain = trace(path, replies, find_keys(states), words, "walk")
    await hold(chain, environment, PlayedChain(path, replies, states, words))
    return chain


def _make_draft(
    place: ScenarioSlot,
    reply: ScenarioReply,
    path: list[Call],
    parts: list[RequestPart],
    chain: Chain | None,
    end: Observation,
    seed: int,
    models: ModelSession,
) -> Draft:
    environment = place.environment
    asked = {"provider": models.provider, "model": models.model} | describe_prompt(
        models.last_asked
    )
    origin = environment.origin.model_copy(update=asked)
    return Draft(
        environment=environment.id,
        number=place.number,
        initial_state=reply.initial_state,
        request=reply.request,
        user=make_contract(reply, [part.request for part in parts]),
        oracle=path,
        chain=chain,
        polarity=reply.polarity,
        say=reply.say,
        tell=reply.tell,
        avoid=reply.avoid,
        variants=reply.variants,
        parts=parts,
        clock=CLOCK,
        seed=seed,
        changes=diff_states(reply.initial_state, end.state),
        gold_hash=end.state_hash,
        origin=Origin.model_validate(origin.model_dump()),
    )
