"""Systems and operators that an author proposes: the honest ones hold, and each dishonest one is
refused for what it does."""

from typing import Any, cast

import pytest

import offline as author
from envmill.gates.w10 import find_duplicates
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.systems import list_systems, load_sorts, load_system
from envmill.kinds.terminal.furnishing import (
    find_system_faults,
    read_operator,
    read_reply,
    try_operator,
    try_system,
)
from envmill.kinds.terminal.perturbing import MOST_FAULTS, assemble_machine
from envmill.kinds.terminal.perturbing import perturb as compose_scenario
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from envmill.recipes import perturb
from envmill.recipes.base import Recipe
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.files import read_machine, write_machine
from envmill.sandbox.machines.healthy import Healthy
from envmill.stages.build import build_environment
from envmill.stages.context import RunContext, Subject
from offline.dice import make_dice
from offline.systems import MISTAKES
from schemas.environment import Blueprint, Environment
from schemas.run import RunConfig
from schemas.seed import Seed
from schemas.system import FileLine
from schemas.system_prompts import FaultsReply, ProposedFault, SystemReply
from tests.kinds.conftest import terminals
from tests.soak import count

__all__ = ["terminals"]

SEED = 3
RECIPE: Recipe = perturb.make([])
SYSTEM, FAULTS = RECIPE.prompts["environments-build"]


def read_example(prompt: Prompt) -> Any:
    """What the prompt shows authors."""
    assert prompt.gives is not None
    shown = (
        prompt.text.partition("{{reply_schema}}")[2]
        .partition("\n## ")[0]
        .partition("For example")[2]
    )
    reply = parse_reply(shown, prompt.gives)
    assert not isinstance(reply, str), reply
    return reply


def pick(number: int, **config: Any) -> list[Seed]:
    return RECIPE.pick_seeds(
        RunConfig.model_validate(
            {"recipe": "perturb", "environments": number, "seed": SEED} | config
        )
    )


async def plan(seed: Seed) -> Blueprint:
    return await RECIPE.think_up(seed, FIRST, cast(Any, Scripted()))


class Scripted:
    """Answers as told, prompt by prompt, the last answer again and again; else as the offline
    author, who makes no mistakes."""

    provider, model = "offline", "offline"

    def __init__(self, **replies: list[Any]) -> None:
        self.replies, self.told, self.asked = replies, list[str](), list[str]()
        self.last_asked: Any = None

    def afresh(self, number: int, warning: str = "") -> "Scripted":
        return self

    async def ask(
        self, prompt: Any, inputs: Any, reply: Any, *, complaint: str = "", **_: Any
    ) -> Any:
        self.asked.append(prompt.name)
        self.told += [complaint] if complaint else []
        if told := self.replies.get(prompt.name):
            return told.pop(0) if len(told) > 1 else told[0]
        return reply.model_validate_json(
            author.answer(prompt.name, inputs.model_dump(mode="json"), SEED, 0, 0.0)
        )


def make_mill(sandbox: Any) -> RunContext:
    return RunContext(
        "r",
        RunConfig(recipe="perturb", seed=SEED),
        cast(Any, None),
        RECIPE,
        cast(Any, None),
        sandbox,
    )


async def build(seed: Seed, sandbox: Sandbox, asked: Scripted) -> Any:
    blueprint = await plan(seed)
    return await build_environment(
        Subject(blueprint.id, seed.id, "", blueprint), make_mill(sandbox), cast(Any, asked)
    )


async def make_till() -> tuple[SystemReply, Healthy]:
    reply = read_example(SYSTEM)
    return reply, read_reply(reply, await plan(pick(1, systems="written")[0]))


def test_a_run_of_written_systems_has_as_many_seeds_as_are_asked_for() -> None:
    seeds = pick(200, systems="written")
    assert len({seed.id for seed in seeds}) == 200
    assert {seed.brief.theme for seed in seeds} == set(load_sorts())
    assert len(load_sorts()) > len(list_systems()) == 14
    assert {seed.brief.written for seed in seeds} == {"system"}
    assert [seed.id for seed in pick(5)] == [seed.id for seed in pick(5, systems="own")], (
        "ids of own systems stay"
    )
    assert "written" not in pick(1)[0].brief.model_dump()
    assert {seed.brief.written for seed in pick(14, systems="operators")} == {"operators"}


