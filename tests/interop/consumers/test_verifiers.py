"""verifiers plays the exported folder in its own loop, with no network: rewards and end states are
those of the factory."""

import asyncio
import json
import shlex
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT
from envmill.interop.consumers import CONSUMERS
from tests.interop.bundles.policies import Play
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.interop.consumers.framework import (
    ADAPTER,
    Framework,
    Scripts,
    open_framework,
    read_traces,
)
from tests.interop.consumers.houses import LOCKS, SOAKING
from tests.interop.consumers.nights import Night, talk
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.specimens import make_environment, make_scenario

VERIFIERS = CONSUMERS["verifiers"]
PER_KIND, KINDS = 10, ("stateful", "sql")
TALKS = 3
"""Conversations of each kind."""
pytestmark = pytest.mark.soak(area="consumers")


def test_the_adapter_names_the_version_that_the_folder_asks_for() -> None:
    """In CI, where the consumer is not installed."""
    tested = VERIFIERS.versions["verifiers"]
    assert f'TESTED = "{tested}"' in (VERIFIERS.adapter / "__init__.py").read_text()
    assert f"verifiers=={tested}" in str(VERIFIERS.papers([])["pyproject.toml"])
    assert f"verifiers=={tested}\n" in (LOCKS / "verifiers.txt").read_text()


def script(play: Play) -> list[dict[str, Any]]:
    return [
        *({"call": [call.name, json.dumps(call.arguments)]} for call in play.calls),
        *({"say": text} for text in play.said),
    ]


def write_scripts(plays: Sequence[Play]) -> Scripts:
    """Policy → opening → turns."""
    scripts: Scripts = {}
    for play in plays:
        scripts.setdefault(name_policy(play), {})[play.scenario.request] = script(play)
    return scripts


def name_policy(play: Play) -> str:
    return play.name.replace(" ", "-")


@pytest.fixture(scope="module")
def night(night: Night) -> Night:
    """Without scenarios that ask in the same words: the scripted model knows them by these."""
    openings = [play.scenario.request for play in night.plays if play.name == "oracle"]
    unique = {
        play.scenario.id for play in night.plays if openings.count(play.scenario.request) == 1
    }
    return Night(night.export_set, [play for play in night.plays if play.scenario.id in unique])


