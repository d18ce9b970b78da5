"""Tests under their tools and calls as lists: read, written, named, and refused in words that name
the test."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.environment import Call, ResultUse
from schemas.prompts import PlannedTest, ScenarioReply, TestsReply
from schemas.table_prompts import TrialsReply
from schemas.tool_prompts import CasesReply

SHORT: dict[str, Any] = {
    "lend_tool": [
        {
            "accepts": {"tool_id": "tool_1"},
            "reply": {"status": "out"},
            "after": {"loans": {"*": {"tool_id": "tool_1"}}},
        },
        {
            "name": "lent twice",
            "setup": [["lend_tool", {"tool_id": "tool_1"}], ["list_tools"]],
            "refuses": {"tool_id": "tool_1"},
        },
        {"refuses": {"tool_id": "tool_2"}},
    ],
    "list_tools": [{"accepts": {}, "reply": []}],
}
LONG: list[dict[str, Any]] = [
    {
        "name": "lend_tool 1",
        "call": {"name": "lend_tool", "arguments": {"tool_id": "tool_1"}},
        "reply": {"status": "out"},
        "after": {"loans": {"*": {"tool_id": "tool_1"}}},
    },
    {
        "name": "lent twice",
        "setup": [
            {"name": "lend_tool", "arguments": {"tool_id": "tool_1"}},
            {"name": "list_tools", "arguments": {}},
        ],
        "call": {"name": "lend_tool", "arguments": {"tool_id": "tool_1"}},
        "expect": "rejection",
    },
    {
        "name": "lend_tool 3",
        "call": {"name": "lend_tool", "arguments": {"tool_id": "tool_2"}},
        "expect": "rejection",
    },
    {"name": "list_tools 1", "call": {"name": "list_tools"}, "expect": "success", "reply": []},
]


def test_both_forms_say_the_same() -> None:
    short, long = (TrialsReply.model_validate({"tests": tests}) for tests in (SHORT, LONG))
    assert short == long
    assert short.tests == [PlannedTest.model_validate(test) for test in LONG]


def test_what_is_written_is_the_short_form() -> None:
    written = TrialsReply.model_validate({"tests": LONG}).model_dump(mode="json")
    assert written == {"tests": SHORT}
    assert TrialsReply.model_validate(written) == TrialsReply.model_validate({"tests": LONG})


def test_a_test_without_a_name_gets_one_of_its_own() -> None:
    tests = [
        PlannedTest(name=name, call=Call(name=tool))
        for name, tool in (("", "b"), ("", "a"), ("of its own", "b"), ("", "b"))
    ]
    reply = TestsReply(initial_state={}, tests=tests)
    assert [test.name for test in reply.tests] == ["b 1", "a 1", "of its own", "b 3"]


def test_expectations_that_are_empty_or_false_stay() -> None:
    """Null is no expectation; an empty list, nought and false are."""
    tests = [{"accepts": {}, "reply": reply} for reply in ([], 0, False, "", None)]
    written = TrialsReply.model_validate({"tests": {"a": tests}}).model_dump(mode="json")["tests"][
        "a"
    ]
    assert [test.get("reply", "none") for test in written] == [[], 0, False, "", "none"]


def test_who_calls_stays() -> None:
    written = {"tests": {"pay": [{"setup": [["ask", {}, "user"]], "accepts": {}, "actor": "user"}]}}
    reply = TrialsReply.model_validate(written)
    assert (reply.tests[0].call.actor, reply.tests[0].setup[0].actor) == ("user", "user")
    assert reply.model_dump(mode="json") == written


def test_a_case_brings_its_rows() -> None:
    """With a header or by key."""
    headed = {"loans": {}, "tools": {"columns": ["id", "status"], "rows": [["tool_1", "free"]]}}
    keyed = {"loans": {}, "tools": {"tool_1": {"id": "tool_1", "status": "free"}}}
    replies = [
        CasesReply.model_validate(
            {"tests": {"lend": [{"rows": rows, "accepts": {"id": "tool_1"}}]}}
        )
        for rows in (headed, keyed)
    ]
    assert replies[0] == replies[1]
    assert replies[0].tests[0].rows == keyed


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ({"lend": [{"accepts": {}}, {"accepts": {}, "refuses": {}}]}, "test 2 of lend needs"),
        (
            {"lend": [{"reply": 1}]},
            "test 1 of lend needs the arguments of its call, under `accepts` or under `refuses`",
        ),
        (
            {"lend": [{"accepts": {}, "expect": "rejection"}]},
            "test 1 of lend needs .*; there is no expect",
        ),
        ({"lend": ["accepts"]}, "test 1 of lend needs"),
        ({"lend": {"accepts": {}}}, "the tests of lend are no list"),
        ({"lend": [{"refuses": ["tool_1"]}]}, "test 1 of lend, refuses: "),
        ({"lend": [{"accepts": {}, "after": {"tools": []}}]}, "test 1 of lend, after.tools: "),
        (
            {"lend": [{"accepts": {}, "setup": [["a", {}, "user", 1]]}]},
            "test 1 of lend, setup.0: .*a call is a list",
        ),
        ({"lend": [{"accepts": {}, "setup": [[]]}]}, "test 1 of lend, setup.0: .*a call is a list"),
        (
            {"lend": [{"accepts": {}, "setup": [[{"tool_id": "a"}, "lend"]]}]},
            "test 1 of lend, setup.0",
        ),
        ({"lend": [{"accepts": {}, "rows": {}}]}, "test 1 of lend, rows: Extra"),
    ],
)
def test_what_is_no_test_is_told_by_its_place(tests: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TrialsReply.model_validate({"tests": tests})


def test_calls_of_a_path_are_lists_and_keep_their_references() -> None:
    """A call that others refer to has fields that the list has no place for."""
    path = [["make", {"name": "x"}], ["use", {"id": {"from": 1, "path": "/id"}}], ["list"]]
    given = {
        "initial_state": {},
        "request": "",
        "oracle": path,
        "avoid": [["drop"], ["use", {"id": "x"}], ["pay", {}, "user"]],
    }
    reply = ScenarioReply.model_validate(given)
    assert [call.name for call in reply.oracle] == ["make", "use", "list"]
    assert reply.oracle[1].arguments == {"id": {"from": 1, "path": "/id"}}
    assert reply.avoid[2].actor == "user"
    written = reply.model_dump(mode="json")
    assert (written["oracle"], written["avoid"]) == (path, given["avoid"])
    named = [{"name": call[0], "arguments": dict(*call[1:])} for call in path]
    assert ScenarioReply.model_validate(given | {"oracle": named}).oracle == reply.oracle
    linked = [
        reply.oracle[0].model_copy(
            update={"label": 1, "uses": [ResultUse(into="/id", call=1, path="/id", was="x")]}
        )
    ]
    again = ScenarioReply.model_validate(
        reply.model_copy(update={"oracle": linked}).model_dump(mode="json")
    )
    assert again.oracle == linked