async def test_the_example_is_a_system_that_nothing_is_wrong_with() -> None:
    reply, healthy = await make_till()
    assert list(find_system_faults(reply, healthy)) == []
    assert len(list(list_faults(healthy, make_dice("faults")))) == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({"page": "/opt/none"}, "is not among the files", id="page"),
        pytest.param({"directories": ["/root/till"]}, "no place for a file", id="place"),
        pytest.param({"directories": ["/srv/../etc/x"]}, "no place for a file", id="dots"),
        pytest.param({"volatile": ["/var/log"]}, "volatile as a whole", id="volatile"),
        pytest.param({"volatile": ["/etc/till.conf"]}, "is not volatile", id="settings"),
        pytest.param({"complaints": {"total": "no total"}}, "have no complaint", id="silent"),
        pytest.param(
            {"complaints": {"total": "a", "closed": "b", "other": "c"}},
            "belong to no probe",
            id="unknown",
        ),
        pytest.param({"check": "def f(:\n"}, "no Python", id="syntax"),
    ],
)
async def test_what_can_be_seen_before_anything_runs_is_said(
    change: dict[str, Any], says: str
) -> None:
    reply, healthy = await make_till()
    assert says in "\n".join(find_system_faults(reply.model_copy(update=change), healthy))
    foreign = reply.model_copy(
        update={"check": reply.check.replace("report()\n", "import requests\n")}
    )
    told = "\n".join(find_system_faults(foreign, healthy))
    assert "imports requests" in told
    assert "end with report()" in told
    (handle,) = reply.handles
    odd = [
        handle.model_copy(update={"text": "table"}),
        handle.model_copy(update={"can": ["melted"]}),
    ]
    told = "\n".join(find_system_faults(reply.model_copy(update={"handles": odd}), healthy))
    assert "exactly once" in told
    assert "melted" in told


@pytest.mark.long
async def test_more_than_fourteen_environments_are_kept() -> None:
    """W10 compares programs: a written system is none of the factory's own. The same under other
    names is a copy."""
    own = [assemble_machine(await plan(seed)) for seed in pick(28)]
    blueprint, (reply, _) = await plan(pick(1, systems="written")[0]), await make_till()
    bell = {
        path: text.replace("till", "bell").replace("sum", "peal") + "# The bell.\n" * 9
        for path, text in reply.files.items()
    }
    other = reply.model_copy(
        update={"files": bell, "check": reply.check.replace("till", "bell").replace("650", "12")}
    )
    written = [read_reply(one, blueprint) for one in (reply, other)]
    made = [
        *own,
        *(
            assemble_machine(
                blueprint.model_copy(update={"files": write_machine(one, "envmill/base:1")})
            )
            for one in written
        ),
    ]
    kept = [one.id for one in made if find_duplicates(made)[one.id].outcome == "kept"]
    assert len(kept) == 15
    assert sum(one.id in kept for one in made[28:]) == 1


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_a_proposed_system_holds_or_says_why_not(terminals: Sandbox) -> None:
    reply, healthy = await make_till()
    assert await try_system(healthy, terminals) == ("", "")
    touched, once = (
        'must_run("touch", "/srv/till/seen")',
        'want(run("mkdir", "/var/tmp/asked")[0] == 0, "asked before")',
    )
    wrong = {
        "unhealthy": reply.check.replace('"650"', '"651"'),
        "check_disturbs": reply.check.replace(
            "    want_closed(", f"    {touched}\n    want_closed(", 1
        ),
        "check_not_idempotent": reply.check.replace(
            "    want_closed(", f"    {once}\n    want_closed(", 1
        ).replace("probe,", "probe, run,"),
        "no_report": reply.check.replace("report()\n", "raise SystemExit\nreport()\n"),
    }
    for reason, check in wrong.items():
        assert check != reply.check
        check = check.replace("probe,", "probe, run,")
        assert (await try_system(healthy._replace(check=check), terminals))[0] == reason
    broken = healthy._replace(system=healthy.system.model_copy(update={"set_up": "false"}))
    assert (await try_system(broken, terminals))[0] == "does_not_build"


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_a_proposed_operator_holds_or_says_why_not(terminals: Sandbox) -> None:
    _, healthy = await make_till()
    honest, aside = read_example(FAULTS).operators
    for number, operator in enumerate((honest, aside)):
        assert await try_operator(read_operator(operator, number), healthy, terminals) == ("", "")
    assert {name for kinds in MISTAKES.values() for name in kinds} >= {
        "does_nothing",
        "stays_broken",
        "breaks_more",
    }
    refused: dict[str, dict[str, Any]] = {
        "silent": {"break_script": "true", "mend_script": "true"},
        "not_mended": {"mend_script": "true"},
        "mend_failed": {"mend_script": "false"},
        "break_failed": {"break_script": "false"},
        "not_the_opposite": {
            "mend_script": f"{honest.mend_script}\necho 'salt,0' >>/srv/till/today.csv"
        },
        "undeclared_change": {"break_script": f"{honest.break_script}\ntouch /srv/left_over"},
        "underivable": {"right": ["a semicolon"]},
        "bad_place": {"places": ["/tmp/till"]},
    }
    for reason, change in refused.items():
        found, words = await try_operator(
            read_operator(honest.model_copy(update=change), 0), healthy, terminals
        )
        assert (found, bool(words)) == (reason, True)


