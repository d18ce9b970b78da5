"""Recipe `tau2` at its own table: honest work stays, planted faults do not."""

import asyncio
import copy
import random
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.sandbox import Sandbox
from tests.offline.questions import SAMPLE
from tests.soak import count
from tests.trust.desk_faults import FAULTS, spread
from tests.trust.desk_page import write_desk_page
from tests.trust.desks import NAME, do, list_jobs, list_kinds, list_series
from tests.trust.jobs import CLEAN, Outcome
from tests.trust.table import Plan, read_outcomes, run, work
from tests.trust.test_tabled import check_caught, check_kept

CHEAP = ("desk", "document", "words")
"""Whose candidates take no time: one of each is looked at with every commit."""


@pytest.mark.long
@pytest.mark.soak(area="trust")
async def test_the_table_of_desks(tmp_path: Path, sandbox: Sandbox) -> None:
    """Under `make test` some kinds, others with every commit; in a soak all, kept in
    `data/trust`."""
    if count(0, 1):
        outcomes = await asyncio.to_thread(run, ROOT / "data/trust/tau2", recipe=NAME)
    else:
        dice = random.Random("/".join(SAMPLE))
        kinds = (*(dice.choice(list(FAULTS[prompt])) for prompt in CHEAP), "achieve")
        plan = Plan(faults=1, scenarios=2, kinds=kinds, recipe=NAME)
        await work(plan, tmp_path, 0, 1, sandbox)
        outcomes = read_outcomes(tmp_path)
    counted = [one for one in outcomes if one.made and not one.outage]
    assert counted
    assert "\n".join(write_desk_page(outcomes))
    check_kept([one for one in counted if one.kind in (CLEAN, "achieve")])
    authored = {(prompt, kind) for prompt, kind in list_kinds() if prompt != "verifier"}
    check_caught([one for one in counted if (one.prompt, one.kind) in authored], 0.95)


@pytest.mark.parametrize("prompt", ["desk_program", "atoms"])
async def test_a_fault_of_each_part_is_dropped_by_what_proves_it(
    prompt: str, sandbox: Sandbox
) -> None:
    kind, gate = {"desk_program": ("lock_unmarked", "program"), "atoms": ("not_asked", "atoms")}[
        prompt
    ]
    outcome = await do(list_jobs(prompt, kind, 1)[0], sandbox)
    assert (outcome.made, [drop[0] for drop in outcome.drops]) == (True, [gate])


async def test_a_place_that_there_is_not_counts_for_nothing(sandbox: Sandbox) -> None:
    far = list_jobs("desk", "idle_tool", 64)[-1]
    assert (await do(far, sandbox)).made is False


def test_a_fault_is_one_place_and_the_reply_stays_as_it_was() -> None:
    told = {"hidden": ["code"], "facts": {"code": "k"}, "begins": [], "ends": [], "atoms": []}
    before = copy.deepcopy(told)
    made = spread(told, FAULTS["atoms"]["look_that_changes"])
    assert told == before
    assert [(len(one["begins"]), len(one["ends"])) for one in made] == [(1, 0), (0, 1)]


def test_what_passes_and_what_is_few_is_told() -> None:
    kept = Outcome(
        key="tau2/words/hidden_told/a/0/0", recipe=NAME, prompt="words", kind="hidden_told"
    )
    page = "\n".join(write_desk_page([kept]))
    weak = page.partition("## What falls short")[2]
    assert "| hidden_told | 1 | 0 | 0.0%" in page
    assert "hidden_told (words): 0 of 1 caught" in weak
    assert "hidden_told 1" in weak
    assert all(wanted for wanted, _ in list_series())
