"""Scenarios of recipe `tau2`: right dialogues pass in other orders and words, shortcuts earn
exactly nothing, and each side is needed."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.agents import find_policy
from envmill.agents.base import Say
from envmill.agents.limits import RolloutLimits
from envmill.agents.reference import ScriptedPolicy
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.kinds import KINDS
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.dialogue.atoms import read_repertoire
from envmill.kinds.dialogue.kind import DialogueKind
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.proving import Bench, Proved, prove
from envmill.kinds.start import CLOCK
from envmill.kinds.trial import try_calls
from envmill.models.gateway import ModelSession
from envmill.recipes import tau2
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.contract import make_contract
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Sandbox
from envmill.verifiers.ending import Ending
from schemas.dialogue import PolicyClause
from schemas.dialogue_prompts import ComposedReply
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.scenario import Draft, Scenario
from tests.kinds.dialogue.actors import ACT_FIRST, BREAKERS, Lined, Reworded
from tests.recipes.test_hooks import Noting
from tests.recipes.test_tau2 import make_desk
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")
RECIPE = tau2.make([])
KIND = cast(DialogueKind, KINDS["dialogue"])
LONG = RolloutLimits(steps=140, turns=110)
NUMBERS = range(count(3, 12))
WORDS = (
    "Just to be sure: {asks}?",
    "{asks}, please confirm.",
    "Before I do anything, one question. {asks}? Yes or no?",
)


@dataclass(frozen=True)
class Posed:
    """A scenario, with what it was composed of."""

    scenario: Scenario
    reply: ComposedReply


@dataclass(frozen=True)
class Along:
    """Another path, with the looks that are asked for first."""

    calls: Sequence[Call]
    name: str = "along"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Any:
        return ScriptedPolicy([*self.calls], scenario.say)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jail(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Sandbox]:
    home = {"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))}
    async with Sandbox.open(Settings.read(home), drivers=1) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk() -> Environment:
    return await make_desk()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def posed(desk: Environment, jail: Sandbox) -> list[Posed]:
    """The first scenarios, worded by the embedded author."""
    return [await pose(desk, jail, number) for number in NUMBERS]


async def pose(desk: Environment, jail: Sandbox, number: int) -> Posed:
    made = await KIND.compose_scenario(desk, number, 7, 0, jail)
    assert made is not None
    assert made.reason == "", made.detail
    brief = ScenarioBrief(desk, number, "achieve", composed=made.reply)
    reply = await RECIPE.pose(brief, FIRST, cast(ModelSession, Noting()))
    assert isinstance(reply, ComposedReply)
    draft = Draft(
        environment=desk.id, number=number, initial_state=reply.initial_state,
        request=reply.request, user=make_contract(reply), oracle=reply.oracle, polarity="achieve",
        clock=CLOCK, seed=7, changes=[], gold_hash="", say=reply.say, origin=desk.origin,
    )  # fmt: skip
    return Posed(await finish(await prepare(draft, desk, jail), "binary", jail), reply)


async def play(policy: Any, desk: Environment, scenario: Scenario, jail: Sandbox) -> Rollout:
    return await play_scenario(
        policy, scenario, desk, jail, "tau2", 1, form="conversation", limits=LONG
    )


async def order_otherwise(one: Posed, desk: Environment, jail: Sandbox) -> Sequence[Call]:
    """The same atoms mended in the opposite order."""
    repertoire = read_repertoire(desk.files)
    assert repertoire is not None
    atoms = [atom for atom in repertoire.atoms if atom.id in one.reply.atoms]
    bench = Bench(desk, read_dialogue(desk.files), repertoire, jail, 7)
    proved = await prove(atoms[::-1], bench)
    assert isinstance(proved, Proved), proved
    return proved.path


async def test_right_dialogues_pass_in_other_orders_and_words(
    desk: Environment, posed: list[Posed], jail: Sandbox
) -> None:
    refused, played = list[str](), 0
    looks = [
        Call(name=tool.name, actor="user")
        for tool in desk.tools
        if tool.actors == ["user"] and tool.effect == "query"
    ]
    for one in posed:
        other = await order_otherwise(one, desk, jail)
        right = [find_policy("reference"), *map(Reworded, WORDS), Along(other)]
        for policy in (*right, Along([*looks, *one.scenario.oracle])):
            made = await play(policy, desk, one.scenario, jail)
            played += 1
            if made.outcome != "pass":
                refused.append(f"{one.reply.atoms} {policy.name}: {made.outcome} {made.reason}")
    assert len(refused) <= 0.03 * played, refused


async def test_shortcuts_earn_exactly_nothing(
    desk: Environment, posed: list[Posed], jail: Sandbox
) -> None:
    handing = [one for one in desk.tools if one.name == "hand_over"]
    assert handing
    lines = [one for one in BREAKERS if one.name != "hand_over_at_once"]
    breakers = [*map(without_looks, lines), Lined("hand_over_at_once", hand_over)]
    for one in posed:
        for policy in breakers:
            made = await play(policy, desk, one.scenario, jail)
            told = (policy.name, one.reply.atoms, made.reason)
            assert (made.outcome, made.reward) == ("fail", 0.0), told
        if any(call.asks for call in one.scenario.oracle):
            made = await play(ACT_FIRST, desk, one.scenario, jail)
            assert (made.outcome, made.reward) == ("fail", 0.0), one.reply.atoms


def without_looks(policy: Lined) -> Lined:
    """The card reader's own looks left out: this desk has others."""

    def begin(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
        known = {tool.name for tool in environment.tools}
        moves = policy.lines(scenario, environment)
        return [one for one in moves if isinstance(one, Say) or one.name in known]

    return replace(policy, lines=begin)


def hand_over(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    made = [call for call in scenario.oracle if call.name == "hand_over"]
    device = next(iter(scenario.initial_state["devices"]))
    other = Call(name="hand_over", arguments={"device_id": device, "team": "workshop"})
    return [*(made or [other]), Say(scenario.say)]


async def test_both_sides_are_needed(desk: Environment, posed: list[Posed], jail: Sandbox) -> None:
    """The path without the calls of one side, whatever they are."""
    for one in posed:
        for side in ("agent", "user"):
            left = [call for call in one.scenario.oracle if call.actor != side]
            trial = await try_calls(one.scenario, desk, jail, left, Ending.list_words(one.scenario))
            assert trial.verdict.reward == 0.0, (side, one.reply.atoms)


async def test_each_clause_counts(desk: Environment, posed: list[Posed], jail: Sandbox) -> None:
    """A path that breaks a clause is refused for it alone, and passes once the clauses that it
    breaks are taken from the verifier."""
    counted, clauses = set[str](), read_dialogue(desk.files).clauses
    for one in posed:
        words = [call.asks for call in one.scenario.oracle if call.asks]
        for clause in (each for each in clauses if each.id not in counted):
            if (path := break_clause(clause, one.scenario)) is None:
                continue
            told = [" ".join([*words, one.scenario.say])] if clause.effect == "confirm" else []
            said = told or Ending.list_words(one.scenario)
            alike = [
                each
                for each in clauses
                if each is not clause and each.first and each.first == clause.first
            ]
            alone = drop_clauses(one.scenario, alike)
            trial = await try_calls(alone, desk, jail, path, said)
            assert trial.verdict.reward == 0.0, clause.id
            free = drop_clauses(alone, [clause])
            again = await try_calls(free, desk, jail, path, said)
            assert again.verdict.outcome == "pass", (clause.id, again.verdict.reason)
            counted.add(clause.id)
    assert len(counted) >= 4, counted


def break_clause(clause: PolicyClause, scenario: Scenario) -> list[Call] | None:
    """The path with what must come first at its end, or with what needs a yes done without."""
    oracle, tool, first = scenario.oracle, clause.call.name, clause.first
    if not any(call.name == tool for call in oracle):
        return None
    if clause.effect == "confirm":
        return [
            call.model_copy(update={"asks": ""}) if call.name == tool else call for call in oracle
        ]
    if clause.effect != "first" or first is None or first.name != "verify_customer":
        return None
    early = [call for call in oracle if call.name == first.name]
    return [*(call for call in oracle if call not in early), *early]


def drop_clauses(scenario: Scenario, clauses: Sequence[PolicyClause]) -> Scenario:
    verifier, names = scenario.verifier, {clause.id for clause in clauses}

    def is_kept(one: Any) -> bool:
        return not any(f"clause {name}" == one.name.partition(" (")[0] for name in names)

    parts = {
        part: [one for one in getattr(verifier, part) if is_kept(one)]
        for part in ("procedure", "facts", "harm")
    }
    return scenario.model_copy(update={"verifier": verifier.model_copy(update=parts)})
