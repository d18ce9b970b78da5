"""The measurement of paraphrases: prompts go out, answers come back, and each is held against the
sketch of its benchmark."""

import json
from pathlib import Path

import pytest

from envmill.gates.protecting.reading import Benchmark, BenchmarkTask
from envmill.gates.protecting.sketch import BenchmarkSource, sketch_benchmark
from tests.gates.paraphrasing import Known, measure, pose, render, write_table
from tests.gates.test_same_task import ASKED, OTHERS, PARAPHRASE, RETURN


@pytest.fixture
def known() -> list[Known]:
    tasks = [
        BenchmarkTask(f"tasks:{number}", text, calls)
        for number, (text, calls) in enumerate([(ASKED, RETURN), *OTHERS], start=1)
    ]
    bench = Benchmark({f"{task.place}.1": task.text for task in tasks}, tasks)
    return [Known(bench, sketch_benchmark(bench, BenchmarkSource("bench")))]


def test_prompts_are_written_and_answers_counted_by_what_f3_says(
    known: list[Known], tmp_path: Path
) -> None:
    assert render(tmp_path, known) == 3
    prompts = [path.read_text() for path in sorted((tmp_path / "prompts").iterdir())]
    assert ASKED in prompts[0]
    assert "{{" not in "".join(prompts)
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "00.json").write_text(
        json.dumps({"paraphrases": [PARAPHRASE, f"Hello there. {ASKED}"]})
    )
    counts = measure(tmp_path, known)
    assert (counts["kept"]["same_task"], counts["kept"]["words"]) == (1, 1)
    assert counts["swapped"]["same_task"] == 0, "other values are never proof"
    assert counts["honest"] == {"words": 0, "same_task": 0, "like_task": 0, "missed": 3}
    assert "| honest | 0 | 0 | 0 | 3 | 3 |" in write_table(counts)


def test_a_paraphrase_is_posed_under_other_names_and_values() -> None:
    posed = pose(BenchmarkTask("tasks:1", ASKED, RETURN), PARAPHRASE)
    assert {name for name, _ in posed["kept"].calls}.isdisjoint({name for name, _ in RETURN})
    assert len(posed["shorter"].calls) == len(RETURN) - 1
    assert "W4417" not in str(posed["swapped"].calls)
