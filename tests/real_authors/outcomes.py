"""What becomes of each item today, as data: every finding against it, and the end of every
attempt."""

import json
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from envmill.sandbox import Sandbox
from tests.real_authors.corpus import Item, list_attempts
from tests.real_authors.ends import judge_attempt
from tests.real_authors.making import (
    Made,
    look_at_environment,
    look_at_scenario,
    make,
    remake,
    tell,
    verify,
)

TODAY = Path(__file__).parent / "today.json"
EXPECTED = Path(__file__).parent / "expected.toml"

MACHINES = ("endless_terminals",)
"""Recipes whose items take a machine, and long."""


@dataclass
class Outcome:
    """One item's."""

    environment: list[str] = field(default_factory=list[str])
    """What is said against it: `<outcome> <gate> <reason>`; or why it was not built."""
    scenarios: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Number → what is said against it."""
    judged: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """`environment` or number → what is said against it where the recorded judgements decide, in
    the loop and in verify."""
    sent_back: list[str] = field(default_factory=list[str])
    """Replies that the recorded judgements send back, so that a mended version is judged."""
    attempts: dict[str, str] = field(default_factory=dict[str, str])
    """Recorded attempt → verdict."""
    rejected: dict[str, str] = field(default_factory=dict[str, str])
    """Version that was sent back when it was recorded → how it ends today; `stands` when nothing
    sends it back before the gates."""


async def measure(item: Item, made: Made, sandbox: Sandbox) -> Outcome:
    """What becomes of an item that was made without a judge."""
    outcome = Outcome()
    outcome.scenarios = {part: [why] for part, why in made.ends.items() if part != "environment"}
    outcome.environment = (
        [made.ends["environment"]]
        if made.environment is None
        else tell(await look_at_environment(made, sandbox))
    )
    for number in made.scenarios:
        outcome.scenarios[str(number)] = tell(await look_at_scenario(made, number, sandbox))
    if item.recipe not in MACHINES:
        outcome.judged, outcome.sent_back = await _judge(item, sandbox)
    for attempt in (
        one for one in list_attempts() if one.item == item and one.number in made.scenarios
    ):
        verdict, _ = await judge_attempt(made, attempt, sandbox)
        outcome.attempts[attempt.name] = verdict
    for version in item.rejected:
        outcome.rejected[version] = await _try_rejected(made, version, sandbox)
    outcome.scenarios = dict(sorted(outcome.scenarios.items()))
    return outcome


async def _judge(item: Item, sandbox: Sandbox) -> tuple[dict[str, list[str]], list[str]]:
    """What is said against each part, and which replies were asked for again: of these the mended
    version is judged."""
    made = await make(item, sandbox, judged=True)
    found = {part: tell(findings) for part, findings in (await verify(made, sandbox)).items()}
    found |= {part: [why] for part, why in made.ends.items()}
    return dict(sorted(found.items())), sorted(
        stem for stem, times in made.asked.items() if times > 1
    )


async def _try_rejected(made: Made, version: str, sandbox: Sandbox) -> str:
    """What becomes of the part that the version is of; the other parts are not made again."""
    stem, _, _ = version.rpartition(".")
    again = await remake(made, {stem: version}, sandbox)
    number = stem.partition(".")[2]
    return again.ends.get("environment") or again.ends.get(number) or "stands"


def read_today() -> dict[str, Any]:
    return json.loads(TODAY.read_text(encoding="utf-8"))


def write_today(found: dict[str, Outcome]) -> None:
    told = read_today() | {name: asdict(one) for name, one in found.items()}
    TODAY.write_text(
        json.dumps(dict(sorted(told.items())), indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )


def read_expected() -> dict[str, Any]:
    return tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
