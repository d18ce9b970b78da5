"""TRL's own trainers on exported folders, offline: five policies in its rollout loop, and one step
each of SFT, DPO and GRPO."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.transcript import list_tools
from envmill.base.settings import ROOT
from envmill.interop.consumers.trl import CONSUMER, VERSIONS
from envmill.interop.exporters import write_output
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.exporters.preferences import export_preferences
from envmill.interop.exporters.sft import export_sft
from tests.interop.consumers.folders import write_consumer
from tests.interop.consumers.houses import SOAKING, open_locked_house, run_offline
from tests.interop.consumers.nights import Night

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
PAGE = ROOT / "docs/consumers/trl.md"
NO_GPU = "use_cpu=True, bf16=False"
LEAST = 10
"""Environments of each kind."""
CONTRAST = ("oracle", "nothing", "malformed", "cheat")


@dataclass(frozen=True)
class Trained:
    """A night, and what TRL made of it."""

    night: Night
    answers: dict[str, Any]
    versions: dict[str, str]


@pytest.fixture(scope="module")
def trained(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    out = tmp_path_factory.mktemp("out") / "worlds"
    folder = write_consumer(CONSUMER, night.export_set, out)
    for output in (*export_sft(night.export_set), *export_preferences(night.export_set)):
        write_output(output, out, "r")
    scripts = night.list_scripts()
    taught = next(scenario for scenario, played in scripts.items() if played[0]["split"] == "train")
    contrast = [one for one in scripts[taught] if one["name"] in CONTRAST]
    group = {"split": "train", "group": len(contrast), "scripts": {taught: contrast}}
    asked = {
        "schemas": None,
        "rollouts": {"scripts": scripts},
        "grpo": {**group, "broken": []},
        "outage": {**group, "broken": ["cheat"]},
        "page": {"home": str(out.parent), "blocks": list_blocks()},
        "calls": {
            "split": "train",
            "scenario": taught,
            "call": scripts[taught][0]["calls"][0],
            "rounds": 10,
        },
        "sft": {"folder": str(out / "sft"), "steps": 5},
        "dpo": {"folder": str(out / "preferences")},
    }
    answer = run_offline(
        open_locked_house("trl"), Path(__file__).with_name("training.py"), [str(folder)], asked
    )
    return Trained(night, answer["answers"], answer["versions"])


def list_blocks() -> list[str]:
    """The page's code, with what it says to add where there is no GPU."""
    return [
        block.replace("max_steps=1,", f"max_steps=1, {NO_GPU},")
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    ]


def test_the_versions_are_those_that_the_folder_names(trained: Trained) -> None:
    assert {name: trained.versions[name] for name in VERSIONS} == VERSIONS


def test_five_policies_earn_in_trl_s_rollout_loop_what_they_earn_natively(trained: Trained) -> None:
    plays = {(play.scenario.id, play.name): play for play in trained.night.plays}
    told = {(one["scenario"], one["name"]): one for one in trained.answers["rollouts"]}
    assert told.keys() == plays.keys()
    for key, play in plays.items():
        assert (told[key]["rewards"], told[key]["state_hash"]) == (
            [play.verdict.reward],
            play.state_hash,
        ), key
        assert (told[key]["outcome"], told[key]["left"]) == (play.verdict.outcome, 0), key
    kinds = Counter(play.environment.kind for play in plays.values() if play.name == "oracle")
    assert set(kinds) == {"stateful", "sql"}
    assert min(kinds.values()) >= LEAST, kinds


def test_transformers_reads_from_the_methods_what_the_interface_says(trained: Trained) -> None:
    """All but that no further parameter is taken, which is said nowhere and refused in the jail."""
    for environment in {
        play.environment.id: play.environment for play in trained.night.plays
    }.values():
        expected = {
            tool["function"]["name"]: tool for tool in describe_tools(list_tools(environment))
        }
        found = trained.answers["schemas"][environment.id]
        assert found.keys() == expected.keys()
        for name, tool in expected.items():
            assert _compare(found[name]["function"]["parameters"]) == _compare(
                tool["function"]["parameters"]
            ), (environment.id, name)
            assert found[name]["function"]["description"] == tool["function"]["description"]


