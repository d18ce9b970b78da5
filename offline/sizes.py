"""Which domains, with which features, make an environment of the size that was asked for.

themes in shuffled order ──some of their feature sets──► sums of collections and operations ──► the first that fits
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from envmill.base.errors import SettingsError
from envmill.recipes.drafting.themes import read_themes
from offline.cut import cut_domain, list_feature_sets
from offline.domain import Domain
from offline.knowledge import load_domain
from offline.spare import list_spare
from offline.without import lessen, list_lessened

Picked = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Theme, the features it takes part with, and the collections it goes without."""
FILLERS = 2
"""Queries that can be added per collection (`organisation.fill_up`)."""
MOST_COLLECTIONS = 40
MOST_TOOLS = 100


@dataclass(frozen=True)
class CombinedDomains:
    """Domains put together, and how large that gets."""

    collections: int
    least: int
    """Operations when all that can be missed is gone."""
    usual: int
    """Operations without the optional ones."""
    most: int
    """Operations, the optional ones included; `FILLERS` more can be added per collection."""
    picked: tuple[Picked, ...]

    def add(self, other: "CombinedDomains") -> "CombinedDomains":
        sums = (
            self.collections + other.collections,
            self.least + other.least,
            self.usual + other.usual,
            self.most + other.most,
        )
        return CombinedDomains(*sums, (*self.picked, *other.picked))

    def has(self, tools: int | None, collections: int | None, most: int = 0) -> bool:
        """Whether it can be made to have these sizes."""
        enough = self.least <= MOST_TOOLS if tools is None else self.least <= tools <= most
        return enough and collections in (None, self.collections)


Offer = Callable[[str], tuple[CombinedDomains, ...]]
"""Forms in which a theme takes part."""


def pick_parts(
    theme: str, tools: int | None, collections: int | None, dice: random.Random
) -> tuple[Picked, ...]:
    """The theme, and as many others as it takes; the dice choose among what fits. Domains lose
    collections only where it must be."""
    fit = _find_fit(theme, tools, collections, dice, _list_bundles)
    if fit is None and collections:
        fit = _find_fit(theme, tools, collections, dice, _list_lesser_bundles)
    if fit is None:
        raise SettingsError(
            f"The offline author makes no environment of {tools} tools over {collections} "
            f"collections out of {theme}. "
            "Ask for two to four tools per collection, or leave one of the two out.",
            theme=theme,
        )
    return fit.picked


def make_part(picked: Picked) -> Domain:
    """A domain as it was picked."""
    theme, features, gone = picked
    part = cut_domain(load_domain(theme), features)
    smaller = lessen(part, gone) if gone else part
    assert smaller is not None, picked
    return smaller


def _find_fit(
    theme: str, tools: int | None, collections: int | None, dice: random.Random, offer: Offer
) -> CombinedDomains | None:
    others = [name for name, _ in read_themes() if name != theme]
    dice.shuffle(others)
    reached = {_size(each): each for each in _shuffle(offer(theme), dice)}
    for name in [*others, ""]:
        fitting = [each for each in reached.values() if each.has(tools, collections, each.most)]
        if fitting:
            return _choose(fitting, tools, dice)
        reached = (
            _extend(reached, _shuffle(offer(name), dice), tools, collections) if name else reached
        )
    padded = [
        each
        for each in reached.values()
        if each.has(tools, collections, each.most + FILLERS * each.collections)
    ]
    return _choose(padded, tools, dice) if padded else None


def _shuffle(offered: tuple[CombinedDomains, ...], dice: random.Random) -> list[CombinedDomains]:
    bundles = list(offered)
    dice.shuffle(bundles)
    return bundles


def _size(bundle: CombinedDomains) -> tuple[int, int]:
    return bundle.collections, bundle.usual


def _extend(
    reached: dict[tuple[int, int], CombinedDomains],
    more: list[CombinedDomains],
    tools: int | None,
    collections: int | None,
) -> dict[tuple[int, int], CombinedDomains]:
    """What is reached with or without one domain more, one bundle for each size; what is too large
    already is left out."""
    grown = dict(reached)
    ways = {_size(each): each for each in more}.values()
    for bundle in reached.values():
        for way in ways:
            larger = bundle.add(way)
            fits = larger.collections <= (collections or MOST_COLLECTIONS) and larger.least <= (
                tools or MOST_TOOLS
            )
            if fits and _size(larger) not in grown:
                grown[_size(larger)] = larger
    return grown


def _choose(
    fitting: list[CombinedDomains], tools: int | None, dice: random.Random
) -> CombinedDomains:
    """One of those that need the least adding and leaving out."""
    if tools is None:
        return dice.choice(fitting)
    nearest = min(abs(each.usual - tools) for each in fitting)
    return dice.choice([each for each in fitting if abs(each.usual - tools) <= nearest + 2])


@cache
def _list_bundles(theme: str) -> tuple[CombinedDomains, ...]:
    whole = load_domain(theme)
    return tuple(_weigh((theme, each, ())) for each in list_feature_sets(whole))


@cache
def _list_lesser_bundles(theme: str) -> tuple[CombinedDomains, ...]:
    """Those of the domain in full, and the smallest form with fewer collections."""
    smallest = cut_domain(load_domain(theme), ())
    return *_list_bundles(theme), *(_weigh((theme, (), gone)) for gone in list_lessened(smallest))


def _weigh(picked: Picked) -> CombinedDomains:
    domain = make_part(picked)
    total, count = len(domain.operations), len(domain.collections)
    usual = sum(not each.optional for each in domain.operations.values())
    return CombinedDomains(count, total - len(list_spare(domain)), usual, total, (picked,))
