"""Recipe `endless_terminals`: category × complexity × persona → errand with its truth → tests on both sides → image → solution.

cell ─► errand ─► initial test ─► image, built and asked ─► final test ─► solution, walked ─► environment with one scenario
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envmill.drafting.errands.outfitting import BETWEEN, read_errand
from envmill.drafting.errands.space import Space, load_space
from envmill.drafting.repair import Repair
from envmill.kinds.terminal import SHELL
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.envscaler import WHOLE, EnvScaler
from envmill.sandbox.machines.files import ERRAND
from schemas.base import digest
from schemas.cell import Cell
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
from schemas.run import RunConfig
from schemas.seed import Brief, Seed

_FOLDER = Path(__file__).parent / "prompts" / "endless_terminals"


class EndlessTerminals(EnvScaler):
    """Environments as machines with one errand each. Of the recipe for classes it takes what a run asks every recipe."""

    name = "endless_terminals"

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self._errand = Prompt.load(_FOLDER / "errand.md", ErrandInput, Errand)
        self._initial_test = Prompt.load(_FOLDER / "initial_test.md", InitialTestInput, ExamReply)
        self._final_test = Prompt.load(_FOLDER / "final_test.md", FinalTestInput, ExamReply)
        self._image = Prompt.load(_FOLDER / "image.md", ImageInput, Image)
        self._solution = Prompt.load(_FOLDER / "solution.md", SolutionInput, SolutionReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-generate": (self._errand,),
            "environments-build": (self._initial_test, self._image, self._final_test, self._solution),
        }

    def pick_seeds(self, config: RunConfig) -> list[Seed]:
        """The least-filled cells first, of those the ones that the run's seed says."""
        space, taken, seeds = load_space(), Counter[tuple[str, ...]](), list[Seed]()
        for _ in range(config.environments):
            cell = choose_cell(space, taken, config.seed or 0)
            number = taken[cell.category,]
            taken.update(_list_margins(cell))
            brief = Brief(theme=cell.category, text=space.categories[cell.category], number=number, cell=cell)
            seeds.append(Seed(recipe=self.name, brief=brief, licence="Apache-2.0"))
        return seeds

    async def think_up(
        self,
        seed: Seed,
        repair: Repair,
        account: Account,
        before: Blueprint | None = None,  # noqa: ARG002
    ) -> Blueprint:
        """An errand as its one file. The truth stays in it: no prompt that writes the machine is given the end of it."""
        errand = await account.ask(self._errand, ErrandInput(brief=seed.brief), Errand, complaint=repair.tell())
        title = f"{seed.brief.theme.replace('_', ' ')} for {seed.brief.cell.persona if seed.brief.cell else 'somebody'}"
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
            origin=self._tell_origin(seed, account, self._errand),
        )

    async def write_part(self, part: Part, blueprint: Blueprint, made: Mapping[Part, str], repair: Repair, account: Account) -> str:
        """Each is shown what it may know, and no more."""
        errand = read_errand(blueprint.files)
        known, told = {"brief": blueprint.brief, "at_first": errand.at_first}, repair.tell()
        end = {"request": errand.request, "at_the_end": errand.at_the_end}
        match part:
            case "initial_test":
                return (await account.ask(self._initial_test, InitialTestInput.model_validate(known), ExamReply, complaint=told)).source
            case "image":
                given = ImageInput.model_validate(known | {"initial_test": made["initial_test"]})
                return (await account.ask(self._image, given, Image, complaint=told)).model_dump_json(indent=1)
            case "final_test":
                given = FinalTestInput.model_validate(known | end | {"initial_test": made["initial_test"]})
                return (await account.ask(self._final_test, given, ExamReply, complaint=told)).source
            case "solution":
                given = SolutionInput.model_validate(known | end | {"final_test": made["final_test"]})
                return BETWEEN.join((await account.ask(self._solution, given, SolutionReply, complaint=told)).commands)


def choose_cell(space: Space, taken: Counter[tuple[str, ...]], seed: int) -> Cell:
    """Of the categories the least filled, in it of the complexities, then of the personas."""
    category = _find_least(space.categories, lambda each: (taken[each,], digest([seed, each])))
    complexity = _find_least(space.complexities, lambda each: (taken[category, each], taken["", each], digest([seed, category, each])))
    persona = _find_least(space.personas, lambda each: (taken["", "", each], digest([seed, category, each])))
    steps, about = space.complexities[complexity], space.personas[persona]
    return Cell(category=category, complexity=complexity, steps=steps, persona=persona, about=about)


def _find_least(names: Mapping[str, object], rank: Callable[[str], tuple[Any, ...]]) -> str:
    return min(names, key=rank)


def _list_margins(cell: Cell) -> list[tuple[str, ...]]:
    """What is counted of a cell: its category, its complexity there and anywhere, its persona."""
    return [(cell.category,), (cell.category, cell.complexity), ("", cell.complexity), ("", "", cell.persona)]
