"""Writes the folder anew: the dialogue, and each scenario with its verifier."""

import asyncio
import json
import tempfile
from typing import Any

from envmill.base.settings import Settings
from envmill.interop.bundles import read_folder
from envmill.kinds.dialogue.wording import render_policy
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Sandbox
from schemas.dialogue import Dialogue
from tests.samples.dialogue import HERE
from tests.samples.dialogue.atoms import SCENARIOS, START, compose
from tests.samples.dialogue.policy import AGENT_TOOLS, CHANGES, READS, WRITES, render_dialogue

FOLDER = HERE / "reader"


def _write(name: str, value: Any) -> None:
    (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


async def renew() -> None:
    """In place; the scenarios' order is that of their names."""
    dialogue = render_dialogue()
    _write("program/dialogue.json", dialogue)
    effects = {
        name: "change" if name in CHANGES else "query" for name in (*AGENT_TOOLS, *READS, *WRITES)
    }
    summary = "The support line of a maker of card readers: records on the agent's side, the reader in the merchant's hand on the other."
    rules = [
        "A SIM or a reader is changed for the merchant it belongs to.",
        "Firmware is installed only while the reader is plugged in.",
    ]
    _write(
        "bundle.json",
        {
            **{
                "bundle": 1,
                "kind": "dialogue",
                "name": "Card reader support",
                "summary": summary,
                "entry": "program:Desk",
            },
            **{
                "effects": effects,
                "rules": rules,
                "policy_document": render_policy(Dialogue.model_validate(dialogue).clauses),
            },
            **{"licence": "CC0-1.0"},
        },
    )
    _write("states/healthy.json", START)
    environment = read_folder(FOLDER).environment
    with tempfile.TemporaryDirectory() as home:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": home})) as sandbox:
            for number, title in enumerate(sorted(SCENARIOS)):
                scenario = await finish(
                    await prepare(compose(environment, title, number), environment, sandbox),
                    "binary",
                    sandbox,
                )
                kept = {
                    "request",
                    "initial_state",
                    "user",
                    "oracle",
                    "say",
                    "polarity",
                    "clock",
                    "seed",
                    "oracle_reward",
                }
                _write(
                    f"scenarios/{title}/scenario.json",
                    scenario.model_dump(mode="json", include=kept),
                )
                _write(
                    f"scenarios/{title}/verifier.json", scenario.verifier.model_dump(mode="json")
                )


if __name__ == "__main__":
    asyncio.run(renew())
