"""Scenarios of every polarity as the line makes them, played in the factory, and the folders to
play them again in."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envmill.agents import find_policy
from envmill.agents.log import StoredCall, read_moves, read_words
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds.trial import try_calls
from envmill.sandbox import Sandbox
from envmill.verifiers.diff import apply_changes
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.scenario import Change, Polarity, Scenario
from tests.trust.posing import ANYTHING, Spot, find_clean, make_environment, plant_checks

THEMES: dict[str, tuple[Polarity, ...]] = {
    "tool_lending": ("achieve", "answer", "refuse"),
    "clinic_scheduling": ANYTHING,
}
"""Theme → what success means in its scenarios."""
POLICIES = {"reference": 1, "careless": 2, "skilled@0.5": 1}
"""Policy → attempts at each scenario."""


@dataclass(frozen=True)
class Played:
    """A scenario, what was tried, and its folder."""

    scenario: Scenario
    environment: Environment
    rollouts: tuple[Rollout, ...]
    nothing: float | None
    """Reward of doing nothing."""

    @property
    def name(self) -> str:
        return f"{self.scenario.number:03d}"

    def moves(self, rollout: Rollout) -> list[dict[str, Any]]:
        """A rollout's moves as a bundle takes them."""
        made = [
            {"name": move.call.name, "arguments": move.call.arguments, "actor": move.call.actor}
            if isinstance(move, StoredCall)
            else {"advance": move.seconds}
            for move in read_moves(rollout.transcript)
        ]
        return [*made, *({"say": words} for words in read_words(rollout.transcript))]

    def endings(self) -> Iterator[dict[str, Any]]:
        """Each rollout's ending as the judge is told it."""
        for rollout in self.rollouts:
            deeds = [
                move.deed for move in read_moves(rollout.transcript) if isinstance(move, StoredCall)
            ]
            yield {
                "initial": self.scenario.initial_state,
                "final": apply_changes(
                    self.scenario.initial_state,
                    [Change.model_validate(one) for one in rollout.changes or []],
                ),
                "deeds": [
                    {
                        "call": d.call.model_dump(),
                        "outcome": d.outcome,
                        "code": d.code,
                        "parts": list(d.parts),
                    }
                    for d in deeds
                ],
                "said": read_words(rollout.transcript),
            }


def play_all(settings: Settings) -> list[Played]:
    """Every scenario that its domain gives occasion for, and one that written checks judge."""
    return asyncio.run(_play_all(settings))


async def _play_all(settings: Settings) -> list[Played]:
    async with Sandbox.open(settings) as sandbox:
        found = [
            one
            for theme, polarities in THEMES.items()
            for one in await _pose(theme, polarities, sandbox)
        ]
        return [await _play(*one, sandbox) for one in found]


async def _pose(
    theme: str, polarities: tuple[Polarity, ...], sandbox: Sandbox
) -> list[tuple[Scenario, Environment]]:
    spots = [Spot(theme, 0, place, polarity) for place, polarity in enumerate(polarities)]
    found = [await find_clean(spot, sandbox) for spot in spots]
    written = await plant_checks(spots[0], "", sandbox)
    if isinstance(written, Scenario):
        found.append(written.model_copy(update={"number": len(spots)}))
    return [(one, make_environment(theme, 0)) for one in found if isinstance(one, Scenario)]


async def _play(scenario: Scenario, environment: Environment, sandbox: Sandbox) -> Played:
    scenario = Scenario.model_validate(
        scenario.model_dump() | {"environment": environment.id, "id": ""}
    )
    rollouts = [
        await play_scenario(find_policy(policy), scenario, environment, sandbox, "probe", attempt)
        for policy, attempts in POLICIES.items()
        for attempt in range(attempts)
    ]
    nothing = await try_calls(scenario, environment, sandbox, [])
    return Played(scenario, environment, tuple(rollouts), nothing.verdict.reward)


def write_bundles(played: list[Played], folder: Path) -> dict[str, Path]:
    """Environment id → its folder."""
    homes = {one.environment.id: one.environment for one in played}
    for key, environment in homes.items():
        output = pack_environment(
            environment, [one.scenario for one in played if one.environment.id == key]
        )
        write_output(output, folder, "r")
    return {key: folder / "bundle" / key for key in homes}
