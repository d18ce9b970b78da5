"""W3: programs that do not do what their tests say, tests that say too little, and near misses."""

from typing import Any

import pytest

from envmill.gates import w3
from envmill.gates.base import EnvironmentCase, Finding, GateContext
from envmill.gates.exploring.expectations import find_unmet
from envmill.gates.w3 import find_untested, play_tests
from envmill.sandbox import Sandbox
from schemas.environment import Call, Environment, Test
from tests.gates.specimens import ground, make_test, vary
from tests.gates.specimens.studio import PROGRAM as STUDIO
from tests.specimens import PROGRAM, make_environment, make_tests

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def run_tests(environment: Environment, tests: list[Test], sandbox: Sandbox) -> Finding:
    return await w3.check(EnvironmentCase(environment, tuple(tests)), GateContext(sandbox))


def alter(test: Test, **changes: Any) -> Test:
    """Another test, with an id of its own."""
    return Test.model_validate(test.model_dump() | {"id": ""} | changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('if not self.tools[tool_id]["free"]:', "if False:"),
        ('raise Rejection("unknown", "No such tool or member.")', 'raise KeyError("unknown")'),
        ("if tool_id not in self.tools or member_id not in self.members:", "while True:"),
        ('return {"loan": key}', "return {key}"),
        ("return dict(self.members[member_id])", "return self.members[member_id].name"),
    ],
)
async def test_drops_a_program_that_does_not_do_what_its_tests_say(
    sandbox: Sandbox, old: str, new: str
) -> None:
    assert old in PROGRAM
    environment = make_environment(PROGRAM.replace(old, new))
    finding = await run_tests(environment, make_tests(environment), sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", "test_failed")


async def test_keeps_the_shed_and_counts_its_tests(sandbox: Sandbox) -> None:
    shed = make_environment()
    finding = await run_tests(shed, make_tests(shed), sandbox)
    assert (finding.outcome, finding.evidence) == ("kept", {"tests": 9})


async def test_drops_too_few_tests_and_tests_that_never_expect_a_rejection(
    sandbox: Sandbox,
) -> None:
    shed = make_environment()
    tests = make_tests(shed)
    assert (await run_tests(shed, tests[1:], sandbox)).reason == "too_few_tests"
    fearless = [test for test in tests if test.expect == "success" or test.call.name != "lend"]
    last = fearless[-1]
    again = [alter(last, setup=[last.call] * times) for times in (1, 2)]
    assert "rejection" in (await run_tests(shed, [*fearless, *again], sandbox)).detail


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "integer"}, False),
        ({"type": "boolean"}, False),
        ({"type": "string", "enum": ["free", "out"]}, False),
        ({"type": "integer", "minimum": 1}, True),
        ({"type": "string"}, True),
        ({"type": "array", "items": {"type": "string"}}, True),
    ],
)
async def test_a_rejection_is_wanted_where_a_convention_can_refuse(
    schema: dict[str, Any], wanted: bool
) -> None:
    """A year without a range is refused by no rule, so an author could only invent one."""
    shed = make_environment()
    takes = {
        "type": "object",
        "properties": {"key": schema},
        "required": ["key"],
        "additionalProperties": False,
    }
    shed.tools[:] = [
        tool.model_copy(update={"parameters": takes}) if tool.name == "lend" else tool
        for tool in shed.tools
    ]
    tests = [
        test for test in make_tests(shed) if test.expect == "success" or test.call.name != "lend"
    ]
    said = [each for each in find_untested(shed, tests) if "rejection" in each]
    assert said == (["lend takes key and has no test that expects a rejection"] if wanted else [])


async def test_a_test_under_other_names_is_one(sandbox: Sandbox) -> None:
    shed = make_environment()
    others = [test for test in make_tests(shed) if test.call.name != "list_tools"]
    (first, *_) = [test for test in make_tests(shed) if test.call.name == "list_tools"]
    twins = [first.model_copy(update={"name": f"{first.name} {number}"}) for number in range(3)]
    assert (await run_tests(shed, [*others, *twins], sandbox)).detail.startswith(
        "list_tools has 1 test"
    )


