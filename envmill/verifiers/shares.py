"""Shares: compare the calls of a rollout with the reference path, step by step. They decide no
verdict; a trainer may use them as weights.

paid = max(0, (trace + state) / 2 - length - format)
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.masking import mask_call
from envmill.verifiers.procedure import find_breach, is_meant
from schemas.environment import Environment, Tool
from schemas.scenario import CallPattern, Scenario, Verifier

PENALTY, MOST = 0.05, 0.5
"""Penalty for each call beyond the reference path and each unreadable call, and the maximal
penalty."""
_STATE = ("guards", "frame", "goals", "facts")
_UNMINDED = ("semantic", "exempt")
"""Policies of columns whose texts are not compared literally."""


def share_steps(
    scenario: Scenario,
    environment: Environment,
    deeds: Sequence[CompletedCall],
    components: Mapping[str, float],
    unread: int,
) -> dict[str, float]:
    """Trace: share of the relevant calls that were made, in any order. State: product of the
    verifier's components about the end."""
    changes, reads = (
        list(list_changes(scenario, environment)),
        [one for one in scenario.verifier.procedure if one.op in _READ],
    )
    # One reply may show everything that must be read. Each change needs its own call.
    met = count_matched(changes, deeds) + sum(find_breach(one, deeds, {}) is None for one in reads)
    trace = met / (len(changes) + len(reads)) if changes or reads else 1.0
    state = prod(components.get(name, 1.0) for name in _STATE)
    length = min(MOST, PENALTY * max(0, len(deeds) - len(scenario.oracle)))
    form = min(MOST, PENALTY * unread)
    paid = max(0.0, (trace + state) / 2 - length - form)
    return {
        name: round(one, 6)
        for name, one in zip(_NAMES, (trace, state, length, form, paid), strict=True)
    }


_READ = ("required", "seen")
_NAMES = ("trace", "state", "length", "format", "paid")


def list_changes(scenario: Scenario, environment: Environment) -> Iterator[CallPattern]:
    """Relevant calls: the changes of the reference path. Its look-ups are left out, because other
    look-ups may lead to the same changes."""
    tools = {tool.name: tool for tool in environment.tools}
    for call in scenario.oracle:
        tool = tools.get(call.name)
        if tool is not None and tool.effect == "change":
            pattern = mask_call(call, tool)
            # An argument that is filled from an earlier result has another value in every session.
            free = {
                *list_free(tool, environment, scenario.verifier),
                *(use.into.split("/")[1] for use in call.uses),
            }
            yield pattern.model_copy(
                update={
                    "arguments": {
                        name: one for name, one in pattern.arguments.items() if name not in free
                    }
                }
            )


def list_free(tool: Tool, environment: Environment, verifier: Verifier) -> Iterator[str]:
    """Arguments that are stored in a column whose text is not compared."""
    columns = [
        column
        for table in environment.tables
        if table.name in tool.writes
        for column in table.columns
    ]
    unminded = {column.name for column in columns if column.policy in _UNMINDED} - {"id"}
    unminded |= {
        column
        for _, _, column in (place.partition(".") for place in (*verifier.free, *verifier.worded))
    }
    yield from (name for name in tool.parameters.get("properties", {}) if name in unminded)


def count_matched(wanted: Sequence[CallPattern], deeds: Sequence[CompletedCall]) -> int:
    """Number of patterns that can be assigned to different calls, the narrowest patterns first.
    Refused calls do not count."""
    free = [deed for deed in deeds if deed.outcome == "ok"]
    matched = 0
    for pattern in sorted(wanted, key=lambda one: -len(one.arguments)):
        found = next((deed for deed in free if is_meant(pattern, deed, {})), None)
        if found is not None:
            free.remove(found)
            matched += 1
    return matched
