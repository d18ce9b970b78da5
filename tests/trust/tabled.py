"""Candidates of recipes over tables: each made by its recipe's own functions, of an author who errs
nowhere but in the planted fault.

theme ──recipe──► plan ─► program, tests ──► Built        planted: the first reply that has a place for it, and every repair of it
environment ──recipe, stage──► draft ─► scenario ──► Posed
"""

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from pydantic import ValidationError

import offline as author
from envmill.base.errors import BuildError
from envmill.gates.base import EnvironmentCase, ScenarioCase
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.plan import find_plan_faults
from envmill.kinds.sql.database import find_database_faults
from envmill.models.gateway import ModelSession
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.runtime.program import SCHEMA
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.stages.build import assemble_environment, build_scenario, store_tests
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.toolgraph.outlining import CHANGES
from envmill.verifiers.diff import diff_states
from offline.chaining import write_chain
from offline.compose import compose_domain
from offline.domain import Domain
from offline.faults import ALIKE, KINDS, PlantedFault
from offline.graphs import describe_graph, merge_twins
from offline.operators import sample_mutants, sample_traces
from offline.tests import try_brief
from offline.witness import PlannedProgram, Play, find_witness
from schemas.base import Json, canonical_json
from schemas.environment import Effect, Environment
from schemas.prompts import ScenarioReply
from schemas.run import RecipeName, RunConfig
from schemas.scenario import Draft, Polarity, Scenario
from schemas.seed import Brief, Seed
from tests.offline.questions import SEED, THEMES
from tests.trust.posing import ANYTHING, SIBLINGS, Spot, counts, judge_by_checks

MUTANTS = 4
DOCUMENTED: tuple[RecipeName, ...] = ("agentscaler", "autoforge")
"""Recipes that start from documents, and part them alike."""
_DOCUMENTS = "botocore:sns,botocore:sqs,botocore:ecs,botocore:cognito-idp,botocore:backup,botocore:codecommit,botocore:efs,botocore:kms"
_PARTS = 24


@dataclass(frozen=True)
class Line:
    """How a recipe is asked."""

    plans: tuple[str, ...]
    """Prompts whose replies make the blueprint."""
    tests: str
    scenario: str
    code: str = "code"

    @property
    def prompts(self) -> tuple[str, ...]:
        """All whose replies are spoilt. What only a scenario's prompt can get wrong is tried on
        every recipe."""
        return tuple(
            dict.fromkeys((*self.plans, self.code, self.tests, self.scenario, "scenario", "checks"))
        )


LINES: dict[RecipeName, Line] = {
    "awm": Line(("schema", "rows", "interface"), "trials", "scenario"),
    "scaleenv": Line(("toolset", "rows"), "cases", "chain"),
    "agentscaler": Line(("schema", "rows", "interface"), "trials", "scenario"),
    "envfactory": Line(("state", "rows", "metadata"), "trials", "topology"),
    "autoforge": Line(("schema", "rows", "metadata"), "trials", "dag"),
}
"""Recipe → its line; the one for classes has a table of its own. What a sketch gets wrong is a
rule, or planned anew."""
UNTOLD = {("toolset", "changed_limit")}
"""What no gate can hold against anybody: a rule that is told otherwise is another rule."""


def list_kinds(recipe: RecipeName) -> list[tuple[str, str]]:
    """(prompt, kind) of the catalogue."""
    return [
        (prompt, kind)
        for prompt in LINES[recipe].prompts
        for kind in KINDS[ALIKE.get(prompt, prompt)]
        if (prompt, kind) not in UNTOLD
    ]


@dataclass
class Planted:
    """An account that asks the offline author, and gets one fault, wherever it first has a
    place."""

    prompt: str = ""
    kind: str = ""
    fault: PlantedFault | None = None
    provider: str = "offline"
    model: str = "offline"
    last_asked: Any = None
    _spoilt: dict[str, str] = field(default_factory=dict[str, str])
    """What was asked, whatever had failed by then → the spoilt reply, which comes again."""

    def name_model(self, _: str) -> str:
        return self.model

    def name_provider(self, _: str) -> str:
        return self.provider

    def afresh(self, _: int, warning: str = "") -> "Planted":
        return self

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> Any:
        asked = inputs.model_dump(mode="json")
        return reply.model_validate_json(
            self._plant(prompt.name, asked) or author.answer(prompt.name, asked, SEED, 0, 0.0)
        )

    def _plant(self, prompt: str, asked: Json) -> str:
        told = prompt + canonical_json(asked)
        if self._spoilt:
            return self._spoilt.get(told, "")
        self.fault = self._find(prompt, asked)
        if self.fault is None:
            return ""
        self._spoilt[told] = self.fault.text
        return self.fault.text

    def _find(self, prompt: str, asked: Json) -> PlantedFault | None:
        if prompt == self.prompt:
            return author.plant(prompt, self.kind, asked, SEED, 0)
        if self.prompt != "scenario" or prompt not in ("chain", "topology", "dag", "walk"):
            return None
        told = author.cut_offer(asked)
        fault = author.plant("walk" if prompt == "walk" else "scenario", self.kind, told, SEED, 0)
        if fault is None or prompt == "walk":
            return fault
        told = _chain(fault.text, asked, as_graph=prompt == "dag")
        return replace(fault, text=told) if told else None


