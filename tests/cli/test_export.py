"""`envmill export`: what a run kept, written again as it is wanted; nothing to export is told with
what to do."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner, Result

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from flows.cli import make_app
from flows.local.home import Home
from flows.opening import open_walk
from schemas.ledger import Evidence
from schemas.quality import Reverification
from schemas.rollout import Bundle, Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.cli.conftest import start_run

CONFIG = RunConfig(
    environments=1,
    scenarios=2,
    attempts=2,
    keep=1,
    seed=11,
    mistakes=0.0,
    search=20,
    polarities={"achieve": 1},
    exporters=("sft",),
)


def place(folder: Path) -> dict[str, str]:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}


async def walk(run: str, config: RunConfig, surroundings: dict[str, str]) -> None:
    async with open_walk(run, config, Home.read(surroundings).settings) as opened:
        await opened.walk()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of a home where one small run was walked bare."""
    surroundings = place(tmp_path_factory.mktemp("finished"))
    asyncio.run(walk("r1", CONFIG, surroundings))
    return surroundings


def ask(surroundings: dict[str, str], *words: str) -> Result:
    return CliRunner(env=surroundings).invoke(make_app(["export"]), ["export", *words])


@pytest.mark.long
def test_the_step_exports_what_the_settings_name(finished: dict[str, str]) -> None:
    assert {path.name for path in Path(finished["ENVMILL_BUNDLES"], "r1").iterdir()} == {"sft"}


def test_by_hand_it_makes_the_same_bytes_and_a_copy_is_the_same_bundle(
    finished: dict[str, str],
) -> None:
    told = [ask(finished, "r1", "--exporter", "sft").stdout for _ in range(2)]
    assert told[0] == told[1]
    by_hand = Path(told[0].split()[1])
    step = Path(finished["ENVMILL_BUNDLES"], "r1/sft")
    assert {path.name: path.read_bytes() for path in by_hand.iterdir()} == {
        path.name: path.read_bytes() for path in step.iterdir()
    }
    assert [row.path for row in Lake(finished["ENVMILL_LAKE"]).read(Bundle, "r1")] == ["r1/sft"]


def test_everything_goes_to_a_folder_that_is_named_and_new(
    finished: dict[str, str], tmp_path: Path
) -> None:
    done = ask(finished, "r1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "sft",
        "rl",
        "dataset",
        "bundle",
    }
    recorded = {row.exporter: row for row in Lake(finished["ENVMILL_LAKE"]).read(Bundle, "r1")}
    assert (
        tmp_path / "out" / "bundle" / recorded["bundle"].environments[0] / "bundle.json"
    ).exists()
    assert "exists already" in str(ask(finished, "r1", "--out", str(tmp_path / "out")).exception)


def test_a_consumer_gets_its_folder_and_nothing_else_is_exported(
    finished: dict[str, str], tmp_path: Path
) -> None:
    done = ask(finished, "r1", "--for", "verifiers", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["verifiers"]
    recorded = [
        row
        for row in Lake(finished["ENVMILL_LAKE"]).read(Bundle, "r1")
        if row.exporter == "verifiers"
    ]
    assert [len(row.scenarios) for row in recorded] == [2]
    both = ask(
        finished, "r1", "--for", "verifiers", "--exporter", "rl", "--out", str(tmp_path / "both")
    )
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"verifiers", "rl"}, both.stderr


