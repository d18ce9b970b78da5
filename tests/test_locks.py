"""Locks in repairs: whoever mends a thing is told what a reviewer locked of it, and a version that
changes it goes back, or ends there."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from envmill.kinds.authoring.repair import Repair
from envmill.lake.lake import Lake
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.context import PlacedScenario, Result, Subject
from envmill.stages.generate import generate_blueprint, generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.stages.review import Locks, write_review
from schemas.base import Record
from schemas.environment import Blueprint, Build, Environment
from schemas.prompts import ChecksReply, ProgramReply, ScenarioReply, TestsReply, WrittenCheck
from schemas.scenario import Check, Draft, Scenario, UserContract, Verifier
from schemas.seed import Seed
from tests.kinds.test_plan import SOUND
from tests.specimens import PROGRAM, STATE, make_environment, make_scenario
from tests.stages.test_build import GREEN, UNLOADABLE
from tests.stages.test_posing import ANSWER, SHED, Nobody, make_mill
from tests.stages.test_review import put
from tests.stages.test_written_checks import BAD, GOOD, NOTHING_ELSE, WISH

SEED = Seed(recipe="envscaler", brief=SHED.brief, licence="Apache-2.0")
RULE, OTHER = (
    "A tool that is lent cannot be lent again.",
    "A member has at most 3 tools out at a time.",
)


@dataclass
class Writer:
    """A recipe with its versions ready, one after the other, the last of them again and again; it
    remembers what it was told is locked."""

    operators = ()
    samplers = ()
    poses = True
    versions: Sequence[Any]
    told: list[list[str]] = field(default_factory=list[list[str]])

    def _next(self, locked: Sequence[str]) -> Any:
        self.told.append(list(locked))
        return self.versions[min(len(self.told), len(self.versions)) - 1]

    async def think_up(
        self, seed: Any, repair: Repair, models: Any, before: Blueprint | None = None
    ) -> Blueprint:
        return self._next(repair.locked)

    async def write_program(
        self, blueprint: Any, before: Any, repair: Repair, models: Any
    ) -> ProgramReply:
        return ProgramReply(source=self._next(repair.locked), class_name="Shed")

    async def sum_errors(self, _plan: Any, _failed: Any, repair: Any, _models: Any) -> Any:
        return repair

    async def write_tests(self, *_: Any) -> TestsReply:
        return TestsReply(initial_state=STATE, tests=GREEN)

    async def pose(self, brief: ScenarioBrief, repair: Repair, models: Any) -> ScenarioReply:
        return ScenarioReply.model_validate(self._next(repair.locked))

    async def write_checks(
        self, environment: Any, draft: Any, repair: Repair, models: Any
    ) -> ChecksReply:
        return ChecksReply(
            checks=[
                WrittenCheck(name=name, source=source) for name, source in self._next(repair.locked)
            ]
        )


def lock(settings: Any, record: Record, *parts: str) -> Locks:
    """What a reviewer locked in an earlier run."""
    lake = Lake(settings.lake)
    put(lake, Environment, record if isinstance(record, Environment) else SHED)
    put(lake, Scenario, *([record] if isinstance(record, Scenario) else []))
    write_review(lake, "r1", record.id, "Kim", "accept", locks=parts)
    return Locks(lake)


def tell_end(result: Result) -> tuple[list[str], list[str]]:
    """How each version ended, and what ended it all."""
    return [one.outcome for one in result.records if isinstance(one, Build)], [
        one.reason for one in result.findings
    ]


def make_plan(*rules: str, **changes: Any) -> Blueprint:
    return SOUND.model_copy(update={"rules": list(rules), **changes})


@pytest.mark.parametrize(
    ("mended", "outcomes", "ends"),
    [
        pytest.param([make_plan(RULE)], ["failed", "built"], [], id="kept at once"),
        pytest.param(
            [make_plan(OTHER), make_plan(RULE)], ["failed", "failed", "built"], [], id="sent back"
        ),
        pytest.param([make_plan(OTHER)], ["failed"] * 4, ["locked"], id="never kept"),
    ],
)
async def test_a_repaired_blueprint_keeps_a_locked_rule(
    settings: Any, mended: list[Any], outcomes: list[str], ends: list[str]
) -> None:
    kept = make_environment(rules=[RULE], origin=SHED.origin.model_copy(update={"seed": SEED.id}))
    writer = Writer([make_plan(RULE, tools=[]), *mended])
    context = replace(make_mill(cast(Any, None), writer), locks=lock(settings, kept, RULE))
    result = await generate_blueprint(Subject(SEED.id, "", "t", SEED), context, cast(Any, Nobody()))
    assert tell_end(result) == (outcomes, ends)
    assert writer.told == [[], *[[RULE]] * (len(outcomes) - 1)]


FACTS = {"card": "A7"}
SILENT = ANSWER | {"say": "", "facts": FACTS}


@pytest.mark.parametrize(
    ("mended", "outcomes", "ends"),
    [
        pytest.param([ANSWER | {"facts": FACTS}], ["failed", "built"], [], id="kept at once"),
        pytest.param(
            [ANSWER | {"facts": {"card": "B1"}}], ["failed"] * 4, ["locked"], id="never kept"
        ),
    ],
)
async def test_a_repaired_draft_keeps_a_locked_fact(
    sandbox: Sandbox, settings: Any, mended: list[Any], outcomes: list[str], ends: list[str]
) -> None:
    kept, place = (
        make_scenario(SHED, user=UserContract(opening="Please.", facts=FACTS)),
        ScenarioSlot(SHED, 0),
    )
    writer = Writer([SILENT, *mended])
    context = replace(make_mill(sandbox, writer), locks=lock(settings, kept, "card"))
    result = await generate_draft(Subject(place.id, "y", "t", place), context, cast(Any, Nobody()))
    assert tell_end(result) == (outcomes, ends)
    assert writer.told == [[], *[['card: "A7"']] * (len(outcomes) - 1)]


async def test_a_repaired_program_is_told_which_rules_are_locked(
    sandbox: Sandbox, settings: Any
) -> None:
    blueprint = make_plan(RULE, OTHER)
    writer = Writer([UNLOADABLE, PROGRAM])
    context = replace(
        make_mill(sandbox, writer),
        locks=lock(settings, make_environment(rules=[RULE, OTHER], blueprint=blueprint.id), RULE),
    )
    await build_environment(Subject(blueprint.id, "", "t", blueprint), context, cast(Any, Nobody()))
    assert writer.told == [[], [RULE]]


LOCKED, SPOILT = GOOD[0], ("spoilt", BAD["always true"][0])


async def build(
    sandbox: Sandbox, settings: Any, locked: Check, *versions: Any
) -> tuple[Result, list[list[str]]]:
    """A scenario of a draft one of whose checks was locked."""
    writer = Writer([WISH, *versions])
    context = make_mill(sandbox, writer, checks="written")
    (draft,) = (
        await generate_draft(
            Subject("x", "y", "t", ScenarioSlot(SHED, 0)), context, cast(Any, Nobody())
        )
    ).records
    assert isinstance(draft, Draft)
    kept = make_scenario(
        SHED, draft=draft.id, verifier=Verifier(goals=[locked], guards=[], frame=[])
    )
    context = replace(context, locks=lock(settings, kept, locked.name))
    return await build_scenario(
        Subject(draft.id, "y", "t", PlacedScenario(draft, SHED)), context, cast(Any, Nobody())
    ), writer.told[1:]


@pytest.mark.parametrize(
    ("versions", "outcomes", "ends"),
    [
        pytest.param([[SPOILT], GOOD], ["failed", "built"], [], id="kept by the repair"),
        pytest.param(
            [[("a loan is there", NOTHING_ELSE), GOOD[1]]], ["failed"] * 4, ["locked"], id="changed"
        ),
        pytest.param([[("lent", LOCKED[1]), GOOD[1]]], ["failed"] * 4, ["locked"], id="renamed"),
    ],
)
async def test_a_written_checklist_keeps_a_locked_check(
    sandbox: Sandbox, settings: Any, versions: list[Any], outcomes: list[str], ends: list[str]
) -> None:
    name, source = LOCKED
    result, told = await build(
        sandbox,
        settings,
        Check(name=name, op="generated", path=[], source=source, weight=0.5),
        *versions,
    )
    assert tell_end(result) == (outcomes, ends)
    assert told == [[f"{name}: {source}"]] * len(outcomes)
    assert any(isinstance(one, Scenario) for one in result.records) is not bool(ends)


async def test_nobody_is_asked_for_a_list_that_cannot_hold_what_is_locked(
    sandbox: Sandbox, settings: Any
) -> None:
    """A derived check is no function."""
    context = make_mill(sandbox, Writer([WISH]))
    (draft,) = (
        await generate_draft(
            Subject("x", "y", "t", ScenarioSlot(SHED, 0)), context, cast(Any, Nobody())
        )
    ).records
    assert isinstance(draft, Draft)
    derived = (
        await build_scenario(
            Subject(draft.id, "y", "t", PlacedScenario(draft, SHED)), context, cast(Any, Nobody())
        )
    ).records[0]
    assert isinstance(derived, Scenario)
    result, told = await build(sandbox, settings, derived.verifier.goals[0], GOOD)
    assert tell_end(result) == ([], ["locked"])
    assert told == []
