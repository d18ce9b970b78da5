"""Recipe `awm`: names → what people ask for there → tables → rows → tools → program and tests → scenarios. The database comes first.

requirements ─► schema ─► rows ─► tools ─► (jail: opened, filled, read back) ─► program over the tables ─► tests over the rows
      ▲            ▲        ▲       ▲                  │
      └────────────┴────────┴───────┴── the part at fault is written anew, the parts after it as well
"""

import random
from collections.abc import Mapping
from pathlib import Path

from envmill.drafting.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.drafting.repair import Repair
from envmill.errors import BuildError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.sql import derive_tables
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.envscaler import WHOLE, EnvScaler
from envmill.runtime.program import SCHEMA
from schemas.base import Json
from schemas.environment import Blueprint, Environment, ToolPlan
from schemas.origin import Origin
from schemas.prompts import ProgramReply, TestsReply, ThemeReply
from schemas.run import RunConfig
from schemas.seed import Seed
from schemas.table_prompts import (
    CodedTool,
    CodeInput,
    InterfaceInput,
    InterfaceReply,
    NamesInput,
    NamesReply,
    RequirementsInput,
    RequirementsReply,
    RowsInput,
    RowsReply,
    SchemaInput,
    SchemaReply,
    TrialsInput,
    TrialsReply,
)

_NAMES, _GENERATIONS = 5, 2
"""Places that one call names, and calls that follow each other: more than a handful at once, and the last repeat the first."""
_SURPLUS = 3
"""Places named per environment wanted: two of three are like another one, crowd a field, or are not worth building."""
_EXAMPLES, _FOCUS, _FOCUSED = 8, 2, 0.7
"""Known places that a call is shown, those of them whose neighbourhood is wanted most, and how often any is."""
_FOLDER = Path(__file__).parent / "prompts" / "awm"