def _chain(text: str, asked: Json, *, as_graph: bool) -> str:
    """A scenario with a fault, told as a chain or as a graph; nothing where it cannot be told
    so."""
    domain = replace(compose_domain(Brief.model_validate(asked["brief"]), SEED), kind="sql")
    try:
        told = write_chain(ScenarioReply.model_validate_json(text), domain)
        return (
            describe_graph(merge_twins(told, domain), domain) if as_graph else told
        ).model_dump_json()
    except (ValidationError, LookupError):
        return ""


def list_themes(recipe: RecipeName) -> list[str]:
    """Of the author, or what documents are parted into."""
    return sorted(_grow() if recipe in DOCUMENTED else THEMES)


@cache
def _grow() -> Mapping[str, Seed]:
    """Parts of which enough can be written. The partition needs a loop of its own, and is made
    once."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, _part_documents()).result()


async def _part_documents() -> dict[str, Seed]:
    recipe = RECIPES["agentscaler"](read_themes())
    config = RunConfig(recipe="agentscaler", environments=_PARTS, documents=_DOCUMENTS, seed=SEED)
    (text,) = recipe.pick_texts(config)
    found = await recipe.grow(text, cast(ModelSession, Planted()))
    seeds = {
        one.theme: recipe.make_seed(one, "unknown", "", config)
        for one in found
        if one.usefulness > 1
    }
    return {
        theme: seed
        for theme, seed in seeds.items()
        if _is_writable(compose_domain(seed.brief, SEED))
    }


def _is_writable(domain: Domain) -> bool:
    return len(domain.operations) >= _LEAST and len(domain.changes) >= CHANGES


_LEAST = 8


def _find_seed(recipe: RecipeName, theme: str, number: int) -> Seed:
    if recipe in DOCUMENTED:
        seed = _grow()[theme]
        return Seed.model_validate(
            seed.model_dump()
            | {
                "id": "",
                "recipe": recipe,
                "brief": seed.brief.model_copy(update={"number": number}),
            }
        )
    return Seed(
        recipe=recipe,
        brief=Brief(theme=theme, text=THEMES[theme], number=number),
        licence="Apache-2.0",
    )


async def make(
    recipe: RecipeName, theme: str, number: int, models: Planted, sandbox: Sandbox
) -> EnvironmentCase | str:
    """The environment; text says which step could not make it, and why."""
    line, asking = RECIPES[recipe](read_themes()), cast(ModelSession, models)
    try:
        plan = await line.think_up(_find_seed(recipe, theme, number), FIRST, asking)
        if faults := [*find_plan_faults(plan), *await find_database_faults(plan, sandbox)]:
            return f"plan: {faults[0]}"
        environment = assemble_environment(
            plan, await line.write_program(plan, None, FIRST, asking), asking
        )
        tests = await line.write_tests(environment, None, FIRST, asking, cast(Json, plan.rows))
        await sandbox.inspect(Program.of(environment))
    except (BuildError, ValueError) as error:
        return f"does_not_load: {error}"
    return EnvironmentCase(environment, store_tests(environment, tests))


async def make_faulty(
    recipe: RecipeName, theme: str, number: int, prompt: str, kind: str, sandbox: Sandbox
) -> EnvironmentCase | str | None:
    """None where the fault has no place, or shows nowhere."""
    models = Planted(prompt, kind)
    made = await make(recipe, theme, number, models, sandbox)
    return made if models.fault and await counts(models.fault, sandbox) else None


async def make_mutant(
    recipe: RecipeName, theme: str, number: int, which: int, sandbox: Sandbox
) -> tuple[str, EnvironmentCase | None] | None:
    """(operator, environment) of one mutant of the code; no environment where nothing shows it."""
    built = await make(recipe, theme, number, Planted(), sandbox)
    if not isinstance(built, EnvironmentCase):
        return None
    environment = built.environment
    mutants = sample_mutants(
        environment.files["program.py"], MUTANTS, random.Random(f"{theme}/{number}")
    )
    if which >= len(mutants):
        return None
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in environment.tools}
    class_name, schema = environment.entry.partition(":")[2], environment.files[SCHEMA]
    sources = (environment.files["program.py"], mutants[which].source)
    clean, faulty = (PlannedProgram(source, class_name, effects, schema) for source in sources)
    traces = sample_traces(try_brief(environment.brief, SEED), SEED, mutants[which].function)
    if not await find_witness(((Play(clean, one), Play(faulty, one)) for one in traces), sandbox):
        return mutants[which].operator, None
    spoilt = environment.model_copy(
        update={"files": {**environment.files, "program.py": mutants[which].source}}
    )
    spoilt = Environment.model_validate(spoilt.model_dump(exclude={"id"}))
    return mutants[which].operator, EnvironmentCase(spoilt, built.tests)


async def pose_at(
    recipe: RecipeName, spot: Spot, prompt: str, kind: str, sandbox: Sandbox
) -> ScenarioCase | str | None:
    """What the gates are shown; text says why it came to no scenario. A kind of `` leaves it
    right."""
    environment = await _find_environment(recipe, spot.theme, spot.number, sandbox)
    if isinstance(environment, str):
        return None
    if prompt == "checks":
        made = await _write_checks(recipe, spot, environment, kind, sandbox)
    elif kind:
        models = Planted(prompt, kind)
        made = await _pose(recipe, spot, environment, models, sandbox)
        made = made if models.fault and await counts(models.fault, sandbox) else None
    else:
        made = await _find_clean(recipe, spot, environment, sandbox)
    return (
        ScenarioCase(
            made, environment, tuple(await _list_siblings(recipe, spot, environment, sandbox))
        )
        if isinstance(made, Scenario)
        else made
    )


async def _pose(
    recipe: RecipeName, spot: Spot, environment: Environment, models: Planted, sandbox: Sandbox
) -> Scenario | str | None:
    """As the line's stages do it. None where the author makes another polarity of it."""
    nothing: Any = None
    line = RECIPES[recipe](read_themes())
    if models.kind:
        line = replace(
            line, operators=()
        )  # whoever finds other words for what was spoilt says it rightly
    config = RunConfig(recipe=recipe, seed=SEED, polarities={spot.polarity: 1})
    context, asking = (
        RunContext("r", config, nothing, line, nothing, sandbox),
        cast(ModelSession, models),
    )
    generated = await generate_draft(
        Subject("x", "y", spot.theme, ScenarioSlot(environment, spot.place)), context, asking
    )
    draft = next((one for one in generated.records if isinstance(one, Draft)), None)
    if draft is None:
        return _tell(generated)
    if draft.polarity != spot.polarity and not models.fault:
        return None
    built = await build_scenario(
        Subject("x", "y", spot.theme, PlacedScenario(draft, environment)), context, asking
    )
    return next((one for one in built.records if isinstance(one, Scenario)), None) or _tell(built)


