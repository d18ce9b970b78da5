"""What drops a subject is looked at again in fresh sessions."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from envmill.gates.base import Finding, Gate, GateContext, drop, keep
from tests.gates.specimens import pose


@dataclass
class Jail:
    """A sandbox that may search, and its careful self."""

    searches: bool = True
    asked: list[bool] = field(default_factory=list[bool])

    @property
    def careful(self) -> "Jail":
        return Jail(False, self.asked)


def make_gate(*, in_place: bool, afresh: bool, asks: bool = False) -> Gate[Any]:
    async def look(_: Any, means: GateContext) -> Finding:
        jail: Any = means.sandbox
        jail.asked.append(jail.searches)
        return (
            drop("S0", "paid", "It was paid.")
            if (in_place if jail.searches else afresh)
            else keep("S0")
        )

    return Gate("S0", "scenarios", "Is it paid?", look, asks=asks)


@pytest.mark.parametrize(
    ("in_place", "afresh", "outcome", "asked"),
    [
        pytest.param(True, False, "kept", [True, False], id="a leak"),
        pytest.param(True, True, "dropped", [True, False], id="true"),
        pytest.param(False, True, "kept", [True], id="nothing found"),
    ],
)
async def test_a_finding_that_drops_is_made_again_in_fresh_sessions(
    in_place: bool, afresh: bool, outcome: str, asked: list[bool]
) -> None:
    jail: Any = Jail()
    finding = await make_gate(in_place=in_place, afresh=afresh).decide(pose(), GateContext(jail))
    assert (finding.outcome, jail.asked) == (outcome, asked)


async def test_a_gate_that_asks_models_or_works_in_fresh_sessions_is_asked_once() -> None:
    jail: Any = Jail()
    assert (
        await make_gate(in_place=True, afresh=False, asks=True).decide(pose(), GateContext(jail))
    ).outcome == "dropped"
    assert (
        await make_gate(in_place=True, afresh=True).decide(pose(), GateContext(jail.careful))
    ).outcome == "dropped"
    assert jail.asked == [True, False]
