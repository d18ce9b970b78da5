"""Wishes as scenarios have them, in any number, over all domains."""

from collections.abc import Iterator
from functools import cache

from offline.compose import compose_domain
from offline.dice import make_dice
from offline.domain import Domain, State
from offline.draw import sample_permitted
from offline.population import populate
from offline.wording import Piece, WantedChange, can_say, compose_request
from offline.world import DomainWorld
from schemas.seed import Brief
from tests.offline.questions import SEED, THEMES


def list_requests(count: int) -> Iterator[tuple[list[Piece], list[WantedChange]]]:
    """Requests for one to eight wishes, every domain in turn."""
    return map(_write, range(count))


@cache
def _write(number: int) -> tuple[list[Piece], list[WantedChange]]:
    domain, state, wishes = draw_wishes(number)
    return compose_request(wishes, domain, state, make_dice("request", number)), wishes


@cache
def _settle(theme: str, number: int) -> DomainWorld:
    return populate(
        compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED),
        f"wording/{number}",
    )


@cache
def draw_wishes(number: int) -> tuple[Domain, State, list[WantedChange]]:
    names = sorted(THEMES)
    theme = names[number % len(names)]
    start = _settle(theme, number // len(names) % 6)
    domain = start.domain
    world, wishes, dice = start.copy(), list[WantedChange](), make_dice("wishes", number)
    sayable = [each for each in domain.changes if each.asks and each.tells]
    for _ in range(60):
        operation = dice.choice(sayable)
        arguments = sample_permitted(operation, world, start.state, dice, 8)
        if arguments and can_say(WantedChange(operation, arguments), domain, start.state):
            world.apply(operation, arguments)
            wishes.append(WantedChange(operation, arguments))
        if len(wishes) == 1 + number % 8:
            break
    return domain, start.state, wishes
