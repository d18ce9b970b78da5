"""Breaches of clauses: a verifier of the kind refuses each by name, and one that lacks a clause, or
has it weakened, is dropped."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.s12 import check, find_unheeded
from envmill.kinds import kind_of
from envmill.kinds.dialogue.compile import read_clauses
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.dialogue import Dialogue, PolicyClause
from schemas.environment import Environment
from schemas.scenario import CallPattern, Predicate, Scenario, Verifier
from tests.kinds.dialogue.test_recorded import PLACES
from tests.kinds.dialogue.test_recorded import find as find_recorded
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import MERCHANT, SCENARIOS

TITLES = sorted(SCENARIOS)
PARTS = ("procedure", "facts", "harm")


def find(title: str) -> tuple[Environment, Scenario]:
    folder = load()
    return folder.environment, folder.scenarios[TITLES.index(title)]


async def end(environment: Environment, scenario: Scenario, jail: Sandbox) -> Ending:
    words = Ending.list_words(scenario)
    trial = await try_calls(scenario, environment, jail, scenario.oracle, words)
    assert trial.ending is not None
    assert judge(scenario.verifier, trial.ending).outcome == "pass"
    return trial.ending


async def list_unheeded(
    environment: Environment, scenario: Scenario, right: Ending, jail: Sandbox
) -> set[str]:
    case = ScenarioCase(scenario, environment, ())
    return {rule for rule, _ in await find_unheeded(case, GateContext(jail, seed=1), right)}


def reverify(scenario: Scenario, change: Callable[[str, Any], list[Any]]) -> Scenario:
    parts = {name: change(name, getattr(scenario.verifier, name)) for name in PARTS}
    verifier = scenario.verifier.model_copy(update=parts)
    return scenario.model_copy(update={"verifier": verifier})


def list_named(verifier: Verifier) -> set[str]:
    parts = (*verifier.procedure, *verifier.facts, *verifier.harm)
    return {clause for part in parts for clause in read_clauses(part.name)}


@pytest.mark.long(cases=2)
@pytest.mark.parametrize("title", TITLES)
async def test_each_lost_clause_is_named_and_no_other(title: str, jail: Sandbox) -> None:
    await check_each_loss(*find(title), jail)


@pytest.mark.long(cases=5)
@pytest.mark.parametrize("place", PLACES)
async def test_the_same_of_a_real_author(place: int, jail: Sandbox) -> None:
    environment, scenario, _ = find_recorded(place)
    await check_each_loss(environment, scenario, jail)


async def check_each_loss(environment: Environment, scenario: Scenario, jail: Sandbox) -> None:
    right = await end(environment, scenario, jail)
    assert await list_unheeded(environment, scenario, right, jail) == set()
    named = list_named(scenario.verifier)
    assert len(named) >= 8
    for clause in named:

        def keep(_: str, parts: list[Any], clause: str = clause) -> list[Any]:
            return [part for part in parts if clause not in read_clauses(part.name)]

        unheeded = await list_unheeded(environment, reverify(scenario, keep), right, jail)
        assert clause in unheeded
        assert named - unheeded, "clauses that stay are heeded"


@pytest.mark.parametrize("title", TITLES)
async def test_each_breach_is_refused_for_its_clause(title: str, jail: Sandbox) -> None:
    """And leaves both sides as the right path does."""
    environment, scenario = find(title)
    right = await end(environment, scenario, jail)
    made = list(kind_of(environment).list_breaches(environment, scenario, right))
    assert {breach.rule for breach in made} >= list_named(scenario.verifier)
    for breach in made:
        verdict = judge(scenario.verifier, breach.ending)
        names = [str(entry["name"]) for entry in verdict.evidence]
        assert any(breach.rule in read_clauses(name) for name in names), (breach.rule, breach.what)
        assert (verdict.components["agent"], verdict.components["user"]) == (1.0, 1.0)


def weaken(part: Any) -> Iterator[Any]:
    """A predicate about a row less, with a question that names nothing, with anything named, and
    of another tool."""
    if not isinstance(part, Predicate):
        return
    if part.names:
        yield part.model_copy(update={"names": []})
    if part.op == "only":
        yield part.model_copy(update={"among": [*part.among, CallPattern(name=part.call.name)]})
    if part.op == "before":
        first = CallPattern(name=part.call.name, actor=part.call.actor)
        yield part.model_copy(update={"op": "required", "call": part.first, "first": first})
    yield part.model_copy(update={"call": part.call.model_copy(update={"name": "show_payouts_"})})


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("title", ["unpaid", "fraud", "seal", "firmware"])
async def test_a_weakened_clause_is_named(title: str, jail: Sandbox) -> None:
    environment, scenario = find(title)
    right, tried = await end(environment, scenario, jail), 0
    for name in PARTS:
        for place, part in enumerate(getattr(scenario.verifier, name)):
            for other in weaken(part):

                def put(
                    where: str,
                    parts: list[Any],
                    name: str = name,
                    at: int = place,
                    new: Any = other,
                ) -> list[Any]:
                    return [*parts[:at], new, *parts[at + 1 :]] if where == name else parts

                spoilt = reverify(scenario, put)
                if judge(spoilt.verifier, right).outcome == "pass":
                    unheeded = await list_unheeded(environment, spoilt, right, jail)
                    assert read_clauses(part.name) & unheeded, part.name
                    tried += 1
    assert tried >= 20


async def test_the_gate_drops_it_and_keeps_what_is_named_otherwise(jail: Sandbox) -> None:
    environment, scenario = find("unpaid")
    lost = reverify(
        scenario, lambda _, parts: [one for one in parts if "pay_first" not in one.name]
    )
    context = GateContext(jail, seed=1)
    finding = await check(ScenarioCase(lost, environment, ()), context)
    assert (finding.outcome, finding.reason) == ("dropped", "unheeded_clause")
    assert "pay_first is broken: resume_sim before take_payment" in finding.detail
    renamed = reverify(
        scenario,
        lambda name, parts: [
            one.model_copy(update={"name": f"{name} {place}"}) for place, one in enumerate(parts)
        ],
    )
    right = await end(environment, renamed, jail)
    assert await list_unheeded(environment, renamed, right, jail) == set()
    assert (await check(ScenarioCase(scenario, environment, ()), context)).outcome == "kept"


def make_clause(effect: Any, call: str, **more: Any) -> PolicyClause:
    return PolicyClause.model_validate(
        {"id": "a_rule", "effect": effect, "call": {"name": call}} | more
    )


@pytest.mark.parametrize(
    "clause",
    [
        make_clause("allow", "show_payouts"),
        make_clause("say", "restore_profile", words=["a new profile"]),
        make_clause(
            "forbid",
            "show_sim",
            when=[{"on": "state", "row": f"merchants/{MERCHANT}", "field": "id", "value": "M0"}],
        ),
    ],
    ids=["allowed always", "never called", "never applies"],
)
async def test_what_cannot_be_broken_here_is_no_fault(clause: PolicyClause, jail: Sandbox) -> None:
    environment, scenario = find("flight")
    right = await end(environment, scenario, jail)
    known = read_dialogue(environment.files)
    told = Dialogue.model_validate(known.model_dump() | {"clauses": [clause.model_dump()]})
    files = {**environment.files, "dialogue.json": told.model_dump_json()}
    other = environment.model_copy(update={"files": files})
    assert list(kind_of(other).list_breaches(other, scenario, right)) == []
