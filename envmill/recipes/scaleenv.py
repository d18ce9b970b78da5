"""Recipe `scaleenv`: a word → tools and what they promise → tables derived from that → rows →
program and tests. The tools come first.

tools with conditions ─► tables (derived, nobody is asked) ─► rows ─► (jail: opened, filled, read back) ─► program ─► tests
        ▲                                                      ▲             │
        └── tools that disagree, or that no table bears ───────┴─────────────┘ the part at fault is written anew
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.authoring.complaint import describe_locked
from envmill.kinds.authoring.derivation import derive_database
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.sql.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import ask_all, describe_origin
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.drafting.assembly import ProgramParts
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import plan_block
from envmill.recipes.drafting.growing import GROW, NATURAL
from envmill.recipes.drafting.mending import Mended, match_tests, mend, sort_by_tool, take_test
from envmill.recipes.drafting.rewording import REWORD
from envmill.recipes.drafting.shortening import sample_rows
from envmill.recipes.drafting.summary import sum_up
from envmill.recipes.scenarios import ask_checks, describe_offer, load_checks, load_errands
from envmill.recipes.tables import ask_code, load_code, load_rows
from envmill.recipes.themes import find_theme, load_theme, pick_themes, seed_theme
from envmill.runtime.program import SCHEMA
from schemas.base import Json
from schemas.environment import Blueprint, Environment
from schemas.prompts import ProgramReply, ScenarioReply, TestsReply
from schemas.run import RecipeName
from schemas.seed import Seed
from schemas.table_prompts import CodedTool, RowsInput, RowsReply
from schemas.tool_prompts import (
    CasesInput,
    CasesReply,
    ChainInput,
    ChainReply,
    DebugInput,
    DebugReply,
    MatchedTest,
    PromisedTool,
    ToolsetInput,
    ToolsetReply,
)

NAME: RecipeName = "scaleenv"
_FOLDER = PROMPTS / NAME
_STILL_RED = (
    "Your last verdict was carried out, and tests of this tool still do not end as they say. "
    "Judge those that are red now."
)


def make(themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe over the themes it may use. Programs are written in one reply."""
    theme, rows, code, errands, checks = (
        load_theme(),
        load_rows(),
        load_code(),
        load_errands(),
        load_checks(),
    )
    toolset = Prompt.load(_FOLDER / "toolset.md", ToolsetInput, ToolsetReply)
    cases = Prompt.load(_FOLDER / "cases.md", CasesInput, CasesReply)
    debug = Prompt.load(_FOLDER / "debug.md", DebugInput, DebugReply)
    chain = Prompt.load(_FOLDER / "chain.md", ChainInput, ChainReply)
    return Recipe(
        name=NAME,
        tabled=True,
        grows=True,
        operators=("goal_expansion",),
        prompts={
            "environments-mine": (theme,),
            "environments-generate": (toolset, rows),
            "environments-build": (code, cases, debug),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (errands, chain, REWORD, GROW, NATURAL),
            "scenarios-build": (checks,),
        },
        pick_seeds=partial(pick_themes, NAME, themes),
        find_theme=partial(find_theme, theme),
        make_seed=partial(seed_theme, NAME),
        think_up=partial(_make_blueprint, toolset, rows),
        write_program=partial(ask_code, code, _describe_tools),
        write_tests=partial(_ask_cases, cases),
        debug=partial(_ask_debugger, debug),
        plan_errands=partial(plan_block, errands, None),
        pose=partial(_ask_chain, chain),
        samplers=("program", "weighted", "merge", "backward", "linked"),
        write_checks=partial(ask_checks, checks),
    )


async def _make_blueprint(
    toolset: Prompt, rows: Prompt, seed: Seed, repair: Repair, models: ModelSession, before: Blueprint | None = None
) -> Blueprint:  # fmt: skip
    """Rows alone where nothing else failed; else the tools, what follows from them, and rows."""
    told, plan = repair.render(), before
    if plan is None or not _blames_rows(repair):
        plan = await _plan(toolset, seed, told, models)
        told = ""
    inputs = RowsInput(
        brief=plan.brief,
        summary=plan.summary,
        ddl=plan.files[SCHEMA],
        requirements=[tool.description for tool in plan.tools],
        rules=plan.rules,
    )
    reply = await models.ask(rows, inputs, RowsReply, complaint=told)
    return Blueprint.model_validate(plan.model_dump() | {"id": "", "rows": reply.rows})


