"""The filter with a model as its probe: what an outage costs, and that nothing is paid for
twice."""

from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.errors import Outage
from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.filter import filter_scenario
from schemas.rollout import Rollout
from schemas.run import RunConfig
from tests.agents.talks import LEND, LIST, SHED, TALK, fault, turn
from tests.models.calling import list_calls, open_door
from tests.models.vendors.launch import Loopback

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIG = RunConfig.model_validate(
    {
        "probe": "model",
        "policy": "openai:loopback-large@box",
        "form": "mixed",
        "attempts": 4,
        "seed": 1,
    }
)


async def probe(vendors: Loopback, folder: Path, sandbox: Sandbox, settings: Settings) -> Result:
    """One process's work on the scenario."""
    async with open_door("openai", vendors.root, folder) as door:
        context = RunContext("r", CONFIG, settings, cast(Any, None), door, sandbox)
        subject = Subject(TALK.id, "y", "t", PlacedScenario(TALK, SHED))
        return await filter_scenario(
            subject, context, door.open_session("scenarios-filter", TALK.id)
        )


async def test_probes_by_a_model_survive_an_outage(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox, settings: Settings
) -> None:
    """Four attempts side by side, every other one a conversation; one meets a server that has gone,
    and all go on from there."""
    # What is said depends on how far a conversation is, so the attempts may come in any order.
    ask = [turn("Which tool?", match=TALK.user.opening)] * 2
    broken = fault("The tool is drill", 99, status=503)
    vendors.script(
        *[turn("Lent.", match='"loan"')] * 2,
        *[turn("", LEND, match='"saw"')] * 2,
        *ask,
        broken,
        *[turn("", LIST)] * 2,
    )
    with pytest.raises(Outage, match="2 of 4 attempts"):
        await probe(vendors, tmp_path, sandbox, settings)
    assert {call.outcome for call in list_calls(tmp_path)} == {"reply", "outage"}
    vendors.script(*[turn("Lent to Ada.", match='"loan"')] * 2, *[turn("", LEND)] * 2)
    result = await probe(vendors, tmp_path, sandbox, settings)
    made = [one for one in result.records if isinstance(one, Rollout)]
    assert [(one.form, one.outcome) for one in made] == [
        ("single", "pass"),
        ("conversation", "pass"),
    ] * 2
    assert set(vendors.counts()["answered"].values()) <= {1, 2}
    replies = [call for call in list_calls(tmp_path) if call.outcome == "reply" and not call.reused]
    assert len(replies) == len({(call.request, call.sample) for call in replies}) == 2 * 3 + 2 * 3
    assert [(one.gate, one.outcome) for one in result.findings if one.gate == "F1"] == [
        ("F1", "kept")
    ]
