"""Environments over tables: their plan part by part, and a program and tests over the tables.

requirements ─► schema ─► rows ─► tools      of a plan that failed, the part at fault and the parts that rest on it are asked for again
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.sql import derive_tables
from envmill.kinds.sql.database import ROWS_FAULT, SCHEMA_FAULT, TOOLS_FAULT
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import describe_origin
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.shortening import sample_rows
from envmill.runtime.program import SCHEMA
from envmill.toolgraph.outlining import is_list
from schemas.base import Json
from schemas.environment import Blueprint, Environment, ToolPlan
from schemas.origin import Origin
from schemas.prompts import ProgramReply, TestsReply
from schemas.seed import Seed
from schemas.servers import SharedIdentity
from schemas.table_prompts import (
    CodedTool,
    CodeInput,
    RequirementsInput,
    RequirementsReply,
    RowsInput,
    RowsReply,
    SchemaInput,
    SchemaReply,
    TrialsInput,
    TrialsReply,
)

AddPart = Callable[[Blueprint, str, ModelSession], Awaitable[Blueprint]]
"""Plan so far, complaint → the plan with one more part."""
TellTools = Callable[[Blueprint], list[CodedTool]]
"""The tools of a blueprint as their programmer is told of them."""


@dataclass(frozen=True)
class TablePlan:
    """How a recipe asks for each part of a plan over tables, in their order."""

    require: AddPart
    design: AddPart
    fill: AddPart
    offer: AddPart
    decides: Prompt
    """The prompt that a blueprint's origin names."""


def load_rows() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "rows.md", RowsInput, RowsReply)


def load_code() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "code.md", CodeInput, ProgramReply)


def load_trials() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "trials.md", TrialsInput, TrialsReply)


async def plan_tables(
    parts: TablePlan, seed: Seed, repair: Repair, models: ModelSession, before: Blueprint | None = None
) -> Blueprint:  # fmt: skip
    """Part by part; of one that failed, the part at fault and those that rest on it."""
    blamed = _blame(repair) if before else 0
    told = repair.render()
    plan = before or _begin(seed)
    if blamed == 0:
        plan = await parts.require(plan, told, models)
    if blamed <= 1:
        plan = await parts.design(plan, told if blamed == 1 else "", models)
    if blamed <= 2:
        plan = await parts.fill(plan, told if blamed == 2 else "", models)
    if blamed != 2:
        plan = await parts.offer(plan, told if blamed == 3 else "", models)
    return Blueprint.model_validate(
        plan.model_dump() | {"id": "", "origin": describe_origin(seed, models, parts.decides)}
    )


def _begin(seed: Seed) -> Blueprint:
    """A blueprint before anything is known."""
    nobody = Origin(recipe="", seed=seed.id, provider="", model="", prompt="", prompt_hash="")
    empty: dict[str, Json] = {
        "name": "",
        "summary": "",
        "collections": {},
        "rules": [],
        "tools": [],
        "policy_document": "",
    }
    return Blueprint.model_validate(
        {"kind": "sql", "brief": seed.brief, "licence": seed.licence, "origin": nobody} | empty
    )


def _blame(repair: Repair) -> int:
    """The first part that a complaint speaks of; requirements and rules where none speaks of a
    part."""
    parts, lines = (
        (SCHEMA_FAULT, ROWS_FAULT, TOOLS_FAULT),
        [complaint.words for complaint in repair.complaints],
    )
    named = [
        place for place, part in enumerate(parts, 1) if any(line.startswith(part) for line in lines)
    ]
    if not named and any(line.startswith(("The tool", "No tool")) for line in lines):
        return 3
    return min(named, default=0)


