"""verifiers plays the exported folder in its own loop, with no network: rewards and end states are those of the factory."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.consumers import CONSUMERS
from envmill.kinds import KINDS
from schemas.environment import Environment
from schemas.scenario import Scenario
from tests.interop.bundles.policies import Play
from tests.interop.bundles.test_sealed import SECRET, SPY
from tests.interop.consumers.folders import make_cargo, write_consumer
from tests.interop.consumers.houses import INSTALLING, LOCKS, PATIENCE, SOAKING, open_locked_house
from tests.interop.consumers.nights import Night
from tests.specimens import make_environment, make_scenario

VERIFIERS = CONSUMERS["verifiers"]
ADAPTER = "envmill-verifiers"
PER_KIND = 10
pytestmark = pytest.mark.soak(area="consumers")
Scripts = dict[str, dict[str, list[dict[str, Any]]]]


def test_the_adapter_names_the_version_that_the_folder_asks_for() -> None:
    """In CI, where the consumer is not installed."""
    tested = VERIFIERS.versions["verifiers"]
    assert f'TESTED = "{tested}"' in (VERIFIERS.adapter / "__init__.py").read_text()
    assert f"verifiers=={tested}" in VERIFIERS.papers([])["pyproject.toml"]
    assert f"verifiers=={tested}\n" in (LOCKS / "verifiers.txt").read_text()


class Consumer:
    """verifiers in its own environment, with one exported folder installed beside it, and a home of its own."""

    def __init__(self, python: Path, site: Path, home: Path) -> None:
        self.python, self._site, self.home = python, site, home

    def run(self, command: str, *words: str, scripts: Scripts | None = None) -> subprocess.CompletedProcess[str]:
        """A command of verifiers, with loopback and a scripted model alone."""
        (self.home / "scripts.json").write_text(json.dumps(scripts or {}))
        offline = [str(self.python), str(Path(__file__).with_name("offline.py")), str(self.home / "scripts.json"), "--"]
        binaries = self.python.parent
        settings = {
            "PATH": f"{binaries}:{os.defpath}",
            "HOME": str(self.home),
            "PYTHONPATH": str(self._site),
            # uv finds what the harness asks for in a folder, and an index that is empty.
            "UV_FIND_LINKS": str(binaries.parent / "wheels"),
            "UV_DEFAULT_INDEX": (self.home / "empty").as_uri(),
            "UV_PYTHON_DOWNLOADS": "never",
            "NO_KEY": "none",
        }
        (self.home / "empty").mkdir(exist_ok=True)
        asked = [*offline, str(self.python), str(binaries / command), *words]
        return subprocess.run(asked, env=settings, cwd=self.home, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def evaluate(self, policy: str, rows: Sequence[str], scripts: Scripts, *words: str) -> dict[str, dict[str, Any]]:
        """Row → its trace. The model is named after the policy."""
        asked = ["--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess", "--no-push", "--no-rich", "--clean"]
        model = ["-m", policy, "--client.base-url", "{url}", "--client.api-key-var", "NO_KEY", "-o", policy, "-c", "4"]
        chosen = ["--env.taskset.scenarios", json.dumps(list(rows))]
        done = self.run("vf-eval", ADAPTER, *asked, *model, *chosen, *words, scripts=scripts)
        traces = read_traces(self.home / policy)
        assert traces.keys() == set(rows), done.stderr[-3000:]
        return traces


def read_traces(folder: Path) -> dict[str, dict[str, Any]]:
    paths = list(folder.rglob("traces.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return {trace["task"]["key"]: trace for line in lines for trace in line["traces"]}


def open_consumer(folder: Path, home: Path) -> Consumer:
    """The folder is installed as its users install it, but beside the environment, which other tests share."""
    if os.geteuid() != 0:
        pytest.skip("a network of its own needs root")
    python = open_locked_house("verifiers")
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    if not (wheels := python.parents[1] / "wheels").exists():
        run([*pip, "download", "-q", "--no-deps", "-d", str(wheels), "-r", str(LOCKS / "verifiers-harness.txt")])
    shutil.copytree(folder, home / "export")
    run([*pip, "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(home / "site"), str(home / "export")])
    shutil.rmtree(home / "export")
    return Consumer(python, home / "site", home)


def run(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALLING, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def script(play: Play) -> list[dict[str, Any]]:
    return [*({"call": [call.name, json.dumps(call.arguments)]} for call in play.calls), *({"say": text} for text in play.said)]


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
    unique = {play.scenario.id for play in night.plays if openings.count(play.scenario.request) == 1}
    return Night(night.cargo, [play for play in night.plays if play.scenario.id in unique])


@pytest.fixture(scope="module")
def consumer(night: Night, tmp_path_factory: pytest.TempPathFactory) -> Consumer:
    home = tmp_path_factory.mktemp("verifiers")
    return open_consumer(write_consumer(VERIFIERS, night.cargo, home / "out"), home)


def load_splits(plays: Sequence[Play]) -> Mapping[str, list[Play]]:
    """Split → its plays: a taskset loads one."""
    return {split: [one for one in plays if one.scenario.split == split] for split in {one.scenario.split for one in plays}}


@SOAKING
def test_every_cell_is_equal(night: Night, consumer: Consumer) -> None:
    """verifiers × kind × policy, ten environments of each kind."""
    kinds = {
        play.environment.kind: {other.environment.id for other in night.plays if other.environment.kind == play.environment.kind}
        for play in night.plays
    }
    assert {kind for kind, homes in kinds.items() if len(homes) >= PER_KIND} == {"stateful", "sql"}, {k: len(v) for k, v in kinds.items()}
    scripts, cells = write_scripts(night.plays), {}
    for policy in scripts:
        for split, plays in load_splits([one for one in night.plays if name_policy(one) == policy]).items():
            traces = consumer.evaluate(policy, [one.scenario.id for one in plays], scripts, "--env.taskset.split", split)
            for play in plays:
                trace = traces[play.scenario.id]
                assert trace["errors"] == [], trace["errors"]
                told = trace["info"]["envmill"]
                assert trace["rewards"]["passed"]["score"] == play.verdict.reward, (policy, play.scenario.id, told)
                # Calls of tools that do not exist end at the harness: no move, and the state is what it was.
                assert told["end"] == play.state_hash, (policy, play.scenario.id)
                cells.setdefault((play.environment.kind, policy), []).append(trace["rewards"]["passed"]["score"])
    assert len(cells) == 10
    assert {min(rewards) for (_, policy), rewards in cells.items() if policy == "oracle"} == {1.0}
    sys.stderr.write(
        f"verifiers: { ({f'{kind} {policy}': f'{sum(rewards):g}/{len(rewards)}' for (kind, policy), rewards in cells.items()}) }\n"
    )


@SOAKING
def test_rewards_are_computed_again_from_saved_traces(night: Night, consumer: Consumer) -> None:
    """Four episodes, and then neither a model nor a tool server."""
    plays = [one for one in night.plays if one.name == "oracle" and one.scenario.split == "train"][:4]
    assert len(plays) == 4
    traces = consumer.evaluate("oracle", [one.scenario.id for one in plays], write_scripts(plays))
    (source,) = {path.parent for path in (consumer.home / "oracle").rglob("traces.jsonl")}
    consumer.run("vf-replay", str(source), "--no-rich", "--output-dir", "again")
    again = read_traces(consumer.home / "again")
    assert {key: trace["rewards"] for key, trace in again.items()} == {key: trace["rewards"] for key, trace in traces.items()}
    damaged = (source / "traces.jsonl").read_text().replace(traces[plays[0].scenario.id]["info"]["envmill"]["state_hash"], "0" * 32)
    (source / "traces.jsonl").write_text(damaged)
    consumer.run("vf-replay", str(source), "--no-rich", "--output-dir", "damaged")
    told = read_traces(consumer.home / "damaged")[plays[0].scenario.id]
    assert "nothing is known about the policy" in told["errors"][0]["message"]
    assert told["rewards"] != traces[plays[0].scenario.id]["rewards"]


def spy() -> tuple[Scenario, Environment]:
    """A program that looks for its verifier: the one of the export corpus."""
    effects: Any = {"list_tools": "query", "get_member": "query", "lend": "change", "peek": "query", "rummage": "query"}
    spied = make_environment(SPY, tools=KINDS["stateful"].derive_tools(SPY, "Shed", effects))
    return make_scenario(spied), spied


@SOAKING
def test_hostile_programs_stay_in_the_jail(consumer: Consumer, tmp_path: Path) -> None:
    """The program looks through the machine from the tool server's process tree, and finds nothing of its verifier."""
    scenario, environment = spy()
    folder = write_consumer(VERIFIERS, make_cargo([(scenario, environment)]), tmp_path) / VERIFIERS.package
    sealed = folder / "sealed" / environment.id / "scenarios/000"
    assert SECRET in (sealed / "verifier.json").read_text()
    looks = [("peek", {"path": str(sealed / name)}) for name in ("verifier.json", "scenario.json")]
    looks += [("peek", {"path": "/proc/self/environ"}), ("rummage", {"folder": str(sealed)}), ("rummage", {"folder": "/proc"})]
    turns = [{"call": [name, json.dumps(arguments)]} for name, arguments in looks]
    words = ("--env.taskset.task.folder", str(folder))
    (trace,) = consumer.evaluate("spy", [scenario.id], {"spy": {scenario.request: turns}}, *words).values()
    replies = [node["message"]["content"] for node in trace["nodes"] if node["message"]["role"] == "tool"]
    assert len(replies) == len(looks)
    assert not [reply for reply in replies if SECRET in str(reply) or "VF_STATE" in str(reply)]
    assert all("no: " in str(reply) for reply in replies[:2])
    assert trace["rewards"]["passed"]["score"] == 0.0


