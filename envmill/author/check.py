"""A check function for a scenario, rendered from the domain model: what must be so at the end, and what must be as it was.

oracle played on the model, twice, on two days and with other ids ──► what both ends share is asked for; the rest is chance
"""

from copy import deepcopy
from datetime import timedelta

from envmill.author.domain import TODAY, Domain, Row, State
from envmill.author.world import World
from schemas.base import Json
from schemas.environment import Call

FUNCTION = "check"
"""`check(initial, final) -> bool`, as the judge calls it."""
Ends = tuple[State, State]


def write_check(domain: Domain, initial: State, oracle: list[Call]) -> str:
    """Module text with one function, true of the oracle's end and of every end like it."""
    ends = (play_oracle(domain, initial, oracle, 0, "one"), play_oracle(domain, initial, oracle, 3, "other"))
    changed = _find_changed(initial, ends)
    lines = [*_write_changed(changed, initial), *_write_new(domain, initial, ends), *_write_frame(changed)]
    head = f"def {FUNCTION}(initial, final):"
    return "\n".join([head, '    """Whether what was asked for is done, and nothing besides."""', *lines, "    return True", ""])


def play_oracle(domain: Domain, initial: State, oracle: list[Call], days: int, key: str) -> State:
    """The end of the oracle on the domain model, some days later and with ids of its own."""
    world = World(domain, deepcopy(initial), TODAY + timedelta(days=days), key)
    for call in oracle:
        operation = domain.operations[call.name]
        if operation.effect == "change":
            world.apply(operation, call.arguments)
    return world.state


def _find_changed(initial: State, ends: Ends) -> dict[tuple[str, str], Row]:
    """(collection, row) → attributes that changed, with their new value, or with None where it hangs on chance."""
    changed: dict[tuple[str, str], Row] = {}
    for name, rows in initial.items():
        for row_id, row in rows.items():
            one, other = (end[name][row_id] for end in ends)
            found = {key: _agree(one[key], other.get(key)) for key in one if one[key] != row.get(key)}
            if found:
                changed[name, row_id] = found
    return changed


def _agree(one: Json, other: Json) -> Json:
    return one if one == other else None


def _write_changed(changed: dict[tuple[str, str], Row], initial: State) -> list[str]:
    lines: list[str] = []
    for (name, row_id), row in changed.items():
        found = f'final["{name}"]["{row_id}"]'
        for key, value in row.items():
            old = initial[name][row_id].get(key)
            lines += _refuse(f'{found}["{key}"] != {value!r}' if value is not None else f'{found}["{key}"] == {old!r}')
    return lines


def _write_new(domain: Domain, initial: State, ends: Ends) -> list[str]:
    lines: list[str] = []
    for name in domain.collections:
        rows, twins = ([row for key, row in end[name].items() if key not in initial[name]] for end in ends)
        lines += [f'    new = [row for key, row in final["{name}"].items() if key not in initial["{name}"]]']
        lines += _refuse(f"len(new) != {len(rows)}")
        for row, twin in zip(rows, twins, strict=True):
            wanted = " and ".join(f'row["{key}"] == {row[key]!r}' for key in row if row[key] == twin[key])
            lines += _refuse(f"not any({wanted} for row in new)") if wanted else []
    return lines


def _write_frame(changed: dict[tuple[str, str], Row]) -> list[str]:
    allowed = {place: sorted(row) for place, row in changed.items()}
    return [
        f"    allowed = {allowed!r}",
        "    for name, rows in initial.items():",
        "        for key, row in rows.items():",
        "            now = final[name].get(key, {})",
        "            if any(now.get(each) != row[each] for each in row if each not in allowed.get((name, key), ())):",
        "                return False",
    ]


def _refuse(condition: str) -> list[str]:
    return [f"    if {condition}:", "        return False"]
