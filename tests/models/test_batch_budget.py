"""Batches held to a budget, and to one sending by all machines of a lake."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from envmill.base.errors import BadRequest
from envmill.lake.coordination import FolderCoordinator, hold
from envmill.models.base import Sampling
from envmill.models.batch import Batch
from envmill.models.batches import DIALECTS
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.gateway import Gateway
from tests.models.batching import WORDS, Field, kinds_of
from tests.models.calling import PROMPT, Answer, Question

TOOK = 7
"""Tokens of one reply, as `render_answer` counts them."""


@asynccontextmanager
async def bounded(run: Field, tokens: int) -> AsyncGenerator[tuple[Gateway, Budget]]:
    """A process of the run with a hand on its budget, opened as a run opens it."""
    budget = Budget(
        FolderCoordinator(run.folder / "budget"), "r1", Allowance(tokens=tokens), Amount()
    )
    async with run.door() as door:
        assert isinstance(door.provider, Batch)
        door.discipline = replace(door.discipline, budget=budget)
        door.provider.bind(budget, lambda key, sample: (key, sample) in door._known)
        yield door, budget
    budget.close()


async def spend(run: Field, tokens: int) -> tuple[Counter[str], int, int]:
    """One process: what came of its questions, tokens spent and tokens still to come."""
    async with bounded(run, tokens) as (door, budget):
        asked = [
            door.open_session("s", word).ask(
                PROMPT, Question(word=word), Answer, sampling=Sampling(max_tokens=30)
            )
            for word in WORDS
        ]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(door.provider, Batch)
        await door.provider.hand_in()
        away = budget._change(
            lambda entries: sum(
                one.held.tokens for name, one in entries.items() if name.startswith("batch:")
            )
        )
        return Counter(type(one).__name__ for one in ended), budget.spent().tokens, away


async def test_a_batch_under_way_is_held_to_the_budget_until_its_replies_are_read(
    lines: Field,
) -> None:
    first, spent, away = await spend(lines, 200)
    out = first["Pending"]
    assert first == {"Pending": out, "BudgetReached": 6 - out}
    assert 1 <= out <= 4
    assert (spent, 200 // 2 < away <= 200) == (0, True)
    again, spent, still = await spend(lines, 200)
    assert (again, spent, still) == (first, 0, away), (
        "what is under way is neither sent again nor counted twice"
    )
    lines.serve()
    read, spent, away = await spend(lines, 200)
    assert read["Answer"] == out
    assert spent == out * TOOK
    assert read["Pending"] >= 1, "what was foreseen and not taken is free again"
    for _ in range(6):
        lines.serve()
        read, spent, away = await spend(lines, 200)
    assert (read, spent, away) == ({"Answer": 6}, 6 * TOOK, 0)
    assert lines.asked() == dict.fromkeys(WORDS, 1)


async def test_what_a_batch_did_not_bring_is_free_again(lines: Field) -> None:
    await spend(lines, 10_000)
    (path,) = lines.lines.glob("*.in.jsonl")
    path.with_name(path.name.replace(".in.jsonl", ".stopped")).touch()
    assert kinds_of(await lines.run("none of them")) == {"Pending": 1}
    again, spent, away = await spend(lines, 10_000)
    assert (again, spent) == ({"Pending": 6}, 0)
    assert 0 < away < 6 * 200


@pytest.mark.long
async def test_a_refused_batch_holds_nothing(vendor: Field) -> None:
    vendor.vendors.fail(
        "status",
        status=400,
        path="/v1/files" if vendor.kind == "openai" else "/v1/messages/batches",
        times=1,
    )
    with pytest.raises(BadRequest):
        await spend(vendor, 10_000)
    async with bounded(vendor, 10_000) as (_, budget):
        assert budget.spent().tokens == 0
        (await budget.hold(Amount(0.0, 10_000))).settle(Amount())


@pytest.mark.parametrize("words", [WORDS, WORDS[:4]], ids=["the same", "some of them"])
async def test_two_machines_with_the_same_questions_hand_them_in_once(
    run: Field, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Their leases do not see each other; the row of slips in the lake does."""

    class Elsewhere(Field):
        def make(self) -> Batch:
            return Batch(
                self.make_carrier(),
                DIALECTS[self.kind](),
                "m",
                self.slips,
                partial(hold, FolderCoordinator(self.folder / "another machine"), "batches"),
            )

    other = Elsewhere(run.kind, run.folder, run.vendors)
    async with run.door() as one, other.door() as two:
        for door, asked in ((one, WORDS), (two, words)):
            await asyncio.gather(
                *(
                    door.open_session("s", word).ask(PROMPT, Question(word=word), Answer)
                    for word in asked
                ),
                return_exceptions=True,
            )
        first, second = one.provider, two.provider
        assert isinstance(first, Batch)
        assert isinstance(second, Batch)
        await first._watch.poll()
        look, looked = second._watch.poll, list[str]()

        async def race() -> None:
            """The other hands in between our look and our slip."""
            await look()
            if not looked:
                looked.append("once")
                await first.hand_in()

        second._watch.poll = race  # type: ignore[method-assign]
        await second.hand_in()
    assert run.asked() == dict.fromkeys(WORDS, 1)
