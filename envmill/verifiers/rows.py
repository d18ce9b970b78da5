"""Which new row answers which goal: one row each, whatever their generated keys are."""

from collections.abc import Sequence

from envmill.verifiers.checks import find_value
from envmill.verifiers.pattern import Keys, fits, names_row
from schemas.base import Json
from schemas.scenario import Change, Check

_TRIES = 20_000
"""Assignments looked at; a few new rows need a handful, and an end made to need more has not earned a pass."""


def match_rows(goals: Sequence[Check], added: Sequence[Change], final: Json = None) -> Keys:
    """Goal number → key of its row, as many goals as possible, references between rows included.

    Of rows that are alike, those are told apart that other goals refer to: where these stand is read in the final state.
    """
    wanted = [number for number, goal in enumerate(goals) if goal.op == "present"]
    linked = [goal for goal in goals if goal.op == "equals" and names_row(goal.value)]
    best: dict[int, str] = {}
    score, tries = (0, -1), 0

    def assign(place: int, taken: dict[int, Change]) -> bool:
        nonlocal best, score, tries
        tries += 1
        keys = {number: change.path[-1] for number, change in taken.items()}
        if any(not fits(change.after, goals[number].value, keys) for number, change in taken.items()):
            return False
        reached = (len(keys), sum(fits(find_value(final, goal.path), goal.value, keys) for goal in linked))
        if reached > score:
            best, score = keys, reached
        if place == len(wanted) or tries > _TRIES:
            return score == (len(wanted), len(linked))
        number = wanted[place]
        free = [change for change in added if change.path[:-1] == goals[number].path and change not in taken.values()]
        return any(assign(place + 1, {**taken, number: change}) for change in free) or assign(place + 1, taken)

    assign(0, {})
    return best
