"""Rendered checks say yes to what was asked for and no to anything else; their faults say otherwise."""

import asyncio

import pytest

from envmill.author.check import write_check
from envmill.author.compose import compose_domain
from envmill.author.dice import make_dice
from envmill.author.faults.judging import CHECKS, list_ends, open_court, pair_checks, plant_check
from envmill.author.witness import Play, Witness, find_witness, observe
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from schemas.seed import Brief
from tests.author.faults.cases import ENVIRONMENTS
from tests.author.questions import SEED, THEMES, ask_scenario

SCENARIOS = [(theme, number, scenario) for theme, number in ENVIRONMENTS[:4] for scenario in range(3)]


def write(theme: str, number: int, scenario: int):
    domain = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED)
    reply = ask_scenario(theme, number, scenario)
    return write_check(domain, reply.initial_state, reply.oracle), list_ends(domain, reply)


async def say(plays: list[Play]) -> list[str]:
    async with Sandbox.open(Settings.read({})) as sandbox:
        return [(await observe(each, sandbox))[-1] for each in plays]


def test_a_check_is_true_of_the_end_and_of_no_other() -> None:
    written = [write(*each) for each in SCENARIOS]
    said = iter(asyncio.run(say([Play(open_court(source), trace) for source, ends in written for trace in ends])))
    for source, (end, *others) in written:
        assert '"bool: True"' in next(said), source
        # Rows in another order are the same end.
        for trace in others:
            same = trace.state["final"] == end.state["final"]
            assert ('"bool: True"' if same else '"bool: False"') in next(said), source


@pytest.mark.parametrize("kind", CHECKS)
def test_a_spoilt_check_is_told_from_the_clean_one_in_the_jail(kind: str) -> None:
    async def search() -> list[Witness | None]:
        async with Sandbox.open(Settings.read({})) as sandbox:
            return [await find_witness(pair_checks(clean, faulty, ends), sandbox) for clean, faulty, ends in spoilt]

    written = [write(*each) for each in SCENARIOS]
    drawn = [(clean, plant_check(kind, clean, make_dice(kind, clean)), ends) for clean, ends in written]
    spoilt = [each for each in drawn if each[1]][:3]
    assert spoilt
    assert any(asyncio.run(search()))


def test_another_seed_spells_the_same_check() -> None:
    assert write(*SCENARIOS[0])[0] == write(*SCENARIOS[0])[0]
