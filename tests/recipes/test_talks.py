"""Every prompt of every recipe is repaired in its conversation: prompt, reply, complaint; what is
not blamed is not asked again."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST, Repair
from envmill.kinds.sql.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.lake.journal import Journal
from envmill.models.base import Completion, Request
from envmill.models.gateway import Gateway
from envmill.models.offline import Offline
from envmill.models.session import ModelSession
from envmill.recipes import RECIPES
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.build import assemble_environment
from schemas.environment import Blueprint, Environment
from schemas.errand import Part
from schemas.run import RecipeName, RunConfig
from schemas.scenario import Draft
from tests.recipes.test_agentscaler import grow
from tests.specimens import make_environment, make_scenario

SEED = 7
_DATABASE = [("rows", ROWS_FAULT + "no"), ("interface", TOOLS_FAULT + "no")]
_TYPED = [
    ("state", SCHEMA_FAULT + "no"),
    ("rows", ROWS_FAULT + "no"),
    ("metadata", TOOLS_FAULT + "no"),
]
PLANNED: Mapping[RecipeName, Sequence[tuple[str, str]]] = {
    "envscaler": [("blueprint", "No tool reads anything.")],
    "awm": [("requirements", "There is no rule."), ("schema", SCHEMA_FAULT + "no"), *_DATABASE],
    "scaleenv": [("toolset", TOOLS_FAULT + "no"), ("rows", ROWS_FAULT + "no")],
    "envfactory": [("sketch", "There is no rule."), *_TYPED],
    "agentscaler": [("requirements", "There is no rule."), ("schema", SCHEMA_FAULT + "no"), *_DATABASE],
    "autoforge": [("requirements", "There is no rule."), ("schema", SCHEMA_FAULT + "no"), *_TYPED[1:]],
    "endless_terminals": [("errand", "It asks for nothing.")],
}  # fmt: skip
"""Recipe → each prompt of its plans, and a complaint that blames it."""
CODE: Mapping[RecipeName, tuple[str, str, str]] = {
    "envscaler": ("program", "tests", "scenario"),
    "awm": ("code", "trials", "scenario"),
    "scaleenv": ("code", "cases", "chain"),
    "envfactory": ("code", "trials", "topology"),
    "agentscaler": ("code", "trials", "walk"),
    "autoforge": ("code", "trials", "dag"),
}
"""Recipe → its prompts of a program, of tests and of scenarios."""
PARTS: tuple[Part, ...] = ("initial_test", "image", "final_test", "solution")


class Listening(Offline):
    """The offline author, which makes no mistakes, and everything it was asked."""

    def __init__(self) -> None:
        super().__init__(author.answer, 0.0)
        self.asked: list[tuple[Request, str]] = []

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        self.asked.append((request, completion.text))
        return completion


class Talk:
    """A subject's account, and what was said."""

    def __init__(self, journal: Journal) -> None:
        self.author = Listening()
        self.models: ModelSession = (
            Gateway(self.author, journal, {}, SEED).open_session("s", "a").afresh(0)
        )

    def take(self) -> list[tuple[Request, str]]:
        """What was asked since, and forget it."""
        taken, self.author.asked = self.author.asked, []
        return taken


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncGenerator[Talk]:
    journal = Journal(tmp_path)
    yield Talk(journal)
    await journal.close()


def complain(words: str, tool: str = "") -> Repair:
    return Repair((Complaint("test", "bad", words, tool=tool),))


def check(
    first: Sequence[tuple[Request, str]],
    again: Sequence[tuple[Request, str]],
    prompt: str,
    words: str,
) -> list[str]:
    """That a repair goes on from the reply word for word; the prompts that were asked besides."""
    (goes_on,) = [request for request, _ in again if len(request.messages) > 1]
    assert goes_on.prompt.name == prompt
    begun = [(request.messages, reply) for request, reply in first if request.prompt.name == prompt]
    *prefix, complaint = goes_on.messages
    assert [message.role for message in goes_on.messages] == ["user", "assistant", "user"]
    assert (tuple(prefix[:-1]), prefix[-1].text) in begun
    assert words in complaint.text
    return [request.prompt.name for request, _ in again if request is not goes_on]


def open_recipe(name: RecipeName) -> Recipe:
    return RECIPES[name](read_themes())


async def think(recipe: Recipe, talk: Talk) -> tuple[Any, Blueprint]:
    seed = (
        (await grow())[1][0]
        if recipe.name in ("agentscaler", "autoforge")
        else recipe.pick_seeds(RunConfig(recipe=recipe.name, environments=2))[1]
    )
    return seed, await recipe.think_up(seed, FIRST, talk.models)


@pytest.mark.long(cases=6)
@pytest.mark.parametrize(
    ("name", "prompt", "words"),
    [(name, *one) for name, blamed in PLANNED.items() for one in blamed],
)
async def test_a_plan_is_repaired_where_it_is_blamed(
    name: RecipeName, prompt: str, words: str, talk: Talk
) -> None:
    recipe = open_recipe(name)
    seed, plan = await think(recipe, talk)
    first = talk.take()
    await recipe.think_up(seed, complain(words), talk.models, plan)
    later = [one for one, _ in PLANNED[name][[one for one, _ in PLANNED[name]].index(prompt) + 1 :]]
    besides = check(first, talk.take(), prompt, words)
    assert set(besides) <= set(later), "what comes before the part at fault is not asked again"


