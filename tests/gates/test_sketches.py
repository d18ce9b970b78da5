"""Sketches of benchmarks: the verdicts of their texts, and nothing of the texts."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.gates.f3 import check_for_contamination
from envmill.gates.positive_controls import PLANTS
from envmill.gates.protected_texts import find_match, make_sketch, read_protected
from envmill.gates.protecting.layouts import read_benchmark
from envmill.gates.protecting.reading import Benchmark, read_any
from envmill.gates.protecting.sketch import (
    LONG_BYTES,
    MIDDLE,
    MIDDLE_BYTES,
    PERMUTATIONS,
    BenchmarkSource,
    ProtectedSketch,
    estimate_shares,
    hash_runs,
    read_sketch,
    render_sketch,
    sign,
    sketch_benchmark,
)
from envmill.language.content_words import list_content_words
from envmill.language.similarity import list_pairs, list_runs, mask_words, share, split_words
from tests.gates.specimens.filtering import CONTAMINATED, PROTECTED

CORPUS = [
    json.loads(line)["text"] for line in (ROOT / "data/seeds/tasks.jsonl").read_text().splitlines()
]


def of_texts(texts: dict[str, str]) -> Benchmark:
    return Benchmark(texts)


@pytest.fixture(scope="module")
def sketch() -> ProtectedSketch:
    return make_sketch(
        of_texts(
            {f"bench:{number}.1": text for number, text in enumerate([*PROTECTED, *CORPUS[:100]])}
        ),
        BenchmarkSource("bench", "1"),
    )


@pytest.mark.long(cases=2)
@pytest.mark.parametrize("name", CONTAMINATED)
def test_a_sketch_in_the_folder_gives_the_verdicts_of_its_texts(name: str, tmp_path: Path) -> None:
    texts, sketches = tmp_path / "texts", tmp_path / "sketches"
    texts.mkdir()
    sketches.mkdir()
    (texts / "bench.json").write_text(json.dumps([*PROTECTED, *CORPUS]))
    (sketches / "bench.sketch").write_bytes(
        render_sketch(make_sketch(read_any(texts), BenchmarkSource("bench")))
    )
    asked = {"request": CONTAMINATED[name][0]}
    by_texts, by_sketch = (
        check_for_contamination(asked, texts),
        check_for_contamination(asked, sketches),
    )
    assert (by_texts.outcome, by_texts.reason, by_texts.detail) == (
        by_sketch.outcome,
        by_sketch.reason,
        by_sketch.detail,
    )
    assert by_texts.evidence["power"] == by_sketch.evidence["power"]


@pytest.mark.parametrize("kind", PLANTS)
def test_every_text_of_a_sketch_is_found_again_under_its_plant(
    kind: str, sketch: ProtectedSketch
) -> None:
    found = [
        find_match(sketch, PLANTS[kind](text, place))
        for place, text in enumerate(CORPUS[:100])
        if len(split_words(text)) >= 13
    ]
    assert sum(match is not None for match in found) >= 0.99 * len(found)


def test_what_is_read_back_is_what_was_written_and_the_same_texts_make_the_same_bytes(
    sketch: ProtectedSketch, tmp_path: Path
) -> None:
    path = tmp_path / "a.sketch"
    path.write_bytes(render_sketch(sketch))
    again = read_sketch(path)
    for name, value in vars(sketch).items():
        other = getattr(again, name)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other, (
            name
        )
    assert render_sketch(again) == path.read_bytes()
    assert all(find_match(again, text) == find_match(sketch, text) for text in PROTECTED)


def test_two_benchmarks_with_a_text_in_common_share_no_hash() -> None:
    """Each has a salt of its own, so that no table of hashes serves for two."""
    one, other = (
        sketch_benchmark(of_texts({"a:1.1": PROTECTED[0], "a:2.1": text}), BenchmarkSource("bench"))
        for text in PROTECTED[1:3]
    )
    assert not set(one.quotes.tolist()) & set(other.quotes.tolist())


def test_the_file_holds_no_word_of_the_texts(sketch: ProtectedSketch, tmp_path: Path) -> None:
    """Neither as it stands nor unpacked. Keys of JSON objects may be content too: places are
    numbers."""
    (tmp_path / "tasks.json").write_text(
        json.dumps([{"yusuf_rossi_9620": {"said": text}} for text in PROTECTED])
    )
    made = make_sketch(read_any(tmp_path), BenchmarkSource("bench"))
    path = tmp_path / "a.sketch"
    path.write_bytes(render_sketch(made))
    with np.load(path, allow_pickle=False) as file:
        unpacked = b" ".join(file[name].tobytes() for name in file.files)
    known = {word for text in PROTECTED for word in split_words(text) if len(word) > 3} | {
        "yusuf",
        "rossi",
    }
    held = {
        word.decode() for word in re.findall(rb"[a-z]{4,}", (unpacked + path.read_bytes()).lower())
    }
    ours = {
        "version",
        "source",
        "address",
        "licence",
        "names",
        "sets",
        "short",
        "power",
        "salt",
        "bench",
        "tasks",
        *PLANTS,
    }
    assert not {word for word in known for one in held - ours if word in one}


def test_a_dictionary_gets_no_word_name_or_turn_of_speech_back(sketch: ProtectedSketch) -> None:
    """An attacker knows the format, the salt, and the very vocabulary. What they guess is hashed in
    every way the sketch hashes."""
    words = sorted({word for text in [*PROTECTED, *CORPUS] for word in split_words(text)})
    singles = hash_runs(sketch.salt, words, LONG_BYTES)
    assert not np.isin(singles, sketch.quotes).any()
    assert not np.isin(singles, sketch.wholes).any()
    pairs = hash_runs(
        sketch.salt,
        (" ".join(pair) for pair in itertools.product(words[:300], repeat=2)),
        MIDDLE_BYTES,
    )
    expected = len(pairs) * len(sketch.runs) / 2**24
    assert np.isin(pairs, sketch.runs).sum() < 3 * expected + 10, "no more than meet by chance"


@pytest.mark.parametrize(
    "tell",
    [
        pytest.param(lambda text: list_pairs(mask_words(text)), id="pairs"),
        pytest.param(list_content_words, id="words"),
    ],
)
def test_a_signature_does_not_tell_which_guesses_made_it(
    tell: Callable[[str], frozenset[str]],
) -> None:
    """An attacker ranks a whole dictionary, in which all that was signed stands, by how well each
    entry agrees with a signature. The ten
    best are mostly wrong, also of a text of 14 words. With one byte of each of 128 minima, 97 % of
    them were right."""
    texts = [*PROTECTED, *CORPUS[:40], *(" ".join(text.split()[:14]) for text in CORPUS[40:80])]
    guesses = sorted({guess for text in [*PROTECTED, *CORPUS] for guess in tell(text)})
    signed = np.array([sign(b"salt", [guess]) for guess in guesses])
    best = [
        (
            tell(text),
            np.argsort(-estimate_shares(sign(b"salt", tell(text)), signed), kind="stable")[:10],
        )
        for text in texts
    ]
    right = [guesses[place] in told for told, places in best for place in places]
    assert np.mean(right) < LEAKED[tell is list_content_words]


def test_a_chance_hit_among_runs_of_eight_is_common_so_that_one_confirms_nothing() -> None:
    """The bound that the page states: at the size of BFCL one guess in about 200 hits by chance."""
    known = np.arange(82_000, dtype=np.uint64) * np.uint64(2**24 // 82_000)
    guesses = hash_runs(b"salt", (f"guess {number}" for number in range(20_000)), MIDDLE_BYTES)
    assert 50 < np.isin(guesses, known).sum() < 200


LEAKED = (0.2, 0.7)
"""Of pairs, and of content words, of which these texts have nine and a task of a benchmark about
forty."""


def test_shares_are_estimated_within_a_tenth() -> None:
    texts = [
        PROTECTED[0],
        PROTECTED[0].replace("please refund it", "kindly pay it back"),
        PROTECTED[1],
    ]
    runs = [list_runs(split_words(text), 3) for text in texts]
    signatures = np.array([sign(b"salt", one) for one in runs])
    assert signatures.shape == (3, PERMUTATIONS // 8)
    estimated = estimate_shares(signatures[0], signatures)
    assert estimated == pytest.approx([share(runs[0], one) for one in runs], abs=0.1)


def test_long_texts_are_told_apart_too() -> None:
    """The minima of many runs are small numbers: the byte that is kept must still differ."""
    one, other = (
        sign(b"salt", list_runs(split_words(" ".join(CORPUS[start : start + 100])), 3))
        for start in (0, 100)
    )
    assert estimate_shares(one, np.array([other]))[0] < 0.1


def test_text_beside_sketches_is_protected_too(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(PROTECTED[0])
    made = make_sketch(of_texts({"tasks:1.1": PROTECTED[1]}), BenchmarkSource("bench", "2"))
    (tmp_path / "bench.sketch").write_bytes(render_sketch(made))
    protected = read_protected(tmp_path)
    assert protected is not None
    assert protected.sets == {"bench 2": 1, "mine": 1}
    assert [match.source for text in PROTECTED[:2] if (match := protected.find(text))] == [
        "mine:1.1",
        "tasks:1.1",
    ]
    assert len(protected.power) == len(PLANTS)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no more", b"\x93NUMPY"])
def test_a_broken_sketch_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bench.sketch").write_bytes(content)
    with pytest.raises(SettingsError, match=r"bench\.sketch is not a sketch"):
        read_protected(tmp_path)


def test_a_sketch_of_another_version_is_named(
    sketch: ProtectedSketch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.gates.protecting.sketch.VERSION", 999)
    (tmp_path / "bench.sketch").write_bytes(render_sketch(sketch))
    monkeypatch.undo()
    with pytest.raises(SettingsError, match="version 999"):
        read_protected(tmp_path)


def test_the_layout_of_bfcl_is_read_by_turns_and_as_a_whole(tmp_path: Path) -> None:
    turns = [
        [
            {"role": "system", "content": "You must never call two tools at once."},
            {"role": "user", "content": PROTECTED[1]},
        ]
    ]
    turns.append([{"role": "user", "content": PROTECTED[2]}])
    (tmp_path / "BFCL_v4_multi_turn_base.json").write_text(
        json.dumps({"id": "multi_turn_base_0", "question": turns}) + "\n"
    )
    (tmp_path / "BFCL_v4_format_sensitivity.json").write_text(
        '{\n"simple": ["simple_python_58"]\n}'
    )
    (tmp_path / "multi_turn_func_doc").mkdir()
    tool = {
        "name": "close",
        "description": f"This tool belongs to tickets. Tool description: {PROTECTED[3]}",
    }
    (tmp_path / "multi_turn_func_doc" / "tickets.json").write_text(json.dumps(tool))
    assert read_benchmark(tmp_path).texts == {
        "BFCL_v4_multi_turn_base:1.1": f"{PROTECTED[1]}\n{PROTECTED[2]}",
        "BFCL_v4_multi_turn_base:1.2": PROTECTED[1],
        "BFCL_v4_multi_turn_base:1.3": PROTECTED[2],
        "multi_turn_func_doc/tickets:1.1": f" {PROTECTED[3]}",
    }


def test_the_layout_of_tau2_has_instructions_tickets_tools_and_policies(tmp_path: Path) -> None:
    retail = tmp_path / "retail"
    retail.mkdir()
    told = {
        "domain": "retail",
        "reason_for_call": PROTECTED[0],
        "known_info": "You are Yusuf Rossi in zip code 19122.",
    }
    task = {
        "id": "0",
        "user_scenario": {"instructions": told},
        "ticket": PROTECTED[2],
        "evaluation_criteria": {"nl_assertions": [PROTECTED[4]]},
    }
    (retail / "tasks.json").write_text(json.dumps([task]))
    (retail / "tools.json").write_text(
        json.dumps({"domain": "retail", "tools": [{"name": "refund", "description": PROTECTED[1]}]})
    )
    (retail / "policy.md").write_text(f"# Policy\n\n{PROTECTED[3]}\n")
    (tmp_path / "README.md").write_text(PROTECTED[4])
    whole = f"{PROTECTED[0]}\nYou are Yusuf Rossi in zip code 19122.\n{PROTECTED[2]}"
    texts = read_benchmark(tmp_path).texts
    assert texts["retail/tasks:1.1"] == whole
    assert set(texts.values()) == {
        whole,
        whole.rpartition("\n")[0],
        PROTECTED[2],
        PROTECTED[1],
        f"{PROTECTED[3]}\n",
    }
    assert MIDDLE == 8


def test_a_folder_that_is_none_or_an_unknown_layout_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a folder"):
        read_benchmark(tmp_path / "none")
    with pytest.raises(SettingsError, match="no layout harbor"):
        read_benchmark(tmp_path, "harbor")
    with pytest.raises(SettingsError, match="holds no text"):
        read_benchmark(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"shop/tasks.json": [{"said": PROTECTED[0]}], "shop/tools.json": []},
            id="tasks and tools of another layout",
        ),
        pytest.param(
            {
                "shop/tasks.json": ["x", {"evaluation_criteria": {"actions": [{}]}}],
                "shop/tools.json": {"tools": [{}]},
            },
            id="gaps",
        ),
        pytest.param(
            {
                "BFCL_v4_multi_turn_base.json": {"question": [{"role": "user"}]},
                "multi_turn_func_doc/a.json": {},
            },
            id="bfcl",
        ),
    ],
)
def test_a_folder_that_only_looks_like_a_benchmark_is_read_text_by_text(
    files: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "beside.txt").write_text(PROTECTED[1])
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    protected = read_protected(tmp_path)
    assert protected is not None
    assert protected.find(PROTECTED[1]) is not None
    assert (protected.find(PROTECTED[0]) is not None) == (PROTECTED[0] in str(files))