async def _plan(prompt: Prompt, seed: Seed, complaint: str, models: ModelSession) -> Blueprint:
    """Tools, and the database that follows from them."""
    reply = await models.ask(
        prompt, ToolsetInput(brief=seed.brief), ToolsetReply, complaint=complaint
    )
    promises = {tool.name: tool.promise for tool in reply.tools}
    derived = derive_database(promises)
    return Blueprint(
        kind="sql",
        brief=seed.brief,
        name=reply.name,
        summary=reply.summary,
        collections=derived.collections,
        rules=reply.rules,
        tools=[tool.plan for tool in reply.tools],
        policy_document=reply.policy,
        files={SCHEMA: derived.ddl},
        policies=derived.policies,
        touches=derived.touches,
        promises=promises,
        licence=seed.licence,
        origin=describe_origin(seed, models, prompt),
    )


async def _ask_cases(
    prompt: Prompt,
    environment: Environment,
    before: TestsReply | None,
    repair: Repair,
    models: ModelSession,
    rows: Json = None,
) -> TestsReply:
    """Tool by tool, each test with rows of its own. A repair asks for the tools that a complaint
    names, or for all if it names none."""
    shown = sample_rows(rows or {})
    inputs = [
        CasesInput(
            brief=environment.brief,
            rules=environment.rules,
            ddl=environment.files[SCHEMA],
            tool=tool,
            rows=shown,
        )
        for tool in environment.tools
    ]
    kept = _sort_tests(before)
    blamed = {one.tool.name: repair.about([one.tool.name]).render() for one in inputs}
    named = any(blamed.values())

    async def write(one: CasesInput) -> list[MatchedTest]:
        name = one.tool.name
        if named and not blamed[name] and name in kept:
            return kept[name]
        stands = CasesReply(tests=kept[name]) if name in kept else None
        reply = await models.ask(
            prompt,
            one,
            CasesReply,
            part=name,
            complaint=blamed[name] or repair.render(),
            stands=stands,
        )
        return reply.tests

    return match_tests(
        [test for tests in await ask_all([write(one) for one in inputs]) for test in tests]
    )


async def _ask_debugger(
    prompt: Prompt,
    environment: Environment,
    program: ProgramReply,
    plan: TestsReply,
    red: Mapping[int, str],
    repair: Repair,
    models: ModelSession,
) -> Mended | None:
    """Tool by tool: is it the method, or what its tests begin with? Nothing else is written
    anew."""
    tools = {tool.name: tool for tool in environment.tools}
    blamed = {name: tests for name, tests in sort_by_tool(plan, red).items() if name in tools}
    parts = ProgramParts.read(program.source, list(tools))
    if parts is None or not blamed:
        return None
    inputs = [
        DebugInput(
            brief=environment.brief,
            rules=environment.rules,
            ddl=environment.files[SCHEMA],
            tool=tools[name],
            source=parts.methods[name],
            red=tests,
            ended=sum_up("\n".join(one.seen for one in tests)),
        )
        for name, tests in blamed.items()
    ]
    asked, locked = models.list_parts(prompt), describe_locked(repair.locked)
    told = {
        name: "\n\n".join(part for part in (_STILL_RED if name in asked else "", locked) if part)
        for name in blamed
    }
    replies = await ask_all(
        [
            models.ask(prompt, one, DebugReply, part=one.tool.name, complaint=told[one.tool.name])
            for one in inputs
        ]
    )
    return mend(program, plan, list(zip(blamed.values(), replies, strict=True)))


async def _ask_chain(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """With a chain in the place of calls: the stage carries it out."""
    inputs = ChainInput.model_validate(describe_offer(brief))
    return await models.ask(prompt, inputs, ChainReply, complaint=repair.render())


def _blames_rows(repair: Repair) -> bool:
    """Whether rows are at fault, and nothing that they rest on."""
    lines = [complaint.words for complaint in repair.complaints]
    return any(line.startswith(ROWS_FAULT) for line in lines) and not any(
        line.startswith((SCHEMA_FAULT, TOOLS_FAULT)) for line in lines
    )


def _sort_tests(plan: TestsReply | None) -> dict[str, list[MatchedTest]]:
    """Tool → its tests as they are."""
    found = defaultdict[str, list[MatchedTest]](list)
    if plan is not None:
        for place, test in enumerate(plan.tests):
            found[test.call.name].append(take_test(plan, place))
    return dict(found)


def _describe_tools(blueprint: Blueprint) -> list[CodedTool]:
    """Over the derived tables; each tool's conditions stand in its description."""
    known = blueprint.promises
    promised = [
        PromisedTool.model_validate(tool.model_dump() | known[tool.name].model_dump())
        for tool in blueprint.tools
    ]
    return [_describe_tool(tool, blueprint) for tool in promised]


def _describe_tool(tool: PromisedTool, blueprint: Blueprint) -> CodedTool:
    conditions = [
        f"{word}: {'; '.join(said)}." for word, said in (("Requires", tool.requires), ("Ensures", tool.ensures)) if said
    ]  # fmt: skip
    told = {
        "name": tool.name,
        "effect": tool.effect,
        "description": " ".join([tool.description, *conditions]),
    }
    return CodedTool.model_validate(told | blueprint.touches[tool.name].model_dump())
