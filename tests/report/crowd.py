"""A lake with one run as large as is wanted, written through the lake's own door: `python -m
tests.report.crowd LAKE TRAJECTORIES`."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from schemas.base import Record
from schemas.environment import Environment
from schemas.ledger import Attrition, RunEvent
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Scenario
from schemas.seed import Brief
from tests.specimens import make_environment, make_scenario

RUN = "crowd"
SCENARIOS, ATTEMPTS = 25, 4
"""Per environment, and per scenario: every tenth scenario is dropped, and each attempt at the
others kept."""
KEPT = ATTEMPTS * sum(number % 10 < 9 for number in range(SCENARIOS))
TIME = "2026-11-21T02:00:00+00:00"
REPLIES = [
    {
        "id": f"T{number}",
        "name": f"tool number {number}",
        "free": number % 3 > 0,
        "place": "on the shelf",
    }
    for number in range(24)
]


def fill(lake: Lake, trajectories: int, buckets: int = 40) -> None:
    """At least so many trajectories, with the environments and scenarios that takes."""
    note(lake, "started")
    environments = list(_make_environments(-(-trajectories // KEPT)))
    shared = [environments[number::buckets] for number in range(buckets)]
    for bucket, own in enumerate(one for one in shared if one):
        publish(
            lake, "environments-generate", bucket, [], [_exit(f"seed_{one.id}", one) for one in own]
        )
        publish(
            lake, "environments-build", bucket, own, [_exit(f"bp_{one.id}", one) for one in own]
        )
        for stage in ("verify", "filter"):
            publish(lake, f"environments-{stage}", bucket, [], [_exit(one.id, one) for one in own])
        _fill_scenarios(lake, bucket, own)
    note(lake, "finished")


def _fill_scenarios(lake: Lake, bucket: int, environments: Sequence[Environment]) -> None:
    posed = [
        (home, make_scenario(home, number=number, seed=number))
        for home in environments
        for number in range(SCENARIOS)
    ]
    publish(
        lake,
        "scenarios-generate",
        bucket,
        [],
        [_exit(f"{home.id}:{one.number:03d}", home) for home, one in posed],
    )
    publish(
        lake,
        "scenarios-build",
        bucket,
        [one for _, one in posed],
        [_exit(f"dft_{one.id}", home) for home, one in posed],
    )
    dropped: dict[str, Any] = {
        "outcome": "dropped",
        "reason": "unseen_id",
        "detail": "call 1: nobody said tool_id = 'T1'",
    }
    fates = [(home, one, dropped if one.number % 10 == 9 else {}) for home, one in posed]
    gates = [_exit(one.id, home, gate="S8", **fate) for home, one, fate in fates]
    publish(
        lake,
        "scenarios-verify",
        bucket,
        [],
        [*gates, *(_exit(one.id, home, **fate) for home, one, fate in fates)],
    )
    publish(
        lake,
        "scenarios-filter",
        bucket,
        [],
        [_exit(one.id, home) for home, one, fate in fates if not fate],
    )
    played = [row for _, one, fate in fates if not fate for row in _play(one)]
    publish(
        lake,
        "scenarios-collect",
        bucket,
        played,
        [_exit(one.id, home, children=ATTEMPTS) for home, one, fate in fates if not fate],
    )


def _make_environments(count: int) -> Iterator[Environment]:
    for number in range(count):
        brief = Brief(theme=f"domain_{number % 40}", text="A shed.", number=number)
        yield make_environment(
            name=f"Shed number {number}",
            brief=brief,
            summary=f"Shed number {number} lends tools to its members.",
        )


def _play(scenario: Scenario) -> Iterator[Record]:
    """A teacher's attempts: what is said and done differs in a word, as it would."""
    for attempt in range(ATTEMPTS):
        messages = _converse(f"{scenario.number} {attempt}", scenario.request)
        rollout = Rollout.model_validate(
            {
                "scenario": scenario.id, "environment": scenario.environment, "policy": "model", "rollout_group": "teacher",
                "attempt": attempt, "seed": attempt, "outcome": "pass", "reward": 1.0, "components": {"goals": 1.0}, "reason": "",
                "steps": 4, "termination": "done", "final_state_hash": "h" * 32, "transcript": messages, "changes": [],
            }
        )  # fmt: skip
        told = {
            "rollout": rollout.id,
            "scenario": scenario.id,
            "environment": scenario.environment,
            "policy": "model",
            "reward": 1.0,
        }
        more = {
            "tools": [],
            "loss": [one["role"] == "assistant" for one in messages],
            "state_hashes": [],
            "licence": "CC0-1.0",
        }
        yield rollout
        yield Trajectory.model_validate(told | more | {"messages": messages})


def _converse(word: str, request: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You keep the shed."},
        {"role": "user", "content": request},
    ]
    for number in range(4):
        call = {
            "id": f"call_{number}",
            "name": "list_tools",
            "arguments": {"free_only": bool(number % 2)},
        }
        content = {"ok": True, "parts": [{"type": "json", "value": REPLIES[: 6 + 6 * number]}]}
        messages.append(
            {"role": "assistant", "content": f"Looking once more, {word}.", "tool_calls": [call]}
        )
        messages.append(
            {"role": "tool", "tool_call_id": call["id"], "content": content, "state_hash": "h" * 32}
        )
    return [*messages, {"role": "assistant", "content": "Ada has the drill."}]


def _exit(subject: str, home: Environment, **fields: Any) -> Attrition:
    told = {
        "gate": "exit",
        "outcome": "kept",
        "reason": "",
        "detail": "",
        "children": 1,
        "parent": "",
        "evidence": "",
        "try_number": 1,
    }
    place = {
        "lap": "environments",
        "stage": "generate",
        "recipe": "envscaler",
        "theme": home.brief.theme,
        "tokens": 900,
        "cost": 0.001,
    }
    return Attrition.model_validate(told | place | {"subject": subject, "seconds": 1.0} | fields)


def publish(
    lake: Lake, step: str, bucket: int, rows: Sequence[Record], attrition: Sequence[Attrition]
) -> None:
    lap, stage = step.split("-")
    placed = [
        Attrition.model_validate(row.model_dump(exclude={"id"}) | {"lap": lap, "stage": stage})
        for row in attrition
    ]
    assert lake.publish(rows, placed, Stamp(RUN, step, "f" * 20, bucket, 1, "0", TIME))


def note(lake: Lake, event: Any) -> None:
    detail = {"recipe": "envscaler", "provider": "openai"} if event == "started" else []
    lake.put(
        RunEvent,
        [RunEvent(event=event, happened_at=TIME, detail=detail)],
        event,
        Stamp(RUN, "run", "", 0, 1, "0", TIME),
    )


if __name__ == "__main__":
    fill(Lake(sys.argv[1]), int(sys.argv[2]))