@pytest.mark.long
@pytest.mark.soak(area="mechanisms")
@pytest.mark.asyncio(loop_scope="module")
async def test_dishonest_operators_of_every_system_are_caught_and_honest_ones_are_not(
    terminals: Sandbox,
) -> None:
    """Honest: files of handles set aside, where the check notices. Of each, what its author could
    make of it instead."""
    honest = dishonest = caught = 0
    for name in list_systems()[: count(1, 14)]:
        healthy = load_system(name)
        files = [
            each.file
            for each in healthy.system.handles
            if isinstance(each, FileLine) and each.file != healthy.system.page
        ]
        for path in list(dict.fromkeys(files))[: count(1, 5)]:
            scripts = (f"mv {path} {path}.old", f"mv {path}.old {path}")
            operator = ProposedFault(
                operator="set_aside",
                places=[path, f"{path}.old"],
                break_script=scripts[0],
                mend_script=scripts[1],
            )
            reason, words = await try_operator(read_operator(operator, 0), healthy, terminals)
            if reason == "silent":  # a file whose absence nobody notices is no place to break
                continue
            assert reason == "", (name, path, words)
            honest += 1
            spoilt: list[Any] = [
                spoil(FaultsReply(operators=[operator])) for spoil in MISTAKES["faults"].values()
            ]
            for reply in spoilt:
                dishonest += 1
                caught += bool(
                    (await try_operator(read_operator(reply.operators[0], 0), healthy, terminals))[
                        0
                    ]
                )
    assert honest >= count(1, 20)
    assert dishonest >= count(3, 60)
    assert caught >= dishonest - dishonest // 20


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_a_written_system_is_mended_broken_and_posed(terminals: Sandbox) -> None:
    """Its own operators are among the faults of its scenarios; each version that was sent back has
    its row."""
    reply, _ = await make_till()
    sick = reply.model_copy(update={"check": reply.check.replace('"650"', '"651"')})
    good = read_example(FAULTS)
    third = ProposedFault(
        operator="shut_table",
        places=["/etc/till.conf"],
        break_script="rm /etc/till.conf",
        mend_script="false",
    )
    whole = FaultsReply(operators=[*good.operators, third])
    scripts = {
        "break_script": "chmod 666 /etc/till.conf",
        "mend_script": "chmod 644 /etc/till.conf",
        "right": ["644"],
    }
    opened = third.model_copy(update={"operator": "opened_settings"} | scripts)
    mended = FaultsReply(operators=[*good.operators, opened])
    asked = Scripted(system=[sick, reply], faults=[whole, mended])
    built = await build(pick(1, systems="written")[0], terminals, asked)
    environment = built.records[-1]
    assert isinstance(environment, Environment), built.findings
    assert asked.asked == ["system", "system", "faults", "faults"]
    assert ["unwell" in asked.told[0], "shut_table" in asked.told[1]] == [True, True]
    assert [(each.outcome, each.fault) for each in built.records[:-1]] == [
        ("failed", "state"), ("built", "none"), ("failed", "state"), ("built", "none"),
    ]  # fmt: skip
    healthy = read_machine(environment.files)
    assert [fault.operator for fault in healthy.system.faults] == [
        "other_separator",
        "program_set_aside",
        "opened_settings",
    ]
    assert "check.py" not in environment.files["Dockerfile"]
    made = await compose_scenario(environment, MOST_FAULTS - 1, SEED, 0, terminals)
    assert made.reason == "", (made.reason, made.detail)
    steps = [str(call.arguments["command"]) for call in made.reply.oracle]
    assert len(steps) == MOST_FAULTS
    assert any(operator.mend_script in step for step in steps for operator in mended.operators)


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_what_never_holds_is_given_up_with_its_reason(terminals: Sandbox) -> None:
    reply, _ = await make_till()
    seed = pick(1, systems="written")[0]
    sick = reply.model_copy(update={"check": reply.check.replace('"650"', '"651"')})
    built = await build(seed, terminals, Scripted(system=[sick]))
    assert [(one.outcome, one.reason) for one in built.findings] == [("dropped", "unhealthy")]
    assert len(built.records) == 4
    idle = ProposedFault(
        operator="idle", places=["/srv/till/today.csv"], break_script="true", mend_script="true"
    )
    built = await build(
        seed, terminals, Scripted(system=[reply], faults=[FaultsReply(operators=[idle])])
    )
    assert [(one.outcome, one.reason) for one in built.findings] == [("dropped", "too_few_faults")]
    assert {each.failure for each in built.records if each.outcome == "failed"}


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_the_offline_author_proposes_operators_for_an_own_system(terminals: Sandbox) -> None:
    seed = next(seed for seed in pick(14, systems="operators") if seed.brief.theme == "rotation")
    asked = Scripted()
    built = await build(seed, terminals, asked)
    environment = built.records[-1]
    assert isinstance(environment, Environment), built.findings
    assert set(asked.asked) == {"faults"}
    assert {fault.operator for fault in read_machine(environment.files).system.faults} == {
        "set_aside"
    }
    own = load_system("rotation", seed.brief.number)
    assert read_machine(environment.files).files == own.files
    plain = await build(replace_brief(seed), terminals, Scripted())
    assert "faults" not in plain.records[-1].files["machine.json"]


def replace_brief(seed: Seed) -> Seed:
    return Seed.model_validate(
        seed.model_dump() | {"id": "", "brief": seed.brief.model_copy(update={"written": ""})}
    )
