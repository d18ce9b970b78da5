"""What a debugger mended: red tests by tool, a verdict for each, and program and tests with nothing
replaced but what was blamed.

red tests ──by tool──► asked ──► verdicts ─┬─ tool:     its method is put in the place of the old one
                                           └─ instance: its test is put in the place of the old one
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envmill.recipes.drafting.assembly import assemble
from schemas.environment import Fault
from schemas.prompts import PlannedTest, ProgramReply, TestsReply
from schemas.tool_prompts import DebugReply, MatchedTest, MatchedTests, RedTest


@dataclass(frozen=True)
class Mended:
    """Both, with what was at fault replaced."""

    program: ProgramReply
    plan: TestsReply
    fault: Fault


def match_tests(tests: Sequence[MatchedTest]) -> MatchedTests:
    """As tests of an environment."""
    plain = [
        PlannedTest(
            name=one.name, call=one.call, expect=one.expect, reply=one.reply, after=one.after
        )
        for one in tests
    ]
    return MatchedTests(initial_state={}, tests=plain, instances=[dict(one.rows) for one in tests])


def take_test(plan: TestsReply, place: int) -> MatchedTest:
    """One of them, with its rows."""
    test = plan.tests[place]
    return MatchedTest.model_validate(
        test.model_dump(exclude={"setup"}) | {"rows": plan.begin(place)}
    )


def sort_by_tool(plan: TestsReply, red: Mapping[int, str]) -> dict[str, list[RedTest]]:
    """Tool → red tests of it; each is numbered by its place among all tests."""
    found = defaultdict[str, list[RedTest]](list)
    for place, seen in red.items():
        found[plan.tests[place].call.name].append(
            RedTest(number=place, test=take_test(plan, place), seen=seen)
        )
    return dict(found)


def mend(
    program: ProgramReply, plan: TestsReply, replies: Sequence[tuple[Sequence[RedTest], DebugReply]]
) -> Mended:
    """A verdict on a test that nobody asked about is passed over; a test without one stays red."""
    tests, methods, blamed = (
        [take_test(plan, place) for place in range(len(plan.tests))],
        list[str](),
        set[str](),
    )
    for asked, reply in replies:
        numbers = {one.number for one in asked}
        given = [one for one in reply.verdicts if one.number in numbers]
        blamed |= {one.blame for one in given}
        methods += [reply.source] if any(one.blame == "tool" for one in given) else []
        for one in given:
            if one.blame == "instance" and one.mended is not None:
                named = {"name": one.mended.name or tests[one.number].name}
                tests[one.number] = one.mended.model_copy(update=named)
    source = assemble(program.source, program.class_name, methods)
    fault: Fault = (
        "code" if blamed == {"tool"} else "state" if blamed == {"instance"} else "unknown"
    )
    return Mended(program.model_copy(update={"source": source}), match_tests(tests), fault)
