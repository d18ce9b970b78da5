"""Without mistakes the author is clean: what a program does is what the domain model says, rule by
rule."""

import os
import random
import sys

import pytest

from offline.compose import compose_domain
from schemas.seed import Brief
from tests.offline.exploring import explore_all
from tests.offline.questions import THEMES
from tests.soak import count

PARTS, ENVIRONMENTS = count(1, 10), count(6, 50)
"""Parts that can be run one by one, and environments of each."""
MET = count(70, 80) / 100
"""Share of the rules that foretold calls and random walks meet; a rule few states lead to is met in
other environments."""


def draw_briefs(part: int) -> list[tuple[Brief, int]]:
    """Other environments with every commit."""
    dice = random.Random(f"clean/{part}/{os.environ.get('ENVMILL_SEED', '')}")
    themes = [*THEMES] * (ENVIRONMENTS // len(THEMES) + 1)
    return [
        (Brief(theme=each, text=THEMES[each], number=dice.randrange(200)), dice.randrange(10**6))
        for each in dice.sample(themes, ENVIRONMENTS)
    ]


@pytest.mark.long
@pytest.mark.soak(area="author")
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_do_what_the_domain_model_says(part: int) -> None:
    found = explore_all((compose_domain(brief, seed), seed) for brief, seed in draw_briefs(part))
    assert [fault for each in found for fault in each.faults] == []
    rules = {rule for each in found for rule in each.rules}
    met = rules & {rule for each in found for rule in each.met}
    sys.stdout.write(f"{len(found)} environments, {len(rules)} rules, {len(met)} of them met\n")
    assert len(met) >= MET * len(rules)