async def build(recipe: Recipe, talk: Talk) -> tuple[Blueprint, Environment, Any]:
    _, plan = await think(recipe, talk)
    talk.take()
    program = await recipe.write_program(plan, None, FIRST, talk.models)
    return plan, assemble_environment(plan, program, talk.models), program


@pytest.mark.long(cases=2)
@pytest.mark.parametrize("name", CODE)
async def test_programs_tests_and_scenarios_are_repaired_in_their_conversations(
    name: RecipeName, talk: Talk
) -> None:
    recipe, (code, tests, scenario) = open_recipe(name), CODE[name]
    plan, environment, program = await build(recipe, talk)
    first = talk.take()
    await recipe.write_program(plan, program, complain("It does not load."), talk.models)
    assert check(first, talk.take(), code, "It does not load.") == []
    planned = await recipe.write_tests(environment, None, FIRST, talk.models, plan.rows)
    first, tool = talk.take(), environment.tools[2].name
    await recipe.write_tests(
        environment, planned, complain("It lacks a test.", tool), talk.models, plan.rows
    )
    assert check(first, talk.take(), tests, "It lacks a test.") == []
    await recipe.pose(ScenarioBrief(environment, 1, "achieve"), FIRST, talk.models)
    first = talk.take()
    await recipe.pose(
        ScenarioBrief(environment, 1, "achieve"), complain("It changes nothing."), talk.models
    )
    assert check(first, talk.take(), scenario, "It changes nothing.") == []


async def test_of_a_program_in_parts_only_the_part_at_fault_is_asked_again(talk: Talk) -> None:
    recipe = RECIPES["envscaler"](read_themes(), 0)
    plan, environment, program = await build(recipe, talk)
    first, tool = talk.take(), plan.tools[-1].name
    again = await recipe.write_program(
        plan, program, complain("It was rejected.", tool), talk.models
    )
    repaired = talk.take()
    assert check(first, repaired, "methods", "It was rejected.") == []
    assert (
        f'`wanted` has changed since. It is now:\n\n["{tool}"]' in repaired[0][0].messages[-1].text
    )
    assert assemble_environment(plan, again, talk.models).tools == environment.tools
    await recipe.write_program(plan, program, complain("The class keeps no state."), talk.models)
    assert check(first, talk.take(), "skeleton", "The class keeps no state.") == []


async def test_tests_that_a_complaint_does_not_name_stay_as_they_are(talk: Talk) -> None:
    recipe = open_recipe("scaleenv")
    plan, environment, _ = await build(recipe, talk)
    planned = await recipe.write_tests(environment, None, FIRST, talk.models, plan.rows)
    mended = planned.model_copy(
        update={
            "tests": [
                test.model_copy(update={"name": f"{test.name}, mended"}) for test in planned.tests
            ]
        }
    )
    tool = environment.tools[0].name
    again = await recipe.write_tests(
        environment, mended, complain("It lacks a test.", tool), talk.models, plan.rows
    )
    kept = [test for test in again.tests if test.call.name != tool]
    assert kept == [test for test in mended.tests if test.call.name != tool]
    assert "Your reply was changed since" in talk.author.asked[-1][0].messages[-1].text


async def test_a_debugger_that_is_asked_again_goes_on_from_its_verdict(talk: Talk) -> None:
    recipe = open_recipe("scaleenv")
    plan, environment, program = await build(recipe, talk)
    planned = await recipe.write_tests(environment, None, FIRST, talk.models, plan.rows)
    talk.take()
    locked = Repair(locked=("A rule.",))
    await recipe.debug(environment, program, planned, {0: "ended in ok"}, locked, talk.models)
    first = talk.take()
    assert "These parts must stay word for word:\n- A rule." in first[0][0].messages[0].text
    await recipe.debug(environment, program, planned, {0: "ended otherwise"}, locked, talk.models)
    again = talk.take()
    assert check(first, again, "debug", "still do not end as they say") == []
    assert "ended otherwise" in again[0][0].messages[-1].text


async def test_parts_of_an_errand_are_repaired_in_their_conversations(talk: Talk) -> None:
    recipe = open_recipe("endless_terminals")
    _, plan = await think(recipe, talk)
    made = dict[Part, str]()
    for part in PARTS:
        talk.take()
        made[part] = await recipe.write_part(part, plan, made, FIRST, talk.models)
        first = talk.take()
        await recipe.write_part(part, plan, made, complain("line 3 fails"), talk.models)
        assert check(first, talk.take(), part, "line 3 fails") == []


async def test_a_checklist_is_repaired_in_its_conversation(talk: Talk) -> None:
    recipe = open_recipe("envscaler")
    _, environment, _ = await build(recipe, talk)
    posed = await recipe.pose(ScenarioBrief(environment, 0, "achieve"), FIRST, talk.models)
    told = (
        make_scenario(make_environment()).model_dump()
        | dict(posed)
        | {"environment": environment.id, "changes": [], "gold_hash": ""}
    )
    draft = Draft.model_validate(
        {name: value for name, value in told.items() if name in Draft.model_fields}
        | {"id": "", "schema_version": 3}
    )
    talk.take()
    await recipe.write_checks(environment, draft, FIRST, talk.models)
    first = talk.take()
    await recipe.write_checks(environment, draft, complain("loan: goal missed"), talk.models)
    assert check(first, talk.take(), "checks", "loan: goal missed") == []
