"""Words of a request are refused by proofs, and by suspicions that a judge confirms."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from envmill.gates.base import Finding, ScenarioCase, drop, fail, gather, keep
from envmill.gates.reading.wording import find_refusal

PROOF, DOUBT = drop("S9", "hidden_id", "it tells T1"), drop("S9", "tool_name", "it tells `lend`")


@pytest.mark.parametrize(
    ("found", "judge", "refusal"),
    [
        pytest.param(PROOF, "cleared", "S9_hidden_id", id="a proof"),
        pytest.param(DOUBT, "suspected", None, id="a suspicion, and nobody asked"),
        pytest.param(DOUBT, "cleared", None, id="a suspicion that was cleared"),
        pytest.param(DOUBT, "dropped", "S9_tool_name", id="a suspicion that was confirmed"),
        pytest.param(
            gather("S9", [DOUBT, PROOF]),
            "suspected",
            "S9_hidden_id",
            id="a proof behind a suspicion",
        ),
        pytest.param(
            fail("S9", "no_end", "it broke down"), "suspected", "S9_no_end", id="an error"
        ),
        pytest.param(keep("S9"), "dropped", None, id="nothing"),
    ],
)
async def test_only_what_is_proved_or_confirmed_refuses_words(
    found: Finding, judge: Any, refusal: str | None
) -> None:
    async def hear(findings: Sequence[Finding], _: ScenarioCase) -> list[Finding]:
        return [
            Finding(one.gate, judge, one.reason, one.detail) if one.outcome == "suspected" else one
            for one in findings
        ]

    told = await find_refusal(found.spread(), cast(Any, None), hear)
    assert (told[0] if told else None) == refusal
