"""Recipe `scaleenv`: a word → tools and what they promise → tables derived from that → rows → program and tests. The tools come first.

tools with conditions ─► tables (derived, nobody is asked) ─► rows ─► (jail: opened, filled, read back) ─► program ─► tests
        ▲                                                      ▲             │
        └── tools that disagree, or that no table bears ───────┴─────────────┘ the part at fault is written anew
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from envmill.drafting.assembly import Parts
from envmill.drafting.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.drafting.derivation import derive_database
from envmill.drafting.mending import Mended, match_tests, mend, sort_by_tool
from envmill.drafting.summary import sum_up
from envmill.gates.w4 import CHECKER, TESTER
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.envscaler import WHOLE, EnvScaler, ask_all, tell_place
from envmill.runtime.program import SCHEMA
from schemas.base import Json, canonical_json
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
    PromisedTool,
    ToolsetInput,
    ToolsetReply,
)

_PROMPTS = Path(__file__).parent / "prompts"


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

    async def think_up(
        self, seed: Seed, failure: str, locked: Sequence[str], account: Account, before: Blueprint | None = None
    ) -> Blueprint:
        """Rows alone where nothing else failed; else the tools, what follows from them, and rows."""
        told, plan = sum_up(failure), before
        if plan is None or not blames_rows(failure):
            plan = await self._plan(seed, plan, told, locked, account)
            told = ""
        inputs = RowsInput(
            brief=plan.brief,
            ddl=plan.files[SCHEMA],
            requirements=[tool.description for tool in plan.tools],
            rules=plan.rules,
            failure=told,
        )
        reply = await account.ask(self._rows, inputs, RowsReply)
        return Blueprint.model_validate(plan.model_dump() | {"id": "", "rows": reply.rows})

    async def _plan(self, seed: Seed, before: Blueprint | None, failure: str, locked: Sequence[str], account: Account) -> Blueprint:
        """Tools, and the database that follows from them."""
        failed = canonical_json([one.model_dump(mode="json") for one in list_promised(before)]) if before else ""
        inputs = ToolsetInput(brief=seed.brief, failed=failed, failure=failure, locked=list(locked))
        reply = await account.ask(self._toolset, inputs, ToolsetReply)
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

    async def write_program(self, blueprint: Blueprint, failed: str, failure: str, locked: Sequence[str], account: Account) -> ProgramReply:
        """Over the derived tables; each tool's conditions stand in its description."""
        inputs = CodeInput(
            brief=blueprint.brief,
            name=blueprint.name,
            summary=blueprint.summary,
            ddl=blueprint.files[SCHEMA],
            rows=blueprint.rows,
            rules=blueprint.rules,
            tools=[_tell_tool(tool, blueprint) for tool in list_promised(blueprint)],
            failed_source=failed,
            failure=sum_up(failure),
            locked=list(locked),
        )
        return await account.ask(self._code, inputs, ProgramReply)

    async def write_tests(self, environment: Environment, failure: str, account: Account, rows: Json = None) -> TestsReply:
        """Tool by tool, each test with rows of its own; a failure is told to those it names, the others are asked as before."""
        inputs = [
            CasesInput(
                brief=environment.brief,
                rules=environment.rules,
                ddl=environment.files[SCHEMA],
                tool=tool,
                rows=rows or {},
                failure=_tell_failure(tool.name, failure),
            )
            for tool in environment.tools
        ]
        replies = await ask_all([account.ask(self._cases, one, CasesReply) for one in inputs])
        return match_tests([test for reply in replies for test in reply.tests])

    async def debug(
        self,
        environment: Environment,
        program: ProgramReply,
        plan: TestsReply,
        red: Mapping[int, str],
        locked: Sequence[str],
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
                locked=list(locked),
            )
            for name, tests in blamed.items()
        ]
        replies = await ask_all([account.ask(self._debug, one, DebugReply) for one in inputs])
        return mend(program, plan, list(zip(blamed.values(), replies, strict=True)))

    async def pose(
        self, environment: Environment, number: int, polarity: Polarity, failure: str, locked: Sequence[str], account: Account
    ) -> ScenarioReply:
        """With a chain in the place of calls: the stage carries it out."""
        told = tell_place(environment, number, polarity, failure, locked)
        return await account.ask(self._chain, ChainInput.model_validate(told.model_dump()), ChainReply)


def list_promised(blueprint: Blueprint) -> list[PromisedTool]:
    """The tools as they were asked for: with what they promise."""
    known = blueprint.promises
    return [PromisedTool.model_validate(tool.model_dump() | known[tool.name].model_dump()) for tool in blueprint.tools]


def blames_rows(failure: str) -> bool:
    """Whether rows are at fault, and nothing that they rest on."""
    lines = failure.splitlines()
    return any(line.startswith(ROWS_FAULT) for line in lines) and not any(line.startswith((SCHEMA_FAULT, TOOLS_FAULT)) for line in lines)


def _tell_failure(tool: str, failure: str) -> str:
    """The lines of a failure that speak of a tool."""
    return sum_up("\n".join(line for line in failure.splitlines() if re.search(rf"\b{tool}\b", line)))


def _tell_tool(tool: PromisedTool, blueprint: Blueprint) -> CodedTool:
    conditions = [
        f"{word}: {'; '.join(said)}." for word, said in (("Requires", tool.requires), ("Ensures", tool.ensures)) if said
    ]  # fmt: skip
    told = {"name": tool.name, "effect": tool.effect, "description": " ".join([tool.description, *conditions])}
    return CodedTool.model_validate(told | blueprint.touches[tool.name].model_dump())
