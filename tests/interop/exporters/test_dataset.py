"""The dataset folder: what `datasets` loads, in its own environment, is what was exported; and its
card says what must be said."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from envmill.base.settings import ROOT
from envmill.interop.exporters import StepCount, write_output
from envmill.interop.exporters.columns import describe_row
from envmill.interop.exporters.dataset import describe_fields, export_dataset, list_columns
from envmill.interop.exporters.preferences import group_pairs
from envmill.interop.exporters.rl import group_posings
from envmill.interop.exporters.sft import export_sft, group_trajectories
from tests.interop.exporters.consumers import open_house
from tests.interop.exporters.specimens import make_export_set

READER = Path(__file__).with_name("reader.py")


def write_card() -> str:
    (output,) = export_dataset(make_export_set())
    return output.beside["README.md"].decode()


@pytest.mark.long
def test_what_is_loaded_is_what_was_exported(tmp_path: Path) -> None:
    python, export_set = open_house("datasets==5.2.0"), make_export_set()
    for output in (*export_dataset(export_set), *export_sft(export_set)):
        write_output(output, tmp_path, "r")
    surroundings = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "cache"),
    }
    words = [
        str(python),
        "-I",
        str(READER),
        str(tmp_path / "dataset"),
        str(tmp_path / "sft/train.jsonl"),
    ]
    done = subprocess.run(
        words, env=surroundings, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    grouped: dict[str, Any] = {
        "sft": group_trajectories(export_set),
        "rl": group_posings(export_set),
        "preferences": group_pairs(export_set),
    }
    grouped["environments"] = {"train": sorted(export_set.environments, key=lambda one: one.id)}
    assert {config: set(splits) for config, splits in told["rows"].items()} == {
        config: set(splits) for config, splits in grouped.items()
    }
    for config, splits in grouped.items():
        columns = list_columns(export_set.sources)[config]
        packed = {column.name for column in columns if column.type == "json"}
        for split, rows in splits.items():
            read = [
                {
                    name: json.loads(value) if name in packed else value
                    for name, value in row.items()
                }
                for row in told["rows"][config][split]
            ]
            assert read == [describe_row(columns, row) for row in rows], (config, split)
    assert told["lines"] == [["messages", "tools"]] * 2


def test_the_card_names_its_files_for_loaders() -> None:
    (output,) = export_dataset(make_export_set())
    front = yaml.safe_load(output.beside["README.md"].decode().split("---\n")[1])
    named = {split["path"] for config in front["configs"] for split in config["data_files"]}
    assert named == {name for name in output.files if name.endswith(".parquet")}
    assert front["license"] == "apache-2.0"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            "| scenarios-build | 6 | 4 | 2 | does_not_build 2 | 1200 | 0.2500 |", id="funnel"
        ),
        pytest.param("1200 tokens, cost 0.2500; per scenario kept 0.0625", id="cost"),
        pytest.param(
            "measured on 1 of 4 scenarios: at worst 2.0% of wrong ends accepted and 10.0% of "
            "right ends rejected",
            id="bounds",
        ),
        pytest.param("offline m (6)", id="models"),
        pytest.param("its pass rates say nothing about difficulty", id="offline"),
        pytest.param("Apache-2.0 (2)", id="licences"),
        pytest.param("Transfer to other work: not measured.", id="transfer"),
        pytest.param("EnvMill canary ", id="canary"),
        *(
            pytest.param(describe_fields(columns), id=f"fields-{config}")
            for config, columns in list_columns({}).items()
        ),
    ],
)
def test_the_card_says(said: str) -> None:
    assert said in write_card()


def test_an_unknown_cost_is_not_nothing() -> None:
    export_set = make_export_set()
    counts = (*export_set.counts, StepCount("scenarios-verify", 4, 0, tokens=10, cost=None))
    (output,) = export_dataset(replace(export_set, counts=counts))
    assert (
        "1210 tokens, cost unknown; per scenario kept unknown"
        in output.beside["README.md"].decode()
    )


def test_the_card_is_no_part_of_what_is_hashed() -> None:
    export_set = make_export_set()
    (dear,), (cheap,) = (
        export_dataset(replace(export_set, counts=counts)) for counts in (export_set.counts, ())
    )
    assert (dear.content_hash, dear.beside == cheap.beside) == (cheap.content_hash, False)


def test_the_page_on_exports_has_the_fields_as_they_are() -> None:
    page = (ROOT / "docs/exports.md").read_text()
    for config, columns in list_columns({}).items():
        assert describe_fields(columns) in page, (
            f"{config}: `python -m tests.interop.exporters.fields` prints the tables"
        )
