"""Readers who saw nothing but a printed prompt: each reply is played back through the door, and
down the whole path that it serves.

reply ─► door ─► record ─┬─ theme:     a world that is named, and no errand
                         ├─ blueprint: what a program can be written from
                         ├─ program, skeleton, methods: built in the jail, calls right at every edge
                         ├─ tests:     green on the program, red on each one that forgets a rule
                         ├─ scenario:  reference path runs, verifier derived and measured
                         ├─ checks:    true of the right end alone
                         └─ tester, checker: right about a program that is known
"""

import re
from collections.abc import AsyncGenerator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from envmill.base.settings import Settings
from envmill.gates.review import Plan, play
from envmill.gates.w3 import find_failures
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.base import is_forbidden
from envmill.kinds.start import CLOCK
from envmill.lake.journal import Journal
from envmill.models.gateway import Gateway, ModelSession
from envmill.models.recording import read_recording
from envmill.models.replay import open_playback
from envmill.recipes import envscaler
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.assembly import ProgramParts, assemble, split_methods
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.context import PlacedScenario, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from envmill.verifiers.court import run_checks, sort_checks
from envmill.verifiers.diff import apply_changes, diff_states
from envmill.verifiers.ending import Ending
from schemas.base import Json
from schemas.environment import Blueprint, Call, Environment, Test
from schemas.origin import Origin
from schemas.prompts import (
    BlueprintInput,
    CheckerReply,
    ChecksInput,
    MethodsInput,
    MethodsReply,
    PlannedTest,
    ProgramInput,
    ProgramReply,
    TesterInput,
    TesterReply,
    TestsInput,
    TestsReply,
    ThemeReply,
)
from schemas.run import RunConfig
from schemas.scenario import Check, Draft, Polarity, Scenario
from schemas.seed import Seed
from tests.recipes.reading import READERS, ROLES, fill
from tests.recipes.shed import EDGES, FREE, MAYA, OUT, STATE, TWO_OUT, give_back, lend, search_tests

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNREAD = {"errands"}
"""Prompts that are younger than the recordings: nobody answered them yet."""
RECORDINGS = {path.stem: read_recording(path) for path in sorted(READERS.glob("*.jsonl"))}
REPLIES = sorted({(name, call.subject) for name, calls in RECORDINGS.items() for call in calls})
RECIPE = envscaler.make(read_themes())
ORIGIN = Origin(recipe="envscaler", seed="", provider="", model="", prompt="", prompt_hash="")