async def test_names_tests_that_call_what_is_not_there(sandbox: Sandbox) -> None:
    shed = make_environment()
    first, *tests = make_tests(shed)
    strange = first.model_copy(
        update={"id": "", "call": first.call.model_copy(update={"name": "lend_now"})}
    )
    finding = await run_tests(shed, [strange, *tests], sandbox)
    assert (finding.reason, "lend_now" in finding.detail) == ("unknown_tool", True)


async def test_says_where_a_rejection_has_left_a_mark(sandbox: Sandbox) -> None:
    lent = 'if not self.tools[tool_id]["free"]:'
    environment = make_environment(
        PROGRAM.replace(lent, f'self.tools[tool_id]["free"] = False\n        {lent}')
    )
    finding = await run_tests(environment, make_tests(environment), sandbox)
    assert finding.reason == "test_failed"
    assert "and the state is another one after that" in finding.detail


async def test_wants_a_rule_of_the_programs_own_to_refuse(sandbox: Sandbox) -> None:
    lawless = PROGRAM.replace('if not self.tools[tool_id]["free"]:', "if False:").replace(
        "tool_id not in self.tools or", "False and"
    )
    environment = make_environment(lawless)
    typed = [
        test
        for test in make_tests(environment)
        if test.expect == "success" or test.call.name != "lend"
    ]
    lend = next(test for test in typed if test.call.name == "lend")
    mistyped = [
        Call(name="lend", arguments={"tool_id": number, "member_id": "M1"}) for number in (7, 8)
    ]
    finding = await run_tests(
        environment,
        [*typed, *(alter(lend, call=call, expect="rejection") for call in mistyped)],
        sandbox,
    )
    assert finding.reason == "no_rule_tested", finding


async def test_a_program_may_call_a_thing_unknown_as_the_interface_does(sandbox: Sandbox) -> None:
    """A real author's tool that unlocks other tools says `unknown_tool` of a tool with no lock."""
    worded = PROGRAM.replace('Rejection("unknown"', 'Rejection("unknown_tool"')
    assert worded != PROGRAM
    environment = make_environment(
        worded.replace('if not self.tools[tool_id]["free"]:', "if False:")
    )
    tests = [test for test in make_tests(environment) if "free" not in test.name]
    played = await play_tests(environment, tests, sandbox)
    refused = [seen[-1].code for _, seen in played if seen[-1].outcome == "rejection"]
    assert "unknown_tool" in refused
    assert w3.find_unruled(environment, played) == []


async def test_without_tests_it_is_not_measured(sandbox: Sandbox) -> None:
    finding = await run_tests(make_environment(), [], sandbox)
    assert (finding.outcome, finding.reason) == ("not_measured", "no_tests")


@pytest.mark.parametrize(
    "built",
    [
        ground(),
        vary(("such as Tuesday", "such as Friday")),
        vary(('raise Rejection("class_full"', 'raise Rejection("no_seats"')),
    ],
)
async def test_keeps_a_studio_that_refuses_in_other_words(
    sandbox: Sandbox, built: EnvironmentCase
) -> None:
    assert (await w3.check(built, GateContext(sandbox))).outcome == "kept"


async def test_a_test_that_expects_values_finds_what_its_end_does_not_show(
    sandbox: Sandbox,
) -> None:
    """A forgotten effect and a number that is off by one end in success all the same."""
    call = Call(name="book_seats", arguments={"member_id": "M2", "class_id": "C1", "seats": 2})
    after = {
        "classes": {"C1": {"free": 2}},
        "members": {"M2": {"balance": 20}},
        "bookings": {"*": {"member_id": "M2", "seats": 2}, "B9": None},
    }
    swaps = {
        "": [],
        "after/classes/C1/free: expected 2, saw 4": [
            ('        course["free"] -= seats', "        pass")
        ],
        "after/members/M2/balance: expected 20, saw 19": [
            ("price = seats * course", "price = 1 + seats * course")
        ],
        'reply/seats: expected 2, saw "2"': [('"seats": seats,', '"seats": str(seats),')],
        "after/bookings/*: expected a row with": [
            ('        self.bookings[booking["id"]] = booking', "        pass")
        ],
    }
    assert sum(swap[0] in STUDIO for found in swaps.values() for swap in found) == 4
    for said, found in swaps.items():
        built = vary(*found)
        first = make_test(built.environment, "book_seats", call.arguments, "success")
        test = alter(first, reply={"seats": 2, "paid": 40 if "19" not in said else 41}, after=after)
        finding = await w3.check(
            EnvironmentCase(built.environment, (*built.tests, test)), GateContext(sandbox)
        )
        seen = (
            [failure["seen"] for failure in finding.evidence]
            if finding.outcome == "dropped"
            else []
        )
        assert any(said in one for one in seen) is bool(said), (said, seen)
        alone = await play_tests(built.environment, [test], sandbox)
        assert said in w3.judge_test(*alone[0])
        assert bool(w3.judge_test(*alone[0])) is bool(said)
    assert alter(first, reply=None, after={}).id == first.id