def test_with_a_tokenizer_rows_have_token_ids_and_what_has_none_is_told(
    finished: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("tokenizers", reason="the extra `tokens` is not installed: make setup")
    from tests.interop.tokens.families import FAMILIES, read_template, write_folder

    folder = write_folder(FAMILIES["chatml"], tmp_path / "chatml")
    done = ask(finished, "r1", "--tokenizer", str(folder), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"sft", "rl", "preferences"}
    manifest = json.loads((tmp_path / "out/sft/manifest.json").read_text())
    assert manifest["tokens"]["rows"] == sum(map(len, manifest["lines"].values())) > 0
    (tmp_path / "own.jinja").write_text(
        read_template("chatml").replace("messages[0].role == 'system'", "system_role == 'never'")
    )
    own = [
        "--chat-template",
        str(tmp_path / "own.jinja"),
        "--template-args",
        '{"system_role": "x"}',
    ]
    other = ask(
        finished,
        "r1",
        "--tokenizer",
        str(folder),
        *own,
        "--exporter",
        "rl",
        "--out",
        str(tmp_path / "other"),
    )
    assert other.exit_code == 0, other.stderr
    given = json.loads((tmp_path / "other/rl/manifest.json").read_text())["tokens"]["tokenizer"]
    assert given["template_args"] == {"system_role": "x"}
    assert given["templates"] != manifest["tokens"]["tokenizer"]["templates"]
    gemma = write_folder(FAMILIES["gemma"], tmp_path / "gemma")
    refused = ask(finished, "r1", "--tokenizer", str(gemma), "--exporter", "sft")
    assert "without exact token ids (template_refuses), trj_" in refused.stderr
    assert "kept nothing" in str(refused.exception)


def test_environments_of_tools_leave_for_harbor_when_asked(
    finished: dict[str, str], tmp_path: Path
) -> None:
    """No package of a consumer's: a task for each scenario."""
    done = ask(finished, "r1", "--for", "harbor", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["harbor-worlds"]
    tasks = json.loads((tmp_path / "out/harbor-worlds/manifest.json").read_text())["tasks"]
    assert tasks
    assert all(
        (tmp_path / "out/harbor-worlds" / task / "tests/test.sh").is_file() for task in tasks
    )


def test_parts_are_paid_where_nobody_earns_blindly(
    finished: dict[str, str], tmp_path: Path
) -> None:
    """No verifier of this run pays in part, so none may, and all rows are binary."""
    done = ask(
        finished,
        "r1",
        "--for",
        "verifiers",
        "--exporter",
        "rl",
        "--partial",
        "--out",
        str(tmp_path / "out"),
    )
    assert done.exit_code == 0, done.stderr
    manifests = [
        json.loads((tmp_path / "out" / name / "manifest.json").read_bytes())
        for name in ("verifiers", "rl")
    ]
    assert manifests[0]["rewards"] == {"partial": [], "others": "binary"}
    assert manifests[1]["rewards"] == {"partial": [], "others": "binary", "turn_reward": 0.0}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A run whose verifiers pay for parts, and in which some attempts earned a part."""
    surroundings = place(tmp_path_factory.mktemp("parts"))
    told: dict[str, Any] = {
        "environments": 1,
        "scenarios": 4,
        "attempts": 4,
        "keep": 1,
        "seed": 11,
        "search": 20,
        "exporters": ("sft",),
    }
    asyncio.run(
        walk(
            "r1",
            RunConfig.model_validate(told | {"reward": "partial", "probe": "skilled@0.5"}),
            surroundings,
        )
    )
    return surroundings


@pytest.mark.long
def test_rewards_are_binary_unless_parts_may_be_paid_and_are_asked_for(
    parts: dict[str, str], tmp_path: Path
) -> None:
    lake = Lake(parts["ENVMILL_LAKE"])
    stored = {one.id: one for one in lake.read(Rollout, "r1") if one.rollout_group == "probe"}
    paid = {name for name, one in stored.items() if one.reward not in (0.0, 1.0, None)}
    assert paid
    for name, words in {"plain": [], "parts": ["--partial"]}.items():
        done = ask(parts, "r1", "--exporter", "rl", *words, "--out", str(tmp_path / name))
        assert done.exit_code == 0, done.exception
    rewards = {
        name: {
            one["rollout"]: one["reward"]
            for row in read_lines(tmp_path / name / "rl")
            for one in row["attempts"]
        }
        for name in ("plain", "parts")
    }
    assert {*rewards["plain"].values()} <= {0.0, 1.0, None}
    allowed = json.loads((tmp_path / "parts/rl/manifest.json").read_bytes())["rewards"]["partial"]
    leaving = {name for name in paid & rewards["parts"].keys() if stored[name].scenario in allowed}
    assert leaving
    assert {name: rewards["parts"][name] for name in leaving} == {
        name: stored[name].reward for name in leaving
    }


@pytest.mark.long
def test_a_verifier_that_pays_blindly_is_told_with_who_earns_what(
    parts: dict[str, str], tmp_path: Path
) -> None:
    """The worst of several searches counts; its scenario pays all or nothing."""
    shutil.copytree(parts["ENVMILL_LAKE"], tmp_path / "lake")
    copied, lake = parts | {"ENVMILL_LAKE": str(tmp_path / "lake")}, Lake(tmp_path / "lake")
    asked = ["r1", "--exporter", "rl", "--partial", "--attempts", "--turn-reward", "0.5"]
    assert ask(copied, *asked, "--out", str(tmp_path / "before")).exit_code == 0
    allowed = json.loads((tmp_path / "before/rl/manifest.json").read_bytes())["rewards"]["partial"]
    row = Evidence(gate="S13", subject=allowed[0], finding={"blind": {"mean": 0.2, "best": 1.0}})
    lake.put(
        Evidence,
        [row],
        "later-0",
        Stamp("r1", "scenarios-verify", "", 0, 1, "0", "2026-11-21T00:00:00+00:00"),
    )
    done = ask(copied, *asked, "--out", str(tmp_path / "after"))
    assert (
        f"partial: {allowed[0]} pays all or nothing: a blind search earns 0.200 on average"
        in done.stderr
    )
    told = {
        name: [
            one
            for row in read_lines(tmp_path / name / "rl")
            if row["scenario"] == allowed[0]
            for one in row["attempts"]
        ]
        for name in ("before", "after")
    }
    assert any(one["turn_reward"] for one in told["before"])
    assert {one["reward"] for one in told["after"]} <= {0.0, 1.0, None}
    assert not any(one["turn_reward"] for one in told["after"])


def test_rows_of_attempts_have_what_each_turn_came_to(
    finished: dict[str, str], tmp_path: Path
) -> None:
    done = ask(finished, "r1", "--exporter", "rl", "--attempts", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.exception
    rows = [
        row
        for path in sorted((tmp_path / "out/rl/attempts").glob("*.parquet"))
        for row in parquet.read_table(path).to_pylist()
    ]
    stored = {
        one.id: one
        for one in Lake(finished["ENVMILL_LAKE"]).read(Rollout, "r1")
        if one.rollout_group == "probe"
    }
    assert {row["rollout"] for row in rows} == stored.keys()
    for row in rows:
        turns = json.loads(row["turns"])
        said = [
            message for message in json.loads(row["messages"]) if message["role"] == "assistant"
        ]
        assert [len(turn["calls"]) for turn in turns] == [
            len(message.get("tool_calls", ())) for message in said
        ]
        assert turns[-1]["state_hash"] == stored[row["rollout"]].final_state_hash
        assert row["reward"] == stored[row["rollout"]].reward
    scenarios = {one.id: one for one in Lake(finished["ENVMILL_LAKE"]).read(Scenario, "r1")}
    passed = [row for row in rows if row["reward"] == 1.0]
    assert passed
    for row in passed:
        met = [goal for turn in json.loads(row["turns"]) for goal in turn["goals_met"]]
        assert sorted(met) == list(range(len(scenarios[row["scenario"]].verifier.goals)))


def test_attempts_judged_by_two_versions_are_refused_until_they_are_judged_again(
    finished: dict[str, str], tmp_path: Path
) -> None:
    shutil.copytree(finished["ENVMILL_LAKE"], tmp_path / "lake")
    copied = finished | {"ENVMILL_LAKE": str(tmp_path / "lake")}
    lake = Lake(copied["ENVMILL_LAKE"])
    first = next(row for row in lake.read(Rollout, "r1") if row.rollout_group == "probe")
    told: dict[str, Any] = {
        "subject": first.id,
        "outcome": first.outcome,
        "reward": first.reward,
        "reason": "",
        "gate": "verifier",
    }
    other = Reverification.model_validate(
        told | {"judged_at": "2026-11-21T00:00:00+00:00", "verifier_version": "another"}
    )
    lake.put(
        Reverification, [other], "rescore-0", Stamp("r1", "rescore", "", 0, 1, "0", other.judged_at)
    )
    refused = str(ask(copied, "r1", "--exporter", "rl").exception)
    assert "1 of another" in refused
    assert first.verifier_version in refused
    assert ask(copied, "r1", "--exporter", "sft").exit_code == 0
    assert CliRunner(env=copied).invoke(make_app(), ["rescore", "r1"]).exit_code == 0
    done = ask(copied, "r1", "--exporter", "rl", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.exception
    attempts = [one for row in read_lines(tmp_path / "out/rl") for one in row["attempts"]]
    assert {(one["termination"], one["mask"], one["group"]) for one in attempts} == {
        ("done", "", "probe")
    }
    assert {one["attempt"] for one in attempts} == {0, 1}


def read_rate(surroundings: dict[str, str], policy: str) -> dict[str, float]:
    """Passes per attempt, counted from the rows."""
    counted: dict[str, list[bool]] = {}
    for row in Lake(surroundings["ENVMILL_LAKE"]).read(Rollout, "r1"):
        if row.policy == policy:
            counted.setdefault(row.scenario, []).append(row.outcome == "pass")
    return {scenario: sum(passed) / len(passed) for scenario, passed in counted.items()}


def test_scenarios_are_selected_by_what_a_policy_passes_and_every_form_says_so(
    finished: dict[str, str], tmp_path: Path
) -> None:
    rates = read_rate(finished, "reference")
    assert set(rates.values()) == {1.0}
    done = ask(
        finished,
        "r1",
        "--for-policy",
        "reference",
        "--band",
        "0.5,1",
        "--out",
        str(tmp_path / "all"),
    )
    assert done.exit_code == 0, done.stderr
    told = {"policy": "reference", "pass_rate": [0.5, 1.0]}
    manifests = [
        path
        for path in (tmp_path / "all").rglob("*.json")
        if path.name in ("manifest.json", "provenance.json")
    ]
    tiers = {path.parent.name: json.loads(path.read_bytes()).get("tiers") for path in manifests}
    assert {"sft", "rl", "preferences", "dataset"} & set(tiers) >= {"sft", "rl", "dataset"}
    assert all(said["selected"] == told for said in tiers.values() if said is not None), tiers
    cards = [path.read_text() for path in (tmp_path / "all").rglob("README.md")]
    assert any("policy `reference` passed 50% to 100%" in card for card in cards)
    assert {row["scenario"] for row in read_lines(tmp_path / "all/rl")} == set(rates)
    plain = ask(finished, "r1", "--exporter", "rl", "--out", str(tmp_path / "plain"))
    assert plain.exit_code == 0
    assert "selected" not in json.loads((tmp_path / "plain/rl/manifest.json").read_bytes())["tiers"]


def test_a_band_leaves_the_others_at_home_and_says_which(
    finished: dict[str, str], tmp_path: Path
) -> None:
    rates = read_rate(finished, "careless")
    assert rates
    least = min(rates.values())
    done = ask(
        finished,
        "r1",
        "--exporter",
        "rl",
        "--band",
        f"{least},{least}",
        "--out",
        str(tmp_path / "least"),
    )
    kept = {row["scenario"] for row in read_lines(tmp_path / "least/rl")}
    assert kept == {scenario for scenario, rate in rates.items() if rate == least}
    assert ("outside the band" in done.stderr) == (len(kept) < len(rates))
    assert "passes no scenario in the band" in str(
        ask(finished, "r1", "--for-policy", "reference").exception
    ), "it always passes"


def read_lines(folder: Path) -> list[Any]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["r1", "--band", "0.1"], "written LEAST,MOST", id="band"),
        pytest.param(["r1", "--band", "0.9,0.1"], "the least first", id="turned band"),
        pytest.param(
            ["r1", "--for-policy", "nobody"],
            "'nobody' was judged in r1. Those that did: careless",
            id="policy",
        ),
        pytest.param(
            ["r1", "--exporter", "csv"], "no exporter 'csv'. Known: sft, rl", id="exporter"
        ),
        pytest.param(["r1", "--for", "tinker"], "no consumer 'tinker'. Known: ", id="consumer"),
        pytest.param(["r1", "--split", "dev"], "no split 'dev'. Known: train", id="split"),
        pytest.param(
            ["r1", "--partial", "--exporter", "sft"],
            "--partial is about rewards: of dataset, rl",
            id="partial",
        ),
        pytest.param(
            ["r1", "--attempts", "--exporter", "sft"],
            "--attempts is about exporter rl",
            id="attempts",
        ),
        pytest.param(
            ["r1", "--attempts", "--turn-reward", "0.1"],
            "Give --attempts and --partial, too",
            id="turn reward",
        ),
        pytest.param(
            ["r1", "--attempts", "--partial", "--turn-reward", "2"],
            "lies between 0 and 1, and 2 does not",
            id="large turn reward",
        ),
        pytest.param(
            ["r1", "--chat-template", "x"], "Name a folder with --tokenizer", id="template alone"
        ),
        pytest.param(
            ["r1", "--tokenizer", "/nowhere"], "is not a tokenizer folder", id="tokenizer"
        ),
        pytest.param(
            ["r1", "--tokenizer", "/nowhere", "--template-args", "[]"],
            "is a JSON object",
            id="variables",
        ),
        pytest.param(["r9"], "No run r9", id="run"),
        pytest.param(["begun"], "has not come to scenarios-build yet", id="begun"),
        pytest.param(
            ["r1", "--exporter", "sft", "--split", "validation", "--split", "test"],
            "kept nothing of split",
            id="empty",
        ),
    ],
)
def test_what_cannot_be_exported_is_told(
    finished: dict[str, str], words: list[str], complaint: str
) -> None:
    start_run(Home.read(finished), "begun")
    assert complaint in str(ask(finished, *words).exception)


def test_a_night_that_is_not_as_expected_is_exported_once_it_is_accepted(
    finished: dict[str, str],
) -> None:
    lake = Lake(finished["ENVMILL_LAKE"])
    judged: list[dict[str, str]] = [
        {"x.y": "odd"},
        {},
        {"a.b": "strange"},
    ]  # the latest judgement counts
    for number, broken in enumerate(judged):
        row = Evidence(
            gate="night",
            subject="run:r1",
            finding={"family": "f", "means": {}, "bounds": {}, "broken": dict(broken)},
        )
        lake.put(
            Evidence,
            [row],
            f"night-{row.id}",
            Stamp("r1", "night", "", 0, 1, "0", f"2026-11-21T00:00:0{number}+00:00"),
        )
        assert (ask(finished, "r1", "--exporter", "sft").exit_code == 0) == (not broken)
    refused = ask(finished, "r1", "--exporter", "sft")
    assert "a.b: strange" in str(refused.exception)
    assert "envmill review r1 --accept --note WHY" in str(refused.exception)
    review = ["review", "r1", "--by", "me"]
    silent = CliRunner(env=finished).invoke(make_app(), [*review, "--accept"])
    assert "--note" in str(silent.exception)
    for words, exported in (
        ([*review, "--reject", "--note", "no"], False),
        ([*review, "--accept", "--note", "a new prompt"], True),
    ):
        assert CliRunner(env=finished).invoke(make_app(), words).exit_code == 0
        assert (ask(finished, "r1", "--exporter", "sft").exit_code == 0) is exported
    locked = CliRunner(env=finished).invoke(
        make_app(), [*review, "--accept", "--note", "x", "--lock", "a rule"]
    )
    assert "is a run" in str(locked.exception)
