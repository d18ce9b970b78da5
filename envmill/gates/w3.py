"""W3: every stored test gives what it expects: success, anticipated rejection, never an unexpected failure."""

from collections import Counter
from collections.abc import Sequence

from envmill.gates.base import Finding, drop, keep
from envmill.kinds.start import start_test
from envmill.sandbox import Invoke, Observation, Program, Sandbox
from schemas.base import Json
from schemas.environment import Environment, Test

GATE = "W3"

_PER_TOOL = 3


async def run_tests(environment: Environment, tests: Sequence[Test], sandbox: Sandbox) -> Finding:
    """All tests, each in a session of its own; too few tests is a fault of its own."""
    if lacking := find_untested(environment, tests):
        return drop(GATE, "too_few_tests", lacking[0], lacking)
    failures = await find_failures(environment, tests, sandbox)
    if not failures:
        return keep(GATE, {"tests": len(tests)})
    return drop(GATE, "test_failed", f"{len(failures)} of {len(tests)} tests fail: {failures[0]['seen']}", failures[:10])


def find_untested(environment: Environment, tests: Sequence[Test]) -> list[str]:
    """Tools with fewer than three tests, or with inputs and no anticipated rejection."""
    tried = Counter(test.call.name for test in tests)
    rejected = {test.call.name for test in tests if test.expect == "rejection"}
    lacking = [f"{tool.name} has {tried[tool.name]} tests of {_PER_TOOL}" for tool in environment.tools if tried[tool.name] < _PER_TOOL]
    takes = [tool for tool in environment.tools if tool.parameters.get("properties")]
    return lacking + [f"{tool.name} takes inputs and has no test that expects a rejection" for tool in takes if tool.name not in rejected]


async def find_failures(environment: Environment, tests: Sequence[Test], sandbox: Sandbox) -> list[Json]:
    """One entry per failing test, worded so that an author can mend it."""
    program = Program.of(environment)
    failures: list[Json] = []
    for test in tests:
        seen = await sandbox.play(program, [start_test(test), *map(Invoke, test.setup), Invoke(test.call)])
        if fault := judge_test(test, seen):
            failures.append({"test": test.id, "name": test.name, "call": test.call.model_dump(), "expected": test.expect, "seen": fault})
    return failures


def judge_test(test: Test, seen: Sequence[Observation]) -> str:
    """Empty when the test is green."""
    *before, last = seen
    for step in before:
        if step.outcome != "ok":
            return f"{test.name}: a step before the call under test ended in {step.outcome} ({step.code}: {step.message})"
    wanted = "ok" if test.expect == "success" else "rejection"
    if last.outcome == wanted:
        return ""
    return f"{test.name}: {test.call.name} should end in {test.expect}, and ended in {last.outcome} ({last.code}: {last.message})"
