"""A run that mines its themes from a corpus and whose policy is a model, as the server walks it."""

import json
from pathlib import Path

import pytest

from envmill.stages.corpus import OWN, read_corpus
from tests.e2e.plant import Plant
from tests.soak import count

MODELS = ("--probe=careless", "--weak=model", "--teacher=model", "--policy=openai:m@box")
TEXTS = 4


@pytest.mark.soak(area="line")
def test_a_run_starts_from_a_corpus_and_asks_a_model_to_act(plant: Plant, tmp_path: Path) -> None:
    if count(0, 1) == 0:
        pytest.skip(
            "tests/stages/test_mine.py and tests/agents do the same without a server: `make soak "
            "AREA=line`"
        )
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        "\n".join(
            json.dumps({"text": one.text, "licence": "MIT"})
            for one in read_corpus(OWN, "text", TEXTS)
        )
    )
    order = (
        f"--corpus={corpus}",
        "--environments=1",
        "--scenarios=2",
        "--attempts=4",
        "--seed=3",
        *MODELS,
    )
    said = plant.call("run", *order, "--mistakes=0")
    run = said.split("run ")[1].split(":")[0]
    assert plant.ask("select entered, error from funnel where run = ? and stage = 'mine'", run) == [
        (TEXTS, 0)
    ]
    rollouts = (
        "select rollout_group, count(*), count(distinct form) from rollouts where run = ? and "
        "policy = 'model' group by all order by all"
    )
    assert plant.ask(rollouts, run) == [("teacher", 8, 2), ("weak", 8, 2)]
    paid = (
        "select step, count(*) from model_calls where run = ? and provider = 'openai' and not "
        "reused group by all"
    )
    assert plant.ask(paid, run) == [("scenarios-filter", 8)], (
        "the teacher is the same model, and its replies were known"
    )
    assert plant.ask(
        "select reason, count(*) from exits where run = ? and stage = 'collect' group by all", run
    ) == [("no_pass", 2)]

    told = plant.call("estimate", *order, "--texts=3")
    assert [line.split()[2:5] for line in told.splitlines() if "environments-mine" in line] == [
        ["author", "offline", "3"]
    ]
    steps = {line.split("\t")[0] for line in told.splitlines() if "\tpolicy\t" in line}
    assert steps == {"scenarios-filter", "scenarios-collect"}
