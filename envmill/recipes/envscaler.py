"""Recipe `envscaler`, one pass: theme → blueprint → program and tests → scenarios derived from
state. Environments are one Python class over JSON state."""

from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial

from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import ask_all, describe_origin
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.drafting.assembly import ProgramParts, assemble
from envmill.recipes.drafting.errands import plan_block
from envmill.recipes.programs import ask_tests, load_tests
from envmill.recipes.scenarios import (
    ask_checks,
    ask_scenario,
    load_checks,
    load_errands,
    load_scenario,
)
from envmill.recipes.themes import find_theme, load_theme, pick_themes, seed_theme
from schemas.environment import Blueprint
from schemas.prompts import (
    BlueprintInput,
    BlueprintReply,
    MethodsInput,
    MethodsReply,
    ProgramInput,
    ProgramReply,
    SkeletonInput,
)
from schemas.run import RecipeName
from schemas.seed import Seed

NAME: RecipeName = "envscaler"
_CHUNK = 8
"""Tools whose methods one reply holds."""
_PLANNED = {"brief", "name", "summary", "collections", "rules", "tools"}
_FOLDER = PROMPTS / NAME


@dataclass(frozen=True)
class _Code:
    """The prompts of a program."""

    program: Prompt
    skeleton: Prompt
    methods: Prompt
    whole: int
    """Programs of more tools are written in parts."""


def make(themes: Themes, whole: int = WHOLE) -> Recipe:
    """The recipe over the themes it may use."""
    theme, errands, scenario, checks = load_theme(), load_errands(), load_scenario(), load_checks()
    blueprint = Prompt.load(_FOLDER / "blueprint.md", BlueprintInput, BlueprintReply)
    program = Prompt.load(_FOLDER / "program.md", ProgramInput, ProgramReply)
    skeleton = Prompt.load(_FOLDER / "skeleton.md", SkeletonInput, ProgramReply)
    methods = Prompt.load(_FOLDER / "methods.md", MethodsInput, MethodsReply)
    tests = load_tests()
    return Recipe(
        name=NAME,
        prompts={
            "environments-mine": (theme,),
            "environments-generate": (blueprint,),
            "environments-build": (program, skeleton, methods, tests),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (errands, scenario),
            "scenarios-build": (checks,),
        },
        pick_seeds=partial(pick_themes, NAME, themes),
        find_theme=partial(find_theme, theme),
        make_seed=partial(seed_theme, NAME),
        think_up=partial(_ask_blueprint, blueprint),
        write_program=partial(_ask_program, _Code(program, skeleton, methods, whole)),
        write_tests=partial(ask_tests, tests),
        plan_errands=partial(plan_block, errands, None),
        pose=partial(ask_scenario, scenario),
        write_checks=partial(ask_checks, checks),
    )


async def _ask_blueprint(
    prompt: Prompt,
    seed: Seed,
    repair: Repair,
    models: ModelSession,
    _before: Blueprint | None = None,
) -> Blueprint:
    reply = await models.ask(
        prompt, BlueprintInput(brief=seed.brief), BlueprintReply, complaint=repair.render()
    )
    return Blueprint(
        kind="stateful",
        brief=seed.brief,
        name=reply.name,
        summary=reply.summary,
        collections=reply.collections,
        rules=reply.rules,
        tools=reply.tools,
        policy_document=reply.policy,
        licence=seed.licence,
        origin=describe_origin(seed, models, prompt),
    )


async def _ask_program(
    code: _Code,
    blueprint: Blueprint,
    before: ProgramReply | None,
    repair: Repair,
    models: ModelSession,
) -> ProgramReply:
    inputs = ProgramInput.model_validate(blueprint.model_dump(include=_PLANNED))
    if len(blueprint.tools) > code.whole:
        return await _ask_parts(code, inputs, before, repair, models)
    return await models.ask(
        code.program, inputs, ProgramReply, complaint=repair.render(), stands=before
    )


async def _ask_parts(
    code: _Code,
    asked: ProgramInput,
    before: ProgramReply | None,
    repair: Repair,
    models: ModelSession,
) -> ProgramReply:
    """A program too long for one reply: its class, then its methods, a few at a time; of a failed
    one only the parts at fault."""
    known = asked.model_dump()
    names = [tool.name for tool in asked.tools]
    kept = ProgramParts.read(before.source, names) if before else None
    blamed = [name for name in names if repair.about([name]).complaints]
    if kept is None or not blamed:
        whole = await models.ask(
            code.skeleton,
            SkeletonInput.model_validate(known),
            ProgramReply,
            complaint=repair.render(),
        )
        kept = ProgramParts(whole.source, whole.class_name, kept.methods if kept else {})
    shared = known | {"skeleton": kept.skeleton, "class_name": kept.class_name}
    asking = list[Awaitable[MethodsReply]]()
    for place in range(0, len(names), _CHUNK):
        chunk = names[place : place + _CHUNK]
        if wanted := [name for name in chunk if name in blamed or name not in kept.methods]:
            inputs = MethodsInput.model_validate(shared | {"wanted": wanted})
            told = repair.about(chunk).render() or repair.render()
            asking.append(
                models.ask(code.methods, inputs, MethodsReply, part=chunk[0], complaint=told)
            )
    methods = [*kept.methods.values(), *(reply.source for reply in await ask_all(asking))]
    return ProgramReply(
        source=assemble(kept.skeleton, kept.class_name, methods), class_name=kept.class_name
    )
