"""An estimate: what a run will ask of models and what that may cost, before it asks anything.

past ledgers of the recipe ─► calls per environment or scenario, characters per call, tokens per character
the run's own seeds ─► the first step's prompts, rendered ─► counted by the server, where it counts; measured otherwise
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from envmill.errors import EnvMillError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.models.base import Provider, Request, Role, Spent, Usage
from envmill.models.cast import read_specs
from envmill.models.counting import Scales
from envmill.models.door import Account
from envmill.models.experience import count_characters
from envmill.models.parse import Heard
from envmill.models.prices import Prices
from envmill.models.spec import Spec
from envmill.recipes.base import Recipe
from schemas.run import RunConfig

_GUESS = 4.0  # characters a token, for a model that was never asked
_FREE = ("offline", "replay")

_PAST = """
    with past as (
        select run, (config ->> 'environments')::bigint as environments, (config ->> 'scenarios')::bigint as scenarios
        from runs where recipe = $recipe and state = 'finished'),
    asked as (
        select run, step, prompt, role, count(*) as calls, sum(characters) as sent, sum(length(reply) + length(reasoning)) as got
        from model_calls join past using (run) where not reused or reused_from <> '' group by all)
    select step, prompt, role, count(distinct run)::bigint as runs,
           sum(calls) / sum(case when step like 'scenarios-%' then environments * scenarios else environments end) as calls,
           sum(sent) / sum(calls) as sent, sum(got) / sum(calls) as got
    from asked join past using (run) group by step, prompt, role order by step, prompt, role"""

_TOKENS = """
    select sum(tokens_in) / sum(characters) as tokens_in, sum(tokens_out) / sum(length(reply) + length(reasoning)) as tokens_out
    from model_calls where provider = $provider and model = $model and outcome in ('reply', 'part', 'failure') and not reused
    having sum(tokens_in) > 0 and sum(characters) > 0 and sum(tokens_out) > 0 and sum(length(reply) + length(reasoning)) > 0"""


@dataclass(frozen=True)
class Forecast:
    """What one prompt of one step will take."""

    step: str
    prompt: str
    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int | None
    """None when nothing like it was ever answered."""
    cost: float | None
    """None when tokens or price are unknown."""
    priced: bool
    """Whether the model has a price."""
    basis: str
    """Where the numbers come from, in words."""


_REVIEW = (TESTER.name, CHECKER.name)
"""Prompts of the review, which building asks as well as its gate."""


@dataclass(frozen=True)
class _Load:
    """Calls of one prompt and their characters."""

    step: str
    prompt: str
    role: Role
    calls: float
    sent: float
    got: float | None
    basis: str
    requests: tuple[Request, ...] = ()
    """Those that are known to the letter; the other calls are only as many and as long as in the past."""
    repaired: float = 0.0
    """Characters of the calls that are not known to the letter."""


async def estimate(lake: Lake, config: RunConfig, recipe: Recipe, prices: Prices, scales: Scales | None = None) -> list[Forecast]:
    """By step and prompt; steps nobody ever ran with this recipe are not in it. Without scales no server is asked to count."""
    past = list(_read_past(lake, config))
    rendered = await _render_first(recipe, config)
    asked = {(load.step, load.prompt, load.role): load for load in past}
    first = [_add_repairs(one, asked.pop((one.step, one.prompt, one.role), None)) for one in rendered]
    known = asked.values()
    return [
        await _price(lake, load, config, prices, scales) for load in sorted([*first, *known], key=lambda load: (load.step, load.prompt))
    ]


def _read_past(lake: Lake, config: RunConfig) -> Iterator[_Load]:
    for step, prompt, role, runs, calls, sent, got in fetch(lake, _PAST, {"recipe": config.recipe}):
        if (prompt in _REVIEW and not config.review) or (step == "scenarios-build" and config.checks != "written"):
            continue
        units = config.environments * (config.scenarios if step.startswith("scenarios-") else 1)
        yield _Load(step, prompt, role, calls * units, sent, got, f"{runs} finished run{'s' if runs > 1 else ''}")


async def _render_first(recipe: Recipe, config: RunConfig) -> list[_Load]:
    """The prompts that depend on nothing but the seeds, exactly as they will be sent."""
    ruler = _Ruler(config.seed or 0)
    for seed in recipe.pick_seeds(config):
        try:
            await recipe.think_up(seed, "", Account(ruler, "environments-generate", seed.id))
        except _Measured:
            continue
    calls = ruler.requests
    names: list[tuple[str, str, Role]] = sorted({(request.step, request.prompt.name, request.role) for request in calls})
    return [
        _Load(step, name, role, len(same), sum(map(count_characters, same)) / len(same), None, "rendered", same)
        for step, name, role in names
        if (same := tuple(one for one in calls if (one.step, one.prompt.name, one.role) == (step, name, role)))
    ]


def _add_repairs(rendered: _Load, past: _Load | None) -> _Load:
    """What is rendered is asked once; what was asked more often in the past were repairs."""
    if past is None:
        return rendered
    repairs = max(0.0, past.calls - rendered.calls)
    calls = rendered.calls + repairs
    sent = (rendered.calls * rendered.sent + repairs * past.sent) / calls
    basis = f"rendered, repairs as in {past.basis}"
    return replace(rendered, calls=calls, sent=sent, got=past.got, basis=basis, repaired=repairs * past.sent)


async def _price(lake: Lake, load: _Load, config: RunConfig, prices: Prices, scales: Scales | None) -> Forecast:
    specs = read_specs(config)
    spec = specs.get(load.role, specs["author"])
    name = f"{spec.model}@{spec.endpoint}" if spec.endpoint else spec.model
    per_sent, per_got, told = _find_ratio(lake, spec, name)
    calls = math.ceil(load.calls)
    tokens_in = math.ceil(calls * load.sent * per_sent)
    if scales is not None and (counted := await scales.weigh(spec, load.requests)) is not None:
        tokens_in = math.ceil(counted.tokens + load.repaired * per_sent)
        told = f"input {counted.told}, the rest {told}" if load.repaired or load.got is not None else f"input {counted.told}"
    tokens_out = None if load.got is None else math.ceil(calls * load.got * per_got)
    price = prices.find(spec.provider, name)
    free = spec.provider in _FREE
    cost = 0.0 if free else None
    if price is not None and tokens_out is not None:
        cost = price.charge(Usage(tokens_in, tokens_out))
    priced, basis = free or price is not None, f"{load.basis}; {told}"
    return Forecast(load.step, load.prompt, load.role, str(spec), calls, tokens_in, tokens_out, cost, priced, basis)


def _find_ratio(lake: Lake, spec: Spec, model: str) -> tuple[float, float, str]:
    """Tokens per character sent and got, and where that comes from."""
    rows: Sequence[tuple[float, float]] = fetch(lake, _TOKENS, {"provider": spec.provider, "model": model})  # type: ignore[assignment]
    if rows:
        return *rows[0], "tokens as this model counted them before"
    return 1 / _GUESS, 1 / _GUESS, f"{_GUESS:g} characters a token guessed"


class _Measured(EnvMillError):
    """The request was seen; nothing is asked."""


class _Ruler:
    """A door that measures what it is asked and lets nothing through."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.requests: list[Request] = []

    def provider_of(self, role: Role) -> Provider:  # noqa: ARG002  nobody plays
        return _Nobody()

    async def complete(self, request: Request, spent: Spent) -> Heard:  # noqa: ARG002  nothing is spent
        self.requests.append(request)
        raise _Measured("measured")


class _Nobody:
    name = model = ""

    async def complete(self, request: Request) -> NoReturn:
        raise _Measured(request.prompt.name)

    async def close(self) -> None:
        return
