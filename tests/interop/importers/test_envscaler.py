"""The importer: a release becomes bundle folders that behave and score as the release does, and
what cannot be mapped says why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest, drop_unreadable
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.environment import Call
from schemas.rollout import Verdict
from tests.interop.importers.release import (
    FEWER,
    GARDEN,
    KEPT,
    LENT,
    RAISES,
    STATE,
    declare,
    make_environments,
    make_scenario,
    write_release,
)
from tests.real import find_real_programs


async def bring(
    folder: Path, sandbox: Sandbox, environments: Any = None, scenarios: Any = None
) -> Harvest:
    given = make_environments() if environments is None else environments
    told = [make_scenario()] if scenarios is None else scenarios
    return await IMPORTERS["envscaler"](write_release(folder / "release", given, told), sandbox)


def list_remarks(harvest: Harvest, subject: str) -> dict[str, str]:
    return {remark.code: remark.part for remark in harvest.remarks if remark.subject == subject}


async def play(folder: Folder, sandbox: Sandbox, *calls: Call) -> tuple[list[Observation], Verdict]:
    """Calls on its first scenario, and what the release would have paid."""
    (scenario, *_) = folder.scenarios
    seen = await sandbox.play(
        Program.of(folder.environment), [start(scenario), *map(Invoke, calls), Look()]
    )
    return seen, await decide(
        sandbox, scenario.verifier, Ending(scenario.initial_state, seen[-1].state), scenario.clock
    )


LEND = Call(name="lend_book", arguments={"book_id": "B1", "reader": "Bo"})


async def test_a_program_that_takes_a_state_keeps_its_ways(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    library = (await bring(tmp_path, sandbox)).folders["env_1_rl"]
    lost = Call(name="get_book", arguments={"book_id": "B9"})
    seen, verdict = await play(
        library, sandbox, lost, LEND, Call(name="shut", arguments={"day": "friday"})
    )
    assert [(one.outcome, one.code, one.message) for one in seen[1:3]] == [
        ("rejection", "refused", "No such book"),
        ("ok", "", ""),
    ]
    assert seen[2].parts == [{"type": "json", "value": {"success": True, "message": "Lent"}}]
    state = seen[-1].state
    assert state is not None
    assert (state["books"]["B1"]["copies"], len(state["loans"]), state["closed_days"]) == (
        1,
        1,
        ["friday", "monday", "sunday"],
    )
    assert (verdict.outcome, verdict.reward) == ("pass", 1.0)


async def test_doing_nothing_is_scored_as_the_release_scores_it(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    library = (await bring(tmp_path, sandbox)).folders["env_1_rl"]
    _, verdict = await play(library, sandbox)
    assert verdict.reward == library.scenarios[0].do_nothing_reward == pytest.approx(1 / 3)


async def test_a_program_without_an_argument_and_lists_as_text_are_taken(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(tmp_path, sandbox)
    garden = harvest.folders["env_2_sft"]
    assert [(tool.name, tool.effect) for tool in garden.environment.tools] == [
        ("list_tools", "query"),
        ("buy_tool", "change"),
    ]
    assert garden.states["empty"] == {"beds": {}, "tools": {}}
    assert list_remarks(harvest, "env_2_sft") == {"no_method": "sell_tool", "keys_no_text": "beds"}
    buy = Invoke(Call(name="buy_tool", arguments={"name": "spade"}))
    seen = await sandbox.play(
        Program.of(garden.environment),
        [Reset({"tools": {}}, "2026-03-02T09:00:00Z", 0), buy, Look()],
    )
    assert seen[-1].state == {"beds": {}, "tools": {"spade": {"name": "spade"}}}


async def test_state_comes_from_the_code_and_not_from_its_damaged_description(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(tmp_path, sandbox)
    library = harvest.folders["env_1_rl"]
    assert library.states["empty"] == {"books": {}, "loans": {}, "closed_days": ["sunday"]}
    assert library.states["invented"]["books"]["k2"] == {
        "book_id": "k2",
        "title": "title 2",
        "copies": 3,
    }
    assert list_remarks(harvest, "env_1_rl") == {
        "not_offered": "count_everything",
        "hidden_state": "_served",
    }


async def test_the_interface_is_closed_and_described_out_of_docstrings(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    library = (await bring(tmp_path, sandbox)).folders["env_1_rl"]
    lend = library.environment.tools[1].parameters
    assert (lend["additionalProperties"], lend["properties"]["reader"]) == (
        False,
        {"description": "Who takes it.", "type": "string"},
    )
    stranger = Call(name="lend_book", arguments={"book_id": "B1", "reader": "Bo", "days": 3})
    seen, _ = await play(library, sandbox, stranger)
    assert (seen[1].outcome, seen[1].code) == ("rejection", "invalid_arguments")


async def test_what_a_scenario_brings_that_no_class_declares_is_kept_and_said(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(
        tmp_path,
        sandbox,
        scenarios=[make_scenario("task_1", {"books": STATE["books"], "shelves": {"S1": {}}})],
    )
    (scenario,) = harvest.folders["env_1_rl"].scenarios
    assert scenario.initial_state == {
        "books": STATE["books"],
        "shelves": {"S1": {}},
        "loans": {},
        "closed_days": ["sunday"],
    }
    remarks = [(one.code, one.part) for one in harvest.remarks if one.subject == "task_1"]
    assert {
        ("undeclared_container", "shelves"),
        ("container_added", "loans"),
        ("reads_initial_state", "check 2"),
    } <= set(remarks)


async def test_a_check_that_raises_pays_nothing_and_is_said(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(
        tmp_path, sandbox, scenarios=[make_scenario("task_1", None, KEPT, RAISES)]
    )
    assert harvest.folders["env_1_rl"].scenarios[0].do_nothing_reward == 0.5
    assert list_remarks(harvest, "task_1") == {"check_raises": "check 2"}


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        pytest.param(
            make_scenario("t", None, "def check_func(final_state: return 1"),
            "check_no_python",
            id="no-python",
        ),
        pytest.param(
            make_scenario("t", None, "def judge(state):\n    return True"),
            "check_undefined",
            id="no-function",
        ),
        pytest.param(
            make_scenario("t", {"get_book": {}}), "state_hides_tool", id="state-hides-a-tool"
        ),
        pytest.param(make_scenario("t") | {"init_config": [1]}, "unreadable", id="state-no-object"),
        pytest.param({"task_id": "t"}, "unreadable", id="nothing-there"),
        pytest.param(
            make_scenario("t") | {"env_id": "env_9"}, "no_environment", id="environment-missing"
        ),
    ],
)
async def test_a_scenario_that_cannot_be_mapped_says_why(
    tmp_path: Path, sandbox: Sandbox, scenario: dict[str, Any], code: str
) -> None:
    harvest = await bring(tmp_path, sandbox, scenarios=[make_scenario(), scenario])
    refused = [
        (one.subject, one.code)
        for one in harvest.remarks
        if one.weight == "refused" and one.subject == "t"
    ]
    assert refused[0] == ("t", code)
    assert [one.features["released_as"] for one in harvest.folders["env_1_rl"].scenarios] == [
        "task_1"
    ]
    assert harvest.counted["scenarios"] == 2


@pytest.mark.long(cases=2)
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        pytest.param({"env_class_code": "class Garden(:"}, "no_class", id="no-python"),
        pytest.param({"env_class_name": "Barn"}, "no_class", id="no-class"),
        pytest.param(
            {"env_class_code": GARDEN.replace("self.tools = {}", "self.tools = 1 / 0")},
            "does_not_construct",
            id="breaks",
        ),
        pytest.param(
            {"env_class_code": "import numpy_none\n" + GARDEN},
            "does_not_load",
            id="does-not-import",
        ),
        pytest.param(
            {"tools": [declare("sell_tool", "name")]}, "no_tools", id="no-tool-has-a-method"
        ),
        pytest.param({"tools": "[{]"}, "unreadable", id="damaged-list"),
        pytest.param({"tools": "[" * 100_000}, "unreadable", id="endless-depth"),
        pytest.param({"tools": "[" * 900 + "]" * 900}, "unreadable", id="depth"),
        pytest.param(
            {"tools": '[{"function": {"name": "\\ud800"}}]'}, "unreadable", id="half-character"
        ),
        pytest.param({"env_class_code": 7}, "unreadable", id="code-no-text"),
    ],
)
async def test_an_environment_that_cannot_be_mapped_takes_its_scenarios_along(
    tmp_path: Path, sandbox: Sandbox, changed: dict[str, Any], code: str
) -> None:
    environments = make_environments()
    environments["env_2_sft"] |= changed
    orphan = make_scenario("orphan") | {"env_id": "env_2_sft"}
    harvest = await bring(tmp_path, sandbox, environments, [make_scenario(), orphan])
    assert set(harvest.folders) == {"env_1_rl"}
    assert code in [
        one.code
        for one in harvest.remarks
        if one.subject == "env_2_sft" and one.weight == "refused"
    ]
    assert list_remarks(harvest, "orphan") == {"no_environment": ""}


@pytest.mark.parametrize("name", ["../../etc", "a" * 300, "é" * 101, "import.json", "Import.JSON"])
async def test_an_id_that_names_no_folder_is_refused_alone(
    tmp_path: Path, sandbox: Sandbox, name: str
) -> None:
    sound = make_environments()["env_1_rl"]
    harvest = await bring(tmp_path, sandbox, {name: sound, "a" * 200: sound}, [])
    assert (set(harvest.folders), list_remarks(harvest, name)) == ({"a" * 200}, {"bad_id": ""})


async def test_a_scenario_that_asks_for_nothing_is_refused_alone(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(
        tmp_path,
        sandbox,
        scenarios=[make_scenario("empty") | {"task": " \n"}, make_scenario("good")],
    )
    assert [one.features["released_as"] for one in harvest.folders["env_1_rl"].scenarios] == [
        "good"
    ]
    assert list_remarks(harvest, "empty")["no_request"] == ""


async def test_a_folder_that_could_not_be_read_again_is_left_out_with_its_reason(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    harvest = await bring(tmp_path, sandbox)
    whole = harvest.folders["env_1_rl"]
    harvest.folders["env_1_rl"] = replace(
        whole, scenarios=(whole.scenarios[0].model_copy(update={"request": ""}),)
    )
    assert list(drop_unreadable(harvest).folders) == ["env_2_sft"]
    assert harvest.remarks[-1].code == "unreadable"
    assert "request" in harvest.remarks[-1].detail


async def test_a_folder_without_a_release_says_what_is_missing(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    with pytest.raises(SettingsError, match=r"environments\.json"):
        await IMPORTERS["envscaler"](tmp_path, sandbox)


async def test_what_is_mapped_is_written_and_read_back(tmp_path: Path, sandbox: Sandbox) -> None:
    harvest = await bring(
        tmp_path, sandbox, scenarios=[make_scenario(), make_scenario("task_2", None, LENT, FEWER)]
    )
    for name, folder in harvest.folders.items():
        write_folder(tmp_path / name, folder)
        assert read_folder(tmp_path / name) == folder


@pytest.mark.long
async def test_the_public_release_is_mapped_whole_and_pays_for_nothing_what_is_known(
    sandbox: Sandbox,
) -> None:
    harvest = await IMPORTERS["envscaler"](find_real_programs(), sandbox)
    assert (
        harvest.report("envscaler")["mapped"]
        == harvest.counted
        == {"environments": 22, "scenarios": 23, "checks": 343}
    )
    assert not [remark for remark in harvest.remarks if remark.weight == "refused"]
    rewards = [
        scenario.do_nothing_reward
        for folder in harvest.folders.values()
        for scenario in folder.scenarios
    ]
    assert (sum(reward > 0 for reward in rewards), round(sum(rewards) / len(rewards), 3)) == (
        17,
        0.155,
    )
