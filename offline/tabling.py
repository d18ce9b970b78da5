"""Answers to the prompts of recipes over tables: the same domain model, told as requirements,
schema, rows, tools, code and trials."""

import re

from envmill.recipes.drafting.themes import read_themes
from offline.blueprint import write_blueprint
from offline.casing import judge_red, write_cases
from offline.columns import settle_state
from offline.database import list_policies, list_touches, write_schema
from offline.dice import make_dice
from offline.documents import compose_outline
from offline.domain import Domain
from offline.mining import GOOD
from offline.program import name_class, write_program
from offline.promising import list_promises
from offline.tests import try_brief, write_tests
from schemas.base import Contract, Json
from schemas.document_prompts import SelectedReply
from schemas.prompts import ProgramReply, ThemeReply
from schemas.table_prompts import (
    CodeInput,
    ErrorsInput,
    ErrorsReply,
    InterfaceInput,
    InterfaceReply,
    NamesInput,
    NamesReply,
    PlannedTool,
    RequirementsInput,
    RequirementsReply,
    RowsInput,
    RowsReply,
    SchemaInput,
    SchemaReply,
    TrialsInput,
    TrialsReply,
)
from schemas.tool_prompts import CasesInput, DebugInput, PromisedTool, ToolsetInput, ToolsetReply

PROMPTS = frozenset(
    (
        "requirements",
        "schema",
        "rows",
        "interface",
        "code",
        "trials",
        "toolset",
        "cases",
        "debug",
        "chain",
        "sketch",
        "state",
        "metadata",
        "topology",
        "dag",
        "grow",
        "natural",
        "errors",
    )
)
"""Prompts that speak of tables."""
_FIELD = re.compile(r"\{[\w.]*?(\w+)\}")


def speaks_of_tables(prompt: str, inputs: Json) -> bool:
    """Whether a prompt is asked for an environment over tables: its tools say which they touch."""
    tools: list[Json] = inputs.get("tools") or [inputs.get("tool") or {}]
    return prompt in PROMPTS or any(tool.get("reads") or tool.get("writes") for tool in tools)


def answer_names(inputs: Json, _domain: Domain, seed: int, sample: int) -> Contract:
    asked = NamesInput.model_validate(inputs)
    dice = make_dice("names", asked.round, sorted(asked.known), seed, sample)
    untold = [(theme, text) for theme, text in read_themes() if theme not in asked.known]
    # Where all that it knows is taken, it names the same places again, as models do.
    free = [(theme, text) for theme, text in untold if theme not in asked.taken] or untold
    return NamesReply(
        names=[
            _judge_place(theme, text)
            for theme, text in dice.sample(free, min(asked.wanted, len(free)))
        ]
    )


def _judge_place(theme: str, text: str) -> ThemeReply:
    return ThemeReply(
        reason=f"People who work there read and change records of {theme.replace('_', ' ')}.",
        stateful=True,
        specific=True,
        theme=theme,
        description=text,
        usefulness=GOOD,
        modelability=GOOD,
    )


def answer_requirements(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    RequirementsInput.model_validate(inputs)
    told = write_blueprint(domain).model_dump(include={"name", "summary", "rules", "policy"})
    return RequirementsReply(**told, requirements=list_requirements(domain))


def answer_schema(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    SchemaInput.model_validate(inputs)
    return SchemaReply.model_validate(
        {"ddl": write_schema(domain), "policies": list_policies(domain)}
    )


def answer_rows(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    world, _ = try_brief(RowsInput.model_validate(inputs).brief, seed)
    return RowsReply(rows=settle_state(domain, world.state))


def answer_interface(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    brief = InterfaceInput.model_validate(inputs).brief
    touches = list_touches(domain)
    tools = [
        PlannedTool(**tool.model_dump(), **touches[tool.name].model_dump())
        for tool in write_blueprint(domain).tools
    ]
    if brief.outline is None:
        return InterfaceReply(tools=tools)
    # Every tool that changes something returns the record as it stands then.
    found = {"change": "Returns the record.", "query": "Returns what is found."}
    told = [
        tool.model_copy(update={"description": f"{tool.description} {found[tool.effect]}"})
        for tool in tools
    ]
    return SelectedReply(tools=told, left_out=compose_outline(brief, seed).left_out)


def answer_toolset(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    ToolsetInput.model_validate(inputs)
    plan, promises = write_blueprint(domain), list_promises(domain)
    told = plan.model_dump(include={"name", "summary", "rules", "policy"})
    return ToolsetReply(
        **told,
        tools=[
            PromisedTool(**tool.model_dump(), **promises[tool.name].model_dump())
            for tool in plan.tools
        ],
    )


def answer_errors(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    """It counts, and knows no causes."""
    asked = ErrorsInput.model_validate(inputs)
    told = [text for version in asked.versions for text in version]
    named = [tool.name for tool in asked.tools if any(tool.name in text for text in told)]
    return ErrorsReply(
        summary=f"{len(told)} complaints about {len(asked.versions)} versions; they name "
        f"{', '.join(named) or 'no tool'}."
    )


def answer_cases(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    return write_cases(CasesInput.model_validate(inputs), domain, seed)


def answer_debug(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    return judge_red(DebugInput.model_validate(inputs), domain, seed)


def answer_code(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    CodeInput.model_validate(inputs)
    return ProgramReply(source=write_program(domain), class_name=name_class(domain))


def answer_trials(inputs: Json, _domain: Domain, seed: int, _sample: int) -> Contract:
    return TrialsReply(tests=write_tests(TrialsInput.model_validate(inputs).brief, seed).tests)


def list_requirements(domain: Domain) -> list[str]:
    """What people ask for, with the kind of thing in the place of its name."""
    asked = [
        _FIELD.sub(lambda found: f"some {found[1].replace('_', ' ')}", each.asks[0])
        for each in domain.changes
        if each.asks
    ]
    looked = [each.does for each in domain.operations.values() if each.effect == "query"]
    return [f"{text[0].upper()}{text[1:].rstrip('.')}." for text in (*asked, *looked)]
