"""A preview: a few environments made to the end of their gates, shown whole, before a run is paid
for."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

from envmill.base.errors import Pending, SettingsError
from envmill.kinds import kind_of
from envmill.lake.lake import Lake
from flows.cli.printing import print_text
from flows.local.home import Home
from flows.opening import open_walk
from schemas.environment import Environment, Test
from schemas.ledger import Attrition
from schemas.run import RunConfig

_SHOWN = ("mine", "generate", "build", "verify")
"""Stages of the environments' lap that a preview goes through."""


_CROWDED = "over_quota"
"""Why a theme was not chosen, where more were found than were wanted: no candidate died of it."""


def make_preview(home: Home, config: RunConfig, count: int) -> RunConfig:
    """Make and show them; the config of the whole run, which asks nothing again that the preview
    was answered."""
    if config.run or config.corpus:
        raise SettingsError(
            "-n previews a new run of the recipe's own themes. Leave out --resume and --corpus."
        )
    config = config.opened_on(datetime.now(UTC))
    run = f"preview-{uuid4().hex[:8]}"
    only = {"environments": count, "target": None, "max_candidates": None}
    asyncio.run(_walk(home, run, config.model_copy(update=only)))
    for line in describe(Lake(home.settings.lake), run):
        print_text(line)
    return config if config.reuse else config.model_copy(update={"reuse": run})


async def _walk(home: Home, run: str, config: RunConfig) -> None:
    try:
        async with open_walk(run, config, home.settings) as walk:
            await walk.walk(
                [step for step in walk.line if step.lap == "environments" and step.stage in _SHOWN]
            )
    except Pending as error:
        raise SettingsError(
            f"A preview cannot wait for batches ({error.message}). Preview with a model that "
            "answers at once."
        ) from error


def describe(lake: Lake, run: str) -> Iterator[str]:
    """Each environment whole, and what became of every candidate."""
    exits = {row.subject: row for row in lake.read(Attrition, run) if row.gate == "exit"}
    tests = lake.read(Test, run)
    for environment in lake.read(Environment, run):
        verdict = exits.get(environment.id)
        told = (
            f"{verdict.outcome}{f': {verdict.reason}, {verdict.detail}' if verdict.reason else ''}"
            if verdict
            else "not judged"
        )
        yield from describe_environment(
            environment, [one for one in tests if one.environment == environment.id], told
        )
    for row in exits.values():
        if row.outcome != "kept" and row.stage in ("generate", "build") and row.reason != _CROWDED:
            yield (
                f"\n{row.subject} ({row.theme}) ended at {row.stage}: {row.outcome}, "
                f"{row.reason}, {row.detail}"
            )


def describe_environment(
    environment: Environment, tests: list[Test], verdict: str
) -> Iterator[str]:
    """Everything a reader judges it by."""
    yield (
        f"\n{'═' * 100}\n{environment.name} ({environment.kind}, {environment.brief.theme}), "
        f"{environment.id}\ngates: {verdict}\n"
    )
    yield environment.summary
    yield from kind_of(environment).describe(environment)
    for number, rule in enumerate(environment.rules, 1):
        yield f"  {number}. {rule}"
    if environment.policy_document:
        yield f"\npolicy document\n{environment.policy_document}"
    yield f"\n{len(environment.tools)} tools"
    for tool in environment.tools:
        yield (
            f"  {tool.name} ({tool.effect}): {tool.description}\n    "
            f"{json.dumps(tool.parameters, ensure_ascii=False)}"
        )
    for path, text in environment.files.items():
        yield f"\n{path}\n{text}"
    yield f"\n{len(tests)} tests"
    for test in tests:
        yield (
            f"  {test.call.name} {json.dumps(test.call.arguments, ensure_ascii=False)} → "
            f"{test.expect}"
        )
