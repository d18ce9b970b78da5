"""Checklists that the author writes: heard before they are taken, sent back with what failed,
measured as derived ones are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.errors import BadReply
from envmill.sandbox import Sandbox
from envmill.stages.build import build_scenario
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.environment import Build
from schemas.prompts import ChecksReply, ScenarioReply, WrittenCheck
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from tests.pipeline.test_runner import ask, settings_in, walk_line
from tests.specimens import LEND, STATE
from tests.stages.test_posing import ASK, SHED, Nobody

WISH: dict[str, Any] = {
    "initial_state": STATE,
    "request": "Lend the saw to Ada.",
    "oracle": [ASK, LEND],
    "polarity": "achieve",
}

LENT = """
def check(initial, final):
    tool = final.get("tools", {}).get("T1", {})
    new = [row for key, row in final.get("loans", {}).items() if key not in initial["loans"]]
    return len(new) == 1 and tool != initial["tools"]["T1"]
"""
NOTHING_ELSE = """
def check(initial, final):
    return initial["members"].keys() == final.get("members", {}).keys()
"""
GOOD = [("a loan is there", LENT), ("nobody else is", NOTHING_ELSE)]
BAD: dict[str, tuple[str, str]] = {
    "raises": (
        "def check(initial, final):\n    return final['nowhere']\n",
        "said neither yes nor no",
    ),
    "says a word": ("def check(initial, final):\n    return 'yes'\n", "said neither yes nor no"),
    "changes what it sees": (
        "def check(initial, final):\n    final.clear()\n    return True\n",
        "said neither yes nor no",
    ),
    "always true": ("def check(initial, final):\n    return True\n", "none asks for anything"),
    "never true": ("def check(initial, final):\n    return False\n", "as you were shown it"),
    "true by chance": (
        "def check(initial, final):\n    return final != initial and sorted(final['loans']) == "
        "%r\n",
        "on another day",
    ),
}


@dataclass
class Writer:
    """A recipe that has its versions ready, and remembers what it was told of each."""

    operators = ()
    samplers = ()
    poses = True
    versions: list[Sequence[tuple[str, str]] | None]
    told: list[str] = field(default_factory=list[str])

    async def pose(self, *_: object) -> ScenarioReply:
        return ScenarioReply.model_validate(WISH)

    async def write_checks(
        self, environment: Any, draft: Any, repair: Any, models: Any
    ) -> ChecksReply:
        self.told.append(repair.render())
        version = self.versions[min(len(self.told), len(self.versions)) - 1]
        if version is None:
            raise BadReply("no JSON in it")
        return ChecksReply(
            checks=[WrittenCheck(name=name, source=source) for name, source in version]
        )


async def build(sandbox: Sandbox, writer: Writer) -> tuple[Result, Draft]:
    context = RunContext(
        "r",
        RunConfig(seed=3, checks="written", rehearse=False),
        cast(Any, None),
        cast(Any, writer),
        cast(Any, None),
        sandbox,
    )
    (draft,) = (
        await generate_draft(
            Subject("x", "y", "t", ScenarioSlot(SHED, 0)), context, cast(Any, Nobody())
        )
    ).records
    assert isinstance(draft, Draft)
    return await build_scenario(
        Subject(draft.id, "y", "t", PlacedScenario(draft, SHED)), context, cast(Any, Nobody())
    ), draft


async def test_a_checklist_that_holds_takes_the_place_of_what_was_derived(sandbox: Sandbox) -> None:
    result, _ = await build(sandbox, Writer([GOOD]))
    scenario, version = result.records
    assert isinstance(scenario, Scenario)
    assert isinstance(version, Build)
    assert [(check.op, check.name) for check in scenario.verifier.goals] == [
        ("generated", "a loan is there")
    ]
    assert [(check.op, check.name) for check in scenario.verifier.guards] == [
        ("generated", "nobody else is")
    ]
    assert (scenario.oracle_reward, scenario.do_nothing_reward) == (1.0, 0.0)
    assert (version.repair, version.outcome, version.fault) == (0, "built", "none")


@pytest.mark.parametrize("bad", list(BAD))
async def test_what_does_not_hold_is_sent_back_with_the_reason(sandbox: Sandbox, bad: str) -> None:
    source, words = BAD[bad]
    if "%r" in source:
        _, draft = await build(sandbox, Writer([GOOD]))
        source %= ([change.path[1] for change in draft.changes if change.path[0] == "loans"],)
    writer = Writer([[("spoilt", source)], GOOD])
    result, draft = await build(sandbox, writer)
    assert len(writer.told) == 2
    assert writer.told[0] == ""
    assert words in writer.told[1]
    scenario, *versions = result.records
    assert isinstance(scenario, Scenario)
    assert [
        (one.repair, one.outcome, one.subject) for one in versions if isinstance(one, Build)
    ] == [
        (0, "failed", draft.id),
        (1, "built", draft.id),
    ]


async def test_after_two_repairs_and_one_afresh_it_is_dropped_with_the_last_failure(
    sandbox: Sandbox,
) -> None:
    writer = Writer([[("always", BAD["always true"][0])]])
    result, _ = await build(sandbox, writer)
    assert len(writer.told) == 4
    assert writer.told[-1] == "", "the last is asked for afresh"
    assert [(one.gate, one.reason) for one in result.findings] == [
        ("verifier", "checks_do_not_hold")
    ]
    assert "none asks for anything" in result.findings[0].detail
    assert [type(one) for one in result.records] == [Build] * 4


async def test_a_repair_nobody_can_read_ends_the_repairs(sandbox: Sandbox) -> None:
    result, _ = await build(sandbox, Writer([[("always", BAD["always true"][0])], None]))
    assert [finding.reason for finding in result.findings] == ["checks_do_not_hold"]
    assert "no JSON in it" in result.findings[0].detail
    result, _ = await build(sandbox, Writer([None]))
    assert [finding.reason for finding in result.findings] == ["bad_reply"]
    assert [type(one) for one in result.records] == [Build] * 2


@pytest.mark.long
async def test_the_line_walks_on_checks_that_were_written(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    config = RunConfig(
        environments=2,
        scenarios=3,
        attempts=4,
        seed=11,
        mistakes=0.0,
        search=20,
        polarities={"achieve": 1},
        checks="written",
    )
    await walk_line(settings, config=config)
    generated = "select count(*) from scenarios where verifier::varchar like '%\"generated\"%'"
    ((made,),) = ask(settings, generated)
    assert made == ask(settings, "select count(*) from drafts")[0][0] > 0
    assert ask(settings, "select distinct outcome from builds where subject like 'dft_%'") == [
        ("built",)
    ]
    assert ask(
        settings,
        "select count(*) from scenarios where oracle_reward <> 1 or do_nothing_reward <> 0",
    ) == [(0,)]
    ((kept,),) = ask(
        settings,
        "select count(*) from exits where lap = 'scenarios' and stage = 'verify' and outcome = "
        "'kept'",
    )
    assert kept > 0