def _tell(result: Result) -> str:
    finding = next((one for one in result.findings if one.outcome == "dropped"), result.findings[0])
    return f"{finding.reason}: {finding.detail}"


async def _write_checks(
    recipe: RecipeName, spot: Spot, environment: Environment, kind: str, sandbox: Sandbox
) -> Scenario | str | None:
    clean = await _find_clean(recipe, spot, environment, sandbox)
    if not isinstance(clean, Scenario):
        return None
    told = json.loads(
        environment.model_dump_json(include={"brief", "name", "summary", "rules", "tools"})
    )
    scenario = json.loads(
        clean.model_dump_json(include={"number", "request", "initial_state", "clock"})
    )
    return await judge_by_checks(
        clean,
        told | scenario | {"changes": await _list_changes(clean, environment, sandbox)},
        kind,
        sandbox,
    )


async def _list_changes(clean: Scenario, environment: Environment, sandbox: Sandbox) -> list[Json]:
    reset = Reset(clean.initial_state, clean.clock, clean.seed)
    *_, end = await sandbox.play(
        Program.of(environment), [reset, *map(Invoke, clean.oracle), Look()]
    )
    return [one.model_dump(mode="json") for one in diff_states(clean.initial_state, end.state)]


async def _list_siblings(
    recipe: RecipeName, spot: Spot, environment: Environment, sandbox: Sandbox
) -> Sequence[Scenario]:
    """Clean scenarios of the same environment, of several polarities."""
    places = [place for place in range(SIBLINGS + 1) if place != spot.place][:SIBLINGS]
    turn: list[Polarity] = [ANYTHING[(place + spot.place) % len(ANYTHING)] for place in places]
    others = [
        replace(spot, place=place, polarity=polarity)
        for place, polarity in zip(places, turn, strict=True)
    ]
    built = [await _find_clean(recipe, other, environment, sandbox) for other in others]
    return [one for one in built if isinstance(one, Scenario)]


async def _find_environment(
    recipe: RecipeName, theme: str, number: int, sandbox: Sandbox
) -> Environment | str:
    key = (recipe, theme, number)
    if key not in _ENVIRONMENTS:
        made = await make(recipe, theme, number, Planted(), sandbox)
        _ENVIRONMENTS[key] = made if isinstance(made, str) else made.environment
    return _ENVIRONMENTS[key]


async def _find_clean(
    recipe: RecipeName, spot: Spot, environment: Environment, sandbox: Sandbox
) -> Scenario | str | None:
    if len(_CLEAN) > _REMEMBERED:
        _CLEAN.clear()
    key = (recipe, spot)
    if key not in _CLEAN:
        _CLEAN[key] = await _pose(recipe, spot, environment, Planted(), sandbox)
    return _CLEAN[key]


_ENVIRONMENTS: dict[tuple[str, str, int], Environment | str] = {}
_CLEAN: dict[tuple[str, Spot], Scenario | str | None] = {}
_REMEMBERED = 200
