"""Progress: the state of a verifier's goals and guards, by number, in the middle of an attempt.

Progress consists of numbers only, so it does not reveal what a goal or a guard asks for.
"""

from collections.abc import Mapping

from envmill.verifiers.checks import Said, holds
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import NOTHING
from envmill.verifiers.rows import match_rows
from schemas.scenario import Verifier


def find_progress(
    verifier: Verifier, ending: Ending, said: Said = NOTHING
) -> Mapping[str, list[int]]:
    """Numbers of the `goals` that hold and the `guards` that are broken, counted as in a verdict.

    Generated checks must have run before (see `court`).
    """
    initial, final = ending.initial, ending.final
    added = [one for one in diff_states(initial, final, ending.serialised) if one.op == "add"]
    keys = match_rows(verifier.goals, added, final)
    goals = [
        number
        for number, goal in enumerate(verifier.goals)
        if (number in keys if goal.op == "present" else holds(goal, initial, final, keys, said))
    ]
    guards = [
        number
        for number, guard in enumerate(verifier.guards)
        if not holds(guard, initial, final, keys, said)
    ]
    return {"goals": goals, "guards": guards}