def of(*asked: str) -> pytest.MarkDecorator:
    """Every reader's reply to a prompt."""
    replies = [
        pytest.param(*one, id="-".join(one)) for one in REPLIES if one[1].split("-")[0] in asked
    ]
    return pytest.mark.parametrize(("reader", "subject"), replies)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jail(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Sandbox]:
    """One for the module: every reply needs it, and none may leave anything in it."""
    async with Sandbox.open(
        Settings.read({"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))}), drivers=1
    ) as opened:
        yield opened


class Playback:
    """A reader's recording behind a door, as a run would ask it."""

    def __init__(self, reader: str, subject: str, folder: Path) -> None:
        providers = open_playback(RECORDINGS[reader], (), by_order=True)
        self._journal = Journal(folder)
        self.door = Gateway(providers["author"], self._journal, {}, 0, others=providers)
        self.subject = subject
        self.step, self.prompt, self.inputs = fill(subject)
        self.models: ModelSession = self.door.open_session(self.step, subject)

    async def ask(self) -> Any:
        """The reply as its record; BadReply where the text is none."""
        assert self.prompt.gives
        role = ROLES.get(self.prompt.name, "author")
        return await self.models.ask(self.prompt, self.inputs, self.prompt.gives, role=role)

    def context(self, jail: Sandbox, recipe: Recipe = RECIPE, **config: Any) -> RunContext:
        return RunContext(
            "r",
            RunConfig(seed=3, rehearse=False, coverage=False, **config),
            cast(Any, None),
            recipe,
            self.door,
            jail,
        )


@pytest.fixture
def playback(reader: str, subject: str, tmp_path: Path) -> Playback:
    return Playback(reader, subject, tmp_path)


def example(name: str) -> Any:
    return fill(name)[2]


def make_shed(source: str = "") -> Environment:
    """The world of the examples, or a version of it."""
    known: ProgramInput = example("program")
    asked: TestsInput = example("tests")
    return Environment(
        kind="stateful", files={"program.py": source or asked.source}, entry="program:ToolShed", tools=asked.tools, rules=asked.rules,
        policy_document=example("scenario").policy, name=known.name, summary=known.summary, brief=known.brief, blueprint="", licence="",
        origin=ORIGIN,
    )  # fmt: skip


# Theme


@of("theme")
async def test_the_world_behind_a_request_is_named_and_worth_making(playback: Playback) -> None:
    reply: ThemeReply = await playback.ask()
    assert (reply.stateful, reply.specific) == (True, True)
    assert re.fullmatch(r"[a-z]+(_[a-z]+){0,5}", reply.theme)
    assert min(reply.usefulness, reply.modelability) >= 6
    assert reply.description
    assert not re.search(r"(?i)ladder|saturday|my neighbour", reply.description)


# Blueprint


@of("blueprint")
async def test_a_program_can_be_written_from_the_blueprint(playback: Playback) -> None:
    asked = cast(BlueprintInput, playback.inputs)
    blueprint = await RECIPE.think_up(
        Seed(recipe="envscaler", brief=asked.brief, licence=""), FIRST, playback.models
    )
    assert 3 <= len(blueprint.collections) <= 5
    assert 8 <= len(blueprint.tools) <= 14
    assert 6 <= len(blueprint.rules) <= 20
    assert {tool.effect for tool in blueprint.tools} == {"query", "change"}
    assert not [
        tool.name
        for tool in blueprint.tools
        if is_forbidden(tool.name) or not tool.name.isidentifier()
    ]
    assert find_bad_attributes(blueprint) == []
    assert 2 <= len(re.findall(r"[.!?](?:\s|$)", blueprint.policy_document)) <= 7


def find_bad_attributes(blueprint: Blueprint) -> list[str]:
    """No `id` first, a name that is none, or a reference to nothing."""
    things = {name.removesuffix("s") for name in blueprint.collections}
    headless = [name for name, attributes in blueprint.collections.items() if attributes[0] != "id"]
    names = [each for attributes in blueprint.collections.values() for each in attributes]
    loose = [
        each for each in names if each.endswith("_id") and each.removesuffix("_id") not in things
    ]
    return [*headless, *(each for each in names if not each.isidentifier()), *loose]


# Program


async def know_edges(environment: Environment, *_: Any) -> TestsReply:
    """Whoever wrote the program chose the parameters of its searches: only what the names force is
    tried."""
    tests = [
        PlannedTest(name=name, setup=setup, call=call, expect="success" if right else "rejection")
        for name, (setup, call, right) in EDGES.items()
    ]
    return TestsReply(initial_state=STATE, tests=[*tests, *search_tests(environment)])


async def know_rest(part: ProgramReply | MethodsReply, *_: Any) -> ProgramReply:
    """A reader wrote a part of the program; what others would have written is that of the
    example."""
    asked: MethodsInput = example("methods")
    rest = ProgramParts.read(
        cast(TestsInput, example("tests")).source, [tool.name for tool in asked.tools]
    )
    assert rest
    if isinstance(part, ProgramReply):
        return ProgramReply(
            source=assemble(part.source, part.class_name, [*rest.methods.values()]),
            class_name=part.class_name,
        )
    assert sorted(split_methods(part.source)) == sorted(asked.wanted)
    others = [text for name, text in rest.methods.items() if name not in asked.wanted]
    return ProgramReply(
        source=assemble(asked.skeleton, asked.class_name, [part.source, *others]),
        class_name=asked.class_name,
    )


@of("program", "skeleton", "methods")
async def test_a_program_is_built_and_right_at_every_edge(
    playback: Playback, jail: Sandbox
) -> None:
    asked = cast(ProgramInput, example("program"))
    known = asked.model_dump(include={"brief", "name", "summary", "collections", "rules", "tools"})
    blueprint = Blueprint.model_validate(
        known | {"kind": "stateful", "policy_document": "", "licence": "", "origin": ORIGIN}
    )
    recipe = replace(RECIPE, write_tests=know_edges)
    if playback.subject != "program":
        recipe = replace(recipe, write_program=partial(know_rest, await playback.ask()))
    result = await build_environment(
        Subject("x", "y", "t", blueprint), playback.context(jail, recipe), playback.models
    )
    builds = [record for record in result.records if record.table == "builds"]
    assert [build.failure for build in builds] == [""], "it was right the first time"  # type: ignore[attr-defined]
    (environment,) = (record for record in result.records if isinstance(record, Environment))
    for call, places in ((lend(FREE, TWO_OUT), {("loans",), ("tools", FREE, "free")}), (give_back("loan_6c13"), {
        ("loans", "loan_6c13", "returned_on"), ("tools", "tool_58ce", "free")})):  # fmt: skip
        changes = diff_states(STATE, await end(jail, environment, STATE, [call]))
        assert {tuple(one.path) if one.op == "set" else (one.path[0],) for one in changes} == places
        for row in (one.after for one in changes if one.op == "add"):
            assert set(row) == set(asked.collections["loans"])
            assert (row["lent_on"], row["returned_on"]) == ("2026-03-02", "")


async def end(
    jail: Sandbox, environment: Environment, state: dict[str, Json], calls: Sequence[Call]
) -> Any:
    seen = await jail.play(
        Program.of(environment), [Reset(state, CLOCK, 0), *map(Invoke, calls), Look()]
    )
    assert [step.outcome for step in seen] == ["ok"] * len(seen)
    return seen[-1].state


# Tests

FORGETFUL = {
    "lends what is out": ('if not self.tools[tool_id]["free"]:', "if False:"),
    "lends to the suspended": ('["status"] == "suspended"', '["status"] == "gone"'),
    "lends four": ("len(out) >= 3", "len(out) >= 4"),
    "lends two": ("len(out) >= 3", "len(out) >= 2"),
    "counts what is back": (' and not row["returned_on"]]', "]"),
    "takes back twice": ('if loan["returned_on"]:', "if False:"),
    "leaves the tool free": ('self.tools[tool_id]["free"] = False', "pass"),
    "leaves the tool out": ('self.tools[loan["tool_id"]]["free"] = True', "pass"),
    "does not close the loan": ('loan["returned_on"] = now().date().isoformat()', "pass"),
    "knows every member": (
        "        if member_id not in self.members:\n            raise",
        "        if False:\n            raise",
    ),
}


@pytest.mark.long
@of("tests")
async def test_tests_are_green_and_find_out_who_forgets(playback: Playback, jail: Sandbox) -> None:
    reply: TestsReply = await playback.ask()
    shed = make_shed()
    assert await find_failures(shed, store(reply, shed), jail) == []
    tried = [test.call.name for test in reply.tests]
    assert all(tried.count(tool.name) >= 3 for tool in shed.tools)
    refused = {test.call.name for test in reply.tests if test.expect == "rejection"}
    assert {tool.name for tool in shed.tools if tool.parameters.get("required")} <= refused
    missed = [name for name, fault in FORGETFUL.items() if not await catches(reply, fault, jail)]
    assert missed == []


def store(reply: TestsReply, environment: Environment) -> list[Test]:
    known = {"environment": environment.id, "initial_state": reply.initial_state, "origin": ORIGIN}
    return [Test.model_validate(dict(test) | known) for test in reply.tests]


async def catches(reply: TestsReply, fault: tuple[str, str], jail: Sandbox) -> bool:
    source = cast(TestsInput, example("tests")).source
    assert fault[0] in source
    spoilt = make_shed(source.replace(*fault))
    return await find_failures(spoilt, store(reply, spoilt), jail) != []


# Scenario


@of("scenario")
async def test_a_scenario_is_drafted_and_built(playback: Playback, jail: Sandbox) -> None:
    polarity: Polarity = example(playback.subject).polarity
    context = playback.context(jail, polarities={polarity: 1})
    shed = make_shed()
    drafted = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(shed, 1)), context, playback.models
    )
    assert drafted.findings == ()
    (draft,) = drafted.records
    assert isinstance(draft, Draft)
    assert draft.polarity == polarity
    assert find_strays(draft.initial_state) == []
    built = await build_scenario(
        Subject("x", "y", "t", PlacedScenario(draft, shed)), context, playback.models
    )
    assert built.findings == ()
    (scenario,) = built.records
    assert isinstance(scenario, Scenario)
    assert (scenario.oracle_reward, scenario.do_nothing_reward) == (1.0, 0.0)
    assert scenario.features["facts_refused"] == []
    assert not [
        key for rows in draft.initial_state.values() for key in rows if key in draft.request
    ], "people know no ids"