@pytest.fixture(scope="module")
def framework(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Framework:
    home = tmp_path_factory.mktemp("verifiers")
    return open_framework(write_consumer(VERIFIERS, night.export_set, home / "out"), home)


@SOAKING
def test_every_cell_is_equal(night: Night, framework: Framework) -> None:
    """verifiers × kind × policy, ten environments of each kind."""
    chosen = choose_scenarios(night)
    scripts, cells = write_scripts(night.plays), defaultdict[str, list[float]](list)
    for policy in scripts:
        plays = [
            one for one in night.plays if name_policy(one) == policy and one.scenario.id in chosen
        ]
        traces = framework.evaluate(policy, [one.scenario.id for one in plays], scripts)
        for play in plays:
            trace, cell = traces[play.scenario.id], f"{play.environment.kind} {policy}"
            assert trace["errors"] == [], trace["errors"]
            # Calls of tools that do not exist end at the harness: no move, and the state is what it
            # was.
            assert (trace["rewards"]["passed"]["score"], trace["info"]["envmill"]["end"]) == (
                play.verdict.reward,
                play.state_hash,
            ), cell
            cells[cell].append(play.verdict.reward or 0.0)
    assert {cell: len(rewards) for cell, rewards in cells.items()} == {
        f"{kind} {policy}": PER_KIND for kind in KINDS for policy in scripts
    }
    assert [sum(rewards) for cell, rewards in cells.items() if cell.endswith("oracle")] == [
        PER_KIND
    ] * len(KINDS)
    sys.stderr.write(
        "verifiers: "
        f"{ {cell: f'{sum(rewards):g}/{len(rewards)}' for cell, rewards in cells.items()} }\n"
    )


def choose_scenarios(night: Night) -> set[str]:
    """One scenario in each of ten environments of each kind."""
    homes = {play.environment.id: play for play in night.plays}
    return {
        play.scenario.id
        for kind in KINDS
        for play in [one for one in homes.values() if one.environment.kind == kind][:PER_KIND]
    }


def read_commands() -> list[list[str]]:
    """What the page says to type, after the folder was installed."""
    page = (ROOT / "docs/consumers/verifiers.md").read_text(encoding="utf-8")
    lines = [shlex.split(line) for line in page.split("```")[1].splitlines()]
    return [words[1:] for words in lines if words and words[0] in ("vf-eval", "vf-replay")]


@SOAKING
def test_rewards_are_computed_again_from_saved_traces(night: Night, framework: Framework) -> None:
    """Four episodes by the commands of the page, and then neither a model nor a tool server."""
    plays = [one for one in night.plays if one.name == "oracle" and one.scenario.split == "train"][
        :4
    ]
    assert len(plays) == 4
    evaluated, replayed = read_commands()
    chosen = ["--env.taskset.scenarios", json.dumps([one.scenario.id for one in plays])]
    model = [
        "--client.base-url",
        "{url}",
        "--client.api-key-var",
        "NO_KEY",
        "--no-rich",
        "-o",
        "outputs",
    ]
    done = framework.run(
        "vf-eval",
        *[word.replace("MODEL", "oracle") for word in evaluated],
        *chosen,
        *model,
        scripts=write_scripts(plays),
    )
    traces = read_traces(framework.home / "outputs")
    assert len(traces) == 4, done.stderr[-3000:]
    (source,) = {path.parent for path in (framework.home / "outputs").rglob("traces.jsonl")}
    framework.run(
        "vf-replay", *[word.replace("outputs/RUN", str(source)) for word in replayed], "--no-rich"
    )
    again = read_traces(framework.home / "again")
    assert {key: trace["rewards"] for key, trace in again.items()} == {
        key: trace["rewards"] for key, trace in traces.items()
    }
    damaged = (
        (source / "traces.jsonl")
        .read_text()
        .replace(traces[plays[0].scenario.id]["info"]["envmill"]["state_hash"], "0" * 32)
    )
    (source / "traces.jsonl").write_text(damaged)
    framework.run("vf-replay", str(source), "--no-rich", "--output-dir", "damaged")
    told = read_traces(framework.home / "damaged")[plays[0].scenario.id]
    assert "nothing is known about the policy" in told["errors"][0]["message"]
    assert told["rewards"] != traces[plays[0].scenario.id]["rewards"]


@SOAKING
def test_hostile_programs_stay_in_the_jail(framework: Framework, tmp_path: Path) -> None:
    """The spy of the export corpus looks through the machine from the tool server's process tree,
    and finds nothing of its verifier."""
    scenario, environment = make_spy()
    folder = write_consumer(VERIFIERS, make_export_set([(scenario, environment)]), tmp_path)
    looks = list_looks(folder, VERIFIERS.package)
    turns = [{"call": [look["name"], json.dumps(look["arguments"])]} for look in looks]
    words = ("--env.taskset.task.folder", str(folder / VERIFIERS.package))
    (trace,) = framework.evaluate(
        "spy", [scenario.id], {"spy": {scenario.request: turns}}, *words
    ).values()
    replies = [
        str(node["message"]["content"])
        for node in trace["nodes"]
        if node["message"]["role"] == "tool"
    ]
    assert len(replies) == len(looks)
    assert find_secrets(replies) == []
    assert not [reply for reply in replies if "VF_STATE" in reply]
    assert all("no: " in reply for reply in replies), replies
    assert trace["rewards"]["passed"]["score"] == 0.0


@SOAKING
def test_bad_input_is_said(night: Night, framework: Framework, tmp_path: Path) -> None:
    plays = [one for one in night.plays if one.name == "oracle" and one.scenario.split == "train"][
        :1
    ]
    same = [
        ADAPTER,
        "-m",
        "x",
        "--no-push",
        "--no-rich",
        "--client.base-url",
        "{url}",
        "--client.api-key-var",
        "NO_KEY",
    ]
    local = ["--env.agent.runtime.type", "subprocess"]
    null = [*same, *local, "--env.agent.harness.id", "null"]
    assert (
        "There is no scenario 'scn_9'"
        in framework.run("vf-eval", *null, "--env.taskset.scenarios", '["scn_9"]').stderr
    )
    assert (
        "There is no split 'dev'"
        in framework.run("vf-eval", *null, "--env.taskset.split", "dev").stderr
    )
    assert (
        "cannot be read"
        in framework.run("vf-eval", *null, "--env.taskset.task.folder", str(tmp_path)).stderr
    )
    rows = ["--env.taskset.scenarios", json.dumps([plays[0].scenario.id]), "-o", "bash"]
    framework.run("vf-eval", *same, *local, "--env.agent.harness.id", "bash", *rows)
    told = (next((framework.home / "bash").rglob("traces.jsonl"))).read_text()
    assert "that code could read the verifiers in sealed/" in told


@SOAKING
def test_another_version_is_said(framework: Framework, tmp_path: Path) -> None:
    (tmp_path / "verifiers-9.9.9.dist-info").mkdir()
    (tmp_path / "verifiers-9.9.9.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: verifiers\nVersion: 9.9.9\n"
    )
    code = (
        f"import sys; sys.path[:0] = {[str(tmp_path), str(framework.home / 'site')]!r}; import "
        "envmill_verifiers"
    )
    done = subprocess.run(
        [framework.python, "-c", code], capture_output=True, text=True, check=False
    )
    assert "tested with verifiers 0.4.0, and 9.9.9 is installed" in done.stderr


@SOAKING
def test_conversations_are_played_with_the_scripted_user(
    night: Night, framework: Framework, tmp_path: Path
) -> None:
    """The same words and calls as in the factory give the same reward and end state, for each
    kind."""
    scenarios = {one.id: one for one in night.export_set.scenarios}
    openings = Counter(one.user.opening for one in scenarios.values())
    plain = replace(
        night,
        export_set=replace(
            night.export_set,
            scenarios=tuple(one for one in scenarios.values() if openings[one.user.opening] == 1),
        ),
    )
    talks = [
        (scenarios[one.scenario], one) for one in asyncio.run(talk(plain, tmp_path / "home", TALKS))
    ]
    assert len(talks) == TALKS * len(KINDS)
    scripts: Scripts = {"talk": {}}
    for scenario, rollout in talks:
        turns: list[dict[str, Any]] = []
        for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
            calls = [
                {"call": [one["name"], json.dumps(one["arguments"])]}
                for one in entry.get("tool_calls") or []
            ]
            turns += calls or [{"say": entry["content"]}]
        scripts["talk"][scenario.user.opening] = turns
    rows = [f"{scenario.id}-conversation" for scenario, _ in talks]
    traces = framework.evaluate("talk", rows, scripts)
    for (_, rollout), row in zip(talks, rows, strict=True):
        assert traces[row]["rewards"]["passed"]["score"] == rollout.reward
        assert traces[row]["info"]["envmill"]["end"] == rollout.final_state_hash


@SOAKING
def test_what_a_step_costs_beside_the_bare_framework(framework: Framework, tmp_path: Path) -> None:
    """A query of a small world, against a tool of verifiers that answers a constant: wall time, the
    start of a harness left out."""
    environment = make_environment()
    scenario = make_scenario(environment)
    folder = (
        write_consumer(VERIFIERS, make_export_set([(scenario, environment)]), tmp_path)
        / VERIFIERS.package
    )
    few, many = 1, 39
    scripts: Scripts = {
        str(calls): {scenario.request: [{"call": ["list_tools", "{}"]}] * calls}
        for calls in (few, many)
    }
    ours = ("--env.taskset.task.folder", str(folder))
    costs: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(3):
        for name in costs:
            took = []
            for calls in (few, many):
                if name == "ours":
                    traces = framework.evaluate(str(calls), [scenario.id], scripts, *ours)
                else:
                    traces = framework.evaluate(str(calls), [], scripts, taskset="plain-taskset")
                (trace,) = traces.values()
                assert trace["errors"] == []
                took.append(trace["timing"]["agent"]["end"] - trace["timing"]["agent"]["start"])
            costs[name].append((took[1] - took[0]) / (many - few) * 1000)
    sys.stderr.write(
        f"verifiers, ms a step: { {name: sorted(found) for name, found in costs.items()} }\n"
    )
    assert statistics.median(costs["ours"]) < 5 * statistics.median(costs["bare"])
