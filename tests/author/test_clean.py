"""Without mistakes the author is clean: what a program does is what the domain model says, rule by rule."""

import asyncio
import os
import random
import sys

import pytest

from envmill.author.compose import compose_domain
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from schemas.seed import Brief
from tests.author.exploring import Exploration, explore
from tests.author.questions import THEMES
from tests.soak import count

ENVIRONMENTS = count(8, 500)
MET = 0.8
"""Share of the rules that foretold calls and random walks meet; a rule few states lead to is met in other environments."""


def draw_briefs() -> list[tuple[Brief, int]]:
    """Other environments with every commit."""
    dice = random.Random(f"clean/{os.environ.get('ENVMILL_SEED', '')}")
    themes = [*THEMES] * (ENVIRONMENTS // len(THEMES) + 1)
    return [
        (Brief(theme=each, text=THEMES[each], number=dice.randrange(200)), dice.randrange(10**6))
        for each in dice.sample(themes, ENVIRONMENTS)
    ]


@pytest.mark.soak(area="author")
def test_programs_do_what_the_domain_model_says() -> None:
    async def go() -> list[Exploration]:
        async with Sandbox.open(Settings.read({})) as sandbox:
            return [await explore(sandbox, compose_domain(brief, seed), seed) for brief, seed in draw_briefs()]

    found = asyncio.run(go())
    assert [fault for each in found for fault in each.faults] == []
    rules = {rule for each in found for rule in each.rules}
    met = rules & {rule for each in found for rule in each.met}
    sys.stdout.write(f"{len(found)} environments, {len(rules)} rules, {len(met)} of them met\n")
    assert len(met) >= MET * len(rules)
