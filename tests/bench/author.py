"""What the offline author costs: environments from blueprint to code, requests, scenarios, and
memory over many."""

import resource
import time
from collections.abc import Callable, Iterator
from itertools import count as count_up
from typing import Any

from envmill.recipes.drafting.themes import read_themes
from offline.blueprint import write_blueprint
from offline.compose import compose_domain
from offline.dice import make_dice
from offline.domain import Domain
from offline.draw import sample_permitted
from offline.population import populate
from offline.program import write_program
from offline.scenario import write_scenario
from offline.wording import WantedChange, can_say, write_request
from schemas.seed import Brief

SECONDS = 4.0
"""Processor seconds a rate is measured for: the work is one thread, and a busy machine must not
slow it."""
WARM, MANY = 1_000, 10_000
"""Environments before memory is looked at, and those after."""
WISHES = 2


def rows() -> Iterator[dict[str, Any]]:
    """Rates on one core, then what ten thousand environments leave behind."""
    texts = read_themes()
    numbers = count_up()
    for _ in texts:
        _write_environment(texts, next(numbers))
    yield _row(
        "environments",
        "environments, blueprint and program",
        _rate(lambda: _write_environment(texts, next(numbers))),
        "1/s",
    )
    yield _row("requests", "requests in words, wishes given", _measure_requests(texts), "1/s")
    domains = [_compose(texts, each) for each in range(len(texts))]
    yield _row(
        "scenarios",
        "scenarios with state, oracle and request",
        _rate(lambda: _write_scenario(domains, next(numbers))),
        "1/s",
    )
    yield _row(
        "memory", f"growth of the process over {MANY} environments", _measure_growth(texts), "MB"
    )


def _write_environment(texts: list[tuple[str, str]], number: int) -> int:
    domain = _compose(texts, number)
    return len(write_blueprint(domain).rules) + len(write_program(domain))


def _compose(texts: list[tuple[str, str]], number: int) -> Domain:
    theme, text = texts[number % len(texts)]
    return compose_domain(Brief(theme=theme, text=text, number=number // len(texts)), 0)


def _write_scenario(domains: list[Domain], number: int) -> int:
    return len(write_scenario(domains[number % len(domains)], f"bench/{number}").request)


def _measure_requests(texts: list[tuple[str, str]]) -> float:
    prepared = [_draw_wishes(_compose(texts, each), each) for each in range(len(texts))]
    ready = [each for each in prepared if len(each[0]) == WISHES]
    dice, numbers = make_dice("bench"), count_up()

    def write() -> int:
        wishes, domain, state = ready[next(numbers) % len(ready)]
        return len(write_request(wishes, domain, state, dice))

    return _rate(write)


def _draw_wishes(domain: Domain, number: int) -> tuple[list[WantedChange], Domain, Any]:
    world, dice = populate(domain, f"bench/{number}"), make_dice("wishes", number)
    drawn = [
        (each, sample_permitted(each, world, world.state, dice))
        for each in domain.changes
        if each.asks and each.tells
    ]
    wishes = [WantedChange(each, arguments) for each, arguments in drawn if arguments]
    return (
        [each for each in wishes if can_say(each, domain, world.state)][:WISHES],
        domain,
        world.state,
    )


def _rate(work: Callable[[], int]) -> float:
    began, done = time.process_time(), 0
    while (spent := time.process_time() - began) < SECONDS:
        work()
        done += 1
    return done / spent


def _measure_growth(texts: list[tuple[str, str]]) -> float:
    for number in range(WARM):
        _write_environment(texts, number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(WARM, WARM + MANY):
        _write_environment(texts, number)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def _row(name: str, what: str, measured: float, unit: str) -> dict[str, Any]:
    return {"id": name, "what": what, "measured": measured, "baseline": None, "unit": unit}
