"""Long scenarios: the errands of several populations in one request, so that a reference path has
as many calls as were asked for.

populations under names of their own ──wishes of each──► one state, wishes in turn ──plan──► a path long enough
"""

from collections.abc import Callable

from envmill.base.errors import SettingsError
from offline.crowd import list_marks, rename_core
from offline.dice import make_dice
from offline.domain import Domain
from offline.population import populate
from offline.wording import WantedChange
from offline.world import DomainWorld
from schemas.environment import Call

MOST_PARTS = 80
"""Populations that are tried: some give no wishes, or some that the others forbid."""

Sample = Callable[[DomainWorld, int], list[WantedChange]]
"""Wishes of one population, by its place."""
Plan = Callable[[list[WantedChange], DomainWorld], list[Call]]


def gather_wishes(
    domain: Domain, key: str, sample: Sample, plan: Plan
) -> tuple[DomainWorld, list[WantedChange], list[Call]]:
    """A world, wishes that can be carried out there one after the other, and the calls that do it:
    as many as the domain's `calls`."""
    whole, wishes = None, list[WantedChange]()
    marks, taken = list_marks(make_dice("long", domain.theme, key), 0), set[str]()
    calls: list[Call] = []
    for place in range(MOST_PARTS):
        part = rename_core(populate(domain, f"long/{key}/{place}"), marks, taken)
        more = sample(part, place)
        if not more:
            continue
        tried = part if whole is None else _join(whole, part)
        if not _hold([*wishes, *more], tried):
            continue
        whole, wishes = tried, [*wishes, *more]
        calls = plan(wishes, whole)
        if len(calls) >= domain.calls:
            return whole, *_shorten(
                wishes, calls, domain.calls, lambda fewer, whole=whole: plan(fewer, whole)
            )
    raise SettingsError(
        f"Domain {domain.theme}: its operations give {len(calls)} calls at most where "
        f"{domain.calls} are wanted."
    )


def _shorten(
    wishes: list[WantedChange],
    calls: list[Call],
    wanted: int,
    plan: Callable[[list[WantedChange]], list[Call]],
) -> tuple[list[WantedChange], list[Call]]:
    """Without the last wishes, as long as the others make enough calls."""
    while len(fewer := plan(wishes[:-1])) >= wanted:
        wishes, calls = wishes[:-1], fewer
    return wishes, calls


def _join(whole: DomainWorld, part: DomainWorld) -> DomainWorld:
    """Both in one state; nothing refers from one to the other."""
    joined = whole.copy()
    for name, rows in part.state.items():
        joined.state[name] |= rows
    return joined


def _hold(wishes: list[WantedChange], start: DomainWorld) -> bool:
    """Whether all are permitted in turn."""
    world = start.copy()
    for wish in wishes:
        if not world.allows(wish.operation, wish.arguments):
            return False
        world.apply(wish.operation, wish.arguments)
    return True
