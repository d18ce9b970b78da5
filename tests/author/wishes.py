"""Wishes as scenarios have them, in any number, over all domains."""

from collections.abc import Iterator
from functools import cache

from envmill.author.compose import compose_domain
from envmill.author.dice import make_dice
from envmill.author.domain import Domain, State
from envmill.author.draw import draw_permitted
from envmill.author.population import populate
from envmill.author.wording import Piece, Wish, can_say, compose_request
from envmill.author.world import World
from schemas.seed import Brief
from tests.author.questions import SEED, THEMES


def list_requests(count: int) -> Iterator[tuple[list[Piece], list[Wish]]]:
    """Requests for one to eight wishes, every domain in turn."""
    return map(_write, range(count))


@cache
def _write(number: int) -> tuple[list[Piece], list[Wish]]:
    domain, state, wishes = draw_wishes(number)
    return compose_request(wishes, domain, state, make_dice("request", number)), wishes


@cache
def _settle(theme: str, number: int) -> World:
    return populate(compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED), f"wording/{number}")


@cache
def draw_wishes(number: int) -> tuple[Domain, State, list[Wish]]:
    names = sorted(THEMES)
    theme = names[number % len(names)]
    start = _settle(theme, number // len(names) % 6)
    domain = start.domain
    world, wishes, dice = start.copy(), list[Wish](), make_dice("wishes", number)
    sayable = [each for each in domain.changes if each.asks and each.tells]
    for _ in range(60):
        operation = dice.choice(sayable)
        arguments = draw_permitted(operation, world, start.state, dice, 8)
        if arguments and can_say(Wish(operation, arguments), domain, start.state):
            world.apply(operation, arguments)
            wishes.append(Wish(operation, arguments))
        if len(wishes) == 1 + number % 8:
            break
    return domain, start.state, wishes
