"""Derived look-ups that nobody needs: the verifier leaves them out, and no author is asked to mend
what no author wrote."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Sandbox
from envmill.stages.context import Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.stages.waiving import waive
from envmill.verifiers.demands import render_step
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Fact
from tests.stages.test_posing import ANSWER, ASK, COUNT, SHED, Nobody
from tests.stages.test_rehearsal import Poser, make_mill, only

NONE = Fact(name="how many tools he has", kind="number", value=0)
TWO: dict[str, Any] = ANSWER | {
    "request": "How many tools do Ada and Bo have?",
    "oracle": [ASK, Call(name="get_member", arguments={"member_id": "M2"})],
    "say": "Ada has two tools, and Bo has none: 0.",
    "tell": [COUNT, NONE],
}
BO = "members.M2 was looked at"


async def accept(posed: ScenarioCase, _: GateContext) -> Finding:
    return keep("S2")


async def object_without_bo(posed: ScenarioCase, _: GateContext) -> Finding:
    """An attack that only the look-up stops."""
    steps = [step.name for step in posed.scenario.verifier.procedure]
    return keep("S2") if BO in steps else drop("S2", "attack_passes", "it is paid")


async def pose(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any], gate: Any = accept
) -> tuple[Poser, Draft | None]:
    """With a reader who finds that nobody needs the look at Bo, or at anybody where it is the only
    one."""

    async def find_unasked(
        found: Sequence[Finding], subject: ScenarioCase, *_: Any
    ) -> list[Finding]:
        blamed = [
            step
            for step in subject.scenario.verifier.procedure
            if step.name == BO or len(reply["oracle"]) == 1
        ]
        words = [
            "the verifier demands what nobody asks for: "
            f"{render_step(one, subject.scenario.initial_state)}"
            for one in blamed
        ]
        return [
            *found,
            *(drop("S16", "unasked", f"{one} Ask for it in the request.") for one in words),
        ]

    monkeypatch.setattr("envmill.stages.rehearsal.ask_reader", find_unasked)
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", only("S2", gate))
    poser = Poser([ScenarioReply.model_validate(reply)])
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(SHED, 0)),
        make_mill(sandbox, poser),
        cast(Any, Nobody()),
    )
    return poser, next((record for record in result.records if isinstance(record, Draft)), None)


async def list_steps(draft: Draft, sandbox: Sandbox) -> list[str]:
    scenario = await finish(await prepare(draft, SHED, sandbox), "binary", sandbox)
    return [step.name for step in scenario.verifier.procedure]


async def test_a_look_up_that_nobody_needs_is_not_demanded_and_its_author_is_not_asked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    poser, draft = await pose(sandbox, monkeypatch, TWO)
    assert draft is not None
    assert (poser.told, draft.waived) == ([""], [BO])
    assert await list_steps(draft, sandbox) == ["members.M1 was looked at"]
    assert draft.id != Draft.model_validate(draft.model_dump(exclude={"id", "waived"})).id


async def test_the_only_look_up_stays_since_words_alone_must_earn_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    poser, draft = await pose(sandbox, monkeypatch, ANSWER)
    assert len(poser.told) > 1
    assert draft is not None
    assert not draft.waived
    assert await list_steps(waive(draft, ["members.M1 was looked at"]), sandbox) == [
        "members.M1 was looked at"
    ]


async def test_a_look_up_without_which_an_attack_is_paid_stays(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    poser, draft = await pose(sandbox, monkeypatch, TWO, object_without_bo)
    assert "members" in poser.told[1] or "M2" in poser.told[1]
    assert draft is not None
    assert not draft.waived
