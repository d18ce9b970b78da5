"""The judgement of an end: guards · frame × goals.

reward = 1 if everything holds, else 0; a verifier that pays in part pays its goals while guards and frame hold
"""

from types import MappingProxyType

from envmill.verifiers.checks import Said, holds
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.pattern import Keys
from envmill.verifiers.rows import match_rows
from schemas.base import Json
from schemas.rollout import Verdict
from schemas.scenario import Change, Check, Verifier

NOTHING: Said = MappingProxyType({})


def judge(verifier: Verifier, ending: Ending, said: Said = NOTHING) -> Verdict:
    """The verdict on an ending; needs nothing of the program that made it. Generated checks must have been heard (see `court`)."""
    if any(check.op == "generated" and check.source not in said for check in (*verifier.guards, *verifier.goals)):
        return Verdict(outcome="error", reward=None, components={}, reason="a generated check was not heard")
    initial, final = ending.initial, ending.final
    changes = diff_states(initial, final)
    keys = match_rows(verifier.goals, [change for change in changes if change.op == "add"])
    broken = [check.name for check in verifier.guards if not holds(check, initial, final, keys, said)]
    missed = [goal for number, goal in enumerate(verifier.goals) if not _is_met(goal, number, initial, final, keys, said)]
    stray = find_stray(verifier, changes, keys)
    goals = _share(verifier.goals, missed)
    intact, passed = not broken and not stray, not (broken or stray or missed)
    reward = goals if verifier.partial else float(not missed)
    return Verdict(
        outcome="pass" if passed else "fail",
        reward=reward if intact else 0.0,
        components={"guards": float(not broken), "frame": float(not stray), "goals": goals},
        reason="" if passed else _first_reason(broken, stray, missed),
    )


def find_stray(verifier: Verifier, changes: list[Change], keys: Keys) -> list[Change]:
    """Changes nothing declared: every new row needs a goal of its own."""
    excused = [[*verifier.goals[number].path, key] for number, key in keys.items()]
    declared = [*verifier.frame, *excused]
    return [change for change in changes if not any(change.path[: len(path)] == path for path in declared)]


def classify(checks: list[Check], initial: Json, said: Said = NOTHING) -> tuple[list[Check], list[Check]]:
    """Goals are false at the start, guards true: found by running them. A new row is never there at the start."""
    guards = [check for check in checks if check.op != "present" and holds(check, initial, initial, {}, said)]
    return [check for check in checks if check not in guards], guards


def _is_met(goal: Check, number: int, initial: Json, final: Json, keys: Keys, said: Said) -> bool:
    return number in keys if goal.op == "present" else holds(goal, initial, final, keys, said)


def _share(goals: list[Check], missed: list[Check]) -> float:
    total = sum(goal.weight for goal in goals)
    return 1.0 - sum(goal.weight for goal in missed) / total if total else 0.0


def _first_reason(broken: list[str], stray: list[Change], missed: list[Check]) -> str:
    if broken:
        return f"guard broken: {broken[0]}"
    if stray:
        return f"change outside the frame: {stray[0].op} {'.'.join(stray[0].path)}"
    return f"goal missed: {missed[0].name}"
