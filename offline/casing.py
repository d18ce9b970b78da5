"""Tests with databases of their own, and the verdict on red ones: what the domain model foretells
of each call on its rows.

trial ──its setup lived through──► rows on which the call is made at once
red test ──is it one of these?──► the tool is at fault, or the test
"""

from offline.columns import settle_state
from offline.domain import Domain, Row, State
from offline.parts import write_methods
from offline.tests import RuleTrial, foretell, render_trial, try_brief
from offline.world import DomainWorld
from schemas.seed import Brief
from schemas.tool_prompts import (
    BlameVerdict,
    CasesInput,
    CasesReply,
    DebugInput,
    DebugReply,
    MatchedTest,
    RedTest,
)


def write_cases(asked: CasesInput, domain: Domain, seed: int) -> CasesReply:
    """All tests of a tool."""
    return CasesReply(tests=list_cases(asked.brief, domain, asked.tool.name, seed))


def list_cases(brief: Brief, domain: Domain, tool: str, seed: int) -> list[MatchedTest]:
    """One for each way in which a call of it can end; what had to be done before has been done to
    its rows. The first success is
    in company: a row changed or missed by mistake shows only where there are others."""
    start, trials = try_brief(brief, seed)
    found: list[MatchedTest] = []
    for trial in (each for each in trials if each.call.name == tool):
        world = start.copy()
        for call in trial.setup:
            world.apply(domain.operations[call.name], call.arguments)
        in_company = not trial.code and all(one.expect == "rejection" for one in found)
        held, name = world.state if in_company else _match(world, trial), render_trial(trial)
        # It goes on counting: a row that the call makes must not take the id of one that was made
        # before.
        after = (
            {}
            if trial.code
            else foretell(
                DomainWorld(domain, held, world.day, world.key, world.ids), trial.call, whole=True
            )
        )
        expect = "rejection" if trial.code else "success"
        found.append(
            MatchedTest(
                name=name,
                rows=settle_state(domain, held),
                call=trial.call,
                expect=expect,
                after=after,
            )
        )
    return found


def _match(world: DomainWorld, trial: RuleTrial) -> State:
    """The rows that the call is about and what stands around them; all rows where fewer would end
    it otherwise."""
    named = {value for value in trial.call.arguments.values() if isinstance(value, str)}
    about = _add_referred(world.state, named & _list_keys(world.state))
    around = {
        key
        for held in world.state.values()
        for key, row in held.items()
        if about & _list_texts(row)
    }
    kept = _add_referred(world.state, about | around)
    few = {
        table: {key: row for key, row in held.items() if key in kept}
        for table, held in world.state.items()
    }
    operation = world.domain.operations[trial.call.name]
    codes = DomainWorld(world.domain, few, world.day, world.key).find_violations(
        operation, trial.call.arguments
    )
    return few if about and codes == ([trial.code] if trial.code else []) else world.state


def _add_referred(state: State, keys: set[str]) -> set[str]:
    """These rows, what they refer to, what that refers to."""
    known, found, ahead = _list_keys(state), set[str](), keys
    while ahead:
        found |= ahead
        ahead = {
            text
            for held in state.values()
            for key, row in held.items()
            if key in ahead
            for text in _list_texts(row)
            if text in known
        } - found
    return found


def _list_keys(state: State) -> set[str]:
    return {key for held in state.values() for key in held}


def _list_texts(row: Row) -> set[str]:
    return {value for value in row.values() if isinstance(value, str)}


def judge_red(asked: DebugInput, domain: Domain, seed: int) -> DebugReply:
    """A red test that is as it should be leaves the tool to blame."""
    known = list_cases(asked.brief, domain, asked.tool.name, seed)
    verdicts = [_judge(one, known) for one in asked.red]
    blamed = any(one.blame == "tool" for one in verdicts)
    return DebugReply(
        verdicts=verdicts, source=write_methods(domain, [asked.tool.name]).source if blamed else ""
    )


def _judge(red: RedTest, known: list[MatchedTest]) -> BlameVerdict:
    if red.test in known or not known:
        return BlameVerdict(
            number=red.number,
            blame="tool",
            reason="By the rules these rows and this call end as the test says.",
        )
    meant = max(known, key=lambda one: _liken(one, red.test))
    return BlameVerdict(
        number=red.number,
        blame="instance",
        reason="By the rules this call does not end so on these rows.",
        mended=meant,
    )


def _liken(one: MatchedTest, other: MatchedTest) -> tuple[bool, int, bool]:
    """How much a test that is right is the one that was meant."""
    shared = sum(
        other.call.arguments.get(name) == value for name, value in one.call.arguments.items()
    )
    return (
        one.name == other.name,
        2 * (one.call == other.call) + 2 * (one.rows == other.rows) + shared,
        one.expect == other.expect,
    )
