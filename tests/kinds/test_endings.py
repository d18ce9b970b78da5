"""A reference path that does not run: its author is told which call, when, and what it came to."""

from dataclasses import replace

import pytest

from envmill.kinds import endings
from envmill.kinds.endings import play_twice
from envmill.kinds.start import start
from envmill.sandbox import Reset, Sandbox
from schemas.scenario import Draft
from tests.kinds.test_loosening import FARAH, LEND, PATH, SHARE, make_bees, make_draft


async def test_the_call_that_is_refused_is_named(sandbox: Sandbox) -> None:
    bees = make_bees()
    told = await play_twice(make_draft(bees, [LEND, SHARE]), bees, sandbox)
    assert isinstance(told, str)
    assert told.startswith("the reference path does not run: call 2, share_honey(")
    assert "not_enough_honey" in told


async def test_a_call_that_fits_one_run_alone_is_named_with_the_reason(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_without_farah(draft: Draft) -> Reset:
        members = {key: row for key, row in draft.initial_state["members"].items() if key != FARAH}  # pyright: ignore
        return replace(start(draft), state={**draft.initial_state, "members": members})

    bees = make_bees()
    draft = make_draft(bees, PATH)
    assert not isinstance(await play_twice(draft, bees, sandbox), str)
    monkeypatch.setattr(endings, "start_elsewhere", start_without_farah)
    told = await play_twice(draft, bees, sandbox)
    assert isinstance(told, str)
    assert told.startswith(
        "the reference path does not run again under another seed and clock, where new records "
        "have other ids: call 4,"
    )
    assert "rejection" in told
