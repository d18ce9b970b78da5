"""A scenario through its gates, and what an outsider earns where a part of its verifier is
missing."""

from envmill.gates.base import ScenarioCase
from envmill.sandbox import Sandbox
from tests.trust.kept import measure_kept
from tests.trust.posing import Spot, pose_at
from tests.trust.scenarios import measure


async def test_a_refusal_is_told_from_a_recital(sandbox: Sandbox) -> None:
    """Keys of records the reference path never met are rivals of the reason: without them, the
    recital passes."""
    posed = await pose_at(Spot("crop_planning", 2, 1, "refuse"), "", sandbox)
    assert isinstance(posed, ScenarioCase)
    row = await measure(Spot("crop_planning", 2, 1, "refuse"), "refuse", sandbox)
    assert row
    assert not row.caught, row.detail
    facts = [fact.model_copy(update={"rivals": []}) for fact in posed.scenario.verifier.facts]
    bare = posed.scenario.model_copy(
        update={"verifier": posed.scenario.verifier.model_copy(update={"facts": facts})}
    )
    earned = [
        attack.name
        async for attack in measure_kept(ScenarioCase(bare, posed.environment), sandbox)
        if attack.reward
    ]
    assert "read_everything" in earned