def find_strays(state: dict[str, Json]) -> list[str]:
    """Records that are not as the program keeps them, and references to nothing."""
    kept = cast(ProgramInput, example("program")).collections
    odd = [
        key
        for name, rows in state.items()
        for key, row in rows.items()
        if set(row) != set(kept[name]) or row["id"] != key
    ]
    loans = state["loans"].values()
    return odd + [
        row["id"]
        for row in loans
        if row["tool_id"] not in state["tools"] or row["member_id"] not in state["members"]
    ]


# Checks


@of("checks")
async def test_checks_hold_of_the_right_end_alone(playback: Playback, jail: Sandbox) -> None:
    asked = cast(ChecksInput, playback.inputs)
    reply = await playback.ask()
    checks = [
        Check(name=one.name, op="generated", path=[], source=one.source) for one in reply.checks
    ]
    goals, guards = await sort_checks(jail, checks, asked.initial_state, CLOCK)
    assert len(goals) >= 2
    assert len(guards) == 1
    for name, final in ends_of(asked).items():
        heard = await run_checks(jail, checks, Ending(asked.initial_state, final), CLOCK)
        said = [one.holds for one in heard]
        assert None not in said, (name, heard)
        assert all(said) is name.startswith("right"), (
            name,
            list(zip([one.name for one in checks], said, strict=True)),
        )


