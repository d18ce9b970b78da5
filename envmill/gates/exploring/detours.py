"""Detours: other correct ways to the end of the reference path.

order · reads · retry · undo_and_redo · wording
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import ScenarioCase
from envmill.gates.exploring.equivalence import outline
from envmill.gates.exploring.trials import Attempt, list_writes
from envmill.gates.mutating.near_misses import find_targets
from envmill.kinds.trial import Trial
from envmill.verifiers.ending import Ending
from schemas.base import Json
from schemas.environment import Call, Tool
from schemas.scenario import Scenario

_ORDERS, _UNDOS = 4, 8
"""Numbers of reordered paths and of undo calls to try."""
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_THOUSANDS = re.compile(r"(?<![\w.,-])\d{4,}(?![\w,-])(?!\.\d*\.)")


def plan_detours(subject: ScenarioCase) -> list[Attempt]:
    """All detours that can be planned before any reply is known."""
    oracle = tuple(subject.scenario.oracle)
    path = Attempt("", oracle, _words(subject))
    attempts = [replace(path, label="order", calls=calls) for calls in _reorder(subject)]
    attempts += [replace(path, label="reads", calls=calls) for calls in _read_more(subject)]
    attempts += [
        replace(path, label="retry", calls=calls, place=place) for calls, place in _slip(subject)
    ]
    attempts += [
        replace(path, label="wording", said=words)
        for words in respell(_words(subject), _list_numbers(subject.scenario))
    ]
    return attempts + [
        replace(path, label="undo", calls=calls, place=len(calls)) for calls in _take_back(subject)
    ]


def plan_returns(
    subject: ScenarioCase, tried: Sequence[tuple[Attempt, Trial]], right: Trial
) -> list[Attempt]:
    """For each undo that restored the state before its write: the whole path with the write undone
    and made again."""
    if right.ending is None:
        return []
    returns: dict[int, Attempt] = {}
    for attempt, trial in tried:
        place = len(attempt.calls) - 2
        back = trial.ending is not None and trial.replies[-1].outcome == "ok"
        if back and place not in returns and trial.ending and _is_back(subject, trial):
            write, undo = attempt.calls[-2:]
            calls = (*attempt.calls[:-2], write, undo, write, *subject.scenario.oracle[place + 1 :])
            returns[place] = Attempt("undo_and_redo", calls, _words(subject), place=place)
    return list(returns.values())


def respell(said: tuple[str, ...], numbers: Collection[int]) -> Iterator[tuple[str, ...]]:
    """The same words in other spellings. Only numbers that the verifier expects as numbers change:
    other digits may be a code or a year."""
    if not said:
        return
    yield tuple(say.upper() for say in said)
    yield tuple(
        f"Hello again,\n\n{say.replace(' ', '  ')}\n\nIs there anything else I can do?"
        for say in said
    )
    yield from _change(
        said,
        lambda say: _THOUSANDS.sub(
            lambda one: f"{int(one[0]):,}" if int(one[0]) in numbers else one[0], say
        ),
    )
    yield from _change(said, lambda say: _ISO.sub(_render_date, say))


def _change(said: tuple[str, ...], respelled: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    changed = tuple(map(respelled, said))
    if changed != said:
        yield changed


def _list_numbers(scenario: Scenario) -> set[int]:
    return {
        int(fact.value)
        for fact in scenario.verifier.facts
        if fact.kind == "number" and isinstance(fact.value, int | float)
    }


def _render_date(found: re.Match[str]) -> str:
    try:
        day = date.fromisoformat(found[0])
    except ValueError:
        return found[0]
    return f"{day.day} {day:%B %Y}"


def _reorder(subject: ScenarioCase) -> list[tuple[Call, ...]]:
    """Orders of the path: neighbouring writes swapped, and all reads first."""
    oracle, writes = subject.scenario.oracle, list_writes(subject)
    orders: list[tuple[Call, ...]] = []
    for one, other in pairwise(writes):
        calls = list(oracle)
        calls[one], calls[other] = calls[other], calls[one]
        orders.append(tuple(calls))
    reads = [call for place, call in enumerate(oracle) if place not in writes]
    orders.append((*reads, *(oracle[place] for place in writes)))
    others = {_render(calls): calls for calls in orders if _render(calls) != _render(oracle)}
    return list(others.values())[:_ORDERS]


def _read_more(subject: ScenarioCase) -> Iterator[tuple[Call, ...]]:
    """The path with all its reads repeated at the end, and with reads without arguments at its
    start."""
    oracle, writes = subject.scenario.oracle, list_writes(subject)
    reads = [call for place, call in enumerate(oracle) if place not in writes]
    plain = [
        Call(name=tool.name)
        for tool in subject.environment.tools
        if tool.effect == "query" and not _needs(tool)
    ]
    if reads or plain:
        yield (*plain, *oracle, *reads)


def _slip(subject: ScenarioCase) -> Iterator[tuple[tuple[Call, ...], int]]:
    """The path with a failing call before the first write that names a row: the same write with a
    row that does not exist."""
    oracle, stock = subject.scenario.oracle, StateIndex.of(subject.scenario.initial_state)
    for place in list_writes(subject):
        for name, _, _ in find_targets(oracle[place], stock):
            wrong = oracle[place].model_copy(
                update={"arguments": oracle[place].arguments | {name: "no-such-row"}}
            )
            yield (*oracle[:place], wrong, *oracle[place:]), place
            return


def _take_back(subject: ScenarioCase) -> list[tuple[Call, ...]]:
    """Each write followed by another tool that needs no arguments but the write's."""
    oracle, found = subject.scenario.oracle, list[tuple[Call, ...]]()
    for place in list_writes(subject):
        write = oracle[place]
        for tool in subject.environment.tools:
            if (
                tool.effect == "change"
                and tool.name != write.name
                and _needs(tool)
                and _needs(tool) <= write.arguments.keys()
            ):
                undo = Call(
                    name=tool.name,
                    arguments={name: write.arguments[name] for name in sorted(_needs(tool))},
                    actor=tool.actors[0],
                )
                found.append((*oracle[:place], write, undo))
    return found[:_UNDOS]


def _is_back(subject: ScenarioCase, trial: Trial) -> bool:
    """Whether the last two calls cancel out. Calls before them must write nothing."""
    if trial.ending is None or any(
        place < len(trial.replies) - 2 for place in list_writes(subject)
    ):
        return False
    initial: Json = trial.ending.initial
    return outline(initial, trial.ending.final) == outline(initial, initial)


def _needs(tool: Tool) -> set[str]:
    return set(tool.parameters.get("required", []))


def _render(calls: Sequence[Call]) -> str:
    return "\n".join(f"{call.name}{call.arguments}" for call in calls)


def _words(subject: ScenarioCase) -> tuple[str, ...]:
    return Ending.list_words(subject.scenario)
