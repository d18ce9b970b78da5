"""Scenarios through their gates: clean ones of every polarity are kept, planted faults are caught, nothing kept pays an outsider."""

import random

import pytest

from envmill.gates.base import Posed
from envmill.sandbox import Sandbox
from tests.author.questions import SAMPLE
from tests.soak import count
from tests.trust.kept import measure_kept
from tests.trust.posing import ANYTHING, Spot, pose_at
from tests.trust.scenarios import follow, measure

SEED = random.Random("/".join(SAMPLE)).randrange(1000)
"""Other scenarios with every commit."""
SURE = ("rejected_oracle", "leaked_tool", "silent_say", "nothing_to_tell", "true_at_the_start")


@pytest.mark.soak(area="trust")
@pytest.mark.parametrize("polarity", ANYTHING)
async def test_clean_scenarios_are_kept_and_pay_no_outsider(polarity: str, sandbox: Sandbox) -> None:
    """A few under `make test`: there one of them may fall; in a soak 97 of 100 stay."""
    tried = count(3, 300)
    async for rows in follow(tried, SEED, [polarity], sandbox):
        kept = [row.posed for row in rows if not row.caught and row.posed]
        assert len(kept) >= len(rows) - max(1, 0.03 * len(rows)), [row.detail for row in rows]
        earned = [(posed, attack) for posed in kept[: count(2, 300)] async for attack in measure_kept(posed, sandbox)]
        passed = [(posed.scenario.id, attack.name) for posed, attack in earned if attack.trial.verdict.outcome == "pass"]
        assert len({scenario for scenario, _ in passed}) <= 0.005 * len(kept), passed
        assert all(attack.reward <= 0.25 for _, attack in earned if attack.trial.verdict.outcome != "pass")


@pytest.mark.soak(area="trust")
@pytest.mark.parametrize("kind", SURE)
async def test_a_planted_fault_is_caught(kind: str, sandbox: Sandbox) -> None:
    async for rows in follow(count(2, 60), SEED, [kind], sandbox):
        assert sum(bool(row.caught) for row in rows) >= 0.95 * len(rows), [row.spot for row in rows if not row.caught]


async def test_a_refusal_is_told_from_a_recital(sandbox: Sandbox) -> None:
    """Keys of records the reference path never met are rivals of the reason: without them, the recital passes."""
    posed = await pose_at(Spot("crop_planning", 2, 1, "refuse"), "", sandbox)
    assert isinstance(posed, Posed)
    row = await measure(Spot("crop_planning", 2, 1, "refuse"), "refuse", sandbox)
    assert row
    assert not row.caught, row.detail
    facts = [fact.model_copy(update={"rivals": []}) for fact in posed.scenario.verifier.facts]
    bare = posed.scenario.model_copy(update={"verifier": posed.scenario.verifier.model_copy(update={"facts": facts})})
    earned = [attack.name async for attack in measure_kept(Posed(bare, posed.environment), sandbox) if attack.reward]
    assert "read_everything" in earned
