"""Recipe `scaleenv`: a word → tools and what they promise → tables derived from that → rows → program and tests. The tools come first.

tools with conditions ─► tables (derived, nobody is asked) ─► rows ─► (jail: opened, filled, read back) ─► program ─► tests
        ▲                                                      ▲             │
        └── tools that disagree, or that no table bears ───────┴─────────────┘ the part at fault is written anew
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from envmill.drafting.assembly import Parts
from envmill.drafting.complaint import tell_locked
from envmill.drafting.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.drafting.derivation import derive_database
from envmill.drafting.mending import Mended, match_tests, mend, sort_by_tool, take_test
from envmill.drafting.repair import Repair
from envmill.drafting.summary import sum_up
from envmill.gates.w4 import CHECKER, TESTER
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.envscaler import WHOLE, EnvScaler, ask_all, tell_place
from envmill.runtime.program import SCHEMA
from schemas.base import Json
from schemas.environment import Blueprint, Environment
from schemas.prompts import ProgramReply, ScenarioReply, TestsReply
from schemas.scenario import Polarity
from schemas.seed import Seed
from schemas.table_prompts import CodedTool, CodeInput, RowsInput, RowsReply
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

_PROMPTS = Path(__file__).parent / "prompts"
_STILL_RED = "Your last verdict was carried out, and tests of this tool still do not end as they say. Judge those that are red now."


class ScaleEnv(EnvScaler):
    """Environments as tables that follow from tools. Themes, scenarios and checks are asked for as the recipe for classes does."""

    name = "scaleenv"

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self._toolset = Prompt.load(_PROMPTS / "scaleenv" / "toolset.md", ToolsetInput, ToolsetReply)
        self._rows = Prompt.load(_PROMPTS / "awm" / "rows.md", RowsInput, RowsReply)
        self._code = Prompt.load(_PROMPTS / "awm" / "code.md", CodeInput, ProgramReply)
        self._cases = Prompt.load(_PROMPTS / "scaleenv" / "cases.md", CasesInput, CasesReply)
        self._debug = Prompt.load(_PROMPTS / "scaleenv" / "debug.md", DebugInput, DebugReply)
        self._chain = Prompt.load(_PROMPTS / "scaleenv" / "chain.md", ChainInput, ChainReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-mine": (self._theme,),
            "environments-generate": (self._toolset, self._rows),
            "environments-build": (self._code, self._cases, self._debug),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (self._chain,),
            "scenarios-build": (self._checks,),
        }

    async def think_up(self, seed: Seed, repair: Repair, account: Account, before: Blueprint | None = None) -> Blueprint:
        """Rows alone where nothing else failed; else the tools, what follows from them, and rows."""
        told, plan = repair.tell(), before
        if plan is None or not blames_rows(repair):
            plan = await self._plan(seed, told, account)
            told = ""
        inputs = RowsInput(
            brief=plan.brief,
            ddl=plan.files[SCHEMA],
            requirements=[tool.description for tool in plan.tools],
            rules=plan.rules,
        )
        reply = await account.ask(self._rows, inputs, RowsReply, complaint=told)
        return Blueprint.model_validate(plan.model_dump() | {"id": "", "rows": reply.rows})

    async def _plan(self, seed: Seed, complaint: str, account: Account) -> Blueprint:
        """Tools, and the database that follows from them."""
        reply = await account.ask(self._toolset, ToolsetInput(brief=seed.brief), ToolsetReply, complaint=complaint)
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
            origin=self._tell_origin(seed, account, self._toolset),
        )

    async def write_program(self, blueprint: Blueprint, before: ProgramReply | None, repair: Repair, account: Account) -> ProgramReply:
        """Over the derived tables; each tool's conditions stand in its description."""
        inputs = CodeInput(
            brief=blueprint.brief,
            name=blueprint.name,
            summary=blueprint.summary,
            ddl=blueprint.files[SCHEMA],
            rows=blueprint.rows,
            rules=blueprint.rules,
            tools=[_tell_tool(tool, blueprint) for tool in list_promised(blueprint)],
        )
        return await account.ask(self._code, inputs, ProgramReply, complaint=repair.tell(), stands=before)

    async def write_tests(
        self, environment: Environment, before: TestsReply | None, repair: Repair, account: Account, rows: Json = None
    ) -> TestsReply:
        """Tool by tool, each test with rows of its own. A repair asks for the tools that a complaint names, or for all if it names none."""
        inputs = [
            CasesInput(brief=environment.brief, rules=environment.rules, ddl=environment.files[SCHEMA], tool=tool, rows=rows or {})
            for tool in environment.tools
        ]
        kept = _sort_tests(before)
        blamed = {one.tool.name: repair.about([one.tool.name]).tell() for one in inputs}
        named = any(blamed.values())

        async def write(one: CasesInput) -> list[MatchedTest]:
            name = one.tool.name
            if named and not blamed[name] and name in kept:
                return kept[name]
            stands = CasesReply(tests=kept[name]) if name in kept else None
            reply = await account.ask(self._cases, one, CasesReply, part=name, complaint=blamed[name] or repair.tell(), stands=stands)
            return reply.tests

        return match_tests([test for tests in await ask_all([write(one) for one in inputs]) for test in tests])

    async def debug(
        self,
        environment: Environment,
        program: ProgramReply,
        plan: TestsReply,
        red: Mapping[int, str],
        repair: Repair,
        account: Account,
    ) -> Mended | None:
        """Tool by tool: is it the method, or what its tests begin with? Nothing else is written anew."""
        tools = {tool.name: tool for tool in environment.tools}
        blamed = {name: tests for name, tests in sort_by_tool(plan, red).items() if name in tools}
        parts = Parts.read(program.source, list(tools))
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
        asked, locked = account.list_parts(self._debug), tell_locked(repair.locked)
        told = {name: "\n\n".join(part for part in (_STILL_RED if name in asked else "", locked) if part) for name in blamed}
        replies = await ask_all(
            [account.ask(self._debug, one, DebugReply, part=one.tool.name, complaint=told[one.tool.name]) for one in inputs]
        )
        return mend(program, plan, list(zip(blamed.values(), replies, strict=True)))

    async def pose(self, environment: Environment, number: int, polarity: Polarity, repair: Repair, account: Account) -> ScenarioReply:
        """With a chain in the place of calls: the stage carries it out."""
        inputs = ChainInput.model_validate(tell_place(environment, number, polarity).model_dump())
        return await account.ask(self._chain, inputs, ChainReply, complaint=repair.tell())


