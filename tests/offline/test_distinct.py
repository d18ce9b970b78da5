"""Environments differ in what they do, not in what they are called, and their tools reach beyond
one collection."""

import re
import sys
from dataclasses import replace

import pytest

from envmill.recipes.drafting.themes import read_themes
from offline.compose import compose_domain
from offline.domain import Domain
from offline.knowledge import load_domain
from offline.program import write_program
from schemas.seed import Brief
from tests.offline.shapes import guess_unseen, list_touched, rarefy, shape
from tests.soak import count

TEXTS = dict(read_themes())
ENOUGH = 0.6
DEEP = 0.3
FEWEST_WRITES = 12


def compose(theme: str, number: int, seed: int = 0) -> Domain:
    return compose_domain(Brief(theme=theme, text=TEXTS[theme], number=number), seed)


def list_shapes(total: int) -> list[str]:
    """Shapes of so many environments, themes in turn."""
    names = sorted(TEXTS)
    return [
        shape(write_program(compose(names[each % len(names)], each // len(names))))
        for each in range(total)
    ]


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_most_environments_are_distinct_with_names_erased() -> None:
    shapes = list_shapes(count(90, 3000))
    for size in (30, 100, 300, 1000, 3000):
        if size <= len(shapes):
            sys.stdout.write(f"{size} environments hold {rarefy(shapes, size):.1f} shapes\n")
    sys.stdout.write(f"Good–Turing mass of unseen shapes: {guess_unseen(shapes):.3f}\n")
    thousand = shapes[:1000]
    assert len(set(thousand)) >= ENOUGH * len(thousand)


def test_names_and_literals_do_not_make_a_shape() -> None:
    source = write_program(compose("energy_meters", 1))
    renamed = re.sub(r"\bmeters\b", "gauges", re.sub(r"\bmeter\b", "gauge", source))
    assert renamed != source
    assert shape(re.sub(r"\b7\b|\b10\b", "11", renamed)) == shape(source)


def test_order_of_tools_does_not_make_a_shape() -> None:
    domain = compose("wine_cellar", 2)
    backwards = dict(reversed(domain.operations.items()))
    assert shape(write_program(domain, backwards)) == shape(write_program(domain))


@pytest.mark.parametrize("theme", ["car_park_permits", "tool_lending"])
def test_one_rule_less_makes_another_shape(theme: str) -> None:
    domain = compose(theme, 0)
    for name, operation in domain.operations.items():
        if operation.must:
            looser = {**domain.operations, name: replace(operation, must=operation.must[1:])}
            assert shape(write_program(domain, looser)) != shape(write_program(domain)), name


def test_the_same_tool_over_another_collection_makes_another_shape() -> None:
    head = (
        "class A:\n    def one(self):\n        return self.a\n    def two(self):\n        return "
        "list(self.{})\n"
    )
    assert shape(head.format("a")) != shape(head.format("b"))


def test_rarefaction_and_unseen_mass_of_known_samples() -> None:
    assert rarefy(["a"] * 10, 5) == 1
    assert rarefy(list("abcdefghij"), 5) == pytest.approx(5)
    assert rarefy(list("aab"), 2) == pytest.approx(5 / 3)
    assert guess_unseen(list("aab")) == pytest.approx(1 / 3)
    assert guess_unseen(list("aabb")) == 0


@pytest.mark.parametrize("theme", sorted(TEXTS))
def test_writes_are_many_and_deep(theme: str) -> None:
    domain = load_domain(theme)
    writes = [name for name, each in domain.operations.items() if each.effect == "change"]
    deep = [name for name in writes if len(list_touched(domain, name)) >= 2]
    assert len(writes) >= FEWEST_WRITES
    assert len(deep) >= DEEP * len(writes), deep


@pytest.mark.soak(area="author")
def test_writes_are_deep_in_what_is_composed() -> None:
    writes = deep = 0
    for number in range(count(1, 20)):
        for theme in sorted(TEXTS):
            domain = compose(theme, number)
            touched = [len(list_touched(domain, each.name)) for each in domain.changes]
            writes, deep = writes + len(touched), deep + sum(each >= 2 for each in touched)
    sys.stdout.write(f"{deep} of {writes} writes touch two collections or more\n")
    assert deep >= DEEP * writes