async def ask_requirements(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Name, requirements, rules and policy."""
    reply = await models.ask(
        prompt, RequirementsInput(brief=plan.brief), RequirementsReply, complaint=complaint
    )
    told = reply.model_dump()
    return plan.model_copy(update=told | {"policy_document": told.pop("policy")})


async def ask_schema(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Tables that bear the requirements."""
    known = plan.model_dump(include={"name", "summary", "requirements", "rules"})
    reply = await models.ask(
        prompt, SchemaInput(brief=plan.brief, **known), SchemaReply, complaint=complaint
    )
    return add_schema(plan, reply)


def add_schema(plan: Blueprint, reply: SchemaReply) -> Blueprint:
    """The plan with these tables; without columns where the schema cannot be read, which its trial
    tells."""
    files = {SCHEMA: reply.ddl}
    return plan.model_copy(
        update={"files": files, "policies": reply.policies, "collections": _list_columns(files)}
    )


def _list_columns(files: Mapping[str, str]) -> dict[str, list[str]]:
    try:
        return {
            table.name: [column.name for column in table.columns]
            for table in derive_tables(files, {})
        }
    except BuildError:
        return {}


async def ask_rows(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """First rows of every table."""
    known = plan.model_dump(include={"summary", "rules"})
    wanted = [*plan.requirements, *map(_describe_shared, plan.shared)]
    inputs = RowsInput(brief=plan.brief, ddl=plan.files[SCHEMA], requirements=wanted, **known)
    reply = await models.ask(prompt, inputs, RowsReply, complaint=complaint)
    return plan.model_copy(update={"rows": reply.rows})


def _describe_shared(one: SharedIdentity) -> str:
    """What rows of several servers have to keep to."""
    tables, fields = (
        " and ".join(one.tables.values()),
        f", with equal {', '.join(one.fields)}" if one.fields else "",
    )
    return (
        f"At least two of each {one.name} stand in {tables} under the same `{one.key}`{fields}; "
        "others stand in one of these tables alone."
    )


async def ask_code(
    prompt: Prompt,
    tell_tools: TellTools,
    blueprint: Blueprint,
    before: ProgramReply | None,
    repair: Repair,
    models: ModelSession,
) -> ProgramReply:
    """The program in one reply, however many tools."""
    known = blueprint.model_dump(include={"name", "summary", "rules"})
    rows = sample_rows(blueprint.rows)
    inputs = CodeInput(
        brief=blueprint.brief,
        **known,
        rows=rows,
        ddl=blueprint.files[SCHEMA],
        tools=tell_tools(blueprint),
    )
    return await models.ask(prompt, inputs, ProgramReply, complaint=repair.render(), stands=before)


def describe_typed(blueprint: Blueprint) -> list[CodedTool]:
    """The tools with their tables, and with their types where they are settled: the program is held
    to them. A tool that takes a list in
    its document takes what the document says: a description alone does not tell a list from one
    value."""
    return [_describe_tool(tool, blueprint) for tool in blueprint.tools]


def _describe_tool(tool: ToolPlan, blueprint: Blueprint) -> CodedTool:
    types: dict[str, Json] = {}
    outline = blueprint.brief.outline
    if signed := blueprint.signatures.get(tool.name):
        types = signed.model_dump()
    elif (
        documented := next((one for one in outline.tools if one.name == tool.name), None)
        if outline
        else None
    ):
        properties: dict[str, Json] = documented.inputs.get("properties", {})
        types = {"inputs": documented.inputs} if any(map(is_list, properties.values())) else {}
    return CodedTool.model_validate(
        tool.model_dump() | blueprint.touches[tool.name].model_dump() | types
    )


async def ask_trials(
    prompt: Prompt,
    environment: Environment,
    _before: TestsReply | None,
    repair: Repair,
    models: ModelSession,
    rows: Json = None,
) -> TestsReply:
    """Tests over the rows that the schema was tried with. Their author is not shown the program:
    who reads it tests what it does."""
    inputs = TrialsInput(
        brief=environment.brief,
        summary=environment.summary,
        rules=environment.rules,
        tools=environment.tools,
        source=environment.files[SCHEMA],
        rows=rows or {},
    )
    reply = await models.ask(prompt, inputs, TrialsReply, complaint=repair.render())
    return TestsReply(initial_state=rows or {}, tests=reply.tests)
