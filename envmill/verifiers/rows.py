"""Which new row answers which goal: one row each, whatever their generated keys are."""

from collections.abc import Sequence

from envmill.verifiers.pattern import Keys, fits
from schemas.scenario import Change, Check

_TRIES = 20_000
"""Assignments looked at; a few new rows need a handful, and an end made to need more has not earned a pass."""


def match_rows(goals: Sequence[Check], added: Sequence[Change]) -> Keys:
    """Goal number → key of its row, as many goals as possible, references between rows included."""
    wanted = [number for number, goal in enumerate(goals) if goal.op == "present"]
    best: dict[int, str] = {}
    tries = 0

    def assign(place: int, taken: dict[int, Change]) -> bool:
        nonlocal best, tries
        tries += 1
        keys = {number: change.path[-1] for number, change in taken.items()}
        if any(not fits(change.after, goals[number].value, keys) for number, change in taken.items()):
            return False
        if len(keys) > len(best):
            best = keys
        if place == len(wanted) or tries > _TRIES:
            return len(best) == len(wanted)
        number = wanted[place]
        free = [change for change in added if change.path[:-1] == goals[number].path and change not in taken.values()]
        return any(assign(place + 1, {**taken, number: change}) for change in free) or assign(place + 1, taken)

    assign(0, {})
    return best
