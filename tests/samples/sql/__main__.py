"""Writes the verifier of every scenario anew."""

import asyncio
import json
import tempfile

from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from tests.samples.sql import HERE, NAMES, derive, load


async def renew() -> None:
    """Into the folders of the scenarios, in the order of their names."""
    with tempfile.TemporaryDirectory() as home:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": home})) as sandbox:
            for name in NAMES:
                homes = sorted((HERE / name / "scenarios").iterdir())
                for scenario, place in zip(load(name).scenarios, homes, strict=True):
                    verifier = await derive(sandbox, load(name), scenario)
                    (place / "verifier.json").write_text(
                        json.dumps(verifier.model_dump(mode="json"), indent=1) + "\n"
                    )


asyncio.run(renew())
