# pyright: basic, reportMissingImports=false
"""verl's custom reward function: a rollout's calls are made again in a session of this process, and
judged."""

from collections.abc import Mapping
from typing import Any

from .sessions import JailError, JudgeError, OutageError, SessionVerdict, SetError
from .worlds import Trail, open_worlds


def compute_score(
    data_source: str,  # noqa: ARG001  verl hands it over
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **more: Any,  # noqa: ARG001
) -> dict[str, Any]:
    """1 where the scenario is solved, else 0. Outages are raised, since verl has no reward for
    them."""
    told = _read_trail(extra_info or {})
    scenario = told["scenario"] if told else ground_truth
    if told and told["outage"]:
        raise OutageError(f"{scenario}: {told['outage']}")
    moves = list(told["moves"]) if told else []
    words = strip_thoughts(cut_marks(told["words"], solution_str) if told else solution_str)
    state_hash = told["state_hash"] if told else ""
    verdict = _judge(scenario, [*moves, *([{"say": words}] if words else [])], state_hash)
    if verdict.reward is None:
        raise OutageError(f"{scenario}: nothing was found out: {verdict.reason}")
    return {
        "score": verdict.reward,
        "acc": float(verdict.outcome == "pass"),
        "calls": len(moves),
        "state_hash": verdict.state_hash,
    }


def cut_marks(words: str, solution_str: str) -> str:
    """The last words without their special tokens: verl leaves these in messages, and takes them
    out of what it hands to rewards."""
    spoken = solution_str.rstrip()
    return next(
        (words[:end] for end in range(len(words), 0, -1) if spoken.endswith(words[:end].rstrip())),
        "",
    )


def strip_thoughts(text: str) -> str:
    """What stands before the last `</think>`, and after a `<think>` that never ends, is told to
    nobody."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def _read_trail(extra_info: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """None where no tool was called."""
    trail = (extra_info.get("extras") or {}).get("envmill")
    told = trail.describe() if isinstance(trail, Trail) else trail
    if told and told["scenario"] != extra_info.get("scenario", told["scenario"]):
        raise SetError(
            f"The row is of scenario {extra_info['scenario']}, and its calls were made in "
            f"{told['scenario']}. Mend extra_info."
        )
    return told


def _judge(scenario: str, moves: list[dict[str, Any]], state_hash: str) -> SessionVerdict:
    """Once more where the jail or the judge broke down."""
    try:
        return open_worlds().judge_moves(scenario, moves, state_hash)
    except (JailError, JudgeError):
        pass
    try:
        return open_worlds().judge_moves(scenario, moves, state_hash)
    except (JailError, JudgeError) as error:
        raise OutageError(f"{scenario}: {error}") from error
