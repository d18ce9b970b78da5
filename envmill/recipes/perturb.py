"""Recipe `perturb`: a healthy system, broken in known places; what broke it is the reference path,
read backwards.

own system, or a written one ─► proved healthy ─► faults of the factory's operators and of proposed ones ─► each composition proved
"""

from collections.abc import Mapping
from functools import partial
from itertools import islice

from envmill.base.errors import SettingsError
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.terminal.breaking.systems import list_systems, load_sorts, load_system
from envmill.kinds.terminal.perturbing import list_machines, plan_machine, plan_system
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import describe_origin
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.themes import order_turns
from envmill.sandbox.machines.files import read_machine
from envmill.sandbox.machines.healthy import SERVICES
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint
from schemas.errand import Part
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed
from schemas.system_prompts import FaultsInput, FaultsReply, SystemInput, SystemReply

NAME: RecipeName = "perturb"
_FOLDER = PROMPTS / NAME


def make(_themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe. Its systems are data unless the run asks for written ones."""
    system = Prompt.load(_FOLDER / "system.md", SystemInput, SystemReply)
    faults = Prompt.load(_FOLDER / "faults.md", FaultsInput, FaultsReply)
    return Recipe(
        name=NAME,
        given=True,
        prompts={"environments-build": (system, faults)},
        pick_seeds=_pick_systems,
        think_up=partial(_plan_system, system, faults),
        write_part=partial(_ask_part, system, faults),
    )


def _pick_systems(config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    """Least-used systems first, each under the variation that follows its last one. A run has no
    more seeds of own systems than there are
    machines; of written ones it has as many as are asked for.

    Variations beyond the last one are the first again, under a number of its own: other faults are
    composed in them.
    """
    if config.systems == "written":
        sorts = load_sorts()
        wanted = islice(order_turns(list(sorts), config, past), config.environments)
        briefs = [
            Brief(theme=name, text=sorts[name], number=number, written="system")
            for name, number in wanted
        ]
        return [Seed(recipe=NAME, brief=brief, licence="Apache-2.0") for brief in briefs]
    written = "operators" if config.systems == "operators" else ""
    wanted = islice(
        order_turns(list_systems(), config, past), min(config.environments, len(list_machines()))
    )
    briefs = [
        Brief(theme=name, text=load_system(name).system.about, number=number, written=written)
        for name, number in wanted
    ]
    return [
        Seed(recipe=NAME, brief=brief, licence=load_system(brief.theme).system.licence)
        for brief in briefs
    ]


async def _plan_system(
    system: Prompt,
    faults: Prompt,
    seed: Seed,
    _repair: Repair,
    models: ModelSession,
    _before: Blueprint | None = None,
) -> Blueprint:
    """An own system as files; one that an author writes when it is built, where machines can try
    it."""
    if seed.brief.written == "system":
        return plan_system(seed, describe_origin(seed, models, system))
    plan = plan_machine(seed)
    return (
        plan
        if not seed.brief.written
        else plan.model_copy(update={"id": "", "origin": describe_origin(seed, models, faults)})
    )


async def _ask_part(
    system: Prompt,
    faults: Prompt,
    part: Part,
    blueprint: Blueprint,
    _made: Mapping[Part, str],
    repair: Repair,
    models: ModelSession,
) -> str:
    """A system, or operators for one, which the prompt is shown whole."""
    if part == "system":
        asked = SystemInput(brief=blueprint.brief)
        return (
            await models.ask(system, asked, SystemReply, complaint=repair.render())
        ).model_dump_json()
    if part != "faults":
        raise SettingsError(
            f"The recipe of this run makes no errands, and {blueprint.id} is one: use the recipe it came from."
        )
    healthy = read_machine(blueprint.files)
    files = {
        path: content.decode()
        for path, content in sorted(healthy.files.items())
        if path != SERVICES
    }
    told = {
        name: getattr(healthy.system, name)
        for name in ("about", "page", "services", "complaints", "handles")
    }
    inputs = FaultsInput(files=files, check=healthy.check, **told)
    return (
        await models.ask(faults, inputs, FaultsReply, complaint=repair.render())
    ).model_dump_json()
