"""Themes mined from a corpus: texts read, judged and scored, and of all themes some chosen, each
loss with its reason."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from envmill.base.errors import SettingsError
from envmill.pipeline.runner import Runner
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.context import Subject
from envmill.stages.corpus import OWN, Text, read_corpus
from envmill.stages.mine import mine_text
from flows.opening import open_walk
from schemas.run import RunConfig
from tasks.quality import hold_to_promises
from tests.gates.specimens.filtering import PROTECTED
from tests.pipeline.test_runner import ask, settings_in

ROWS: list[dict[str, Any]] = [
    {"task": "Lend the ladder to Maya.", "licence": "CC0-1.0"},
    {"task": "  Lend the\n ladder   to Maya. ", "licence": "MIT"},
    {"task": "Write a poem.", "licence": None},
    {"task": "", "licence": "MIT"},
]


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_texts_are_read_once_with_their_licence_from_either_format(tmp_path: Path) -> None:
    as_lines = read_corpus(str(write(tmp_path, ROWS)), "task")
    parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "corpus.parquet")
    assert as_lines == read_corpus(str(tmp_path / "corpus.parquet"), "task")
    assert [(one.text, one.licence) for one in as_lines] == [
        ("Lend the ladder to Maya.", "CC0-1.0"),
        ("Write a poem.", "unknown"),
    ]
    assert len(read_corpus(OWN, "text")) >= 300
    assert len(read_corpus(OWN, "text", 7)) == 7


@pytest.mark.parametrize(
    ("content", "column", "words"),
    [
        pytest.param(None, "task", "There is no file", id="no file"),
        pytest.param("not json", "task", "line 1, is not JSON", id="no JSON"),
        pytest.param("[1]", "task", "line 1, is not an object", id="no object"),
        pytest.param('{"task": "x"}', "text", "its columns are task", id="another column"),
        pytest.param('{"task": " "}', "task", "holds no text", id="says nothing"),
    ],
)
def test_a_corpus_that_cannot_be_mined_says_what_to_do(
    tmp_path: Path, content: str | None, column: str, words: str
) -> None:
    if content is not None:
        (tmp_path / "corpus.jsonl").write_text(content)
    with pytest.raises(SettingsError, match=words):
        read_corpus(str(tmp_path / "corpus.jsonl"), column)
    (tmp_path / "corpus.parquet").write_text("no parquet")
    with pytest.raises(SettingsError, match="not a readable Parquet file"):
        read_corpus(str(tmp_path / "corpus.parquet"), "task")


async def test_a_run_starts_from_what_was_mined_and_every_loss_has_its_reason(
    tmp_path: Path,
) -> None:
    settings, path = settings_in(tmp_path), tmp_path / "corpus.jsonl"
    texts = [one.text for one in read_corpus(OWN, "text", 24)]
    path.write_text(
        "\n".join(
            json.dumps({"text": text, "licence": "MIT"})
            for text in [*texts, "What is the capital of France?"]
        )
    )
    config = RunConfig(environments=2, seed=11, mistakes=0.0, corpus=str(path))
    async with open_walk("r1", config, settings) as walk:
        await walk.walk(walk.line[:2])
        known = dict(read_themes())
        found, aside = await hold_to_promises(walk, [step.name for step in walk.line[:2]], None)
        assert [(tally.promise, tally.broken) for tally in found.tallies if tally.broken] == []
        assert aside == 0
    rows = ask(
        settings, "select stage, entered, kept, dropped, error from funnel order by stage desc"
    )
    assert [(stage, entered, error) for stage, entered, *_, error in rows] == [
        ("mine", 25, 0),
        ("generate", rows[0][2], 0),
    ]
    assert rows[1][2] == 2
    reasons = dict(
        ask(
            settings,
            "select stage || '/' || reason, count(*) from exits where outcome = 'dropped' group "
            "by all",
        )
    )
    assert {"mine/not_stateful", "generate/same_theme"} <= set(reasons)
    assert sum(reasons.values()) == rows[0][3] + rows[1][3]
    seeds = ask(
        settings, "select source, licence, brief ->> 'theme', usefulness, modelability from seeds"
    )
    assert len(seeds) == rows[0][2]
    assert all(
        source.startswith("txt_") and licence == "MIT" and min(scores) >= 7
        for source, licence, _, *scores in seeds
    )
    assert any(theme in known for _, _, theme, *_ in seeds)
    path.write_text(json.dumps({"text": "Something else."}))
    with pytest.raises(SettingsError, match="no longer what this run began with"):
        async with open_walk("r1", config, settings) as walk:
            await plan_all(walk)


async def plan_all(walk: Runner) -> None:
    for step in walk.line[:2]:
        await walk.plan(step)


async def test_a_text_of_a_protected_benchmark_is_not_mined_and_nobody_is_asked_about_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "bench.json").write_text(json.dumps(PROTECTED))
    settings = SimpleNamespace(protected=tmp_path, sketches=tmp_path / "none")
    context: Any = SimpleNamespace(
        config=SimpleNamespace(corpus="file"), settings=settings, recipe=SimpleNamespace()
    )
    models: Any = None
    for text in (PROTECTED[0], f"Hello. {PROTECTED[1]} Thanks."):
        (found,) = (
            await mine_text(Subject("txt_1", "", "", Text(text, "MIT")), context, models)
        ).findings
        assert (found.outcome, found.gate, found.reason) == ("dropped", "theme", "protected")
    other = Text("Lend the ladder to Maya before noon, and note when it is due.", "MIT")
    with pytest.raises(AttributeError, match="find_theme"):
        await mine_text(Subject("txt_2", "", "", other), context, models)
