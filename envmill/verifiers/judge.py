"""The judgement of an end: guards · frame × goals.

reward = 1 if everything holds, else 0; a verifier that pays in part pays its goals while guards and frame hold
"""

from envmill.verifiers.checks import covers, holds
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.rollout import Verdict
from schemas.scenario import Change, Check, Verifier


def judge(verifier: Verifier, initial: Json, final: Json) -> Verdict:
    """The verdict on a final state; needs nothing of the program that made it."""
    broken = [check.name for check in verifier.guards if not holds(check, final)]
    stray = find_stray(verifier, diff_states(initial, final))
    missed = [check.name for check in verifier.goals if not holds(check, final)]
    goals = _share(verifier.goals, final)
    components = {"guards": float(not broken), "frame": float(not stray), "goals": goals}
    intact = not broken and not stray
    reward = goals if verifier.partial else float(goals == 1.0)
    passed = intact and not missed
    return Verdict(
        outcome="pass" if passed else "fail",
        reward=reward if intact else 0.0,
        components=components,
        reason="" if passed else _first_reason(broken, stray, missed),
    )


def find_stray(verifier: Verifier, changes: list[Change]) -> list[Change]:
    """Changes nothing declared: each goal that asks for a new row excuses one such row."""
    wanted = [check for check in verifier.goals if check.op == "present"]
    stray: list[Change] = []
    for change in changes:
        excuse = next((check for check in wanted if _is_row_for(change, check)), None)
        if excuse is not None:
            wanted.remove(excuse)
        elif not any(change.path[: len(path)] == path for path in verifier.frame):
            stray.append(change)
    return stray


def classify(checks: list[Check], initial: Json) -> tuple[list[Check], list[Check]]:
    """Goals are false at the start, guards true: found by running them."""
    guards = [check for check in checks if holds(check, initial)]
    return [check for check in checks if check not in guards], guards


def _is_row_for(change: Change, check: Check) -> bool:
    return change.op == "add" and change.path[:-1] == check.path and covers(change.after, check.value)


def _share(goals: list[Check], final: Json) -> float:
    total = sum(check.weight for check in goals)
    return sum(check.weight for check in goals if holds(check, final)) / total if total else 0.0


def _first_reason(broken: list[str], stray: list[Change], missed: list[str]) -> str:
    if broken:
        return f"guard broken: {broken[0]}"
    if stray:
        return f"change outside the frame: {stray[0].op} {'.'.join(stray[0].path)}"
    return f"goal missed: {missed[0]}"