@SOAKING
def test_bad_input_is_said(night: Night, consumer: Consumer, tmp_path: Path) -> None:
    plays = [one for one in night.plays if one.name == "oracle" and one.scenario.split == "train"][:1]
    same = [ADAPTER, "-m", "x", "--no-push", "--no-rich", "--client.base-url", "{url}", "--client.api-key-var", "NO_KEY"]
    local = ["--env.agent.runtime.type", "subprocess"]
    null = [*same, *local, "--env.agent.harness.id", "null"]
    assert "There is no scenario 'scn_9'" in consumer.run("vf-eval", *null, "--env.taskset.scenarios", '["scn_9"]').stderr
    assert "There is no split 'dev'" in consumer.run("vf-eval", *null, "--env.taskset.split", "dev").stderr
    assert "cannot be read" in consumer.run("vf-eval", *null, "--env.taskset.task.folder", str(tmp_path)).stderr
    rows = ["--env.taskset.scenarios", json.dumps([plays[0].scenario.id]), "-o", "bash"]
    consumer.run("vf-eval", *same, *local, "--env.agent.harness.id", "bash", *rows)
    told = (next((consumer.home / "bash").rglob("traces.jsonl"))).read_text()
    assert "that code could read the verifiers in sealed/" in told


@SOAKING
def test_another_version_is_said(consumer: Consumer, tmp_path: Path) -> None:
    (tmp_path / "verifiers-9.9.9.dist-info").mkdir()
    (tmp_path / "verifiers-9.9.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: verifiers\nVersion: 9.9.9\n")
    code = f"import sys; sys.path[:0] = {[str(tmp_path), str(consumer.home / 'site')]!r}; import envmill_verifiers"
    done = subprocess.run([consumer.python, "-c", code], capture_output=True, text=True, check=False)
    assert "tested with verifiers 0.4.0, and 9.9.9 is installed" in done.stderr


