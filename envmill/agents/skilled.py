"""The skilled policy: plays the oracle to a degree, and slips where people and models do. Plumbing:
its pass rates measure nobody.

oracle ─► hazard of each place (rows to confuse, amounts, length, facts to tell) × (1 − degree) ─► slips by seed ─► script
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from envmill.agents.base import Actor
from envmill.agents.careless import mix_up
from envmill.agents.reference import script
from schemas.base import Json, is_object
from schemas.environment import Call, Environment
from schemas.scenario import Scenario

Slip = Callable[[Call, Mapping[str, Json], random.Random], Sequence[Call]]

_SCALE = 3.0
_USUAL_LENGTH = 5
"""Calls; on a longer path each is a smaller chance to slip, or no long one would ever be walked to
its end."""
_READ, _WRITE = 0.04, 0.10
_PER_DOUBLING = 0.02
"""For every doubling of the rows one could take for another."""
_PER_AMOUNT, _PER_CALL, _PER_FACT, _PER_HIDDEN = 0.06, 0.02, 0.12, 0.05
_SECOND_LOOK = 0.12
"""How often a read is made twice, which harms nothing."""


class Skilled:
    """Degree 1 is the oracle itself; at 0 little is right."""

    def __init__(self, degree: float) -> None:
        self.name = f"skilled@{degree:g}"
        self.degree = degree

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        dice = random.Random(f"{self.name}/{scenario.id}/{seed}")
        reads = {tool.name for tool in environment.tools if tool.effect == "query"}
        leniency = _SCALE * (1 - self.degree)
        made: list[Sequence[Call]] = []
        for call in scenario.oracle:
            hazard = leniency * find_hazard(call, scenario, call.name in reads)
            made.append(
                self._play(call, scenario, call.name in reads, dice)
                if not _falls(hazard, dice)
                else slip(call, scenario, dice)
            )
            if _falls(leniency * _PER_CALL * _shrink(scenario), dice):
                return script(scenario, made)
        told = _PER_FACT * len(scenario.verifier.facts)
        return script(
            scenario,
            made,
            (lambda words: misstate(words, dice)) if _falls(leniency * told, dice) else str,
        )

    def _play(self, call: Call, scenario: Scenario, read: bool, dice: random.Random) -> list[Call]:
        """As it should be; a read perhaps after another one of its sort."""
        looks_elsewhere = read and self.degree < 1 and dice.random() < _SECOND_LOOK
        return [mix_up(call, scenario.initial_state, dice), call] if looks_elsewhere else [call]


def find_hazard(call: Call, scenario: Scenario, read: bool) -> float:
    """What there is to get wrong in one call."""
    rivals = max((len(rows) for rows in _list_homes(call, scenario.initial_state)), default=1)
    amounts = sum(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in call.arguments.values()
    )
    untold = len(scenario.user.hidden) / max(1, len(scenario.oracle))
    hazard = (
        (_READ if read else _WRITE)
        + _PER_DOUBLING * math.log2(1 + rivals)
        + _PER_AMOUNT * amounts
        + _PER_HIDDEN * untold
    )
    return hazard * _shrink(scenario)


def slip(call: Call, scenario: Scenario, dice: random.Random) -> Sequence[Call]:
    """One way to get it wrong, drawn; where it cannot be got wrong so, it is left out."""
    return dice.choice(_SLIPS)(call, scenario.initial_state, dice)


def misstate(words: str, dice: random.Random) -> str:
    """Last words with a number that is off, or that say nothing."""
    places = [place for place, letter in enumerate(words) if letter.isdigit()]
    if not places or dice.random() < 0.3:
        return "That is all I could find."
    place = dice.choice(places)
    return f"{words[:place]}{(int(words[place]) + dice.randint(1, 8)) % 10}{words[place + 1 :]}"


def _skip(call: Call, state: Mapping[str, Json], dice: random.Random) -> Sequence[Call]:  # noqa: ARG001
    return ()


def _take_another_row(call: Call, state: Mapping[str, Json], dice: random.Random) -> Sequence[Call]:
    return _if_other(mix_up(call, dict(state), dice), call)


def _misjudge_amount(call: Call, state: Mapping[str, Json], dice: random.Random) -> Sequence[Call]:  # noqa: ARG001
    """One more, one less, or a digit lost."""
    amounts = {
        name: value
        for name, value in call.arguments.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if not amounts:
        return ()
    name = dice.choice(sorted(amounts))
    value = amounts[name]
    wrong = dice.choice([value + 1, value - 1, value * 10, type(value)(value / 10)])
    return _if_other(call.model_copy(update={"arguments": call.arguments | {name: wrong}}), call)


def _misread(call: Call, state: Mapping[str, Json], dice: random.Random) -> Sequence[Call]:
    """A value that another row has in the field it was read from."""
    swaps = [
        (name, row[field])
        for name, value in sorted(call.arguments.items())
        for field in _list_fields(value, state)
        for rows in state.values()
        if is_object(rows)
        for row in rows.values()
        if is_object(row)
        and field in row
        and row[field] != value
        and type(row[field]) is type(value)
    ]
    if not swaps:
        return ()
    name, other = dice.choice(swaps)
    return (call.model_copy(update={"arguments": call.arguments | {name: other}}),)


_SLIPS: tuple[Slip, ...] = (_take_another_row, _take_another_row, _misjudge_amount, _misread, _skip)


def _if_other(wrong: Call, call: Call) -> Sequence[Call]:
    return (wrong,) if wrong != call else ()


def _list_homes(call: Call, state: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Collections its arguments name a row of."""
    names = {value for value in call.arguments.values() if isinstance(value, str)}
    return (
        rows for rows in state.values() if is_object(rows) and any(name in rows for name in names)
    )


def _list_fields(value: Json, state: Mapping[str, Json]) -> list[str]:
    """Fields that hold a value in some row."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    rows = [
        row
        for found in state.values()
        if is_object(found)
        for row in found.values()
        if is_object(row)
    ]
    return sorted({field for row in rows for field, held in row.items() if held == value})


def _shrink(scenario: Scenario) -> float:
    return min(1.0, math.sqrt(_USUAL_LENGTH / max(1, len(scenario.oracle))))


def _falls(hazard: float, dice: random.Random) -> bool:
    """Always one draw, so that a hazard that is nought shifts nobody else's luck."""
    return dice.random() < 1 - math.exp(-hazard)
