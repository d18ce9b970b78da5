"""The confusion table: honest work is kept and pays no outsider, planted faults are caught and
rightly named; cut off, it goes on."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT
from envmill.sandbox import Sandbox
from envmill.verifiers.bounds import limit_share
from offline.faults import KINDS
from tests.offline.questions import SAMPLE
from tests.soak import count
from tests.trust.expected import is_right, read_expected
from tests.trust.jobs import CLEAN, MUTANT, REVIEWED, Job, Outcome, do
from tests.trust.page import write_page
from tests.trust.posing import ANYTHING
from tests.trust.table import Plan, read_outcomes, run, work

PROMPTS = ("program", "tests", "scenario", "checks")
STEPS = ("build", "draft")
"""What answers before any gate does."""
SURE = ("leaked_tool", "wrong_answer", "tell_in_the_request")
"""Kinds of which one is looked at under `make test`, another one with every commit."""


@pytest.mark.long
@pytest.mark.soak(area="trust")
async def test_the_table_at_full_count(tmp_path: Path, sandbox: Sandbox) -> None:
    """Under `make test` two of a fault and of a polarity; in a soak all of it, kept in
    `data/trust`."""
    if count(0, 1):
        outcomes = run(ROOT / "data/trust")
    else:
        dice = random.Random("/".join(SAMPLE))
        plan = Plan(
            faults=2,
            scenarios=10,
            kinds=(dice.choice(SURE), dice.choice(ANYTHING)),
            seed=dice.randrange(1000),
        )
        await work(plan, tmp_path, 0, 1, sandbox)
        outcomes = read_outcomes(tmp_path)
    (tmp_path / "confusion.md").write_text("\n".join(write_page(outcomes)), encoding="utf-8")
    check_honest(outcomes)
    check_faults(outcomes)
    check_outsiders([one for one in outcomes if one.attacks])
    check_truth(outcomes)


def check_honest(outcomes: Sequence[Outcome]) -> None:
    """97 of 100 stay, of environments and of each polarity; of a few, one may fall."""
    for kind in (CLEAN, REVIEWED, *ANYTHING):
        found = [one for one in outcomes if one.kind == kind and one.made and not one.outage]
        dropped = [one for one in found if one.drops]
        assert len(dropped) <= max(1, 0.03 * len(found)), [(one.key, one.drops) for one in dropped]


def check_faults(outcomes: Sequence[Outcome]) -> None:
    """Caught and rightly named, kind by kind; a few are caught at least."""
    for prompt, kind in read_expected():
        found = [
            one
            for one in outcomes
            if (one.prompt, one.kind) == (prompt, kind) and one.made and not one.outage
        ]
        missed = [one.key for one in found if not one.drops]
        unnamed = [(one.key, one.drops) for one in found if one.drops and not one.is_named_later]
        assert len(missed) + len(unnamed) <= count(len(found) // 2, 0) + 0.05 * len(found), (
            kind,
            missed,
            unnamed,
        )
    mutants = [one for one in outcomes if one.prompt == MUTANT and one.made and not one.outage]
    assert sum(bool(one.drops) for one in mutants) >= 0.85 * len(mutants)


def check_outsiders(kept: Sequence[Outcome]) -> None:
    """Nothing pays for nothing, nobody passes, little is earned."""
    assert kept
    assert [one.key for one in kept if one.nothing != 0] == []
    assert [one.key for one in kept if one.won] == []
    assert sum(one.best <= 0.25 for one in kept) >= 0.995 * len(kept)


def check_truth(kept: Sequence[Outcome]) -> None:
    """Verifiers err against the domain's truth as little as is promised."""
    for errors, most in (([one.wrong for one in kept], 0.001), ([one.right for one in kept], 0.02)):
        tried, wrong = sum(n for n, _ in errors), sum(n for _, n in errors)
        assert wrong == 0 if count(1, 0) else limit_share(wrong, tried) <= most


def test_every_planted_kind_has_names_that_some_step_or_gate_can_give() -> None:
    assert set(read_expected()) == {(prompt, kind) for prompt in PROMPTS for kind in KINDS[prompt]}
    names = {name.partition(": ")[0] for each in read_expected().values() for name in each.names}
    pages = {
        page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs/gates").glob("*.md")
    }
    codes = {
        f"{gate} {code}"
        for gate, text in pages.items()
        for code in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    }
    assert {name for name in names if name.split()[0] not in STEPS} <= codes


def test_a_name_may_ask_for_words_besides_the_code() -> None:
    assert is_right(
        "scenario",
        "tell_in_the_request",
        "draft",
        "no_verifier",
        "the date: it stands in the request",
    )
    assert not is_right(
        "scenario", "tell_in_the_request", "draft", "no_verifier", "the date: it depends on chance"
    )


@pytest.mark.long
async def test_a_run_that_was_cut_off_goes_on_where_it_stopped(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    plan = Plan(faults=2, kinds=("syntax_error",))
    await work(plan, tmp_path, 0, 1, sandbox)
    path = tmp_path / "outcomes-0.jsonl"
    one, other = path.read_text(encoding="utf-8").split("\n")[1:3]
    path.write_text(f"{one}\n{other[:40]}", encoding="utf-8")
    first = read_outcomes(tmp_path)
    await work(plan, tmp_path, 0, 1, sandbox)
    assert [outcome.model_dump_json() for outcome in first] == [one]
    assert [outcome.model_dump_json() for outcome in read_outcomes(tmp_path)][:2] == [one, other]


async def test_an_outage_is_told_and_is_no_drop() -> None:
    class Broken:
        """A jail that nobody can open."""

        async def play(self, *_: object, **__: object) -> None:
            raise SandboxError("the driver is gone")

        inspect = play

    outcome = await do(Job("program", CLEAN, "tool_lending", 0), Broken())  # pyright: ignore[reportArgumentType]
    assert (outcome.outage, outcome.drops, outcome.again) == ("the driver is gone", (), 2)
    page = "\n".join(write_page([outcome]))
    assert "1 ended in one" in page
    assert "| environments, W1 to W13 without W4 | 0 | - | - |  |" in page
