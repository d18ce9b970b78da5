"""Gates over terminals: each says yes to what is right, names what is planted, and takes no outage
for a fault of it.

The machine is a stand-in that knows what commands lead to; `tests/kinds/test_terminal.py` asks real
ones, under `make soak` by all gates.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase
from envmill.kinds.terminal import compose_state, write_step
from envmill.kinds.terminal.gates import LOOKS, NOT_HERE, machine, mended, plays
from envmill.kinds.trial import Trial
from envmill.sandbox import Invoke, Observation, Program, Step
from envmill.sandbox.machines.files import ERRAND, FINAL
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge, make_error
from schemas.base import Json
from schemas.cell import Cell
from schemas.environment import Call
from schemas.errand import Errand, Outfit
from schemas.scenario import Scenario
from tests.kinds.terminals import break_system, make_environment, make_scenario

SHARE = make_environment()
BROKEN = make_scenario(SHARE, break_system(), {"posts"})
(STEP,) = (each.arguments["command"] for each in BROKEN.oracle)
SICK = {
    part: dict.fromkeys(BROKEN.initial_state["health"], said)
    for part, said in (("health", "well"), ("lasting", "well"))
}
Fake = Callable[[Sequence[str]], dict[str, Json]]


def lead(commands: Sequence[str]) -> dict[str, Json]:
    """Where commands lead: mended by the one step, and undone by nearly everything else that
    writes."""
    if STEP not in commands:
        return BROKEN.initial_state
    after = list(commands)[list(commands).index(STEP) + 1 :]
    if any("services stop" in each for each in after):
        return {**BROKEN.initial_state, "inside": {"/usr/local/bin/survey-post": True}}
    touched = any(
        each in commands[-1]
        for each in ("left-behind", "all is well", "chmod 777", "debian_version")
    )
    return {
        **BROKEN.initial_state,
        **SICK,
        "inside": {"/usr/local/bin/survey-post": True},
        "outside": {"/etc/x": True} if touched else {},
    }


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fake], None]:
    """Put a stand-in in place of containers."""

    def use(fake: Fake) -> None:
        async def try_calls(
            scenario: Scenario, _e: object, _s: object, calls: Sequence[Call], **_: object
        ) -> Trial:
            state = fake([each.arguments["command"] for each in calls])
            if "broke" in state:
                return Trial([], None, make_error("the container is gone"))
            shown: Json = {"exit_code": state.get("code", 0), "output": state.get("output", "")}
            final = {name: each for name, each in state.items() if name not in ("code", "output")}
            replies = [
                Observation("ok", [{"type": "json", "value": shown}], "", "", "", None)
                for _ in calls
            ]
            looked = Observation("ok", [], "", "", "", final)
            ending = Ending(scenario.initial_state, final)
            return Trial([looked, *replies, looked], ending, judge(scenario.verifier, ending))

        async def read(_s: object, _m: object, command: str) -> str:
            state = fake([command])
            if "broke" in state:
                raise plays.BrokenMachine("the container is gone")
            return state.get("output", "")

        monkeypatch.setattr(plays, "try_calls", try_calls)
        monkeypatch.setattr(mended, "read", read)
        plays._KEPT.clear()  # pyright: ignore[reportPrivateUsage]

    return use


async def ask(
    name: str, scenario: Scenario = BROKEN, siblings: tuple[Scenario, ...] = ()
) -> Finding:
    return await GATES[name].check(ScenarioCase(scenario, SHARE, siblings), GateContext(None))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [name for name in LOOKS if name[0] == "S"])
async def test_a_right_scenario_is_kept(pretend: Callable[[Fake], None], name: str) -> None:
    pretend(lead)
    other = make_scenario(SHARE, break_system(operator="wrong_mode"), {"plans"})
    finding = await ask(name, siblings=(other,))
    assert (finding.gate, finding.outcome, finding.detail) == (name, "kept", "")


def once(value: dict[str, Json]) -> Fake:
    """Right at first, and this from the second machine on."""
    seen: list[int] = []

    def fake(commands: Sequence[str]) -> dict[str, Json]:
        seen.append(1)
        return lead(commands) if len(seen) == 1 else {**lead(commands), **value}

    return fake


PASSES = {**BROKEN.initial_state, **SICK}
PLANTED: dict[str, tuple[str, Fake]] = {
    "S1-fails": ("oracle_fails_to_run", lambda each: {**lead(each), "code": 1}),
    "S1-mends-nothing": ("oracle_fails", lambda _: BROKEN.initial_state),
    "S1-differs": ("oracle_differs", once({"inside": {}})),
    "S2": ("attack_paid", lambda _: PASSES),
    "S3": ("survives_without", lambda _: PASSES),
    "S4": ("mutant_survives", lambda _: PASSES),
    "S4-open": (
        "mutant_survives",
        lambda each: {
            **lead([one for one in each if "-exec chmod 777" not in one]),
            "output": str(any("-exec chmod 777" in one for one in each)),
        },
    ),
    "S5": ("collateral_unseen", lambda _: PASSES),
    "S6": ("route_refused", lambda each: lead(each) if len(each) == 1 else BROKEN.initial_state),
    "S9": (
        "left_behind",
        lambda each: {**lead(each), "output": "/usr/share/check.py\n/tmp:\n/root:\n.bashrc\n"},
    ),
    "S11-flaky": (
        "oracle_fails",
        lambda each: lead(each) if len(plays._KEPT) < 3 else BROKEN.initial_state,
    ),  # pyright: ignore[reportPrivateUsage]
    "S11-starts": (
        "start_differs",
        lambda each: lead(each) if each else {**BROKEN.initial_state, "outside": {"/etc/x": True}},
    ),
    "S12": ("goal_says_nothing", lambda _: BROKEN.initial_state),
    "S13": ("forger_paid", lambda _: PASSES),
    "S14": ("sibling_passes", lambda _: PASSES),
}


@pytest.mark.parametrize("case", PLANTED)
async def test_what_is_planted_is_named(pretend: Callable[[Fake], None], case: str) -> None:
    reason, fake = PLANTED[case]
    pretend(fake)
    other = make_scenario(SHARE, break_system(operator="wrong_mode"), {"plans"})
    finding = await ask(case.partition("-")[0], siblings=(other,))
    assert (finding.outcome, finding.reason) == ("dropped", reason), finding.detail


async def test_a_daemon_may_write_where_anything_may_change(
    pretend: Callable[[Fake], None],
) -> None:
    pretend(
        lambda each: (
            lead(each)
            if each
            else {**BROKEN.initial_state, "inside": {"/usr/local/bin/survey-post": True}}
        )
    )
    assert (await ask("S11")).outcome == "kept"


@pytest.mark.parametrize(
    ("leaves", "end"),
    [
        pytest.param("", ("kept", ""), id="a look"),
        pytest.param(
            "a daemon", ("dropped", "mutant_survives"), id="something that nobody asks about"
        ),
    ],
)
async def test_a_step_that_is_not_missed_must_leave_nothing_behind(
    pretend: Callable[[Fake], None], leaves: str, end: tuple[str, str]
) -> None:
    more = write_step("cat /srv/board")
    pretend(lambda each: {**lead(each), "output": leaves if more in each else ""})
    steps = [*BROKEN.oracle, Call(name="shell", arguments={"command": more})]
    finding = await ask("S4", Scenario.model_validate({**dict(BROKEN), "oracle": steps, "id": ""}))
    assert (finding.outcome, finding.reason) == end, finding.detail


@pytest.mark.parametrize(
    ("left", "end"),
    [
        pytest.param("as after the path", ("kept", ""), id="a service made it again"),
        pytest.param("nothing", ("dropped", "mutant_survives"), id="nobody asks about it"),
    ],
)
async def test_what_is_spoilt_may_be_made_again_by_a_service(
    pretend: Callable[[Fake], None], left: str, end: tuple[str, str]
) -> None:
    def fake(each: Sequence[str]) -> dict[str, Json]:
        spoilt = any("-exec chmod 777" in one for one in each)
        return {
            **lead([one for one in each if "-exec chmod 777" not in one]),
            "output": left if spoilt else "as after the path",
        }

    pretend(fake)
    finding = await ask("S4")
    assert (finding.outcome, finding.reason) == end, finding.detail


@pytest.mark.parametrize("name", [name for name in LOOKS if name[0] == "S"])
async def test_an_outage_is_no_fault_of_the_candidate(
    pretend: Callable[[Fake], None], name: str
) -> None:
    pretend(lambda _: {"broke": True})
    other = make_scenario(SHARE, break_system(operator="wrong_mode"), {"plans"})
    finding = await ask(name, siblings=(other,))
    assert (finding.outcome, finding.reason) == ("error", "no_verdict")


async def test_a_request_that_tells_the_mend_is_a_leak(pretend: Callable[[Fake], None]) -> None:
    pretend(lead)
    line = max(STEP.splitlines(), key=len)
    finding = await ask("S9", BROKEN.model_copy(update={"request": f"Please run {line}"}))
    assert (finding.outcome, finding.reason) == ("dropped", "told")


EXAM = """
def test_the_settings_are_merged():
    assert "; honey stall, the usual settings" in Path("/srv/shop.ini").read_text()
    assert total() == "1432.80"
