"""The importer of τ²-bench: what its evaluator pays is paid here, component by component, and what cannot be mapped says why."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import read_folder, write_folder
from envmill.interop.importers.base import Harvest
from envmill.interop.importers.tau2 import import_release
from envmill.interop.importers.tau2.parity import ScriptedDialogue, Vector, measure, read_vector
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.sandbox import Sandbox
from schemas.environment import Call
from tests.interop.importers.tau2.vectors import RELEASE, list_differences

Change = Callable[[list[dict[str, Any]]], None]
TRANSFER = "transfer_to_human_agents"


def copy_mock(root: Path, change: Change | None = None) -> Path:
    """The domain `mock`, with its tasks changed."""
    folder = root / "release" / "mock"
    shutil.copytree(RELEASE / "mock", folder)
    if change is not None:
        path = folder / "tasks.json"
        tasks = json.loads(path.read_text())
        change(tasks)
        path.write_text(json.dumps(tasks))
    return folder


def keep(number: int, **criteria: Any) -> Change:
    """One task, judged by other criteria."""

    def change(tasks: list[dict[str, Any]]) -> None:
        tasks[:] = [tasks[number]]
        tasks[0]["evaluation_criteria"] |= criteria

    return change


def list_codes(harvest: Harvest, weight: str = "refused") -> list[tuple[str, str]]:
    return [(one.subject, one.code) for one in harvest.remarks if one.weight == weight]


async def play(
    harvest: Harvest, jail: Sandbox, *calls: Call, said: tuple[str, ...] = (), name: str = "mock"
) -> Vector:
    """What the first scenario pays for these calls and words."""
    folder = harvest.folders[name]
    found = await measure(
        folder.scenarios[0], folder.environment, [ScriptedDialogue("one", calls, said)], jail
    )
    return found["one"]


@pytest.mark.long
@pytest.mark.parametrize(("domain", "count"), [("mock", 49), ("retail", 43), ("telecom", 49)])
async def test_each_dialogue_gets_the_components_of_the_benchmarks_own_evaluator(
    domain: str, count: int, jail: Sandbox
) -> None:
    harvest = await import_release(RELEASE / domain, jail)
    assert await list_differences(harvest, RELEASE, domain, jail) == (count, [])
    assert list_codes(harvest) == (
        [
            ("mock-solo/update_task_with_message_history", "no_ticket"),
            ("mock-solo/update_task_with_history_and_env_assertions", "no_ticket"),
        ]
        if domain == "mock"
        else []
    )


@pytest.mark.long(cases=1)
@pytest.mark.soak(area="tau2")
@pytest.mark.parametrize("domain", ["mock", "retail", "telecom"])
async def test_all_tasks_at_hand_get_them(domain: str, jail: Sandbox) -> None:
    """ENVMILL_TAU2 names a folder with the domains and `expected.json`; without it, the tasks that are kept here are played."""
    root = Path(os.environ.get("ENVMILL_TAU2") or RELEASE)
    harvest = await import_release(root / domain, jail)
    _, differences = await list_differences(harvest, root, domain, jail)
    assert differences == []


@pytest.mark.long
async def test_both_sides_a_coupling_and_the_policy_come_over_and_can_be_read_again(
    tmp_path: Path, jail: Sandbox
) -> None:
    folder = (await import_release(RELEASE / "telecom", jail)).folders["telecom"]
    write_folder(tmp_path / "out", folder)
    again = read_folder(tmp_path / "out")
    assert again.scenarios == folder.scenarios
    assert again.environment == folder.environment
    assert folder.environment.kind == "dialogue"
    assert folder.environment.policy_document.startswith("<main_policy>\n# ")
    dialogue = read_dialogue(folder.environment.files)
    assert len(dialogue.user_tools) == 30
    assert dialogue.sides["surroundings"] == "user"
    assert [one.name for one in dialogue.couplings] == ["sync"]
    assert len([tool for tool in folder.environment.tools if tool.actors == ["agent"]]) == 13
    assert all(json.dumps(scenario.features).count("actions") == 0 for scenario in folder.scenarios)


async def test_what_the_benchmark_would_ask_a_model_is_an_error_here_and_never_a_pass(
    tmp_path: Path, jail: Sandbox
) -> None:
    change = keep(3, reward_basis=["DB", "NL_ASSERTION"], nl_assertions=["The agent is kind"])
    harvest = await import_release(copy_mock(tmp_path, change), jail)
    right = Call(name="update_task_status", arguments={"task_id": "task_1", "status": "completed"})
    paid, unpaid = await play(harvest, jail, right), await play(harvest, jail)
    assert (paid.reward, paid.components, paid.outcome) == (
        None,
        {"DB": 1.0, "NL_ASSERTION": None},
        "error",
    )
    assert paid.reason == "not judged: The agent is kind"
    assert (unpaid.reward, unpaid.components, unpaid.outcome) == (
        0.0,
        {"DB": 0.0, "NL_ASSERTION": None},
        "fail",
    )


@pytest.mark.parametrize(
    ("compare_args", "arguments", "value"),
    [
        (None, {}, 1.0),
        (None, {"task_id": "task_1"}, 1.0),
        (None, {"task_id": "task_1", "status": "pending"}, 0.0),
        (None, {"task_id": "task_1", "status": "completed", "why": "x"}, 0.0),
        ([], {"task_id": "task_9"}, 1.0),
        (["task_id"], {"task_id": "task_1", "status": "pending"}, 1.0),
        (["task_id"], {"status": "completed"}, 0.0),
        (["why"], {"task_id": "task_9"}, 1.0),
    ],
)
async def test_of_a_wanted_call_the_benchmarks_arguments_are_compared(
    compare_args: list[str] | None,
    arguments: dict[str, Any],
    value: float,
    tmp_path: Path,
    jail: Sandbox,
) -> None:
    action = {
        "action_id": "a",
        "name": "update_task_status",
        "arguments": {"task_id": "task_1", "status": "completed"},
    }
    change = keep(3, actions=[action | {"compare_args": compare_args}], reward_basis=["ACTION"])
    harvest = await import_release(copy_mock(tmp_path, change), jail)
    assert (
        await play(harvest, jail, Call(name="update_task_status", arguments=arguments))
    ).components == {"ACTION": value}
    assert (
        await play(
            harvest, jail, Call(name="update_task_status", arguments=arguments, actor="user")
        )
    ).components == {"ACTION": value}
    assert (
        await play(harvest, jail, Call(name="create_task", arguments=arguments))
    ).components == {"ACTION": 0.0}


@pytest.mark.parametrize(
    ("words", "said", "value"),
    [
        ("1200", "It is 1,200 dollars", 1.0),
        ("1,200", "It is 1,200 dollars", 0.0),
        ("Done", "all is DONE", 1.0),
        ("done", "nothing", 0.0),
        ("4", "In 2014", 1.0),
    ],
)
async def test_words_are_looked_for_as_there_with_the_messages_commas_left_out(
    words: str, said: str, value: float, tmp_path: Path, jail: Sandbox
) -> None:
    harvest = await import_release(
        copy_mock(tmp_path, keep(3, communicate_info=[words], reward_basis=["COMMUNICATE"])), jail
    )
    assert (await play(harvest, jail, said=("Hello", said))).components == {"COMMUNICATE": value}
    assert (
        "communicate_info" in [one.part for one in harvest.remarks if one.code == "free_words"]
    ) is (words == "4")


async def test_history_counts_for_words_and_wanted_calls(tmp_path: Path, jail: Sandbox) -> None:
    action = {
        "action_id": "a",
        "name": "create_task",
        "arguments": {"user_id": "user_1"},
        "compare_args": ["user_id"],
    }
    change = keep(
        4, actions=[action], communicate_info=["task_2"], reward_basis=["ACTION", "COMMUNICATE"]
    )
    harvest = await import_release(copy_mock(tmp_path, change), jail)
    assert (await play(harvest, jail)).components == {"ACTION": 1.0, "COMMUNICATE": 1.0}
    assert (
        harvest.folders["mock"].scenarios[0].initial_state["tasks"]["task_2"]["title"]
        == "Project Review"
    )
    assert (
        harvest.folders["mock"]
        .scenarios[0]
        .request.startswith("What was said before:\nuser: I need to create")
    )


async def test_what_asks_for_nothing_pays_everybody_and_what_does_not_end_well_pays_nobody(
    tmp_path: Path, jail: Sandbox
) -> None:
    def change(tasks: list[dict[str, Any]]) -> None:
        tasks[:] = [tasks[3]]
        tasks[0].pop("evaluation_criteria")

    harvest = await import_release(copy_mock(tmp_path, change), jail)
    vector = await play(harvest, jail)
    assert (vector.reward, vector.components) == (1.0, {})
    scenario = harvest.folders["mock"].scenarios[0]
    verdict = await judge_end(scenario, jail)
    assert read_vector(scenario, verdict, termination="user_stopped").reward == 1.0
    assert read_vector(scenario, verdict, termination="step_limit").reward == 0.0


async def judge_end(scenario: Any, jail: Sandbox) -> Any:
    from envmill.verifiers.court import decide
    from envmill.verifiers.ending import Ending

    return await decide(
        jail,
        scenario.verifier,
        Ending(scenario.initial_state, scenario.initial_state),
        scenario.clock,
    )


async def test_data_are_merged_deeply_lists_replaced_and_functions_run_before_the_scenario(
    tmp_path: Path, jail: Sandbox
) -> None:
    def change(tasks: list[dict[str, Any]]) -> None:
        tasks[:] = [tasks[5]]
        tasks[0]["initial_state"]["initialization_data"]["user_data"] = {
            "notifications": {"n": {"notification_id": "n", "message": "m"}}
        }
        call = {
            "env_type": "user",
            "func_name": "add_notification",
            "arguments": {"notification_id": "o", "message": "x"},
        }
        tasks[0]["initial_state"]["initialization_actions"] = [call]

    harvest = await import_release(copy_mock(tmp_path, change), jail)
    state = harvest.folders["mock"].scenarios[0].initial_state
    assert state["users"]["user_1"] == {
        "user_id": "user_1",
        "name": "Test User",
        "tasks": ["task_1", "task_2"],
    }
    assert list(state["tasks"]) == ["task_1", "task_2"]
    assert sorted(state["notifications"]) == ["n", "notif_1", "o"]
    assert state["notifications"]["n"]["status"] == "unread"
    assert state["notifications"]["o"]["task_id"] is None
    assert harvest.folders["mock"].states["base"]["tasks"].keys() == {"task_1"}
    assert ("mock/update_task_with_initialization_data", "sides_shared") in list_codes(
        harvest, "noted"
    )


async def test_a_users_tools_are_those_that_the_task_allows_and_a_ticket_is_for_an_agent_alone(
    tmp_path: Path, jail: Sandbox
) -> None:
    def change(tasks: list[dict[str, Any]]) -> None:
        tasks[:] = [
            tasks[8],
            {**tasks[8], "id": "quiet", "user_tools": []},
            {**tasks[8], "id": "one", "user_tools": ["check_notifications", "sing"]},
        ]

    harvest = await import_release(copy_mock(tmp_path, change), jail)
    told = {
        str(one.features["released_as"]): (one.user.reports, [call.name for call in one.user.able])
        for one in harvest.folders["mock"].scenarios
    }
    every = (["check_notifications"], ["check_notifications"])
    assert told == {"update_task_with_user_tools": every, "quiet": ([], []), "one": every}
    assert [one.detail for one in harvest.remarks if one.part == "user_tools"] == [
        "sing is no tool of the user"
    ]
    alone = harvest.folders["mock-solo"]
    assert alone.environment.kind == "stateful"
    assert {tuple(tool.actors) for tool in alone.environment.tools} == {("agent",)}
    assert alone.scenarios[0].request.startswith("User checks their notifications")


@pytest.mark.parametrize(
    ("file", "text", "code", "named"),
    [
        ("db.json", None, "unreadable", "mock/db.json: it is missing"),
        ("policy.md", None, "unreadable", "mock/policy.md: it is missing"),
        ("user_db.json", None, "no_user_state", "user_db.json is missing"),
        (
            "db.json",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "not_fetched",
            "mock/db.json: it is a pointer",
        ),
        ("user_db.json", "[1]", "unreadable", "mock/user_db.json: it holds no object"),
        ("db.json", '{"tasks": {}, "users": NaN}', "unreadable", "mock/db.json"),
        ("db.json", '{"tasks": {}}', "does_not_construct", "KeyError"),
        ("db.json", '{"tasks": {"t": 1}, "users": {}}', "does_not_construct", "'int'"),
        ("tasks.json", '{"a": 1}', "unreadable", "mock/tasks.json: it holds no list of tasks"),
        ("split_tasks.json", '{"base": 1}', "unreadable", "mock/split_tasks.json"),
    ],
)
async def test_a_file_that_is_missing_or_broken_is_named_and_its_domain_left_out(
    file: str, text: str | None, code: str, named: str, tmp_path: Path, jail: Sandbox
) -> None:
    folder = copy_mock(tmp_path)
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_text(text)
    harvest = await import_release(folder.parent, jail)
    (remark,) = [one for one in harvest.remarks if one.weight == "refused"]
    assert (harvest.folders, remark.subject, remark.code) == ({}, "mock", code)
    assert named in remark.detail


async def test_a_set_of_tasks_by_another_name_does_not_stand_for_the_missing_one(
    tmp_path: Path, jail: Sandbox
) -> None:
    folder = copy_mock(tmp_path)
    (folder / "tasks.json").rename(folder / "tasks_small.json")
    (remark,) = (await import_release(folder, jail)).remarks
    assert remark.code == "unreadable"
    assert "tasks.json: it is missing" in remark.detail
    assert "tasks_small.json" in remark.detail
    (folder / "tasks_small.json").unlink()
    with pytest.raises(SettingsError, match=r"no tasks\.json"):
        await import_release(folder, jail)


async def test_each_task_that_cannot_be_mapped_says_why_and_the_others_come_over(
    tmp_path: Path, jail: Sandbox
) -> None:
    def change(tasks: list[dict[str, Any]]) -> None:
        first = tasks[3] | {"id": "good"}
        call = {"env_type": "assistant", "func_name": "burn", "arguments": {}}
        raising = call | {
            "func_name": "create_task",
            "arguments": {"user_id": "nobody", "title": "x"},
        }
        history = [
            {"role": "assistant", "tool_calls": [{"id": "c", "name": "get_users", "arguments": {}}]}
        ]
        criteria: Any = first["evaluation_criteria"]
        tasks[:] = [
            first,
            first | {"id": "good"},
            first | {"id": "no_user", "user_scenario": None},
            first | {"id": "basis", "evaluation_criteria": criteria | {"reward_basis": ["LUCK"]}},
            first | {"id": "function", "initial_state": {"initialization_actions": [call]}},
            first
            | {
                "id": "other_side",
                "initial_state": {"initialization_actions": [raising | {"env_type": "user"}]},
            },
            first | {"id": "raises", "initial_state": {"initialization_actions": [raising]}},
            first
            | {
                "id": "assertion",
                "evaluation_criteria": criteria
                | {"env_assertions": [call], "reward_basis": ["ENV_ASSERTION"]},
            },
            first | {"id": "history", "initial_state": {"message_history": history}},
            first
            | {
                "id": "data",
                "initial_state": {"initialization_data": {"agent_data": {"notifications": {}}}},
            },
            {"user_scenario": {}},
        ]

    harvest = await import_release(copy_mock(tmp_path, change), jail)
    assert [one.features["released_as"] for one in harvest.folders["mock"].scenarios] == ["good"]
    refused = [code for code in list_codes(harvest) if not code[0].startswith("mock-solo")]
    assert refused == [
        ("mock/good", "bad_task"),
        ("mock/no_user", "bad_task"),
        ("mock/basis", "bad_task"),
        ("mock/function", "no_function"),
        ("mock/other_side", "no_function"),
        ("mock/raises", "does_not_begin"),
        ("mock/assertion", "no_function"),
        ("mock/history", "bad_history"),
        ("mock/data", "no_collection"),
        ("mock/tasks.json[10]", "bad_task"),
    ]


async def test_fields_and_files_that_nothing_reads_are_told_of(
    tmp_path: Path, jail: Sandbox
) -> None:
    def change(tasks: list[dict[str, Any]]) -> None:
        tasks[:] = [tasks[3] | {"mood": 1}]
        tasks[0]["evaluation_criteria"]["actions"][0]["speed"] = 2

    folder = copy_mock(tmp_path, change)
    (folder / "extra.csv").write_text("a")
    (folder / "tasks_full.json").write_text("[]")
    (folder / "split_tasks.json").write_text('{"train": ["update_task_1", "gone"]}')
    harvest = await import_release(folder, jail)
    noted = [
        (one.code, one.part)
        for one in harvest.remarks
        if one.code in ("unknown_field", "not_read", "split_unknown")
    ]
    assert noted == [
        ("not_read", "extra.csv"),
        ("not_read", "tasks_full.json"),
        ("unknown_field", "evaluation_criteria.actions.speed"),
        ("unknown_field", "mood"),
        ("split_unknown", "train"),
    ]
    assert harvest.folders["mock"].scenarios[0].split == "train"


async def test_a_program_that_is_named_answers_for_a_domain_that_is_not_known(
    tmp_path: Path, jail: Sandbox
) -> None:
    folder = tmp_path / "lamp"
    folder.mkdir()
    (folder / "db.toml").write_text("[lamps.L1]\non = false\nsince = 2024-05-01\n")
    (folder / "policy.md").write_text("Be brief.")
    action = {"action_id": "1", "name": "switch_on", "arguments": {"key": "L1"}}
    task = {
        "id": "t",
        "user_scenario": {"instructions": "Light, please."},
        "evaluation_criteria": {"actions": [action]},
    }
    (folder / "tasks.json").write_text(json.dumps({"tasks": [task]}))
    (remark,) = [
        one for one in (await import_release(folder, jail)).remarks if one.weight == "refused"
    ]
    assert remark.code == "no_tools"
    assert "--tools" in remark.detail
    program = tmp_path / "lamp.py"
    program.write_text(LAMP)
    harvest = await import_release(folder, jail, tmp_path)
    assert harvest.parity["lamp"]["tools"] == "lamp.py of --tools"
    assert harvest.folders["lamp"].environment.kind == "stateful"
    vectors = harvest.parity["lamp"]["vectors"]["t"]
    assert {name: one["reward"] for name, one in vectors.items()} == {
        "gold": 1.0,
        "do_nothing": 0.0,
        "drop_one/0": 0.0,
        "empty_args": 0.0,
    }
    for text, words in (
        ("class World", "cannot be parsed"),
        ("x = 1", "no class World"),
        ("class World:\n    pass", "no SIDES"),
    ):
        program.write_text(text)
        (remark,) = [
            one
            for one in (await import_release(folder, jail, program)).remarks
            if one.weight == "refused"
        ]
        assert remark.code == "no_tools"
        assert words in remark.detail


LAMP = '''
from envmill.runtime import Rejection

SIDES = {"lamps": "agent"}


class World:
    def __init__(self, state):
        self.lamps = state["lamps"]

    def _fill(self):
        pass

    def switch_on(self, key: str) -> bool:
        """Switch a lamp on.

        Args:
            key: Its key.
        """
        if key not in self.lamps:
            raise Rejection("unknown", "no such lamp")
        self.lamps[key]["on"] = True
        return True
'''
