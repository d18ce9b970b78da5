"""Matches new rows with goals: one row for each goal, whatever the generated keys are.

goals, new rows ──► rows that fit each goal ──► groups that share no row and no reference ──► best assignment of each group

A search over all goals at once would try every way of leaving goals out as soon as one row is
missing. A group has few goals, and its search ends when no assignment of more rows is possible.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envmill.verifiers.checks import find_value
from envmill.verifiers.pattern import Keys, fits, list_named_rows, names_row
from schemas.base import Json
from schemas.scenario import Change, Check

_TRIES = 20_000
"""Maximal number of assignments to try. A few new rows need a handful. An end that was built to
need more does not earn a pass."""

Fitting = Mapping[int, Mapping[tuple[str, ...], Change]]
"""Goal → path of each new row that fits it → the row."""


def match_rows(goals: Sequence[Check], added: Sequence[Change], final: Json = None) -> Keys:
    """Goal number → key of its row, for as many goals as possible. References between rows are
    taken into account.

    If several rows fit equally well, references decide: where another goal asks for the key of a
    new row, the final state shows which row is meant.
    """
    fitting = {
        number: _list_fitting(goal, added)
        for number, goal in enumerate(goals)
        if goal.op == "present"
    }
    fitting = {number: rows for number, rows in fitting.items() if rows}
    named = {number: frozenset(list_named_rows(goals[number].value)) for number in fitting}
    referred: dict[int, list[str]] = {number: [] for number in fitting}
    for goal in goals:
        for number in (
            list_named_rows(goal.value) if goal.op == "equals" and names_row(goal.value) else ()
        ):
            key = find_value(final, goal.path)
            if number in referred and isinstance(key, str | int) and not isinstance(key, bool):
                referred[number].append(str(key))
    found, left = dict[int, str](), _TRIES
    for group in _split(fitting, named):
        search = _Search(goals, group, fitting, named, referred, left)
        found |= search.run()
        left = search.left
    return found


def _list_fitting(goal: Check, added: Sequence[Change]) -> dict[tuple[str, ...], Change]:
    return {
        tuple(change.path): change
        for change in added
        if change.path[:-1] == goal.path and fits(change.after, goal.value, {})
    }


def _split(fitting: Fitting, named: Mapping[int, frozenset[int]]) -> Iterator[list[int]]:
    """Groups of goals. Two goals share a group if one row fits both, or if one goal refers to the
    row of the other."""
    groups = {number: [number] for number in fitting}
    first: dict[tuple[str, ...], int] = {}
    for number, rows in fitting.items():
        beside = {first.setdefault(path, number) for path in rows} | (
            named[number] & fitting.keys()
        )
        for other in sorted(beside):
            if groups[other] is not groups[number]:
                joined = sorted([*groups[other], *groups[number]])
                groups |= dict.fromkeys(joined, joined)
    yield from (group for number, group in groups.items() if group[0] == number)


@dataclass
class _Search:
    """Finds the first of the best assignments of one group: most rows, then most references that
    name the right row."""

    goals: Sequence[Check]
    group: Sequence[int]
    fitting: Fitting
    named: Mapping[int, frozenset[int]]
    """Goal → goals whose rows its pattern names."""
    referred: Mapping[int, Sequence[str]]
    """Goal → keys in the final state where other goals ask for the key of its row. A goal without a
    row leaves them open."""
    left: int
    taken: dict[int, Change] = field(default_factory=dict[int, Change])
    keys: dict[int, str] = field(default_factory=dict[int, str])
    best: dict[int, str] = field(default_factory=dict[int, str])
    score: tuple[int, int] = (0, -1)

    def run(self) -> Mapping[int, str]:
        self.most = _count_pairs(self.group, self.fitting)
        linked = sum(len(self.referred[number]) for number in self.group)
        right = (
            linked
            if self.most < len(self.group)
            else sum(self._count_right(number) for number in self.group)
        )
        self.full = (self.most, right)
        self._assign(0, linked)
        return self.best

    def _count_right(self, number: int) -> int:
        """Maximal number of references to the goal that name its row, if every goal has a row."""
        named = Counter(self.referred[number])
        return max(named[path[-1]] for path in self.fitting[number])

    def _assign(self, place: int, linked: int) -> bool:
        """Continues the search; True if it is over. With the rows taken so far, at most `linked`
        references name the right row."""
        self.left -= 1
        if place == len(self.group):
            if (len(self.keys), linked) > self.score:
                self.best, self.score = dict(self.keys), (len(self.keys), linked)
            return self.score == self.full
        if (
            self.left < 0
            or (min(self.most, len(self.keys) + len(self.group) - place), linked) <= self.score
        ):
            return self.left < 0
        number = self.group[place]
        used = {tuple(change.path) for change in self.taken.values()}
        for path, change in self.fitting[number].items():
            if path not in used:
                self.taken[number], self.keys[number] = change, path[-1]
                wrong = sum(key != path[-1] for key in self.referred[number])
                over = self._agrees(number) and self._assign(place + 1, linked - wrong)
                del self.taken[number], self.keys[number]
                if over:
                    return True
        return self._assign(place + 1, linked)

    def _agrees(self, number: int) -> bool:
        """Whether all rows taken still fit, now that this goal has one."""
        concerned = [
            other for other in self.taken if other == number or number in self.named[other]
        ]
        return all(
            fits(self.taken[other].after, self.goals[other].value, self.keys)
            for other in concerned
            if self.named[other]
        )


def _count_pairs(group: Sequence[int], fitting: Fitting) -> int:
    """The maximal number of goals that can have a row each. References are ignored."""
    holder: dict[tuple[str, ...], int] = {}

    def seat(number: int, asked: set[tuple[str, ...]]) -> bool:
        for path in fitting[number]:
            if path not in asked:
                asked.add(path)
                if path not in holder or seat(holder[path], asked):
                    holder[path] = number
                    return True
        return False

    return sum(seat(number, set()) for number in group)