"""
FILE = "; honey stall, the usual settings\nprice = 12\n"


@pytest.mark.parametrize(
    ("read_first", "told"),
    [
        (FILE, []),
        (f"{FILE} Keep the line '; honey stall, the usual settings'.", []),
        ("PATH=/usr/sbin:/usr/bin and 11432.80", []),
        (f"{FILE} The total is 1432.80.", ["1432.80"]),
        (f"{FILE} def test_the_settings_are_merged():", ["def test_the_settings_are_merged():"]),
    ],
)
def test_only_results_and_tests_of_an_errand_are_secret(read_first: str, told: list[str]) -> None:
    errand = Errand(
        request="Merge them.",
        at_first="",
        at_the_end="",
        places=["/srv"],
        answers=["1432.80", "12"],
    )
    cell = Cell(
        category="config", complexity="two things", steps=2, persona="keeper", about="a honey stall"
    )
    files = {
        ERRAND: Outfit(cell=cell, errand=errand, goals=[], solution=[]).model_dump_json(),
        FINAL: EXAM,
    }
    assert mended.list_results(files, FINAL, read_first) == told


async def test_a_scenario_without_a_path_or_a_goal_is_no_scenario(
    pretend: Callable[[Fake], None],
) -> None:
    pretend(lead)
    assert (await ask("S1", BROKEN.model_copy(update={"oracle": []}))).reason == "no_oracle"
    empty = BROKEN.verifier.model_copy(update={"goals": []})
    assert (await ask("S12", BROKEN.model_copy(update={"verifier": empty}))).reason == "no_goal"
    well = BROKEN.verifier.guards[0].model_copy(update={"value": "ill"})
    wrong = BROKEN.verifier.model_copy(update={"guards": [well]})
    assert (
        await ask("S12", BROKEN.model_copy(update={"verifier": wrong}))
    ).reason == "guard_says_nothing"
    assert (await ask("S14")).reason == "no_siblings"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PAUSE", 0.0)


class Pretended:
    """A sandbox whose machines look so."""

    def __init__(self, state: Json, begun: str = "", rejects: bool = True) -> None:
        self.state, self.begun, self.rejects = state, begun, rejects

    async def play(self, _: Program, steps: Sequence[Step]) -> list[Observation]:
        first = Observation(
            "failure" if self.begun else "ok", [], self.begun, "as planted", "", None
        )
        refused = Observation(
            "rejection" if self.rejects else "ok", [], "invalid_arguments", "no", "", None
        )
        return [
            first,
            *(
                refused if isinstance(each, Invoke) else replace(refused, state=self.state)
                for each in steps[1:]
            ),
        ]


HEALTHY = compose_state(SHARE.files, [], [], set())
ILL = compose_state(SHARE.files, [], [], {"plans"})


@pytest.mark.parametrize(
    ("name", "pretended", "outcome", "reason"),
    [
        pytest.param("W2", Pretended(HEALTHY), "kept", "", id="W2"),
        pytest.param("W2", Pretended(ILL), "dropped", "unhealthy", id="W2-ill"),
        pytest.param(
            "W2",
            Pretended({**HEALTHY, "lasting": ILL["health"]}),
            "dropped",
            "not_lasting",
            id="W2-lasting",
        ),
        pytest.param(
            "W2",
            Pretended({**HEALTHY, "outside": {"/x": True}}),
            "dropped",
            "changes_by_itself",
            id="W2-changes",
        ),
        pytest.param("W2", Pretended(None), "error", "no_verdict", id="W2-outage"),
        pytest.param(
            "W2",
            Pretended(None, "does_not_construct"),
            "dropped",
            "does_not_construct",
            id="W2-start",
        ),
        pytest.param("W5", Pretended(HEALTHY), "kept", "", id="W5"),
        pytest.param("W5", Pretended(ILL), "dropped", "flaky", id="W5-flaky"),
        pytest.param("W5", Pretended(None), "error", "no_verdict", id="W5-outage"),
        pytest.param("W6", Pretended(HEALTHY), "kept", "", id="W6"),
        pytest.param(
            "W6", Pretended(HEALTHY, rejects=False), "dropped", "not_rejected", id="W6-taken"
        ),
        pytest.param("W6", Pretended(ILL), "dropped", "rejection_changes", id="W6-changes"),
        pytest.param("W6", Pretended(None), "error", "no_verdict", id="W6-outage"),
    ],
)
async def test_a_machine_is_held_to_its_health(
    name: str, pretended: Any, outcome: str, reason: str
) -> None:
    finding = await GATES[name].check(EnvironmentCase(SHARE), GateContext(pretended))
    assert (finding.outcome, finding.reason) == (outcome, reason)


class Busy(Pretended):
    """A sandbox in which one machine is late, and those after it are not."""

    async def play(self, program: Program, steps: Sequence[Step]) -> list[Observation]:
        seen = await super().play(program, steps)
        self.state = HEALTHY
        return seen


async def test_a_machine_that_is_ill_once_on_a_busy_host_is_not_judged() -> None:
    means: Any = GateContext(Busy(ILL))  # pyright: ignore[reportArgumentType]
    finding = await GATES["W5"].check(EnvironmentCase(SHARE), means)
    assert (finding.outcome, finding.reason) == ("error", "unsteady_host")


async def test_interface_and_files_are_read_without_a_machine() -> None:
    means: Any = GateContext(Pretended(HEALTHY))  # pyright: ignore[reportArgumentType]
    assert (await GATES["W1"].check(EnvironmentCase(SHARE), means)).outcome == "kept"
    assert (
        await GATES["W1"].check(EnvironmentCase(SHARE.model_copy(update={"tools": []})), means)
    ).reason == "interface"
    assert (
        await GATES["W2"].check(EnvironmentCase(SHARE.model_copy(update={"files": {}})), means)
    ).reason == "no_machine"


async def test_every_gate_says_what_it_does_here() -> None:
    assert {*LOOKS, *NOT_HERE} == set(GATES) - {"S16"}, (
        "whether tests are asked for is read of machines as of everything else"
    )
    assert not set(LOOKS) & set(NOT_HERE)
    finding = await ask("S10")
    assert (finding.outcome, finding.reason, finding.detail) == (
        "not_applicable",
        "terminal",
        NOT_HERE["S10"],
    )


def test_the_page_explains_every_reason() -> None:
    page = (ROOT / "docs/kinds/terminal.md").read_text(encoding="utf-8")
    source = "".join(
        Path(str(each.__file__)).read_text(encoding="utf-8") for each in (machine, mended, plays)
    )
    reasons = set(
        re.findall(
            r'(?:drop|fail|skip|find_paid|pass_by)\(\s*(?:gate|"[WS]\d+"),\s*"(\w+)"', source
        )
    )
    assert len(reasons) > 20
    assert [each for each in sorted(reasons) if f"`{each}`" not in page] == []
