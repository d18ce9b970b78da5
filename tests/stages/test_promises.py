"""Promises of tools, held against programs: what the plan requires and ensures, and programs that
leave it out."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from envmill.gates.base import EnvironmentCase
from envmill.kinds.authoring.promises import PromisedCall
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.promises import BROKEN, NOT_HELD, NOT_REFUSED, PromiseKeeper
from offline.promising import list_promises
from schemas.base import Json
from schemas.database import Column, Mention, Promise, Table
from schemas.environment import Call, Environment, Test
from schemas.statements import list_statements, read_statement
from tests.offline.questions import compose
from tests.soak import count
from tests.trust.tabled import Planted, make

RECIPE = RECIPES["scaleenv"](read_themes())
TABLES = [
    Table(
        name="loans",
        key=["id"],
        columns=[
            Column(name="id"),
            Column(name="tool_id", references="tools.id"),
            Column(name="status"),
        ],
    ),
    Table(name="tools", key=["id"], columns=[Column(name="id"), Column(name="status")]),
]
STATUS = Mention(of="tools.status", sort="text", values=["free", "out"])
RETURN = Promise(
    takes={"loan_id": Mention(of="loans.id", sort="key")},
    sets=[STATUS],
    requires=["tools.status is out"],
)
BEFORE: dict[str, Json] = {
    "loans": {"L1": {"id": "L1", "tool_id": "T1"}},
    "tools": {"T1": {"status": "out"}, "T2": {"status": "free"}},
}
CALL = PromisedCall(
    RETURN, Call(name="return_tool", arguments={"loan_id": "L1"}), BEFORE, BEFORE, TABLES
)


async def test_a_statement_is_about_the_rows_that_a_call_names_or_these_refer_to() -> None:
    out, free = (cast(Any, read_statement(f"tools.status is {value}")) for value in ("out", "free"))
    assert CALL.find_rows(out) == [("tools", "T1")]
    assert (CALL.holds(out, BEFORE), CALL.holds(free, BEFORE)) == (True, False)
    assert CALL.holds(cast(Any, read_statement("members.name is Ada")), BEFORE) is None
    spoilt = CALL.spoil(out, [])
    assert spoilt is not None
    assert spoilt["tools"] == {"T1": {"status": "free"}, "T2": {"status": "free"}}
    assert BEFORE["tools"]["T1"] == {"status": "out"}, "the state itself stays"


async def test_no_value_is_invented_for_a_column_of_which_nothing_is_known() -> None:
    plain = replace(CALL, promise=RETURN.model_copy(update={"sets": []}))
    out = cast(Any, read_statement("tools.status is out"))
    assert plain.spoil(out, []) is None
    assert plain.spoil(out, ["out", "lost"]) is not None
    unique = STATUS.model_copy(update={"unique": True})
    assert (
        replace(CALL, promise=RETURN.model_copy(update={"sets": [unique]})).spoil(out, []) is None
    )


async def build(theme: str, sandbox: Sandbox) -> tuple[EnvironmentCase, dict[str, Promise]]:
    built = await make("scaleenv", theme, 0, Planted(), sandbox)
    assert isinstance(built, EnvironmentCase), built
    return built, list_promises(replace(compose(theme, 0), kind="sql"))


async def hold(
    environment: Environment, tests: Sequence[Test], promises: dict[str, Promise], sandbox: Sandbox
) -> list[str]:
    check = await PromiseKeeper(promises).check(environment, tests, sandbox)
    return [f"{one.tool} {one.code}" for one in check.complaints]


def spoil(
    environment: Environment, promises: dict[str, Promise], dice: random.Random
) -> tuple[Environment, str] | None:
    """A program that leaves out a guard, or the change, of a status that its plan speaks of."""
    source = environment.files["program.py"]
    tools = [
        name
        for name, one in promises.items()
        if any("status is" in said for said in (*one.requires, *one.ensures))
    ]
    dice.shuffle(tools)
    for tool in tools:
        start = source.index(f"def {tool}(")
        end = source.find("\n    def ", start + 1)
        method = source[start : end if end > 0 else len(source)]
        guards = (
            re.findall(r'(if [^\n]*:\n)\s+raise Rejection\("\w+_not_', method)
            if list(list_statements(promises[tool].requires))
            else []
        )
        writes = [
            one
            for one in list_statements(promises[tool].ensures)
            if one.column == "status" and "SET status = " in method
        ]
        if guards and (dice.random() < 0.5 or not writes):
            broken, code = method.replace(guards[0], "if False:\n", 1), NOT_REFUSED
        elif writes:
            broken, code = method.replace("SET status = ", "SET status = status || ", 1), BROKEN
        else:
            continue
        files = {**environment.files, "program.py": source.replace(method, broken)}
        return Environment.model_validate(
            environment.model_dump() | {"id": "", "files": files}
        ), f"{tool} {code}"
    return None


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
async def test_programs_that_break_their_plan_are_caught_and_honest_ones_kept(
    jail: Sandbox,
) -> None:
    """Of 60 programs that leave out a guard or a change at least 57 are caught; no honest one is
    complained about."""
    dice, tried, caught, honest, blamed = random.Random(3), 0, 0, 0, list[str]()
    missed = list[str]()
    for theme in [name for name, _ in read_themes()][: count(3, 41)]:
        built, promises = await build(theme, jail)
        honest += 1
        blamed += [
            f"{theme} {one}" for one in await hold(built.environment, built.tests, promises, jail)
        ]
        for _ in range(2):
            if (broken := spoil(built.environment, promises, dice)) is None:
                continue
            tried += 1
            found = await hold(broken[0], built.tests, promises, jail)
            caught += bool(found)
            missed += [] if found else [f"{theme} {broken[1]}"]
    assert blamed == []
    assert honest >= count(3, 41)
    assert tried >= count(4, 60)
    assert caught >= 57 * tried // 60, missed


async def test_a_broken_promise_is_told_once_and_stays_in_the_ledger(jail: Sandbox) -> None:
    built, promises = await build("tool_lending", jail)
    keeper = PromiseKeeper(
        promises
        | {
            "suspend_member": promises["suspend_member"].model_copy(
                update={"ensures": ["members.status is active"]}
            )
        }
    )
    first = await keeper.check(built.environment, built.tests, jail)
    again = await keeper.check(built.environment, built.tests, jail)
    assert [(one.tool, one.code) for one in first.new] == [("suspend_member", BROKEN)]
    assert "members.status is active" in first.new[0].render()
    assert again.new == ()
    assert [one.list_findings()[0].reason for one in (first, again)] == [BROKEN, BROKEN]
    assert first.list_findings()[0].outcome == "not_applicable"


async def test_a_call_that_is_accepted_before_what_it_requires_is_told(jail: Sandbox) -> None:
    built, promises = await build("tool_lending", jail)
    wrong = promises | {
        "suspend_member": promises["suspend_member"].model_copy(
            update={"requires": ["members.status is suspended"]}
        )
    }
    assert await hold(built.environment, built.tests, wrong, jail) == [f"suspend_member {NOT_HELD}"]
    prose = {
        name: one.model_copy(update={"requires": ["It is open"], "ensures": []})
        for name, one in promises.items()
    }
    check = await PromiseKeeper(prose).check(built.environment, built.tests, jail)
    assert check.list_findings()[0].outcome == "kept"
    assert check.told == {"statements": len(prose), "compared": 0, "prose": len(prose)}
