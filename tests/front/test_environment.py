"""A program opens an environment, plays it by hand and by a function, judges and audits it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import envmill
from envmill.base.settings import Settings
from envmill.interop.bundles import Folder, write_folder
from tests.specimens import PROGRAM, STATE, make_environment, make_scenario

LEND = {"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}


def test_the_right_calls_pass_and_nothing_earns_nothing(shed: Path, settings: Settings) -> None:
    with envmill.open_environment(shed, settings=settings) as opened:
        with opened.start(opened.scenarios[0]) as session:
            assert session.messages[-1] == {
                "role": "user",
                "content": "Please lend the drill to Ada.",
            }
            assert session.judge().reward == 0
            assert session.call("lend", {"tool_id": "T1", "member_id": "M1"}).outcome == "ok"
            assert session.state()["tools"]["T1"]["free"] is False
            assert session.judge().outcome == "pass"
        with opened.start("000") as another:
            assert another.state() == STATE


def test_a_refused_call_and_an_unknown_tool_are_replies(shed: Path, settings: Settings) -> None:
    with (
        envmill.open_environment(shed, settings=settings) as opened,
        opened.start("000") as session,
    ):
        assert session.call("lend", {"tool_id": "T3", "member_id": "M1"}).code == "taken"
        assert session.call("steal").outcome == "rejection"
        assert session.call("lend", {"tool_id": 3}).outcome == "rejection"


def test_a_program_that_breaks_is_an_error_and_never_a_zero(
    tmp_path: Path, settings: Settings
) -> None:
    broken = make_environment(PROGRAM.replace('key = new_id("loan")', "import os; os._exit(3)"))
    write_folder(tmp_path / "broken", Folder(broken, (), (make_scenario(broken),)))
    with (
        envmill.open_environment(tmp_path / "broken", settings=settings) as opened,
        opened.start("000") as session,
    ):
        assert session.call("lend", {"tool_id": "T1", "member_id": "M1"}).outcome == "failure"
        assert (session.judge().outcome, session.judge().reward) == ("error", None)


def test_a_function_plays(shed: Path, settings: Settings) -> None:
    heard: list[list[dict[str, Any]]] = []

    def lend(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any] | str:
        heard.append(messages)
        assert [tool["function"]["name"] for tool in tools] == ["list_tools", "get_member", "lend"]
        return (
            {"tool_calls": [{"id": "a", "function": {"name": "list_tools", "arguments": ""}}, LEND]}
            if len(heard) == 1
            else "Done."
        )

    with envmill.open_environment(shed, settings=settings) as opened:
        rollout = opened.play("000", lend)
    assert (rollout.outcome, rollout.policy, rollout.steps) == ("pass", "lend", 2)
    assert [message["role"] for message in heard[1]][-4:] == ["user", "assistant", "tool", "tool"]
    assert [message["tool_call_id"] for message in heard[1][-2:]] == ["a", "call_2"]


def test_a_function_that_writes_no_json_is_told_so(shed: Path, settings: Settings) -> None:
    said: list[str] = []

    def stammer(
        messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> dict[str, Any] | str:
        said.append(messages[-1]["content"])
        return (
            {"tool_calls": [{"function": {"name": "lend", "arguments": '{"tool_id": '}}]}
            if len(said) == 1
            else "Never mind."
        )

    with envmill.open_environment(shed, settings=settings) as opened:
        rollout = opened.play("000", stammer)
    assert (rollout.outcome, rollout.reward, rollout.agent_errors) == ("fail", 0, 1)
    assert "malformed_call" in said[1]


@pytest.mark.parametrize(
    "answer", [None, 3, {"tool_calls": [{"arguments": {}}]}], ids=["nothing", "number", "nameless"]
)
def test_an_answer_of_another_shape_is_explained(
    shed: Path, settings: Settings, answer: Any
) -> None:
    with (
        envmill.open_environment(shed, settings=settings) as opened,
        pytest.raises(envmill.SettingsError, match="return words, or a message like"),
    ):
        opened.play("000", lambda _, __: answer)


def test_what_the_function_raises_reaches_the_caller(shed: Path, settings: Settings) -> None:
    def faint(*_: Any) -> str:
        raise ZeroDivisionError("my own")

    with envmill.open_environment(shed, settings=settings) as opened:
        with pytest.raises(ZeroDivisionError, match="my own"):
            opened.play("000", faint)
        assert opened.play("000", "reference").outcome == "pass"


def test_scripts_play_by_name(shed: Path, settings: Settings) -> None:
    with envmill.open_environment(shed, settings=settings) as opened:
        assert opened.play("000").outcome == "pass"
        with pytest.raises(envmill.SettingsError, match="There is no policy 'clever'"):
            opened.play("000", "clever")
        with pytest.raises(envmill.SettingsError, match="within a run"):
            opened.play("000", "model")


@pytest.mark.long
def test_gates_answer(shed: Path, settings: Settings) -> None:
    with envmill.open_environment(shed, settings=settings) as opened:
        entries = opened.audit("000")
    outcomes = {entry.finding.gate: entry.finding.outcome for entry in entries}
    assert outcomes["S1"] == "kept"
    assert len(outcomes) > 15
    assert {entry.name for entry in entries} == {"0"}


def test_a_program_with_a_running_loop_uses_it_too(shed: Path, settings: Settings) -> None:
    """A notebook has one."""

    async def cell() -> str:
        with envmill.open_environment(shed, settings=settings) as opened:
            return opened.play("000").outcome

    assert asyncio.run(cell()) == "pass"


def test_closed_is_closed(shed: Path, settings: Settings) -> None:
    opened = envmill.open_environment(shed, settings=settings)
    session = opened.start("000")
    session.close()
    session.close()
    with pytest.raises(envmill.SettingsError, match="closed"):
        session.call("list_tools")
    opened.close()
    opened.close()


def test_places_that_hold_nothing_are_named(shed: Path, settings: Settings) -> None:
    with pytest.raises(envmill.SettingsError, match="There is no folder"):
        envmill.open_environment(shed / "elsewhere", settings=settings)
    with pytest.raises(envmill.EnvMillError):
        envmill.open_environment("env_0", settings=settings)
    with envmill.open_environment(shed, settings=settings) as opened:
        with pytest.raises(envmill.SettingsError, match="There are: 000"):
            opened.start("007")
        with pytest.raises(envmill.SettingsError, match="not both"):
            opened.start("000", state=STATE)
        with (
            opened.start(state=STATE) as session,
            pytest.raises(envmill.SettingsError, match="no verifier"),
        ):
            session.judge()
