"""Tables derived from what tools promise: the same as somebody who knows the domain writes, and
faults where tools disagree."""

from dataclasses import replace

import pytest

from envmill.kinds.authoring.derivation import derive_database, find_promise_faults
from envmill.kinds.sql import derive_tables
from envmill.kinds.sql.database import ROWS_FAULT, find_database_faults
from envmill.recipes.drafting.themes import read_themes
from envmill.runtime.program import SCHEMA
from envmill.sandbox import Sandbox
from offline.compose import compose_domain
from offline.database import list_policies, list_touches, write_schema
from offline.promising import list_promises
from schemas.base import Json
from schemas.database import Mention, Policy, Promise, Touch
from schemas.environment import Blueprint, ToolPlan
from schemas.origin import Origin
from schemas.seed import Brief
from tests.soak import count

ID = Mention(of="tools.id", sort="key")
NAME = Mention(of="tools.name", sort="text")
NOTE = Mention(of="loans.note", sort="prose")
FEE = Mention(of="loans.fee", sort="decimal")
TOOL = Mention(of="loans.tool_id", sort="key", refers="tools")
FIND = Promise(takes={"query": NAME}, looks_at=[ID, NAME])
LIST = Promise(takes={"tool_id": TOOL}, looks_at=[TOOL, NOTE, FEE])
LEND = Promise(takes={"tool_id": ID}, sets=[TOOL, NOTE, FEE], makes=["loans"])
SHED = {"find_tools": FIND, "list_loans": LIST, "lend_tool": LEND}
Tables = dict[str, set[tuple[str, str, str, float, str]]]


def read(ddl: str, policies: dict[str, Policy | float]) -> Tables:
    found = derive_tables({SCHEMA: ddl}, policies)
    return {
        one.name: {
            (each.name, each.type, each.policy, each.tolerance, each.references)
            for each in one.columns
        }
        for one in found
    }


def test_tables_references_and_policies_follow_from_mentions() -> None:
    derived = derive_database(SHED)
    assert not list(find_promise_faults(SHED, list(SHED)))
    assert read(derived.ddl, derived.policies) == {
        "tools": {("id", "TEXT", "exempt", 0.0, ""), ("name", "TEXT", "hard", 0.0, "")},
        "loans": {
            ("id", "TEXT", "exempt", 0.0, ""),
            ("tool_id", "TEXT", "hard", 0.0, "tools.id"),
            ("note", "TEXT", "semantic", 0.0, ""),
            ("fee", "REAL", "tolerance", 0.005, ""),
        },
    }
    assert derived.touches["lend_tool"] == Touch(reads=["tools"], writes=["loans"])
    assert derived.touches["list_loans"] == Touch(reads=["loans"])


def test_a_key_that_refers_to_its_own_table_is_a_key() -> None:
    """A tool that makes rows speaks of their key without a word on what it refers to."""
    own = Mention(of="loans.id", sort="key", refers="loans")
    promises = SHED | {
        "lend_tool": LEND.model_copy(update={"looks_at": [own]}),
        "list_loans": LIST.model_copy(update={"looks_at": [own, NOTE, FEE]}),
    }
    assert not list(find_promise_faults(promises, list(SHED)))
    assert derive_database(promises).ddl == derive_database(SHED).ddl
    other = SHED | {
        "lend_tool": LEND.model_copy(
            update={"looks_at": [Mention(of="loans.id", sort="key", refers="tools")]}
        )
    }
    assert [
        fault for fault in find_promise_faults(other, list(SHED)) if "loans.id refers to" in fault
    ], "another table's key is no key of this one"


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (
            {
                "name_tool": Promise(
                    takes={"tool_id": ID}, looks_at=[Mention(of="tools.name", sort="whole")]
                )
            },
            "tools.name is text, name_tool",
        ),
        (
            {
                "list_loans": Promise(
                    takes={"tool_id": Mention(of="loans.tool_id", sort="key")}, looks_at=[NOTE, FEE]
                )
            },
            "refers to nothing",
        ),
        (
            {"lend_tool": Promise(sets=[TOOL, NOTE], makes=["loans"])},
            "makes a row of loans and does not set its fee",
        ),
        (
            {"list_loans": Promise(takes={"tool_id": TOOL}, looks_at=[NOTE])},
            "sets loans.fee, which no tool ever looks at",
        ),
        (
            {
                "find_tools": Promise(
                    takes={"query": Mention(of="name", sort="text")}, looks_at=[ID]
                )
            },
            "write `table.column`",
        ),
        ({"close_shed": Promise(looks_at=[ID])}, "close_shed is no tool"),
        ({"find_tools": Promise(looks_at=[ID])}, "nothing but the key is ever said"),
        (
            {
                "lend_tool": Promise(
                    sets=[Mention(of="loans.tool_id", sort="key", refers="things"), NOTE, FEE],
                    makes=["loans"],
                )
            },
            "things",
        ),
    ],
)
def test_what_no_database_could_keep_is_named_after_the_tool(
    spoilt: dict[str, Promise], said: str
) -> None:
    faults = list(find_promise_faults(SHED | spoilt, list(SHED)))
    assert any(said in fault for fault in faults), faults


def test_the_tables_of_a_known_domain_are_found_again() -> None:
    """Nothing of the schema reaches the derivation but what the tools say."""
    for theme, text in read_themes()[: count(12, 100)]:
        domain = replace(compose_domain(Brief(theme=theme, text=text, number=0), 7), kind="sql")
        promises = list_promises(domain)
        derived = derive_database(promises)
        assert not list(find_promise_faults(promises, list(domain.operations)))
        assert read(derived.ddl, derived.policies) == read(
            write_schema(domain), list_policies(domain)
        ), theme
        assert derived.touches == list_touches(domain)


KEPT = {
    "find_tools": Promise(
        looks_at=[
            ID,
            NAME.model_copy(update={"unique": True}),
            Mention(of="tools.status", sort="text", values=["free", "member's"]),
            Mention(of="tools.days", sort="whole", least=1),
            Mention(of="tools.next_id", sort="key", refers="tools", empty=True),
        ],
    )
}
ROW = {"id": "t1", "name": "Saw", "status": "free", "days": 1, "next_id": None}


@pytest.mark.parametrize(
    ("row", "taken"),
    [
        (ROW | {"id": "t2", "name": "Axe", "status": "member's", "next_id": "t1"}, True),
        (ROW | {"id": "t2"}, False),
        (ROW | {"id": "t2", "name": "Axe", "status": "lost"}, False),
        (ROW | {"id": "t2", "name": "Axe", "days": 0}, False),
        (ROW | {"id": "t2", "name": "Axe", "next_id": "t9"}, False),
        (ROW | {"id": "t2", "name": None}, False),
    ],
)
async def test_a_derived_database_keeps_what_its_tools_say(
    row: dict[str, Json], taken: bool, jail: Sandbox
) -> None:
    derived = derive_database(KEPT)
    plan = Blueprint(
        kind="sql",
        brief=Brief(theme="shed", text="", number=0),
        name="",
        summary="",
        collections={},
        rules=[],
        tools=[ToolPlan(name="find_tools", description="", effect="query")],
        policy_document="",
        files={SCHEMA: derived.ddl},
        policies=derived.policies,
        touches=derived.touches,
        promises=KEPT,
        rows={"tools": {"t1": ROW, "t2": row}},
        licence="",
        origin=Origin(recipe="scaleenv", seed="", provider="", model="", prompt="", prompt_hash=""),
    )
    faults = await find_database_faults(plan, jail)
    assert (not faults) is taken, faults
    assert all(fault.startswith(ROWS_FAULT) for fault in faults)