def ends_of(asked: ChecksInput) -> dict[str, Any]:
    """The right end, the same on another day with another id, and ends that somebody careless comes
    to."""
    right = apply_changes(asked.initial_state, asked.changes)
    new = next(one.path[1] for one in asked.changes if one.op == "add")

    def spoil(*path: str, value: Json) -> Any:
        spoilt = deepcopy(right)
        place: Any = spoilt
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return spoilt

    later = spoil(
        "loans",
        "loan_zz99",
        value=right["loans"][new] | {"id": "loan_zz99", "lent_on": "2027-01-09"},
    )
    del later["loans"][new]
    later["loans"]["loan_27aa"]["returned_on"] = "2027-01-09"
    half = deepcopy(asked.initial_state)
    half["tools"], half["loans"][new] = right["tools"], right["loans"][new]
    return {
        "right": right,
        "right, on another day": later,
        "two loans": spoil("loans", "loan_zz99", value=right["loans"][new] | {"id": "loan_zz99"}),
        "another ladder": spoil("loans", new, "tool_id", value="tool_2b77"),
        "another member": spoil("loans", new, "member_id", value="mem_70d2"),
        "still in the shed": spoil("tools", FREE, "free", value=True),
        "the loan is not closed": spoil("loans", "loan_27aa", "returned_on", value=""),
        "the drill is still out": spoil("tools", OUT, "free", value=False),
        "somebody is renamed": spoil("members", MAYA, "name", value="Maya O."),
        "another loan is closed": spoil("loans", "loan_d3e2", "returned_on", value="2026-03-02"),
        "a loan is lost": {
            **right,
            "loans": {key: row for key, row in right["loans"].items() if key != "loan_0e5d"},
        },
        "half of it": half,
    }


# Tester and checker


@of("tester")
async def test_a_tester_is_right_about_a_program_that_keeps_the_rules(
    playback: Playback, jail: Sandbox
) -> None:
    asked = cast(TesterInput, playback.inputs)
    reply: TesterReply = await playback.ask()
    shed = make_shed()
    plan = Plan(shed, sum(asked.wanted.values()))
    plan.take(reply, asked.state)
    assert not plan.lost
    tried = [one.call.name for one in reply.calls]
    assert {name: tried.count(name) for name in asked.wanted} == asked.wanted
    cases = await play(Program.of(shed), list(plan.asked.values()), jail)
    ended = [
        (case.asked.call, case.seen.outcome == "ok")
        for case in cases
        if case.seen.code != "invalid_arguments"
    ]
    assert ended == [(one.call, one.expect == "success") for one in reply.calls]


@of("checker")
async def test_a_checker_sees_what_was_forgotten(playback: Playback) -> None:
    reply: CheckerReply = await playback.ask()
    assert (reply.opinion, "free" in reply.reason or "out" in reply.reason) == ("fail", True)


async def test_three_readers_answered_every_prompt() -> None:
    asked = [prompt.name for prompts in RECIPE.prompts.values() for prompt in prompts]
    assert set(asked) > UNREAD
    for name in {*asked} - UNREAD:
        assert (
            sum(any(call.prompt == name for call in calls) for calls in RECORDINGS.values()) >= 3
        ), name
