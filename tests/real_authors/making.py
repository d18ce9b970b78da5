"""The recorded replies on their way through generate, build and the gates: what comes of each
item."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from envmill.gates import ENVIRONMENT_GATES, GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.gates.reading.suspicions import LEAST_CASES, PROMPT
from envmill.recipes import RECIPES
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.context import EnvironmentWithTests, PlacedScenario, Result, RunContext, Subject
from envmill.stages.generate import generate_blueprint, generate_draft
from envmill.stages.passing import settle
from envmill.stages.places import ScenarioSlot
from envmill.stages.verify import verify_environment, verify_scenario
from schemas.environment import Blueprint, Environment, Test
from schemas.run import RecipeName, RunConfig
from schemas.scenario import Draft, Scenario
from schemas.suspicion import JudgeCalibration
from tests.real_authors.author import Author, Desk, NotRecorded
from tests.real_authors.corpus import Item

SEED = 20261123
"""Of the recorded runs."""
EPISODES = 40
"""Of the search attacker, enough to show that it runs: its finds are no matter of this corpus."""


@dataclass
class Made:
    """What came of an item."""

    item: Item
    environment: Environment | None = None
    tests: tuple[Test, ...] = ()
    scenarios: dict[int, Scenario] = field(default_factory=dict[int, Scenario])
    ends: dict[str, str] = field(default_factory=dict[str, str])
    """Part → why it went no further: `environment` or a scenario's number."""
    asked: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reply → how many times its author was asked for it."""


def make_mill(item: Item, sandbox: Sandbox, *, judged: bool = False) -> RunContext:
    """Without a judge, or with the recorded readers as the judge of suspicions. Chains bind nobody:
    the replies follow none of today's.

    Nobody is asked which rule a tool enforces, or for records that other tools need: no reader had
    been, when these replies were recorded.
    Their tests name parts of a change, and nobody summed up what went wrong.
    """
    recipe = RECIPES[cast(RecipeName, item.recipe)]([(item.seed.brief.theme, item.seed.brief.text)])
    config = RunConfig(
        seed=SEED,
        search=EPISODES,
        suspicions="judge" if judged else "keep",
        coverage=False,
        fairness=False,
        chains="free",
        reach=0,
        exact=False,
        summary=False,
    )
    context = RunContext("r", config, cast(Any, None), recipe, cast(Any, None), sandbox)
    return replace(context, calibrations=tuple(list_calibrations())) if judged else context


def list_calibrations() -> Iterator[JudgeCalibration]:
    """The recorded readers are taken as calibrated for every code. That is an assumption of the
    replay: nobody measured them."""
    for name, gate in GATES.items():
        for code in (code for code, kind in gate.codes.items() if kind == "suspicion"):
            read = {
                "planted": LEAST_CASES,
                "caught": LEAST_CASES,
                "honest": LEAST_CASES,
                "kept": LEAST_CASES,
            }
            yield JudgeCalibration(
                gate=name, reason=code, model="recorded", prompt_hash=PROMPT.hash, **read
            )


async def make(
    item: Item,
    sandbox: Sandbox,
    given: Mapping[str, str] | None = None,
    *,
    judged: bool = False,
    author: Author | None = None,
    numbers: Sequence[int] | None = None,
) -> Made:
    """The environment, and every scenario of it, or those numbered; judged, the recorded judgements send back as
    well."""
    author = author or Author(item, given or {})
    made, desk, context = (
        Made(item, asked=author.asked),
        Desk(author, SEED),
        make_mill(item, sandbox, judged=judged),
    )
    try:
        await _make_environment(made, desk, context)
    except NotRecorded as asked:
        made.ends["environment"] = f"sent back: {asked.stem}"
        return made
    for number in (item.numbers if numbers is None else numbers) if made.environment else ():
        await make_scenario(made, number, desk, context)
    return made


async def remake(made: Made, given: Mapping[str, str], sandbox: Sandbox) -> Made:
    """The environment or the one scenario that the given replies are of, made again."""
    numbers = {stem.partition(".")[2] for stem in given}
    if "" in numbers or made.environment is None:
        return await make(made.item, sandbox, given, numbers=())
    author = Author(made.item, given)
    again = Made(made.item, made.environment, made.tests, asked=author.asked)
    for number in sorted(map(int, numbers)):
        await make_scenario(again, number, Desk(author, SEED), make_mill(made.item, sandbox))
    return again


async def _make_environment(made: Made, desk: Desk, context: RunContext) -> None:
    seed = made.item.seed
    planned = await generate_blueprint(
        Subject(seed.id, "", "", seed), context, desk.open_session(seed.id)
    )
    blueprint = _only(planned, Blueprint)
    built = planned if blueprint is None else await build_environment(
        Subject(blueprint.id, "", "", blueprint), context, desk.open_session(blueprint.id)
    )  # fmt: skip
    made.environment = _only(built, Environment)
    made.tests = tuple(one for one in built.records if isinstance(one, Test))
    if made.environment is None:
        made.ends["environment"] = _tell_end(built)


async def make_scenario(made: Made, number: int, desk: Desk, context: RunContext) -> None:
    """Drafted, and given its verifier."""
    assert made.environment is not None
    place = ScenarioSlot(made.environment, number)
    try:
        posed = await generate_draft(
            Subject(place.id, "", "", place), context, desk.open_session(place.id)
        )
        draft = _only(posed, Draft)
        built = posed if draft is None else await build_scenario(
            Subject(draft.id, "", "", PlacedScenario(draft, made.environment)), context, desk.open_session(draft.id)
        )  # fmt: skip
    except NotRecorded as asked:
        made.ends[str(number)] = f"sent back: {asked.stem}"
        return
    scenario = _only(built, Scenario)
    if scenario is None:
        made.ends[str(number)] = _tell_end(built)
    else:
        made.scenarios[number] = scenario


def _only(result: Result, kind: type[Any]) -> Any:
    return next((one for one in result.records if isinstance(one, kind)), None)


def _tell_end(result: Result) -> str:
    stopped = result.stopped_by
    return f"{stopped.gate} {stopped.reason}" if stopped else "nothing came of it"


async def look_at_environment(made: Made, sandbox: Sandbox) -> list[Finding]:
    """Every gate that asks no model, also behind one that drops: the list names all that is wrong
    at once."""
    assert made.environment is not None
    gates = [gate for gate in ENVIRONMENT_GATES if not gate.asks]
    return await _look(gates, EnvironmentCase(made.environment, made.tests), sandbox)


async def look_at_scenario(made: Made, number: int, sandbox: Sandbox) -> list[Finding]:
    assert made.environment is not None
    siblings = tuple(one for place, one in made.scenarios.items() if place != number)
    return await _look(
        SCENARIO_GATES, ScenarioCase(made.scenarios[number], made.environment, siblings), sandbox
    )


async def _look(gates: Sequence[Any], subject: Any, sandbox: Sandbox) -> list[Finding]:
    means = GateContext(sandbox, seed=SEED, episodes=EPISODES)
    return [
        settle(gate, one) for gate in gates for one in (await gate.check(subject, means)).spread()
    ]


async def verify(made: Made, sandbox: Sandbox) -> dict[str, Sequence[Finding]]:
    """Part → findings of the stage itself, with the recorded judgements behind the account."""
    if made.environment is None:
        return {}
    desk, context, environment = (
        Desk(Author(made.item), SEED),
        make_mill(made.item, sandbox, judged=True),
        made.environment,
    )
    tested = Subject(environment.id, "", "", EnvironmentWithTests(environment, made.tests))
    found: dict[str, Sequence[Finding]] = {
        "environment": (
            await verify_environment(tested, context, desk.open_session(environment.id))
        ).findings
    }
    siblings = tuple(made.scenarios.values())
    for number, scenario in made.scenarios.items():
        posed = Subject(
            scenario.id, "", "", PlacedScenario(scenario, environment, siblings=siblings)
        )
        found[str(number)] = (
            await verify_scenario(posed, context, desk.open_session(scenario.id))
        ).findings
    return found


def tell(findings: Sequence[Finding]) -> list[str]:
    """What is said against a candidate, each gate and reason once."""
    against = {
        f"{one.outcome} {one.gate} {one.reason}"
        for one in findings
        if one.outcome in ("dropped", "suspected", "error")
    }
    return sorted(against)