def _compare(parameters: dict[str, Any]) -> Any:
    properties = {
        name: {**schema, "required": name in parameters.get("required", ())}
        for name, schema in parameters["properties"].items()
    }
    return {
        name: {key: value for key, value in schema.items() if key != "default"}
        for name, schema in properties.items()
    }


def test_a_step_of_grpo_learns_from_what_was_rewarded(trained: Trained) -> None:
    told = trained.answers["grpo"]
    logged = told["logged"]
    assert all(
        math.isfinite(logged[name]) for name in ("loss", "grad_norm", "reward", "train_loss")
    )
    assert (logged["reward"], logged["grad_norm"] > 0) == (0.25, True), logged
    solved, *others = [
        after - before for before, after in zip(told["before"], told["after"], strict=True)
    ]
    assert solved > max(others), (told["before"], told["after"])


def test_an_outage_is_left_out_of_its_group(trained: Trained) -> None:
    """The mean is that of the three rollouts that were judged. A reward of 0 would make it a
    quarter."""
    logged = trained.answers["outage"]["logged"]
    assert logged["reward"] == pytest.approx(1 / 3)
    assert math.isfinite(logged["loss"])
    ends = {
        one["name"]: (one["outcome"], one["rewards"])
        for one in trained.answers["outage"]["rollouts"]
    }
    assert ends == {
        "oracle": ("pass", [1.0]),
        "nothing": ("fail", [0.0]),
        "malformed": ("fail", [0.0]),
        "cheat": ("error", []),
    }


def test_the_page_s_code_runs(trained: Trained) -> None:
    """A random model earns nothing, and takes a step of each kind."""
    assert NO_GPU in PAGE.read_text()
    grpo, sft, dpo = trained.answers["page"]
    assert grpo["reward"] == 0.0
    assert all(math.isfinite(logged["train_loss"]) for logged in (grpo, sft, dpo))


def test_what_a_call_costs_is_measured(trained: Trained) -> None:
    """Beside a class that does nothing. docs/consumers/trl.md has the numbers."""
    told = trained.answers["calls"]
    assert 0 < told["bare"]["call_ms"] < told["envmill"]["call_ms"] < 1000, told


def test_steps_of_supervised_training(trained: Trained) -> None:
    """The loss falls; only what the assistant said is learnt; arguments and tools come out as they
    went in."""
    told = trained.answers["sft"]
    assert all(map(math.isfinite, told["losses"]))
    assert told["losses"][-1] < told["losses"][0]
    assert "<tool_call>" in told["learnt"]
    assert "<tool_response>" not in told["learnt"]
    assert told["rows"] == sum(
        one.split == "train" and _is_learnt_whole(one)
        for one in trained.night.export_set.trajectories
    )
    by_words = {
        str(one.messages[-1]["content"]): one
        for one in trained.night.export_set.trajectories
        if one.split == "train"
    }
    row = by_words[told["first"]["messages"][-1]["content"]]
    called = [
        call for message in told["first"]["messages"] for call in message.get("tool_calls") or ()
    ]
    stored = [call for message in row.messages for call in message.get("tool_calls") or ()]
    assert [(one["function"]["name"], one["function"]["arguments"]) for one in called] == [
        (one["name"], one["arguments"]) for one in stored
    ]


def _is_learnt_whole(trajectory: Any) -> bool:
    return all(
        learnt
        for message, learnt in zip(trajectory.messages, trajectory.loss, strict=True)
        if message["role"] == "assistant"
    )


def test_a_step_of_preference_training(trained: Trained) -> None:
    told = trained.answers["dpo"]
    assert math.isfinite(told["train_loss"])
    assert math.isfinite(told["rewards/margins"])
    assert told["rows"] == sum(pair.split == "train" for pair in trained.night.export_set.pairs)
