"""The world of the examples: its state, and a call at every edge of its rules, whoever wrote the
program."""

from typing import Any, cast

from schemas.environment import Call, Environment
from schemas.prompts import PlannedTest, TesterInput
from tests.recipes.reading import fill

STATE: dict[str, Any] = cast(TesterInput, fill("tester")[2]).state
FREE, OUT, MAYA, TWO_OUT, THREE_OUT, SUSPENDED = (
    "tool_1a06",
    "tool_4d19",
    "mem_3c91",
    "mem_70d2",
    "mem_b5e8",
    "mem_e41f",
)


def lend(tool: str, member: str) -> Call:
    return Call(name="lend_tool", arguments={"tool_id": tool, "member_id": member})


def give_back(loan: str) -> Call:
    return Call(name="return_tool", arguments={"loan_id": loan})


def loans_of(member: str) -> Call:
    return Call(name="list_loans", arguments={"member_id": member})


EDGES: dict[str, tuple[list[Call], Call, bool]] = {
    "a free tool to somebody without any": ([], lend(FREE, MAYA), True),
    "the third tool": ([], lend(FREE, TWO_OUT), True),
    "the fourth tool": ([], lend(FREE, THREE_OUT), False),
    "the fourth after two were lent and one came back": (
        [lend(FREE, TWO_OUT), give_back("loan_27aa"), lend("tool_f05b", TWO_OUT)], lend("tool_2b77", TWO_OUT), False),
    "a tool that is out": ([], lend(OUT, MAYA), False),
    "a tool that is back": ([give_back("loan_27aa")], lend(OUT, MAYA), True),
    "to somebody suspended": ([], lend(FREE, SUSPENDED), False),
    "no such tool": ([], lend("tool_0000", MAYA), False),
    "no such member": ([], lend(FREE, "mem_0000"), False),
    "back once": ([], give_back("loan_6c13"), True),
    "back twice": ([give_back("loan_6c13")], give_back("loan_6c13"), False),
    "back long ago": ([], give_back("loan_0e5d"), False),
    "no such loan": ([], give_back("loan_0000"), False),
    "loans of somebody": ([], loans_of(THREE_OUT), True),
    "loans of nobody": ([], loans_of("mem_0000"), False),
    "all tools": ([], Call(name="list_tools"), True),
}  # fmt: skip


def search_tests(environment: Environment) -> list[PlannedTest]:
    """Searches by whatever parameter the writer gave them."""
    (find,) = (tool for tool in environment.tools if tool.name == "find_members")
    required, offered = find.parameters["required"], list(find.parameters["properties"])
    texts = [row["name"] for row in STATE["members"].values()][:3]
    found = [
        PlannedTest(
            name=f"finds {text}",
            call=Call(name=find.name, arguments={offered[0]: text}),
            expect="success",
        )
        for text in texts
    ]
    empty = (
        [
            PlannedTest(
                name="an empty text",
                call=Call(name=find.name, arguments={required[0]: ""}),
                expect="rejection",
            )
        ]
        if required
        else []
    )
    listed = Call(name="list_tools")
    again = [
        PlannedTest(name=f"again {call.name}", setup=setup, call=call, expect="success")
        for setup, call in (
            ([listed], listed),
            ([loans_of(MAYA)], listed),
            ([listed], loans_of(MAYA)),
        )
    ]
    return [*found, *empty, *again]
