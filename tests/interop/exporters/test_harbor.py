"""What leaves for Harbor and in ATIF is what Harbor's own models read, and what is no machine's is
told."""

import json
import subprocess
from pathlib import Path

import pytest

from envmill.interop.exporters import EXPORTERS, ExportSet, write_outputs
from envmill.interop.exporters.atif import describe_trajectory
from envmill.interop.harbor.tree import read_tree
from envmill.interop.harbor.validating import find_faults
from envmill.kinds import kind_of
from envmill.stages.export import find_left_out, pack_outputs
from schemas.base import Json
from tests.interop.exporters.consumers import open_house
from tests.interop.exporters.specimens import make_export_set, make_trajectory
from tests.interop.harbor.machines import BROKEN, EXPORT_SET, SHARE

HARBOR = "harbor==0.24.0"
MODELS = ("pydantic", "toml")
"""What its models need of the 380 MB that it asks for."""
CALL = {"id": "call_1", "name": "shell", "arguments": {"command": "ls"}}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning": "Why not.",
        "tool_calls": [CALL, {**CALL, "id": "call_2", "raw": "{"}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": {"ok": True, "parts": []}},
    {
        "role": "tool",
        "tool_call_id": "call_2",
        "content": {"ok": False, "error": {"code": "malformed_call", "message": "?"}},
    },
    {"role": "wait", "seconds": 5, "notifications": [{"text": "ü"}]},
    {"role": "assistant", "content": "Done."},
]


def make_talk(policy: str) -> Json:
    loss = [False, False, True, False, False, False, True]
    return describe_trajectory(
        make_trajectory(
            "rol_1", messages=TALK, loss=loss, state_hashes=["a", "b", "c"], policy=policy
        )
    )


@pytest.mark.long
def test_harbors_own_models_read_all_of_it(tmp_path: Path) -> None:
    python = open_house(HARBOR, *MODELS)
    write_outputs(
        pack_outputs(EXPORT_SET, ["harbor"]) + pack_outputs(make_export_set(), ["atif"]),
        tmp_path,
        "r",
    )
    for policy in ("model", "skilled@0.7"):
        (tmp_path / f"{policy}.json").write_text(json.dumps(make_talk(policy)))
    strange = make_talk("model") | {"steps": make_talk("model")["steps"][1:]}
    (tmp_path / "strange.json").write_text(json.dumps(strange))
    told = [
        path for path in sorted((tmp_path / "atif").rglob("*.json")) if path.name != "manifest.json"
    ]
    paths = [
        tmp_path / "harbor/tasks" / BROKEN.id,
        *told,
        tmp_path / "model.json",
        tmp_path / "skilled@0.7.json",
        tmp_path / "strange.json",
    ]
    script = Path(__file__).with_name("harbor_reader.py")
    done = subprocess.run(
        [python, "-B", script, *paths], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    task, *trajectories, broken = json.loads(done.stdout)
    assert task == {
        "fault": "",
        "name": f"envmill/{BROKEN.id}",
        "instruction": f"{BROKEN.request}\n",
    }
    assert len(trajectories) == 6
    assert all(each["fault"] == "" and each["same"] for each in trajectories), trajectories
    assert "expected 1" in broken["fault"]


def test_our_own_rules_hold_for_it(tmp_path: Path) -> None:
    write_outputs(pack_outputs(EXPORT_SET, ["harbor"]), tmp_path, "r")
    assert find_faults(read_tree(tmp_path / "harbor/tasks" / BROKEN.id)) == []


def test_the_image_holds_nothing_of_what_is_asked() -> None:
    (output,) = EXPORTERS["harbor"](EXPORT_SET)
    home = f"tasks/{BROKEN.id}"
    shown = {
        path: content.decode()
        for path, content in output.files.items()
        if path.startswith(f"{home}/environment/")
    }
    secrets = [
        SHARE.files["check.py"],
        BROKEN.verifier.goals[0].name,
        BROKEN.oracle[0].arguments["command"],
        BROKEN.request,
    ]
    assert not [path for path, text in shown.items() for secret in secrets if secret in text]
    assert {
        path.rpartition("/")[2] for path in output.files if path.startswith(f"{home}/tests/")
    } >= {"check.py", "judge.py", "test.sh"}


def test_a_machine_that_may_be_changed_anywhere_stays() -> None:
    anywhere = BROKEN.model_copy(update={"initial_state": {**BROKEN.initial_state, "places": [""]}})
    assert "no container hands over" in kind_of(SHARE).find_formless("harbor", anywhere)
    assert kind_of(SHARE).find_formless("harbor", BROKEN) == ""


def test_a_turn_holds_its_calls_and_what_they_were_answered() -> None:
    system, user, agent, waited, last = make_talk("model")["steps"]
    assert (system["source"], user["source"], agent["reasoning_content"]) == (
        "system",
        "user",
        "Why not.",
    )
    assert [each["source_call_id"] for each in agent["observation"]["results"]] == [
        "call_1",
        "call_2",
    ]
    assert [each["extra"]["state_hash"] for each in agent["observation"]["results"]] == ["a", "b"]
    assert agent["tool_calls"][1]["extra"] == {"raw": "{"}
    assert waited["extra"] == {"waited_seconds": 5, "state_hash": "c"}
    assert (last["message"], last["extra"], "llm_call_count" in last) == (
        "Done.",
        {"loss": True},
        False,
    )
    assert make_talk("careless")["steps"][2]["llm_call_count"] == 0


def test_what_an_exporter_has_no_form_for_is_told() -> None:
    shed = make_export_set()
    both = ExportSet((*shed.environments, SHARE), scenarios=(*shed.scenarios, BROKEN))
    others = sorted(one.id for one in shed.scenarios)
    assert find_left_out(both, ["bundle", "harbor", "sft"]) == {
        "bundle": [BROKEN.id],
        "harbor": others,
    }
    (harbor,) = pack_outputs(both, ["harbor"])
    assert sorted(json.loads(harbor.files["manifest.json"])["left_out"]) == others
    assert BROKEN.id not in str([output.files for output in pack_outputs(both, ["bundle"])])


def test_a_machines_row_names_the_folder_that_judges_it() -> None:
    (output,) = EXPORTERS["rl"](EXPORT_SET)
    row = json.loads(output.files["train.jsonl"])
    assert row["verifier"] == {"harbor": f"harbor/tasks/{BROKEN.id}", "id": BROKEN.id}
    (harbor,) = EXPORTERS["harbor"](EXPORT_SET)
    assert f"tasks/{BROKEN.id}/tests/test.sh" in harbor.files
    assert (row["tools"][0]["function"]["name"], row["prompt"][-1]["content"]) == (
        "shell",
        BROKEN.request,
    )
