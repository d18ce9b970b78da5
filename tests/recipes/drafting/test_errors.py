"""Summaries of what went wrong: when they are asked for, what they are told, and where they
stand."""

from dataclasses import replace
from typing import Any, cast

import pytest

from envmill.base.errors import BadReply
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST, Repair
from envmill.recipes import RECIPES
from envmill.recipes.drafting.errors import load_errors, sum_errors
from envmill.recipes.drafting.themes import read_themes
from envmill.stages import build
from envmill.stages.context import RunContext
from schemas.environment import Blueprint, ToolPlan
from schemas.origin import Origin
from schemas.run import RunConfig
from schemas.seed import Brief
from schemas.table_prompts import ErrorsInput, ErrorsReply

PLAN = Blueprint(
    kind="sql",
    brief=Brief(theme="shed", text="", number=0),
    name="Shed",
    summary="",
    collections={},
    rules=["One tool a member."],
    tools=[ToolPlan(name="lend", description="Lends.", effect="change")],
    policy_document="",
    licence="",
    origin=Origin(recipe="awm", seed="", provider="", model="", prompt="", prompt_hash=""),
)
ONE = Complaint("W3", "test_failed", "lend ended in ok", tool="lend")
OTHERS = tuple(replace(ONE, words=f"lend ended in failure {number}") for number in range(5))


class Models:
    """Sums up, or cannot."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[ErrorsInput] = []
        self._fails = fails

    async def ask(self, _prompt: Any, inputs: ErrorsInput, *_: Any, **__: Any) -> ErrorsReply:
        self.asked.append(inputs)
        if self._fails:
            raise BadReply("Nobody can read it.")
        return ErrorsReply(summary="The check on loans is missing. ")


@pytest.mark.parametrize(
    ("failed", "summed"),
    [([(ONE,)], False), ([(ONE,), (ONE,)], True), ([OTHERS[:4]], False), ([OTHERS], True)],
    ids=["one", "twice", "four", "five"],
)
async def test_what_is_more_than_a_little_is_summed_up(
    failed: list[tuple[Complaint, ...]], summed: bool
) -> None:
    models, repair = Models(), Repair(failed[-1])
    told = await sum_errors(load_errors(), PLAN, failed, repair, cast(Any, models))
    assert bool(models.asked) is summed
    if summed:
        assert models.asked[0].versions == [
            [one.render() for one in complaints] for complaints in failed
        ]
        said, _, listed = told.render().partition("The check on loans is missing.")
        assert said.startswith("A reader of all complaints so far")
        assert all(one.render() in listed for one in failed[-1]), "the complaints are told as well"
    else:
        assert told == repair
    assert told.about(["lend"]).summary == told.summary


async def test_a_summary_that_cannot_be_read_costs_nothing() -> None:
    repair = Repair(OTHERS)
    assert (
        await sum_errors(load_errors(), PLAN, [OTHERS], repair, cast(Any, Models(fails=True)))
        == repair
    )


def test_a_first_version_has_no_summary() -> None:
    assert FIRST.render() == ""
    assert replace(FIRST, summary="All is lost.").render() == ""


@pytest.mark.soak(area="mechanisms")
@pytest.mark.parametrize("wanted", [True, False])
async def test_the_repair_loop_hands_the_summary_to_the_next_author(
    wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three versions fail in one conversation; the third is written with a summary of two, unless
    the run wants none."""
    repairs, models = list[Repair](), Models()
    recipe = replace(
        RECIPES["awm"](read_themes()),
        sum_errors=lambda plan, failed, repair, _: sum_errors(
            load_errors(), plan, failed, repair, cast(Any, models)
        ),
    )
    config = RunConfig(recipe="awm", summary=wanted, rehearse=False, seed=1)
    context = RunContext("r", config, cast(Any, None), recipe, cast(Any, None), cast(Any, None))

    async def fail(_plan: Any, before: Any, repair: Repair, *_: Any) -> Any:
        repairs.append(repair)
        return replace(before, complaints=(ONE,))

    class Session:
        def afresh(self, *_: Any) -> "Session":
            return self

    monkeypatch.setattr(build, "_write_version", fail)
    result = await build._write_program(PLAN, context, cast(Any, Session()))
    assert [bool(one.summary) for one in repairs] == [False, False, wanted, False], (
        "the last one begins afresh"
    )
    assert len(models.asked) == wanted
    assert len(result.records) == 4