def list_promised(blueprint: Blueprint) -> list[PromisedTool]:
    """The tools as they were asked for: with what they promise."""
    known = blueprint.promises
    return [PromisedTool.model_validate(tool.model_dump() | known[tool.name].model_dump()) for tool in blueprint.tools]


def blames_rows(repair: Repair) -> bool:
    """Whether rows are at fault, and nothing that they rest on."""
    lines = [complaint.words for complaint in repair.complaints]
    return any(line.startswith(ROWS_FAULT) for line in lines) and not any(line.startswith((SCHEMA_FAULT, TOOLS_FAULT)) for line in lines)


def _sort_tests(plan: TestsReply | None) -> dict[str, list[MatchedTest]]:
    """Tool → its tests as they are."""
    found = defaultdict[str, list[MatchedTest]](list)
    if plan is not None:
        for place, test in enumerate(plan.tests):
            found[test.call.name].append(take_test(plan, place))
    return dict(found)


def _tell_tool(tool: PromisedTool, blueprint: Blueprint) -> CodedTool:
    conditions = [
        f"{word}: {'; '.join(said)}." for word, said in (("Requires", tool.requires), ("Ensures", tool.ensures)) if said
    ]  # fmt: skip
    told = {"name": tool.name, "effect": tool.effect, "description": " ".join([tool.description, *conditions])}
    return CodedTool.model_validate(told | blueprint.touches[tool.name].model_dump())
