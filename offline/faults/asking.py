"""Mistakes in a scenario: the reference path, the request and the state do not belong together."""

import random
import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import combinations

from offline.domain import TODAY, Arguments, Operation, State
from offline.draw import sample_arguments, sample_permitted
from offline.faults.base import FaultCase, Spoilt, shuffle
from offline.faults.testing import list_named
from offline.witness import Pair, Play, Trace, erase_new_ids
from offline.wording import WantedChange, can_say, render_phrase
from offline.world import DomainWorld
from schemas.environment import Call
from schemas.prompts import ScenarioReply

ScenarioCase = FaultCase[ScenarioReply]
TRIES = 200


def add_rejected(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The reference path holds a change that the rules forbid at the start and at the end."""
    start, end = _open(case), _play(case, case.reply.oracle)
    for _ in range(TRIES):
        operation = dice.choice(case.domain.changes)
        arguments = sample_arguments(operation, start, start.state, dice, wild=0.1)
        if (
            operation.takes
            and not start.allows(operation, arguments)
            and not end.allows(operation, arguments)
        ):
            return _act(case, [*case.reply.oracle, Call(name=operation.name, arguments=arguments)])
    return None


def add_needless(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The reference path changes something nobody asked for."""
    end = _play(case, case.reply.oracle)
    for operation in shuffle(case.domain.changes, dice):
        arguments = sample_permitted(operation, end, case.reply.initial_state, dice)
        spoilt = (
            _end_otherwise(
                case, [*case.reply.oracle, Call(name=operation.name, arguments=arguments)]
            )
            if arguments is not None
            else None
        )
        if spoilt:
            return spoilt
    return None


def skip_lookups(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The reference path knows ids that nobody told it, or answers what it never looked up."""
    return _act(
        case,
        [
            each
            for each in case.reply.oracle
            if case.domain.operations[each.name].effect == "change"
        ],
    )


def hit_other_row(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The reference path changes another row than the request names."""
    for number, operation, call in _list_changes(case):
        for parameter in (each for each in operation.takes if each.row):
            others = [
                each
                for each in case.reply.initial_state[parameter.row]
                if each != call.arguments[parameter.name]
            ]
            dice.shuffle(others)
            for row_id in others:
                arguments = call.arguments | {parameter.name: row_id}
                spoilt = _end_otherwise(case, _put(case.reply.oracle, number, arguments))
                if spoilt and _open(case).allows(operation, arguments):
                    return spoilt
    return None


def swap_order(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The reference path makes changes in an order that matters, and not in the one asked for."""
    places = [number for number, _, _ in _list_changes(case)]
    for one, other in combinations(places, 2):
        oracle = list(case.reply.oracle)
        oracle[one], oracle[other] = oracle[other], oracle[one]
        spoilt = _end_otherwise(case, oracle)
        if spoilt:
            return spoilt
    return _do_last_thing_first(case, dice)


def forbid_goal(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """What is asked for cannot be done from this state."""
    for _, operation, call in _list_changes(case):
        rows = {
            each.local: (each.row, call.arguments[each.name])
            for each in operation.takes
            if each.row
        }
        for move in (
            each for each in operation.moves if each.row in rows and each.after not in each.before
        ):
            collection, row_id = rows[move.row]
            state = deepcopy(case.reply.initial_state)
            state[collection][row_id]["status"] = move.after
            # An earlier change may make way for it all the same.
            if not _carries_out(case, state):
                return _begin(case, state)
    return None


def start_finished(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """Everything asked for is so already, and the reference path only looks."""
    if not any(_list_changes(case)):
        return None
    looks = [
        each for each in case.reply.oracle if case.domain.operations[each.name].effect == "query"
    ]
    reply = case.reply.model_copy(
        update={"initial_state": _play(case, case.reply.oracle).state, "oracle": looks}
    )
    return _finish(case, reply)


def add_twin(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """Two rows are called what the request calls one."""
    named = [
        (each.row, call.arguments[each.name])
        for _, operation, call in _list_changes(case)
        for each in operation.takes
        if each.row and call.arguments[each.name] in case.reply.initial_state[each.row]
    ]
    if not named:
        return None
    collection, row_id = dice.choice(named)
    twin = f"{row_id[:-4]}{dice.randrange(16**4):04x}"
    state = deepcopy(case.reply.initial_state)
    state[collection][twin] = {**state[collection][row_id], "id": twin}
    return _begin(case, state)


def lose_row(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The state names a row that it does not hold."""
    used = str([each.arguments for each in case.reply.oracle])
    for collection, row_id in sorted(
        list_named(case.reply.initial_state, case.domain, dice),
        key=lambda each: each[1] not in used,
    ):
        rows = {
            key: row for key, row in case.reply.initial_state[collection].items() if key != row_id
        }
        return _begin(case, case.reply.initial_state | {collection: rows})
    return None


def leave_empty(case: ScenarioCase, dice: random.Random) -> Spoilt:
    """The state lacks a whole collection."""
    name = dice.choice(list(case.reply.initial_state))
    return _begin(
        case, {key: rows for key, rows in case.reply.initial_state.items() if key != name}
    )


def leak_id(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The request names an id that people do not know."""
    ids = [
        each
        for _, _, call in _list_changes(case)
        for each in call.arguments.values()
        if _is_id(each, case.reply.initial_state)
    ]
    return (
        _make_spoilt(
            case, f"{case.reply.request} (ID: {dice.choice(ids)})", "The request names an id."
        )
        if ids
        else None
    )


def leak_tool(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The request says which tool to call."""
    if not case.reply.oracle:
        return None
    name = dice.choice(case.reply.oracle).name
    return _make_spoilt(
        case,
        f"{case.reply.request} You can use {name} for this.",
        f"The request names the tool {name}.",
    )


def contradict(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The request asks for another amount than the reference path uses."""
    for number, name, value in _list_said(case, dice):
        if isinstance(value, int):
            request = _replace_value(case.reply.request, value, str(value + 1))
            asked = _put(
                case.reply.oracle, number, case.reply.oracle[number].arguments | {name: value + 1}
            )
            reply = case.reply.model_copy(update={"request": request})
            return Spoilt(
                reply.model_dump(mode="json"), _compare_ends(case, case.reply.oracle, asked)
            )
    return None


def withhold(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The request leaves out what only the one who asks can know."""
    for number, name, value in _list_said(case, dice):
        if _stands_beside(value, case.reply.oracle[number], case.reply.initial_state):
            continue
        facts = {key: fact for key, fact in case.reply.facts.items() if fact != value}
        reply = case.reply.model_copy(
            update={
                "request": _replace_value(case.reply.request, value, "the usual"),
                "facts": facts,
            }
        )
        return Spoilt(
            reply.model_dump(mode="json"),
            words=f"Nobody says what {name} should be; the reference path uses {value!r}.",
        )
    return None


def call_refusal(case: ScenarioCase, dice: random.Random) -> Spoilt:
    """The scenario claims another polarity than the one its reference path goes for."""
    if case.reply.polarity != "achieve":
        reply = case.reply.model_copy(update={"polarity": "achieve"})
        return Spoilt(
            reply.model_dump(mode="json"),
            words="Polarity achieve, and the reference path changes nothing.",
        )
    polarity = dice.choice(("refuse", "escalate", "clarify"))
    reply = case.reply.model_copy(update={"polarity": polarity})
    return Spoilt(
        reply.model_dump(mode="json"),
        words=f"Polarity {polarity}, and the reference path changes records.",
    )


def _do_last_thing_first(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """A wish more, asked for last because the others make way for it, and the reference path begins
    with it."""
    start, end = _open(case), _play(case, case.reply.oracle)
    for operation in shuffle((each for each in case.domain.changes if each.asks), dice):
        for _ in range(TRIES // 4):
            arguments = sample_arguments(operation, end, case.reply.initial_state, dice)
            wish = WantedChange(operation, arguments)
            if (
                end.allows(operation, arguments)
                and not start.allows(operation, arguments)
                and can_say(wish, case.domain, start.state)
            ):
                asked = render_phrase(dice.choice(operation.asks), wish, case.domain, start.state)
                call = Call(name=operation.name, arguments=arguments)
                request = f"{case.reply.request} When all of that is done, please {asked}."
                reply = case.reply.model_copy(
                    update={"request": request, "oracle": [call, *case.reply.oracle]}
                )
                return Spoilt(
                    reply.model_dump(mode="json"),
                    _compare_ends(case, [*case.reply.oracle, call], reply.oracle),
                )
    return None


def _open(case: ScenarioCase) -> DomainWorld:
    return DomainWorld(case.domain, deepcopy(case.reply.initial_state), TODAY, case.key)


def _play(case: ScenarioCase, calls: list[Call]) -> DomainWorld:
    """The world after those of the calls that are permitted."""
    world = _open(case)
    for call in calls:
        operation = case.domain.operations[call.name]
        if operation.effect == "change" and world.allows(operation, call.arguments):
            world.apply(operation, call.arguments)
    return world


def _carries_out(case: ScenarioCase, state: State) -> bool:
    """Whether the reference path holds from another state."""
    world = DomainWorld(case.domain, deepcopy(state), TODAY, case.key)
    for _, operation, call in _list_changes(case):
        if not world.allows(operation, call.arguments):
            return False
        world.apply(operation, call.arguments)
    return True


def _end_otherwise(case: ScenarioCase, oracle: list[Call]) -> Spoilt | None:
    """The reply with another reference path, where that ends in another state; elsewhere nothing
    would be wrong."""
    one, other = (
        erase_new_ids(_play(case, calls).state, case.reply.initial_state)
        for calls in (oracle, case.reply.oracle)
    )
    if one == other:
        return None
    reply = case.reply.model_copy(update={"oracle": oracle})
    return Spoilt(reply.model_dump(mode="json"), _compare_ends(case, case.reply.oracle, oracle))


def _compare_ends(case: ScenarioCase, clean: list[Call], faulty: list[Call]) -> tuple[Pair, ...]:
    one, other = (
        Play(case.version, Trace(case.reply.initial_state, tuple(each), ends=True))
        for each in (clean, faulty)
    )
    return ((one, other),)


def _list_changes(case: ScenarioCase) -> Iterator[tuple[int, Operation, Call]]:
    for number, call in enumerate(case.reply.oracle):
        operation = case.domain.operations[call.name]
        if operation.effect == "change":
            yield number, operation, call


def _list_said(case: ScenarioCase, dice: random.Random) -> list[tuple[int, str, str | int]]:
    """Plain values of changes that the request says once: place in the path, argument, value."""
    found = [
        (number, each.name, call.arguments[each.name])
        for number, operation, call in _list_changes(case)
        for each in operation.takes
        if not each.row
        and len(re.findall(_word(call.arguments[each.name]), case.reply.request)) == 1
    ]
    dice.shuffle(found)
    return found


def _stands_beside(value: str | int, call: Call, state: State) -> bool:
    """Whether a row that the call names holds the value: who looks the row up may take it from
    there."""
    named = [
        rows[each]
        for rows in state.values()
        for each in call.arguments.values()
        if isinstance(each, str) and each in rows
    ]
    return any(value in row.values() for row in named)


def _replace_value(request: str, value: str | int, words: str) -> str:
    return re.sub(_word(value), lambda _: words, request)


def _word(value: object) -> str:
    return rf"(?<![\w.]){re.escape(str(value))}(?!\w)"


def _is_id(value: object, state: State) -> bool:
    return any(value in rows for rows in state.values())


def _put(oracle: list[Call], number: int, arguments: Arguments) -> list[Call]:
    return [
        each.model_copy(update={"arguments": arguments}) if index == number else each
        for index, each in enumerate(oracle)
    ]


def _act(case: ScenarioCase, oracle: list[Call]) -> Spoilt:
    return _finish(case, case.reply.model_copy(update={"oracle": oracle}))


def _begin(case: ScenarioCase, state: State) -> Spoilt:
    return _finish(case, case.reply.model_copy(update={"initial_state": state}))


def _make_spoilt(case: ScenarioCase, request: str, words: str) -> Spoilt:
    return Spoilt(
        case.reply.model_copy(update={"request": request}).model_dump(mode="json"), words=words
    )


def _finish(case: ScenarioCase, reply: ScenarioReply) -> Spoilt:
    return Spoilt(
        reply.model_dump(mode="json"),
        ((Play(case.version, _trace(case.reply)), Play(case.version, _trace(reply))),),
    )


def _trace(reply: ScenarioReply) -> Trace:
    return Trace(reply.initial_state, tuple(reply.oracle))
