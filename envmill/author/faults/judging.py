"""Mistakes in check functions: they hold of everything, of nothing, of the beginning, or change what they judge.

A check is played in the jail as a program with one tool, on pairs of states that a right check tells apart.
"""

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TypeAlias

from envmill.author.check import play_oracle
from envmill.author.domain import Domain, State
from envmill.author.witness import Pair, Play, Trace, Version
from schemas.environment import Call
from schemas.prompts import ScenarioReply

COURT = '''

class Court:
    def __init__(self, state):
        self.initial = state["initial"]
        self.final = state["final"]

    def judge(self) -> str:
        """Say what the check says."""
        said = check(self.initial, self.final)
        return f"{type(said).__name__}: {said}"
'''
PlantCheck: TypeAlias = Callable[[str, random.Random], str]
"""Spoils the text of a check; the same text comes back when it has no place for the mistake."""


def hold_always(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check asks only whether there is a state at all."""
    return f"{_head(source)}    return isinstance(final, dict) and len(final) > 0\n"


def hold_at_start(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check asks for nothing that is not so at the start: goals are gone, guards are left."""
    return f"{_head(source)}{source[source.index('    allowed = ') :]}"


def mutate(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check empties what it looks through."""
    return source.replace("    return True\n", "    final.pop(sorted(final)[0], None)\n    return True\n")


def forget_goal(source: str, dice: random.Random) -> str:
    """One of several goals is not asked for."""
    goals = re.findall(r"    if final\[.*:\n        return False\n|    if not any\(.*:\n        return False\n", source)
    return source.replace(dice.choice(goals), "", 1) if goals else source


def forget_frame(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """What else was changed is not looked at."""
    return source[: source.index("    allowed = ")] + "    return True\n"


def raise_on_absent(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check takes for granted that a new row is there, and fails where it is not."""
    return re.sub(r"if len\(new\) != ([1-9]):", r"if new[\1 - 1] is None:", source)


def answer_number(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check answers with a count instead of yes or no."""
    return source.replace("    return True\n", "    return len(final)\n")


def ask_order(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check takes the last row for the new one, which hangs on the order in which rows were kept."""
    found = r'new = \[row for key, row in final\["(\w+)"\]\.items\(\) if key not in initial\["\1"\]\]\n    if len\(new\) != 1'
    return re.sub(found, r'new = list(final["\1"].values())[-1:]\n    if len(new) != 1', source)


def invert(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check says yes where it should say no."""
    return source.replace("return True", "return None").replace("return False", "return True").replace("return None", "return False")


def raise_name(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check reads a name that nobody defined."""
    return source.replace("in initial.items()", "in initial_state.items()")


def ask_value_of_chance(source: str, dice: random.Random) -> str:  # noqa: ARG001
    """The check asks for a generated id."""
    return re.sub(r"if not any\((.*) for row in new\)", r'if not any(row["id"] == "row_00000001" and \1 for row in new)', source)


CHECKS: dict[str, PlantCheck] = {
    "vacuous_check": hold_always,
    "check_true_at_the_start": hold_at_start,
    "mutating_check": mutate,
    "forgotten_goal": forget_goal,
    "no_frame": forget_frame,
    "check_raises_when_undone": raise_on_absent,
    "check_answers_number": answer_number,
    "order_dependent_check": ask_order,
    "inverted_check": invert,
    "check_reads_unknown_name": raise_name,
    "check_asks_for_generated_id": ask_value_of_chance,
}
"""In check functions: no prompt asks for them yet, so rates do not reach them; `plant_check` does."""


def plant_check(kind: str, source: str, dice: random.Random) -> str:
    """A check with this mistake; empty when it has no place for it."""
    spoilt = CHECKS[kind](source, dice)
    return "" if spoilt == source else spoilt


def pair_checks(clean: str, faulty: str, traces: list[Trace]) -> list[Pair]:
    """Both checks on the same pairs of states."""
    return [(Play(open_court(clean), each), Play(open_court(faulty), each)) for each in traces]


def open_court(source: str) -> Version:
    """A check as a program with one tool."""
    return Version(source + COURT, "Court", {"judge": "query"})


def list_ends(domain: Domain, reply: ScenarioReply) -> list[Trace]:
    """Ends that a right check tells apart: as asked, untouched, one change short, one thing too many, and rows in another order."""
    initial = reply.initial_state
    return [
        Trace({"initial": initial, "final": end}, (Call(name="judge", arguments={}),)) for end in _draw_ends(domain, initial, reply.oracle)
    ]


def _draw_ends(domain: Domain, initial: State, oracle: list[Call]) -> Iterator[State]:
    end = play_oracle(domain, initial, oracle, 0, "judged")
    yield end
    yield initial
    for name, rows in initial.items():
        for row_id, row in rows.items():
            if end[name][row_id] != row:
                yield {**end, name: {**end[name], row_id: row}}
        new = [key for key in end[name] if key not in rows]
        yield from ({**end, name: {key: row for key, row in end[name].items() if key != gone}} for gone in new)
        for key in new:
            yield {
                **end,
                name: {**end[name], key: {**end[name][key], **dict.fromkeys((each for each in end[name][key] if each != "id"), "")}},
            }
        yield {**end, name: dict(reversed(end[name].items()))}
    for name, rows in initial.items():
        for row_id in rows:
            if end[name][row_id] == rows[row_id]:
                touched = deepcopy(end)
                last = list(touched[name][row_id])[-1]
                touched[name][row_id][last] = "touched"
                yield touched
                break


def _head(source: str) -> str:
    return "".join(source.splitlines(keepends=True)[:2])