class Awm(EnvScaler):
    """Environments as tables with tools over them. Themes from texts, scenarios and checks are asked for as the recipe for classes does."""

    name = "awm"

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self._names = Prompt.load(_FOLDER / "names.md", NamesInput, NamesReply)
        self._requirements = Prompt.load(_FOLDER / "requirements.md", RequirementsInput, RequirementsReply)
        self._schema = Prompt.load(_FOLDER / "schema.md", SchemaInput, SchemaReply)
        self._rows = Prompt.load(_FOLDER / "rows.md", RowsInput, RowsReply)
        self._interface = Prompt.load(_FOLDER / "interface.md", InterfaceInput, InterfaceReply)
        self._code = Prompt.load(_FOLDER / "code.md", CodeInput, ProgramReply)
        self._trials = Prompt.load(_FOLDER / "trials.md", TrialsInput, TrialsReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-mine": (self._theme, self._names),
            "environments-generate": (self._requirements, self._schema, self._rows, self._interface),
            "environments-build": (self._code, self._trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (self._scenario,),
            "scenarios-build": (self._checks,),
        }

    def pick_texts(self, config: RunConfig) -> list[str]:
        """One for each call: a few of the known places as examples, now and then with a word on what is wanted most."""
        first, calls = config.first, max(2, -(-config.environments * _SURPLUS // (_NAMES * _GENERATIONS)))
        return [self._draw_examples(config.seed or 0, number).model_dump_json() for number in range(first, first + calls)]

    def _draw_examples(self, seed: int, number: int) -> NamesInput:
        dice = random.Random(f"{self.name}/names/{seed}/{number}")
        known = dict(dice.sample(self._themes, min(_EXAMPLES, len(self._themes))))
        focus = dice.sample(sorted(known), min(_FOCUS, len(known))) if dice.random() < _FOCUSED else []
        return NamesInput(known=known, focus=focus, wanted=_NAMES, round=number)

    async def grow(self, text: str, account: Account) -> list[ThemeReply]:
        """Asked twice: what came first is among the examples of the second."""
        inputs, grown = NamesInput.model_validate_json(text), list[ThemeReply]()
        for _ in range(_GENERATIONS):
            known = inputs.known | {one.theme: one.description for one in grown}
            reply = await account.ask(self._names, inputs.model_copy(update={"known": known}), NamesReply)
            grown += reply.names
        return grown

    async def think_up(self, seed: Seed, repair: Repair, account: Account, before: Blueprint | None = None) -> Blueprint:
        """Part by part; of one that failed, the part at fault and those that rest on it."""
        blamed = _blame(repair) if before else 0
        told = repair.tell()
        plan = before or _begin(seed)
        if blamed == 0:
            plan = await self._require(plan, told, account)
        if blamed <= 1:
            plan = await self._design(plan, told if blamed == 1 else "", account)
        if blamed <= 2:
            plan = await self._fill(plan, told if blamed == 2 else "", account)
        if blamed != 2:
            plan = await self._plan_tools(plan, told if blamed == 3 else "", account)
        return Blueprint.model_validate(plan.model_dump() | {"id": "", "origin": self._tell_origin(seed, account, self._requirements)})

    async def _require(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        reply = await account.ask(self._requirements, RequirementsInput(brief=plan.brief), RequirementsReply, complaint=complaint)
        told = reply.model_dump()
        return plan.model_copy(update=told | {"policy_document": told.pop("policy")})

    async def _design(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        known = plan.model_dump(include={"name", "summary", "requirements", "rules"})
        reply = await account.ask(self._schema, SchemaInput(brief=plan.brief, **known), SchemaReply, complaint=complaint)
        files = {SCHEMA: reply.ddl}
        return plan.model_copy(update={"files": files, "policies": reply.policies, "collections": list_columns(files)})

    async def _fill(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        inputs = RowsInput(brief=plan.brief, ddl=plan.files[SCHEMA], requirements=plan.requirements, rules=plan.rules)
        reply = await account.ask(self._rows, inputs, RowsReply, complaint=complaint)
        return plan.model_copy(update={"rows": reply.rows})

    async def _plan_tools(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        known = plan.model_dump(include={"summary", "requirements", "rules"})
        inputs = InterfaceInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA])
        reply = await account.ask(self._interface, inputs, InterfaceReply, complaint=complaint)
        tools = [ToolPlan(name=tool.name, description=tool.description, effect=tool.effect) for tool in reply.tools]
        return plan.model_copy(update={"tools": tools, "touches": {tool.name: tool.touch for tool in reply.tools}})

    async def write_program(self, blueprint: Blueprint, before: ProgramReply | None, repair: Repair, account: Account) -> ProgramReply:
        """In one reply, however many tools."""
        known = blueprint.model_dump(include={"name", "summary", "rows", "rules"})
        inputs = CodeInput(
            brief=blueprint.brief,
            **known,
            ddl=blueprint.files[SCHEMA],
            tools=[_tell_tool(tool, blueprint) for tool in blueprint.tools],
        )
        return await account.ask(self._code, inputs, ProgramReply, complaint=repair.tell(), stands=before)

    async def write_tests(
        self,
        environment: Environment,
        before: TestsReply | None,  # noqa: ARG002
        repair: Repair,
        account: Account,
        rows: Json = None,
    ) -> TestsReply:
        """Over the rows that the schema was tried with."""
        inputs = TrialsInput(
            brief=environment.brief,
            rules=environment.rules,
            tools=environment.tools,
            source="\n".join(environment.files.values()),
            rows=rows or {},
        )
        reply = await account.ask(self._trials, inputs, TrialsReply, complaint=repair.tell())
        return TestsReply(initial_state=rows or {}, tests=reply.tests)


def _begin(seed: Seed) -> Blueprint:
    """A blueprint before anything is known."""
    nobody = Origin(recipe="", seed=seed.id, provider="", model="", prompt="", prompt_hash="")
    empty: dict[str, Json] = {"name": "", "summary": "", "collections": {}, "rules": [], "tools": [], "policy_document": ""}
    return Blueprint.model_validate({"kind": "sql", "brief": seed.brief, "licence": seed.licence, "origin": nobody} | empty)


def _tell_tool(tool: ToolPlan, blueprint: Blueprint) -> CodedTool:
    """With its tables, and its types where they are settled: the program is held to them."""
    signed = blueprint.signatures.get(tool.name)
    types = signed.model_dump() if signed else {}
    return CodedTool.model_validate(tool.model_dump() | blueprint.touches[tool.name].model_dump() | types)


def _blame(repair: Repair) -> int:
    """The first part that a complaint speaks of; requirements and rules where none speaks of a part."""
    parts, lines = (SCHEMA_FAULT, ROWS_FAULT, TOOLS_FAULT), [complaint.words for complaint in repair.complaints]
    named = [place for place, part in enumerate(parts, 1) if any(line.startswith(part) for line in lines)]
    if not named and any(line.startswith(("The tool", "No tool")) for line in lines):
        return 3
    return min(named, default=0)


def list_columns(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Table → columns; nothing where the schema cannot be read, which its trial tells."""
    try:
        return {table.name: [column.name for column in table.columns] for table in derive_tables(files, {})}
    except BuildError:
        return {}
