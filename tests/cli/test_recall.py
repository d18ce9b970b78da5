"""Terms and recalls from the command line: rows of a model that forbids training stay, and a recall
names them wherever they went."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.lake.lake import Lake
from flows.cli import make_app
from flows.local.home import Home
from schemas.environment import Environment
from schemas.pair import Pair
from schemas.quality import Withdrawal
from schemas.rollout import Trajectory
from schemas.scenario import Scenario
from tests.cli.test_export import finished
from tests.cli.test_lake import invoke
from tests.quality.specimen import make_line

__all__ = ["finished"]


def ask(surroundings: dict[str, str], *words: str) -> Result:
    return CliRunner(env=surroundings).invoke(make_app(words), [*words])


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.toml"
    path.write_text('[[terms]]\nid = "none of it"\nmodels = ["offline"]\ntrain = false\n')
    return path


@pytest.mark.long
def test_an_export_is_held_to_a_file_of_terms(
    finished: dict[str, str], terms: Path, tmp_path: Path
) -> None:
    refused = ask(finished, "export", "r1", "--policy", str(terms), "--out", str(tmp_path / "none"))
    assert "forbid training" in str(refused.exception)
    assert "2 scenarios forbidden" in refused.stderr
    by_setting = ask(
        finished | {"ENVMILL_TERMS": str(terms)}, "export", "r1", "--out", str(tmp_path / "none")
    )
    assert "forbid training" in str(by_setting.exception)
    assert not (tmp_path / "none").exists()
    terms.write_text('[[terms]]\nid = "acted"\nmodels = ["script:*"]\ntrain = false\n')
    done = ask(finished, "export", "r1", "--policy", str(terms), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert not (tmp_path / "out/sft").exists(), "nobody but scripts acted"
    told = json.loads((tmp_path / "out/rl/manifest.json").read_bytes())["sources"]
    assert told["held_back"]["trajectories_forbidden"] == 2
    assert "There is no file" in str(
        ask(finished, "export", "r1", "--policy", str(tmp_path / "other.toml")).exception
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reason", "x"), "Name what to withdraw"),
        (("--model", "a", "--seed", "b", "--reason", "x"), "Name what to withdraw"),
        (("scn_", "--seed", "b", "--reason", "x"), "Name what to withdraw"),
        (("scn_none", "--dry"), "No record of the lake"),
        (("seed_", "--dry"), "is a row of seeds. Name a scenario"),
        (("--model", "offline"), "needs a reason"),
        (("--model", "openai:*", "--reason", "x"), "Nothing rests on openai:*"),
        (("--seed", "seed_none", "--dry"), "Nothing rests on seed_none"),
    ],
)
def test_a_recall_that_means_nothing_is_refused(
    finished: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    assert said in str(ask(finished, "recall", *words).exception)


def test_a_recall_names_rows_of_every_folder_and_later_exports_lack_them(
    finished: dict[str, str], tmp_path: Path
) -> None:
    """First of whoever acted: its scenarios stay. Then of the seed: all goes."""
    lake = Lake(finished["ENVMILL_LAKE"])
    assert (
        ask(
            finished,
            "export",
            "r1",
            "--exporter",
            "sft",
            "--exporter",
            "rl",
            "--out",
            str(tmp_path / "first"),
        ).exit_code
        == 0
    )
    acted = {one.id for one in lake.read(Trajectory, "r1")}
    looked = ask(finished, "recall", "--model", "script:*", "--dry")
    assert f"0 scenarios, {len(acted)} trajectories" in looked.stdout
    assert lake.read(Withdrawal, "r1") == []
    done = ask(finished, "recall", "--model", "script:*", "--reason", "bad habits")
    rows = next(line for line in done.stdout.splitlines() if line.startswith("sft "))
    assert acted == {*rows.partition(" rows: ")[2].split()}
    assert {(one.subject, one.reason) for one in lake.read(Withdrawal, "r1")} >= {
        (one, "source script:*: bad habits") for one in acted
    }
    assert all(one.bundles for one in lake.read(Withdrawal, "r1"))
    assert (
        "0 newly withdrawn"
        in ask(finished, "recall", "--model", "script:*", "--reason", "bad habits").stdout
    )
    assert ask(finished, "export", "r1", "--out", str(tmp_path / "second")).exit_code == 0
    assert not (tmp_path / "second/sft").exists()
    assert (tmp_path / "second/rl").exists()
    feed = tmp_path / "feed.json"
    assert (
        f"{len(lake.read(Withdrawal, 'r1'))} new entries"
        in ask(finished, "recall", "--feed", str(feed)).stdout
    )
    first = json.loads(feed.read_bytes())
    assert "0 new entries" in ask(finished, "recall", "--feed", str(feed)).stdout
    assert json.loads(feed.read_bytes()) == first
    seed = lake.read(Environment, "r1")[0].origin.seed
    done = ask(finished, "recall", "--seed", seed, "--reason", "not ours", "--feed", str(feed))
    later = json.loads(feed.read_bytes())
    assert later["withdrawn"][: first["seq"]] == first["withdrawn"], "numbers are given once"
    assert [one["seq"] for one in later["withdrawn"]] == [*range(1, later["seq"] + 1)]
    new = ask(
        finished, "recall", "--feed", str(feed), "--since", str(first["seq"])
    ).stdout.splitlines()
    assert [json.loads(line) for line in new] == later["withdrawn"][first["seq"] :]
    assert {one["subject"] for one in later["withdrawn"]} == {
        one.subject for one in lake.read(Withdrawal, "r1")
    }
    feed.write_text(json.dumps(later | {"withdrawn": later["withdrawn"][1:]}))
    assert "some of its entries are missing" in str(
        ask(finished, "recall", "--feed", str(feed)).exception
    )
    assert any(line.startswith("rl ") for line in done.stdout.splitlines())
    assert "recalled" in str(
        ask(finished, "export", "r1", "--out", str(tmp_path / "third")).exception
    )


@pytest.mark.long
def test_a_record_is_recalled_by_the_beginning_of_its_id(home: Home) -> None:
    lake = Lake(home.settings.lake)
    line = make_line()
    line.write(lake, "r1")
    line.write(lake, "r2")
    scenario = line.all(Scenario)[0]
    others = {one.id for one in line.all(Scenario)} - {scenario.id}
    below = {one.id for one in line.all(Trajectory) if one.scenario == scenario.id}
    below |= {one.id for one in line.all(Pair) if one.scenario == scenario.id}
    assert below

    def withdrawn(run: str) -> set[str]:
        return {one.subject for one in lake.read(Withdrawal, run)}

    before = withdrawn("r1")
    looked = invoke(home, "recall", scenario.id[:-1], "--dry")
    assert looked.exit_code == 0, looked.output
    assert withdrawn("r1") == before
    done = invoke(home, "recall", scenario.id[:-1], "--reason", "two answers are right")
    assert done.exit_code == 0, done.output
    for run in ("r1", "r2"):
        assert withdrawn(run) - before == {scenario.id} | below - before, run
        assert not withdrawn(run) & others
    fresh = [one for one in lake.read(Withdrawal, "r1") if one.subject == scenario.id]
    assert fresh[-1].reason == "two answers are right"
    assert "0 newly withdrawn" in invoke(home, "recall", scenario.id, "--reason", "again").stdout
    home_of_it = invoke(home, "recall", scenario.environment, "--dry", "--run", "r2").stdout
    assert "run r2: 1 environments, " in home_of_it
    assert "run r1" not in home_of_it
