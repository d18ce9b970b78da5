"""Opinions about the programs of desks: calls to try, out of the tests, and a verdict that
finds what the text alone shows."""

from itertools import cycle, islice

from offline.desks.compose import Desk, write_tests
from schemas.environment import Call
from schemas.prompts import CheckerInput, CheckerReply, TesterCall, TesterInput, TesterReply


def write_calls(asked: TesterInput, desk: Desk) -> TesterReply:
    """Calls of the desk's own tests, in turn: each on the state that was asked about."""
    actors = {method.name: method.side for method in desk.methods}
    calls = list[TesterCall]()
    for name, count in asked.wanted.items():
        tried = [test for test in write_tests(desk).tests if test.call.name == name]
        for test in islice(cycle(tried), count if tried else 0):
            call = Call(name=name, arguments=test.call.arguments, actor=actors[name])
            calls.append(TesterCall(call=call, expect=test.expect, why="An ordinary use."))
    return TesterReply(calls=calls)


def judge_call(asked: CheckerInput) -> CheckerReply:
    """A breakdown is a failure, and so is a look that changes something; the rest is taken
    as it is."""
    if asked.outcome == "failure":
        return CheckerReply(opinion="fail", reason=f"{asked.call.name} broke down: {asked.message}")
    if asked.tool.effect == "query" and asked.changes:
        return CheckerReply(
            opinion="fail", reason=f"{asked.call.name} only looks, and something changed."
        )
    return CheckerReply(opinion="pass", reason="What came of it keeps the rules.")