async def test_expected_parts_are_held_against_what_is_there() -> None:
    test = make_test(ground().environment, "list_classes", {}, "success")
    state = {"members": {"M1": {"balance": 5, "on": True}}, "loans": [{"id": "L1", "days": 3}]}
    expected = {
        "kept": (
            [{"name": "Wheel"}],
            {"members": {"M1": {"balance": 5.0}}, "loans": {"L1": {"days": 3}, "L2": None}},
            [],
        ),
        "entry": (
            [{"name": "Glaze"}],
            {},
            ['reply/0: expected an entry with {"name":"Glaze"}, and none of 1 has that'],
        ),
        "empty": ([], {}, ["reply: expected nothing, and saw 1 entries"]),
        "truth": (
            None,
            {"members": {"M1": {"on": 1}}},
            ["after/members/M1/on: expected 1, saw true"],
        ),
        "there": (None, {"members": {"M1": None, "*": None}}, ["no such row"]),
        "gone": (
            None,
            {"members": {"M2": {}}},
            ["after/members/M2: expected a row, and there is none"],
        ),
        "value": (
            None,
            {"members": {"M1": {"name": "Ada"}}},
            ['after/members/M1/name: expected "Ada", and there is no such value'],
        ),
    }
    for reply, after, said in expected.values():
        unmet = find_unmet(
            alter(test, reply=reply, after=after), [{"name": "Wheel", "free": 4}], state
        )
        assert len(unmet) == len(said)
        assert all(part in one for part, one in zip(said, unmet, strict=True))


async def test_all_that_replies_lack_is_told_once_for_a_tool(sandbox: Sandbox) -> None:
    studio = ground()
    row = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "free": {"type": "string"}},
        "required": ["id", "teacher", "room"],
    }
    outputs = {
        "list_classes": {"type": "array", "items": row},
        "get_booking": {"type": "object", "required": ["nobody"], "properties": {}},
    }
    tools = [
        tool.model_copy(update={"outputs": outputs.get(tool.name, {})})
        for tool in studio.environment.tools
    ]
    environment = studio.environment.model_copy(update={"tools": tools})
    finding = await w3.check(EnvironmentCase(environment, studio.tests), GateContext(sandbox))
    assert finding.reason == "untyped_reply"
    classes, booking = sorted(finding.evidence, reverse=True)
    assert all(
        one in classes
        for one in ("[] lacks the required 'teacher'", "'room'", "[].free must be string")
    )
    assert "the reply lacks the required 'nobody'" in booking


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        ({"type": "boolean"}, False),
        ({"type": "string", "enum": ["on", "off"]}, False),
        ({"type": "integer"}, False),
        ({"type": "string"}, True),
        ({"type": "integer", "minimum": 1, "maximum": 9}, True),
    ],
)
async def test_a_switch_may_have_no_rule(schema: dict[str, Any], asked: bool) -> None:
    """An author who was asked for a refused test of `switch_radio(on)` made a rule up."""
    environment = make_environment()
    parameters = {"type": "object", "properties": {"on": schema}, "required": ["on"]}
    lend = next(tool for tool in environment.tools if tool.effect == "change")
    switch = lend.model_copy(update={"name": "switch_radio", "parameters": parameters})
    switched = environment.model_copy(update={"tools": [switch]})
    assert bool(w3.find_unruled(switched, [])) is asked