@SOAKING
def test_conversations_are_played_with_the_scripted_user(tmp_path: Path) -> None:
    """The same words and calls as in the factory give the same reward and end state."""
    import asyncio

    from tests.interop.consumers.test_sessions import _play_all

    _, talks, cargo = asyncio.run(_play_all(tmp_path / "home"))
    assert len(talks) >= 2
    consumer = open_consumer(write_consumer(VERIFIERS, cargo, tmp_path / "out"), tmp_path)
    scripts: Scripts = {"talk": {}}
    for scenario, rollout in talks:
        turns: list[dict[str, Any]] = []
        for entry in (entry for entry in rollout.transcript if entry["role"] == "assistant"):
            calls = [{"call": [one["name"], json.dumps(one["arguments"])]} for one in entry.get("tool_calls") or []]
            turns += calls or [{"say": entry["content"]}]
        scripts["talk"][scenario.user.opening] = turns
    rows = [f"{scenario.id}-conversation" for scenario, _ in talks]
    traces = consumer.evaluate("talk", rows, scripts, "--env.taskset.split", talks[0][0].split)
    for (_, rollout), row in zip(talks, rows, strict=True):
        assert traces[row]["rewards"]["passed"]["score"] == rollout.reward
        assert traces[row]["info"]["envmill"]["end"] == rollout.final_state_hash
