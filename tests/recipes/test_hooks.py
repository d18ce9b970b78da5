"""Every hook of every recipe, run over a specimen: it gives the record it promises, and asks only
prompts that its recipe declares."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import pytest

import offline as author
from envmill.base.errors import SettingsError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST, Repair
from envmill.kinds.dialogue.composing import break_state, list_path, select, write_reply
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes import RECIPES
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import BlockPlan, ErrandBlock
from envmill.recipes.drafting.mending import Mended
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.build import assemble_environment
from schemas.dialogue import Repertoire
from schemas.environment import Blueprint, Environment
from schemas.errand import Part
from schemas.errand_plan import ErrandPlace
from schemas.prompts import ChecksReply, ProgramReply, ScenarioReply, TestsReply, ThemeReply
from schemas.run import RecipeName, RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from tests.specimens import make_environment, make_scenario

SEED = 7
TEXT = "A tool library lends drills to its members. Please lend the ladder to Maya."
DOCUMENTS = "openapi:data/seeds/documents/helpdesk.json"
FOUND = ThemeReply(
    reason="It is named.", stateful=True, specific=True, theme="tool_lending", description="Tools are lent.", usefulness=8, modelability=8
)  # fmt: skip
DEFAULTS = {one.name: one.default for one in fields(Recipe)}
WRONG = Complaint("W3", "test_failed", "lend ended in ok")
PLACE = ErrandPlace(number=0, polarity="achieve")
NEUTRAL = ("pick_texts", "debug", "sum_errors", "plan_errands", "sift")
"""Hooks whose default does nothing; the other defaults refuse."""
SILENT = {("awm", "plan_errands"), ("perturb", "think_up")}
"""Hooks that a recipe fills without asking anybody."""
REFUSED = {
    (name, "find_theme"): f"^Recipe {name} starts from documents of tools"
    for name in ("agentscaler", "autoforge")
}
"""Hooks that a recipe fills to say in words of its own why they do not apply."""
GIVES: Mapping[str, type] = {
    "pick_seeds": list,
    "pick_texts": list,
    "find_theme": ThemeReply,
    "grow": list,
    "make_seed": Seed,
    "think_up": Blueprint,
    "write_program": ProgramReply,
    "write_tests": TestsReply,
    "debug": Mended,
    "sum_errors": Repair,
    "write_part": str,
    "write_atoms": Repertoire,
    "plan_errands": BlockPlan,
    "pose": ScenarioReply,
    "write_checks": ChecksReply,
    "sift": tuple,
}
STEPS: Mapping[str, str] = {
    "find_theme": "environments-mine",
    "grow": "environments-mine",
    "think_up": "environments-generate",
    "write_program": "environments-build",
    "write_tests": "environments-build",
    "debug": "environments-build",
    "sum_errors": "environments-build",
    "write_part": "environments-build",
    "write_atoms": "environments-build",
    "plan_errands": "scenarios-generate",
    "pose": "scenarios-generate",
    "write_checks": "scenarios-build",
}
"""Hook → the step that calls it, of those that ask."""


class Noting:
    """An account that asks the offline author, who makes no mistakes, and notes the prompts."""

    provider, model = "offline", "offline"

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def list_parts(self, _: Prompt) -> list[str]:
        return []

    async def ask(self, prompt: Prompt, inputs: Any, reply: Any, **_: Any) -> Any:
        self.asked.append(prompt)
        return reply.model_validate_json(
            author.answer(prompt.name, inputs.model_dump(mode="json"), SEED, 0, 0.0)
        )


@dataclass
class Specimen:
    """What hooks are given."""

    config: RunConfig
    text: str
    theme: ThemeReply
    seed: Seed
    plan: Blueprint
    environment: Environment
    program: ProgramReply
    tests: TestsReply
    draft: Draft
    scenario: Scenario


def make(name: RecipeName) -> Recipe:
    return RECIPES[name](read_themes())


def fills(recipe: Recipe, hook: str) -> bool:
    return getattr(recipe, hook) is not DEFAULTS[hook]


async def make_specimen(recipe: Recipe) -> Specimen:
    """Of the recipe itself as far as it goes; the rest is the shed that lends tools."""
    models = cast(ModelSession, Noting())
    config = RunConfig(recipe=recipe.name, environments=2, seed=SEED)
    seeds, texts = recipe.pick_seeds(config), recipe.pick_texts(config)
    documented = recipe.pick_texts(config.model_copy(update={"documents": DOCUMENTS}))
    theme = (await recipe.grow(texts[0], models))[0] if texts else FOUND
    seed = recipe.make_seed(theme, "MIT", "text", config) if texts else seeds[0]
    plan = await recipe.think_up(seed, FIRST, models)
    program, tests, environment = (
        ProgramReply(source="", class_name=""),
        TestsReply(initial_state={}, tests=[]),
        make_environment(),
    )
    if fills(recipe, "write_program"):
        program = await recipe.write_program(plan, None, FIRST, models)
        environment = assemble_environment(plan, program, models)
        tests = await recipe.write_tests(environment, None, FIRST, models, plan.rows)
    scenario = make_scenario(environment)
    told = scenario.model_dump(include=set(Draft.model_fields)) | {
        "id": "",
        "changes": [],
        "gold_hash": "",
        "schema_version": 3,
    }
    if fills(recipe, "pose"):
        posed = await recipe.pose(await describe_place(recipe, environment), FIRST, models)
        told |= {name: value for name, value in posed if name in Draft.model_fields}
    draft = Draft.model_validate(told)
    return Specimen(
        config,
        documented[0] if documented else TEXT,
        theme,
        seed,
        plan,
        environment,
        program,
        tests,
        draft,
        scenario,
    )


async def pose(recipe: Recipe, environment: Environment, models: ModelSession) -> ScenarioReply:
    return await recipe.pose(await describe_place(recipe, environment), FIRST, models)


async def describe_place(recipe: Recipe, environment: Environment) -> ScenarioBrief:
    """The first place; what its kind composes is composed without being proved."""
    brief = ScenarioBrief(environment, 0, "achieve")
    if not fills(recipe, "write_atoms"):
        return brief
    repertoire = await recipe.write_atoms(environment, None, FIRST, cast(ModelSession, Noting()))
    dialogue, tools = read_dialogue(environment.files), environment.tools
    selection = select(repertoire, dialogue, tools, 0, SEED, 0)
    assert selection is not None
    path = list_path(repertoire, selection.atoms, dialogue)
    state = break_state(repertoire, selection.atoms)
    composed = write_reply(selection, state, path, repertoire, dialogue, tools)
    return replace(brief, composed=composed)


async def find_specimen(recipe: Recipe) -> Specimen:
    if recipe.name not in _SPECIMENS:
        _SPECIMENS[recipe.name] = await make_specimen(recipe)
    return _SPECIMENS[recipe.name]


_SPECIMENS: dict[str, Specimen] = {}


def list_calls(recipe: Recipe, at: Specimen, models: ModelSession) -> dict[str, Callable[[], Any]]:
    """Hook → how it is called."""
    part: Part = "faults" if recipe.name == "perturb" else "initial_test"
    return {
        "pick_seeds": lambda: recipe.pick_seeds(at.config),
        "pick_texts": lambda: recipe.pick_texts(at.config),
        "find_theme": lambda: recipe.find_theme(TEXT, models),
        "grow": lambda: recipe.grow(at.text, models),
        "make_seed": lambda: recipe.make_seed(at.theme, "MIT", "text", at.config),
        "think_up": lambda: recipe.think_up(at.seed, FIRST, models),
        "write_program": lambda: recipe.write_program(at.plan, None, FIRST, models),
        "write_tests": lambda: recipe.write_tests(
            at.environment, None, FIRST, models, at.plan.rows
        ),
        "debug": lambda: recipe.debug(
            at.environment, at.program, at.tests, {0: "ended in ok"}, FIRST, models
        ),
        "sum_errors": lambda: recipe.sum_errors(
            at.plan, [(WRONG,), (WRONG,)], Repair((WRONG,)), models
        ),
        "write_part": lambda: recipe.write_part(part, at.plan, {}, FIRST, models),
        "write_atoms": lambda: recipe.write_atoms(at.environment, None, FIRST, models),
        "plan_errands": lambda: recipe.plan_errands(
            ErrandBlock(at.environment, (PLACE,), (), ("Somebody borrows a drill.",)), models
        ),
        "pose": lambda: pose(recipe, at.environment, models),
        "write_checks": lambda: recipe.write_checks(at.environment, at.draft, FIRST, models),
        "sift": lambda: recipe.sift([], at.scenario),
    }


async def call(recipe: Recipe, hook: str, noting: Noting) -> Any:
    given = list_calls(recipe, await find_specimen(recipe), cast(ModelSession, noting))[hook]()
    return await given if inspect.isawaitable(given) else given


def test_every_hook_is_called() -> None:
    kept = {"name", "prompts", "operators", "samplers", "tabled", "given", "grows"}
    assert set(GIVES) == {one.name for one in fields(Recipe)} - kept


@pytest.mark.long(cases=53)
@pytest.mark.parametrize("hook", GIVES)
@pytest.mark.parametrize("name", RECIPES)
async def test_a_hook_gives_what_it_promises_or_says_that_it_does_not_apply(
    name: RecipeName, hook: str
) -> None:
    recipe, noting = make(name), Noting()
    assert recipe.name == name
    if (refused := REFUSED.get((name, hook))) or (not fills(recipe, hook) and hook not in NEUTRAL):
        with pytest.raises(SettingsError, match=refused or "^The recipe of this run "):
            await call(recipe, hook, noting)
        return
    given = await call(recipe, hook, noting)
    if hook == "debug" and not fills(recipe, hook):
        assert given is None
    else:
        assert isinstance(given, GIVES[hook])
    asked, declared = (
        {one.hash for one in noting.asked},
        {one.hash for one in recipe.prompts.get(STEPS.get(hook, ""), ())},
    )
    assert asked <= declared, "a prompt that is asked belongs to the fingerprint of its step"
    assert bool(asked) == (hook in STEPS and fills(recipe, hook) and (name, hook) not in SILENT)


@pytest.mark.parametrize("name", RECIPES)
async def test_what_a_recipe_makes_bears_its_name(name: RecipeName) -> None:
    recipe = make(name)
    at = await find_specimen(recipe)
    assert {seed.recipe for seed in (at.seed, *recipe.pick_seeds(at.config))} == {name}
    assert recipe.pick_seeds(at.config) == recipe.pick_seeds(at.config)
    assert (at.plan.origin.recipe, at.plan.origin.seed, at.plan.licence) == (
        name,
        at.seed.id,
        at.seed.licence,
    )
    assert recipe.tabled == (at.plan.kind == "sql")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_makes_the_same_with_or_without_known_themes(name: RecipeName) -> None:
    """What is asked of a recipe that is not run, such as whether it makes tables, needs no
    themes."""
    bare, whole = RECIPES[name]([]), make(name)
    assert (bare.name, bare.prompts, bare.operators, bare.tabled) == (
        whole.name,
        whole.prompts,
        whole.operators,
        whole.tabled,
    )
