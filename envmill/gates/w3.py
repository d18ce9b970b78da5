"""W3: every stored test ends as it expects: in success or an anticipated rejection, never in an
unexpected failure."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from envmill.gates.base import EnvironmentCase, Finding, GateContext, drop, keep, skip
from envmill.gates.exploring.expectations import find_unmet, looks_after
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.stored_tests import StoredTestReplay, replay_stored_tests, show_end
from envmill.kinds.start import start_test
from envmill.runtime.schema import find_fault
from envmill.sandbox import Invoke, Look, Observation, Reset, Sandbox
from envmill.sandbox.batches import play_plans
from envmill.toolgraph.chain_player import read_reply
from schemas.base import Json, is_array, is_object
from schemas.environment import Environment, Test, Tool
from schemas.ledger import ReasonClass

GATE = "W3"
CODES: Mapping[str, ReasonClass] = {
    "unknown_tool": "proof",
    "too_few_tests": "proof",
    "test_failed": "proof",
    "untyped_reply": "proof",
    "no_rule_tested": "proof",
}

_PER_TOOL = 3
_LEFT_A_MARK = "and the state is another one after that"
_INTERFACE = ("invalid_arguments",)
"""Refusals that no program decides. A program may say `unknown_tool` of a tool that it unlocks: tests call only tools
that exist."""

Played = tuple[Test, list[Observation]]
Begin: TypeAlias = Callable[[Test], Reset]


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """All tests; too few of them is a fault of its own."""
    environment, tests = built.environment, built.tests
    if not tests:
        return skip(
            GATE, "no_tests", "the environment came without stored tests: write some, three a tool"
        )
    if strangers := find_strangers(environment, tests):
        return drop(
            GATE,
            "unknown_tool",
            f"{len(strangers)} of {len(tests)} tests: {strangers[0]}",
            strangers[:10],
        )
    if lacking := find_untested(environment, tests):
        return drop(GATE, "too_few_tests", lacking[0], lacking)
    played = await _play_drills(built, means)
    # One that tells what went wrong in it comes before those that only tell how they ended.
    failures = sorted(list_failures(played), key=lambda one: _LEFT_A_MARK not in one["seen"])
    if not failures:
        if untyped := find_untyped(environment, played):
            return drop(GATE, "untyped_reply", "; ".join(untyped[:5]), untyped)
        unruled = find_unruled(environment, played)
        return (
            drop(GATE, "no_rule_tested", unruled[0], unruled)
            if unruled
            else keep(GATE, {"tests": len(tests)})
        )
    return drop(
        GATE,
        "test_failed",
        f"{len(failures)} of {len(tests)} tests fail: {failures[0]['seen']}",
        failures[:10],
    )


async def _play_drills(built: EnvironmentCase, means: GateContext) -> list[Played]:
    """Plays the tests in few sessions. A test that another test of its session may have spoilt is
    played again on its own."""
    replayed = await replay_stored_tests(built, means)
    seen = {
        test.id: played for replay, observed in replayed for test, played in replay.share(observed)
    }
    doubtful = [test for replay, observed in replayed for test in _find_doubtful(replay, observed)]
    alone = await play_tests(built.environment, doubtful, means.sandbox)
    seen |= {test.id: played for test, played in alone}
    return [(test, seen[test.id]) for test in built.tests]


def _find_doubtful(replay: StoredTestReplay, observed: Sequence[Observation]) -> Iterator[Test]:
    """Tests that failed, and all tests after one that failed or changed the state."""
    spoilt, alone = False, len(replay.tests) == 1
    for test, seen in replay.share(observed):
        if not alone and (spoilt or judge_test(test, seen)):
            yield test
        spoilt = (
            spoilt or seen[-1].outcome == "failure" or seen[-1].state_hash != seen[0].state_hash
        )


def find_strangers(environment: Environment, tests: Sequence[Test]) -> list[str]:
    """Tests that call a tool that the environment does not have. Their tool name is the fault,
    whatever else is wrong with them."""
    known = {tool.name for tool in environment.tools}
    called = [(test.name, call.name) for test in tests for call in (*test.setup, test.call)]
    return [
        f"{name} calls {tool}, and there is no such tool"
        for name, tool in called
        if tool not in known
    ]


def find_untested(environment: Environment, tests: Sequence[Test]) -> list[str]:
    """Tools with fewer than three different tests, or with inputs that may be refused and no test
    of a refusal."""
    tried = Counter({test.id: test.call.name for test in tests}.values())
    rejected = {test.call.name for test in tests if test.expect == "rejection"}
    lacking = [
        f"{tool.name} has {tried[tool.name]} tests of {_PER_TOOL}"
        for tool in environment.tools
        if tried[tool.name] < _PER_TOOL
    ]
    return lacking + [
        f"{tool.name} takes {names[0]} and has no test that expects a rejection"
        for tool in environment.tools
        if (names := _list_refusable(tool)) and tool.name not in rejected
    ]


def _list_refusable(tool: Tool) -> list[str]:
    """Required inputs that a convention may refuse: ids and texts, lists of them, numbers with a
    range. No convention refuses a year, so no test can expect that."""
    given = {
        name: tool.parameters["properties"].get(name, {})
        for name in tool.parameters.get("required", ())
    }
    return [
        name
        for name, schema in given.items()
        if "enum" not in schema
        and (schema.get("type") in ("string", "array") or {"minimum", "maximum"} & set(schema))
    ]


def find_unruled(environment: Environment, played: Sequence[Played]) -> list[str]:
    """Changes for which no test shows a refusal by one of their own rules. A wrong type does not
    count, because it is refused before the program runs. A switch, or an input from a fixed set,
    may have no rule."""
    ruled = {
        test.call.name
        for test, seen in played
        if seen[-1].outcome == "rejection" and seen[-1].code not in _INTERFACE
    }
    changes = [
        tool for tool in environment.tools if tool.effect == "change" and _list_refusable(tool)
    ]
    return [
        f"{tool.name} changes state, and no test sees one of its rules refuse"
        for tool in changes
        if tool.name not in ruled
    ]


def find_idle(environment: Environment, played: Sequence[Played]) -> list[str]:
    """Changes that no test sees change anything."""
    moved = {
        test.call.name
        for test, seen in played
        if seen[-1].outcome == "ok" and seen[-1].state_hash != seen[-2].state_hash
    }
    return [
        f"{tool.name} is a change, and no test that accepts it sees it change anything: let one "
        "begin where it does"
        for tool in environment.tools
        if tool.effect == "change" and tool.name not in moved
    ]


def find_untyped(environment: Environment, played: Sequence[Played]) -> list[str]:
    """Tools whose successful replies do not match their declared type: one line for each tool, with
    every fault in its replies."""
    amiss = {tool.name: dict[str, str]() for tool in environment.tools if tool.outputs}
    types = {tool.name: tool.outputs for tool in environment.tools if tool.outputs}
    for test, seen in played:
        if test.call.name in types and seen[-1].outcome == "ok":
            schema, reply = types[test.call.name], read_reply(seen[-1])
            for fault in [*find_faults(schema, reply)] or filter(
                None, [find_fault(schema, reply, "the reply")]
            ):
                amiss[test.call.name].setdefault(fault, test.name)
    return [
        f"{tool} does not reply what its type says: {'; '.join(faults)} (first seen in the test "
        f"{next(iter(faults.values()))!r})"
        for tool, faults in amiss.items()
        if faults
    ]


def find_faults(schema: Json, value: Json, path: str = "the reply") -> Iterator[str]:
    """Every place where a value does not match its schema. Rows of a list are reported together."""
    if is_object(value) and "properties" in schema:
        parts: Mapping[str, Json] = schema["properties"]
        yield from (
            f"{path} lacks the required {name!r}"
            for name in schema.get("required", ())
            if name not in value
        )
        for name, part in parts.items():
            yield from find_faults(part, value[name], f"{path}.{name}") if name in value else ()
    elif is_array(value) and is_object(schema.get("items")):
        yield from dict.fromkeys(
            fault for item in value for fault in find_faults(schema["items"], item, f"{path}[]")
        )
    elif fault := find_fault(schema, value, path):
        yield fault.strip()


async def find_failures(
    environment: Environment, tests: Sequence[Test], sandbox: Sandbox
) -> list[Json]:
    """One entry for each failing test, worded so that an author can correct the fault."""
    return list_failures(await play_tests(environment, tests, sandbox))


async def play_tests(
    environment: Environment, tests: Sequence[Test], sandbox: Sandbox, begin: Begin = start_test
) -> list[Played]:
    """Each test in a session of its own, many sessions in a message; of those that expect something
    of the state, the last step has it."""
    plans = [
        [
            begin(test),
            *map(Invoke, test.setup),
            Invoke(test.call),
            *([Look()] if looks_after(test) else []),
        ]
        for test in tests
    ]
    played = await play_plans(find_program(environment), plans, sandbox)
    return [
        (test, show_end(seen) if looks_after(test) else seen)
        for test, seen in zip(tests, played, strict=True)
    ]


def list_failures(played: Sequence[Played]) -> list[Json]:
    """The tests that are red."""
    judged = [(test, judge_test(test, seen)) for test, seen in played]
    return [
        {
            "test": test.id,
            "name": test.name,
            "call": test.call.model_dump(),
            "expected": _describe_expected(test),
            "seen": fault,
        }
        for test, fault in judged
        if fault
    ]


def _describe_expected(test: Test) -> Json:
    more = ({"reply": test.reply} if test.reply is not None else {}) | (
        {"after": test.after, "nothing else": test.exact} if test.after or test.exact else {}
    )
    return {"end": test.expect, **more} if more else test.expect


def judge_test(test: Test, seen: Sequence[Observation]) -> str:
    """Empty when the test is green."""
    *before, last = seen
    for place, step in enumerate(before):
        if step.outcome != "ok":
            return (
                f"{test.name}: a step before the call under test ended in "
                f"{_describe_end(seen, place)}"
            )
    wanted = "ok" if test.expect == "success" else "rejection"
    if last.outcome == wanted:
        unmet = find_unmet(test, read_reply(last), last.state)
        return (
            f"{test.name}: {test.call.name} ended as it should, but {'; '.join(unmet)}"
            if unmet
            else ""
        )
    return (
        f"{test.name}: {test.call.name} should end in {test.expect}, and ended in "
        f"{_describe_end(seen, len(before))}"
    )


def _describe_end(seen: Sequence[Observation], place: int) -> str:
    """How a call ended; a rejection that has changed something says so, for that is where to look
    first."""
    end, hashes = seen[place], [one.state_hash for one in seen[max(0, place - 1) : place + 1]]
    mark = end.outcome == "rejection" and all(hashes) and hashes[0] != hashes[-1]
    return f"{end.outcome}{f', {_LEFT_A_MARK}' if mark else ''} ({end.code}: {end.message})"
