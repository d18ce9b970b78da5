"""Recipe `endless_terminals`: category × complexity × persona → errand with its truth → tests on
both sides → image → solution.

cell ─► errand ─► initial test ─► image, built and asked ─► final test ─► solution, walked ─► environment with one scenario
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from envmill.base.errors import SettingsError
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.terminal import SHELL
from envmill.kinds.terminal.errands.outfitting import BETWEEN, read_errand
from envmill.kinds.terminal.errands.space import Space, load_space
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import describe_origin
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.themes import find_theme, load_theme, seed_theme
from envmill.sandbox.machines.files import ERRAND
from schemas.base import digest
from schemas.cell import Cell
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint, ToolPlan
from schemas.errand import (
    Errand,
    ErrandInput,
    ExamReply,
    FinalTestInput,
    Image,
    ImageInput,
    InitialTestInput,
    Part,
    SolutionInput,
    SolutionReply,
)
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

NAME: RecipeName = "endless_terminals"
_FOLDER = PROMPTS / NAME


@dataclass(frozen=True)
class _PartPrompts:
    """The prompts of a machine's parts."""

    initial_test: Prompt
    image: Prompt
    final_test: Prompt
    solution: Prompt


def make(_themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; it draws its seeds from a space of its own, or finds them in a corpus."""
    theme, errand = load_theme(), Prompt.load(_FOLDER / "errand.md", ErrandInput, Errand)
    initial_test = Prompt.load(_FOLDER / "initial_test.md", InitialTestInput, ExamReply)
    final_test = Prompt.load(_FOLDER / "final_test.md", FinalTestInput, ExamReply)
    image = Prompt.load(_FOLDER / "image.md", ImageInput, Image)
    solution = Prompt.load(_FOLDER / "solution.md", SolutionInput, SolutionReply)
    return Recipe(
        name=NAME,
        prompts={
            "environments-mine": (theme,),
            "environments-generate": (errand,),
            "environments-build": (initial_test, image, final_test, solution),
        },
        pick_seeds=_pick_cells,
        find_theme=partial(find_theme, theme),
        make_seed=partial(seed_theme, NAME),
        think_up=partial(_ask_errand, errand),
        write_part=partial(_ask_part, _PartPrompts(initial_test, image, final_test, solution)),
    )


def _pick_cells(config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    """The least-filled cells first, counted over earlier runs as well, and of those the ones that
    the run's seed says."""
    space, taken, seeds = load_space(), Counter[tuple[str, ...]](), list[Seed]()
    for name, count in past.cells.items() if config.fresh else ():
        taken.update(dict.fromkeys(_name_margins(*name.split("/")), count))
    for _ in range(config.environments):
        cell = choose_cell(space, taken, config.run_seed)
        number = taken[cell.category,]
        taken.update(_name_margins(cell.category, cell.complexity, cell.persona))
        brief = Brief(
            theme=cell.category, text=space.categories[cell.category], number=number, cell=cell
        )
        seeds.append(Seed(recipe=NAME, brief=brief, licence="Apache-2.0"))
    return seeds


async def _ask_errand(
    prompt: Prompt,
    seed: Seed,
    repair: Repair,
    models: ModelSession,
    _before: Blueprint | None = None,
) -> Blueprint:
    """An errand as its one file. The truth stays in it: no prompt that writes the machine is given
    the end of it."""
    errand = await models.ask(
        prompt, ErrandInput(brief=seed.brief), Errand, complaint=repair.render()
    )
    title = (
        f"{seed.brief.theme.replace('_', ' ')} for "
        f"{seed.brief.cell.persona if seed.brief.cell else 'somebody'}"
    )
    return Blueprint(
        kind="terminal",
        brief=seed.brief,
        name=title,
        summary=seed.brief.text,
        collections={},
        rules=[],
        tools=[ToolPlan(name=SHELL.name, description=SHELL.description, effect=SHELL.effect)],
        policy_document="",
        files={ERRAND: errand.model_dump_json(indent=1)},
        licence=seed.licence,
        origin=describe_origin(seed, models, prompt),
    )


async def _ask_part(
    prompts: _PartPrompts,
    part: Part,
    blueprint: Blueprint,
    made: Mapping[Part, str],
    repair: Repair,
    models: ModelSession,
) -> str:
    """Each is shown what it may know, and no more."""
    errand = read_errand(blueprint.files)
    known, told = {"brief": blueprint.brief, "at_first": errand.at_first}, repair.render()
    end = {"request": errand.request, "at_the_end": errand.at_the_end, "restarts": errand.restarts}
    match part:
        case "initial_test":
            return (
                await models.ask(
                    prompts.initial_test,
                    InitialTestInput.model_validate(known),
                    ExamReply,
                    complaint=told,
                )
            ).source
        case "image":
            given = ImageInput.model_validate(known | {"initial_test": made["initial_test"]})
            return (await models.ask(prompts.image, given, Image, complaint=told)).model_dump_json(
                indent=1
            )
        case "final_test":
            given = FinalTestInput.model_validate(
                known | end | {"initial_test": made["initial_test"]}
            )
            return (await models.ask(prompts.final_test, given, ExamReply, complaint=told)).source
        case "solution":
            given = SolutionInput.model_validate(known | end | {"final_test": made["final_test"]})
            return BETWEEN.join(
                (await models.ask(prompts.solution, given, SolutionReply, complaint=told)).commands
            )
        case "system" | "faults":
            raise SettingsError(
                f"{blueprint.id} is not a system with faults: use the recipe it came from."
            )


def choose_cell(space: Space, taken: Counter[tuple[str, ...]], seed: int) -> Cell:
    """Of the categories the least filled, in it of the complexities, then of the personas."""
    category = _find_least(space.categories, lambda each: (taken[each,], digest([seed, each])))
    complexity = _find_least(
        space.complexities,
        lambda each: (taken[category, each], taken["", each], digest([seed, category, each])),
    )
    persona = _find_least(
        space.personas, lambda each: (taken["", "", each], digest([seed, category, each]))
    )
    steps, about = space.complexities[complexity], space.personas[persona]
    return Cell(category=category, complexity=complexity, steps=steps, persona=persona, about=about)


def _find_least(names: Mapping[str, object], rank: Callable[[str], tuple[Any, ...]]) -> str:
    return min(names, key=rank)


def _name_margins(category: str, complexity: str, persona: str) -> list[tuple[str, ...]]:
    """What is counted of a cell: its category, its complexity there and anywhere, its persona."""
    return [(category,), (category, complexity), ("", complexity), ("", "", persona)]
