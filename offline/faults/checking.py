"""Mistakes in a list of checks: one of them is spoilt, missing, or right only by chance.

Clean and faulty lists are heard side by side on ends that right checks tell apart.
"""

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy

from offline.domain import State
from offline.faults.base import FaultCase, Spoilt
from offline.witness import Pair, PlannedProgram, Play, Trace
from schemas.environment import Call
from schemas.prompts import ChecksInput, ChecksReply, WrittenCheck

ChecksCase = FaultCase[ChecksReply]
Spoil = Callable[[str, random.Random], str]
COURT = '''

class Court:
    def __init__(self, state):
        self.initial = state["initial"]
        self.final = state["final"]

    def judge(self) -> list[str]:
        """Say what the checks say."""
        return [f"{type(said).__name__}: {said}" for said in (check(self.initial, self.final) for check in CHECKS)]
'''
MOST_ENDS = 8


def hold_always(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A goal asks only whether there is a state at all."""
    return _spoil(
        case,
        dice,
        lambda source, _: f"{_head(source)}    return isinstance(final, dict) and len(final) > 0\n",
        goals=True,
    )


def keep_guards(case: ChecksCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """All that is asked for is so at the start."""
    return _keep(case, [case.reply.checks[-1]]) if len(case.reply.checks) > 1 else None


def forget_goal(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """One of several goals is not asked for."""
    goals = len(case.reply.checks) - 1
    gone = dice.randrange(goals) if goals > 1 else -1
    return (
        _keep(case, [each for number, each in enumerate(case.reply.checks) if number != gone])
        if goals > 1
        else None
    )


def forget_frame(case: ChecksCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """What else was changed is not looked at."""
    return _keep(case, list(case.reply.checks[:-1])) if len(case.reply.checks) > 1 else None


def mutate(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check empties what it looks through."""
    return _spoil(
        case,
        dice,
        lambda source, _: source.replace(
            "    return True\n", "    final.pop(sorted(final)[0], None)\n    return True\n"
        ),
    )


def answer_number(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check answers with a count instead of yes or no."""
    return _spoil(
        case, dice, lambda source, _: source.replace("    return True\n", "    return len(final)\n")
    )


def answer_nothing(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check forgets to say yes."""
    return _spoil(case, dice, lambda source, _: source.replace("    return True\n", ""))


def invert(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check says yes where it should say no."""
    swap = {"True": "False", "False": "True"}
    return _spoil(
        case,
        dice,
        lambda source, _: re.sub(
            r"return (True|False)", lambda found: f"return {swap[found[1]]}", source
        ),
    )


def raise_on_absent(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check takes for granted that a new row is there, and fails where it is not."""
    return _spoil(
        case,
        dice,
        lambda source, _: re.sub(r"if len\(new\) != ([1-9]):", r"if new[\1 - 1] is None:", source),
        goals=True,
    )


def raise_name(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check reads a name that nobody defined."""
    return _spoil(
        case,
        dice,
        lambda source, _: source.replace("in final.get(", "in final_state.get(").replace(
            "= final.get(", "= final_state.get("
        ),
    )


def ask_order(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check takes the last row for the new one."""
    found = (
        r'new = \[row for key, row in final\.get\("(\w+)", \{\}\)\.items\(\) if key not in '
        r'initial\["\1"\]\]\n    if len\(new\) != 1'
    )
    return _spoil(
        case,
        dice,
        lambda source, _: re.sub(
            found, r'new = list(final["\1"].values())[-1:]\n    if len(new) != 1', source
        ),
        goals=True,
    )


def ask_value_of_chance(case: ChecksCase, dice: random.Random) -> Spoilt | None:
    """A check asks for a generated id."""
    wanted = r'if sum(row["id"] == "row_00000001" and \1 for row in new)'
    return _spoil(
        case,
        dice,
        lambda source, _: re.sub(r"if sum\((.*) for row in new\)", wanted, source),
        goals=True,
    )


def pair_lists(
    clean: list[WrittenCheck], faulty: list[WrittenCheck], asked: ChecksInput
) -> tuple[Pair, ...]:
    """Both lists heard on the same ends."""
    traces = [
        Trace({"initial": asked.initial_state, "final": end}, (Call(name="judge", arguments={}),))
        for end in list_ends(asked)
    ]
    one, other = _open_court(clean), _open_court(faulty)
    return tuple((Play(one, each), Play(other, each)) for each in traces)


def list_ends(asked: ChecksInput) -> list[State]:
    """Ends that right checks tell apart: as asked, untouched, one change short, something besides,
    rows in another order."""
    return [_end(asked), asked.initial_state, *list(_sample_wrong(asked))[:MOST_ENDS]]


def _sample_wrong(asked: ChecksInput) -> Iterator[State]:
    for number in range(len(asked.changes)):
        yield _end(asked, without=number)
    end = _end(asked)
    yield {name: dict(reversed(rows.items())) for name, rows in end.items()}
    for name, rows in end.items():
        untouched = [
            key
            for key, row in rows.items()
            if asked.initial_state.get(name, {}).get(key) == row and len(row) > 1
        ]
        if untouched:
            touched = deepcopy(end)
            touched[name][untouched[0]][list(rows[untouched[0]])[-1]] = "touched"
            yield touched
            return


def _end(asked: ChecksInput, without: int = -1) -> State:
    end: State = deepcopy(asked.initial_state)
    for number, change in enumerate(asked.changes):
        place = end
        for step in change.path[:-1]:
            place = place.get(step, {})
        if number != without:
            place[change.path[-1]] = change.after
    return end


def _open_court(checks: list[WrittenCheck]) -> PlannedProgram:
    parts = [
        each.source.replace("def check(", f"def check_{number}(", 1)
        for number, each in enumerate(checks)
    ]
    names = ", ".join(f"check_{number}" for number in range(len(checks)))
    return PlannedProgram(
        "\n\n".join([*parts, f"CHECKS = [{names}]\n"]) + COURT, "Court", {"judge": "query"}
    )


def _spoil(
    case: ChecksCase, dice: random.Random, spoil: Spoil, goals: bool = False
) -> Spoilt | None:
    """Spoil one check, in an order that chance decides."""
    numbers = list(range(len(case.reply.checks) - goals))
    dice.shuffle(numbers)
    for number in numbers:
        check = case.reply.checks[number]
        source = spoil(check.source, dice)
        if source != check.source:
            spoilt = check.model_copy(update={"source": source})
            return _keep(
                case,
                [
                    spoilt if index == number else each
                    for index, each in enumerate(case.reply.checks)
                ],
            )
    return None


def _keep(case: ChecksCase, checks: list[WrittenCheck]) -> Spoilt:
    reply = case.reply.model_copy(update={"checks": checks}).model_dump(mode="json")
    return Spoilt(
        reply, pair_lists(list(case.reply.checks), checks, ChecksInput.model_validate(case.asked))
    )


def _head(source: str) -> str:
    return source.splitlines(keepends=True)[0]
