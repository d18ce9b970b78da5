"""An opinion on one call: what the domain model would have made of it, beside what the program made
of it.

call ──domain model, on two days──► rejection, or the end state up to what chance decides ──compare──► pass, warning, fail
"""

from copy import deepcopy
from datetime import timedelta
from typing import Any

from offline.domain import TODAY, Domain, Operation, OperationParameter, Row, State
from offline.formula import parse_expression
from offline.world import DomainWorld
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.prompts import CheckerInput, CheckerReply

TYPES: dict[str, type | tuple[type, ...]] = {"str": str, "int": int, "float": (int, float)}


def judge_call(asked: CheckerInput, domain: Domain, key: str) -> CheckerReply:
    """What somebody who knows the rules says of it."""
    operation = domain.operations.get(asked.call.name)
    if operation is None:
        return _reply("warning", f"No rule speaks of {asked.call.name}.")
    if asked.outcome == "failure":
        return _reply(
            "fail",
            f"{asked.call.name} broke down ({asked.code}): a call is carried out or refused.",
        )
    state: State = {name: asked.state.get(name, {}) for name in domain.collections}
    world = DomainWorld(domain, deepcopy(state), TODAY, f"{key}/one")
    if not _fits(operation, asked.call.arguments):
        return _judge_refused(asked, "bad_arguments", "The arguments do not fit the tool.")
    try:
        codes = world.find_violations(operation, asked.call.arguments)
        if codes:
            return _judge_refused(asked, codes[0], _render_rule(operation, codes[0], domain))
        return _judge_allowed(asked, operation, world)
    except (KeyError, TypeError, ValueError) as error:
        return _reply("warning", f"The state lacks what the rules speak of: {error}.")


def _judge_refused(asked: CheckerInput, code: str, rule: str) -> CheckerReply:
    if asked.outcome == "ok":
        return _reply("fail", f"Carried out, though it breaks a rule ({code}): {rule}")
    if asked.changes:
        return _reply("fail", f"Refused, and yet {'.'.join(asked.changes[0].path)} changed.")
    return _reply("pass", f"Rightly refused: {rule}")


def _judge_allowed(asked: CheckerInput, operation: Operation, world: DomainWorld) -> CheckerReply:
    if asked.outcome == "rejection":
        return _reply(
            "fail", f"Refused ({asked.code}: {asked.message}), though no rule forbids it."
        )
    if operation.effect == "query":
        return _judge_query(asked, operation, world)
    other = DomainWorld(
        world.domain, deepcopy(world.state), TODAY + timedelta(days=3), f"{world.key}/other"
    )
    start, end = deepcopy(world.state), _apply_changes(asked)
    for each in (world, other):
        each.apply(operation, asked.call.arguments)
    fault = find_difference(start, (world.state, other.state), end)
    return (
        _reply("fail", fault)
        if fault
        else _reply("pass", f"{operation.does} That is what happened, and nothing besides.")
    )


def _judge_query(asked: CheckerInput, operation: Operation, world: DomainWorld) -> CheckerReply:
    if asked.changes:
        return _reply(
            "fail", f"{operation.name} only reads, and {'.'.join(asked.changes[0].path)} changed."
        )
    arguments: dict[str, Any] = asked.call.arguments
    rows = {
        each.local: world.state[each.row][arguments[each.name]]
        for each in operation.takes
        if each.row
    }
    try:
        wanted: Json = world.value(
            parse_expression(operation.gives), {**world.domain.bounds, **arguments, **rows}
        )
    except (KeyError, ValueError):
        return _reply("pass", f"{operation.name} answered and changed nothing.")
    found = [part.get("value") for part in asked.parts if is_object(part)]
    if (
        len(found) == 1
        and is_array(wanted)
        and is_array(found[0])
        and sorted(map(canonical_json, wanted)) != sorted(map(canonical_json, found[0]))
    ):
        return _reply(
            "fail",
            f"{operation.name} should give {len(wanted)} rows as they stand and gives others "
            f"({len(found[0])}).",
        )
    return _reply("pass", f"{operation.name} gives what is there and changes nothing.")


def find_difference(start: State, ends: tuple[State, State], found: Json) -> str:
    """Where a state differs from what both runs of the domain model agree on; empty where it does
    not."""
    for name in start:
        rows: dict[str, Row] = found.get(name, {})
        for row_id, row in ends[0][name].items():
            if row_id in start[name]:
                twin = ends[1][name][row_id]
                wrong = next(
                    (
                        key
                        for key in row
                        if row[key] == twin.get(key) and rows.get(row_id, {}).get(key) != row[key]
                    ),
                    "",
                )
                if wrong:
                    return (
                        f"{name}.{row_id}.{wrong} should be {row[wrong]!r} and is "
                        f"{rows.get(row_id, {}).get(wrong)!r}."
                    )
                if rows[row_id].keys() - row.keys():
                    return f"{name}.{row_id} got attributes that no rule speaks of."
        fault = _compare_new(name, start, ends, rows)
        if fault:
            return fault
    return (
        f"{', '.join(found.keys() - start.keys())} appeared." if found.keys() - start.keys() else ""
    )


def _compare_new(name: str, start: State, ends: tuple[State, State], found: dict[str, Row]) -> str:
    wanted, twins = (
        [row for key, row in end[name].items() if key not in start[name]] for end in ends
    )
    left = [row for key, row in found.items() if key not in start[name]]
    if len(left) != len(wanted):
        return f"{name} should get {len(wanted)} new rows and gets {len(left)}."
    for row, twin in zip(wanted, twins, strict=True):
        sure = {key: value for key, value in row.items() if twin.get(key) == value}
        hit = next(
            (
                each
                for each in left
                if each.keys() == row.keys()
                and all(each[key] == value for key, value in sure.items())
            ),
            None,
        )
        if hit is None:
            return f"{name} should get a row like {sure!r}."
        left.remove(hit)
    return ""


def _apply_changes(asked: CheckerInput) -> Json:
    end: Json = deepcopy(asked.state)
    for change in asked.changes:
        place = end
        for step in change.path[:-1]:
            place = place[step]
        if change.op == "remove":
            place.pop(change.path[-1])
        else:
            place[change.path[-1]] = change.after
    return end


def _fits(operation: Operation, arguments: dict[str, Json]) -> bool:
    return arguments.keys() == {each.name for each in operation.takes} and all(
        _is_typed(each, arguments[each.name]) for each in operation.takes
    )


def _is_typed(parameter: OperationParameter, value: Json) -> bool:
    return isinstance(value, TYPES[parameter.annotation]) and not isinstance(value, bool)


def _render_rule(operation: Operation, code: str, domain: Domain) -> str:
    rules = {each.code: domain.render_rule(each) for each in operation.must}
    return rules.get(code, f"{code.replace('_', ' ')}.")


def _reply(opinion: str, reason: str) -> CheckerReply:
    return CheckerReply.model_validate({"opinion": opinion, "reason": reason})
