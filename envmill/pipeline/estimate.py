"""An estimate: what a run will ask of models and what that may cost, before it asks anything.

past ledgers of the recipe ─► calls per text, environment, scenario or attempt, characters per call, tokens per character
past rollouts, where no model ever acted ─► how many calls its attempts may take
the run's own texts or seeds ─► the first step's prompts, rendered ─► counted by the server, where it counts; measured otherwise
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NoReturn

from envmill.agents import ROLLOUT_PROMPTS
from envmill.base.errors import EnvMillError
from envmill.gates.reading.coverage import PROMPT as COVERAGE
from envmill.gates.reading.mapping import PROMPT as MAPPER
from envmill.gates.reading.suspicions import PROMPT as SUSPICION
from envmill.gates.s16 import GATE
from envmill.gates.s16 import PROMPT as READER
from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds.authoring.repair import FIRST
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.models.base import Provider, Request, Role, Spent, Usage
from envmill.models.counting import Scales
from envmill.models.gateway import ModelSession
from envmill.models.parse import ParsedCompletion
from envmill.models.prices import Prices
from envmill.models.prompt import Prompt
from envmill.models.prompt_statistics import count_characters
from envmill.models.role_models import read_specs
from envmill.models.spec import Spec
from envmill.pipeline.given import find_given
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.errands import BLOCK
from envmill.recipes.drafting.hardening import PROMPT as HARDER
from envmill.stages.corpus import Text, read_corpus
from envmill.verifiers.ruling import PROMPT as RULING
from schemas.run import RunConfig

_GUESS = 4.0  # characters a token, for a model that was never asked
_FREE = ("offline", "replay")
MODEL = "model"
"""Who makes rollouts or plays the user, where that is a model."""

_RUNS = """
    with past as (
        select run, (config ->> 'environments')::bigint as environments, environments * (config ->> 'scenarios')::bigint as scenarios,
               scenarios * (config ->> 'attempts')::bigint as attempts
        from runs where recipe = $recipe and state = 'finished'
            and coalesce(config ->> 'harden', '') = '' and coalesce(config ->> 'environments_of', '') = '')"""
"""Runs over the environments of others say nothing of how much an environment takes."""

_PAST = f"""{_RUNS},
    mined as (select run, count(distinct subject) as texts from attrition where stage = 'mine' and gate = 'exit' group by run),
    asked as (
        select run, step, prompt, role, count(*) as calls, sum(characters) as sent, sum(length(reply) + length(reasoning)) as got
        from model_calls join past using (run) where not reused or reused_from <> '' group by all)
    select step, prompt, role, count(distinct run)::bigint as runs,
           sum(calls) / sum(case when step = 'environments-mine' then texts when role in ('policy', 'user') then attempts
                                 when step like 'scenarios-%' then scenarios else environments end) as calls,
           sum(sent) / sum(calls) as sent, sum(got) / sum(calls) as got
    from asked join past using (run) left join mined using (run) group by step, prompt, role order by step, prompt, role"""

_PLAYED = f"""{_RUNS},
    played as (
        select r.run, count(*) as rollouts, sum(r.steps + greatest(r.turns, 1)) as acted, sum(r.turns) filter (r.form <> 'single') as told,
               avg(length(r.transcript)) as transcript, avg(length(e.tools) + length(e.policy_document)) as known
        from rollouts r join past using (run) join environments e on e.run = r.run and e.id = r.environment
        where r.rollout_group = $group group by r.run)
    select count(*)::bigint, sum(acted) / sum(attempts), coalesce(sum(told), 0) / sum(attempts), avg(transcript) / 2, avg(known)
    from played join past using (run) having count(*) > 0"""
"""Half of a transcript is what an attempt has heard when it is asked, on the way."""

_SUSPICIONS = f"""{_RUNS},
    met as (select run, lap, count(*) as suspicions from attrition
            where stage = 'verify' and outcome in ('suspected', 'cleared') and gate <> '{GATE}' group by run, lap),
    texts as (select run, avg(length(tools) + length(policy_document) + length(rules)) as known from environments group by run)
    select lap, count(distinct run)::bigint, sum(suspicions) / sum(case when lap = 'scenarios' then scenarios else environments end),
           avg(known)
    from met join past using (run) join texts using (run) group by lap order by lap"""

_POSED = f"""{_RUNS},
    texts as (select run, avg(length(tools) + length(policy_document) + length(rules)) as known from environments group by run),
    starts as (select run, avg(length(initial_state) + length(request)) as shown from scenarios group by run)
    select count(distinct run)::bigint, avg(known + shown) from past join texts using (run) join starts using (run)
    having count(*) > 0"""

_KNOWN = f"""{_RUNS}
    select count(distinct run)::bigint, avg(length(tools) + length(policy_document) + length(rules))
    from environments join past using (run) having count(*) > 0"""

_DIFFERENCES = 0.1
"""Differences that the blind reader finds in a scenario: 2 in 20 that a strong model wrote
(docs/audit/planted-in-real-work.md)."""

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
_JUDGED = (SUSPICION.name, READER.name, MAPPER.name, COVERAGE.name)
"""Prompts of the judge of suspicions, and of the blind reader, the mapper and the reader of rules,
who are the same model."""
_POLICY, _USER = ROLLOUT_PROMPTS
_ACTORS = ("policy", "user")
"""Roles that are asked in rollouts."""
_SCENARIOS, _PLAN = "scenarios-generate", "errands"
"""The step that plans errands, and its prompt."""
_GROUPS = {"scenarios-filter": ("probe", "weak"), "scenarios-collect": ("teacher",)}
"""Settings that say who makes the rollouts of a step; rollouts bear their names."""


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
    """Those that are known to the letter; the other calls are only as many and as long as in the
    past."""
    repaired: float = 0.0
    """Characters of the calls that are not known to the letter."""


async def estimate(
    lake: Lake, config: RunConfig, recipe: Recipe, prices: Prices, scales: Scales | None = None
) -> list[Forecast]:
    """By step and prompt; steps nobody ever ran with this recipe are not in it. Without scales no
    server is asked to count."""
    if config.given_by:
        return await _estimate_given(lake, config, recipe, prices, scales)
    rendered = await _render_first(recipe, config)
    # What models took replaces what scripts would.
    past = list(_read_past(lake, config))
    judged = {(_name_lap(load), load.prompt) for load in past}
    foreseen = [
        load
        for load in _foresee_judge(lake, config)
        if (_name_lap(load), load.prompt) not in judged
    ]
    planned = list(_foresee_plans(lake, config, recipe))
    asked = {
        (load.step, load.prompt, load.role): load
        for load in (*planned, *_read_rollouts(lake, config), *foreseen, *past)
    }
    first = [
        _add_repairs(one, asked.pop((one.step, one.prompt, one.role), None)) for one in rendered
    ]
    known = asked.values()
    return [
        await _price(lake, load, config, prices, scales)
        for load in sorted([*first, *known], key=lambda load: (load.step, load.prompt))
    ]


async def _estimate_given(
    lake: Lake, config: RunConfig, recipe: Recipe, prices: Prices, scales: Scales | None
) -> list[Forecast]:
    """Of the scenario lap alone: nothing is asked about the environments."""
    given = find_given(lake, config, recipe)
    homes = Counter(parent.environment for parent in given.parents) or Counter(
        dict.fromkeys(given.environments, config.scenarios)
    )
    each = config.model_copy(update={"environments": homes.total(), "scenarios": 1})
    blocks = sum(math.ceil(places / BLOCK) for places in homes.values())
    plain = recipe.prompts.get(_SCENARIOS, ())
    planner = (
        HARDER
        if given.parents
        else next((prompt for prompt in plain if prompt.name == _PLAN), None)
    )
    loads = {
        (load.step, load.prompt, load.role): load
        for load in (*_read_rollouts(lake, each), *_foresee_judge(lake, each))
    }
    loads |= {(load.step, load.prompt, load.role): load for load in _read_past(lake, each)}
    asked = [
        load for load in loads.values() if _name_lap(load) == "scenarios" and load.prompt != _PLAN
    ]
    if planner is not None and (config.plan or given.parents):
        asked += _foresee_blocks(lake, config, planner, blocks)
    return [
        await _price(lake, load, config, prices, scales)
        for load in sorted(asked, key=lambda load: (load.step, load.prompt))
    ]


def _read_past(lake: Lake, config: RunConfig) -> Iterator[_Load]:
    texts = len(_read_texts(config))
    for step, prompt, role, runs, calls, sent, got in fetch(lake, _PAST, {"recipe": config.recipe}):
        if (prompt in _REVIEW and not config.review) or (
            step == "scenarios-build" and config.checks != "written"
        ):
            continue
        if (prompt == _PLAN and not config.plan) or (prompt == MAPPER.name and not config.fairness):
            continue
        if prompt == COVERAGE.name and not config.coverage:
            continue
        if (prompt == RULING.name and not config.judged) or (
            prompt in _JUDGED and not _asks_judge(config)
        ):
            continue
        if role in _ACTORS and role not in _list_actors(config, step):
            continue
        scenarios = config.environments * config.scenarios
        units = (
            texts
            if step == "environments-mine"
            else scenarios
            if step.startswith("scenarios-")
            else config.environments
        )
        probes = config.pass_at or config.attempts
        units *= (
            (probes if step == "scenarios-filter" else config.attempts) if role in _ACTORS else 1
        )
        if units:
            yield _Load(step, prompt, role, calls * units, sent, got, _describe_runs(runs))


def _read_rollouts(lake: Lake, config: RunConfig) -> Iterator[_Load]:
    """What attempts took that scripts made; how long a model's replies are, they cannot tell."""
    scenarios = config.environments * config.scenarios
    for step, group in ((step, group) for step, groups in _GROUPS.items() for group in groups):
        for runs, acted, told, transcript, known in fetch(
            lake, _PLAYED, {"recipe": config.recipe, "group": group}
        ):
            attempts = scenarios * (
                config.pass_at or config.attempts if group == "probe" else config.attempts
            )
            basis = f"the {group}'s attempts in {_describe_runs(runs)}"
            if getattr(config, group) == MODEL:
                yield _Load(
                    step, _POLICY.name, "policy", acted * attempts, known + transcript, None, basis
                )
            if told and "user" in _list_actors(config, step):
                yield _Load(step, _USER.name, "user", told * attempts, transcript, None, basis)


def _foresee_plans(lake: Lake, config: RunConfig, recipe: Recipe) -> Iterator[_Load]:
    """A plan for each block of scenarios of an environment, where past runs of the recipe made
    none."""
    prompt = next((one for one in recipe.prompts.get(_SCENARIOS, ()) if one.name == _PLAN), None)
    if prompt is None or not config.plan:
        return
    yield from _foresee_blocks(
        lake, config, prompt, config.environments * math.ceil(config.scenarios / BLOCK)
    )


def _foresee_blocks(lake: Lake, config: RunConfig, prompt: Prompt, calls: int) -> Iterator[_Load]:
    for runs, known in fetch(lake, _KNOWN, {"recipe": config.recipe}):
        basis = (
            f"one for each {BLOCK} scenarios of an environment, over the environments of "
            f"{_describe_runs(runs)}"
        )
        yield _Load(_SCENARIOS, _PLAN, "author", calls, known + len(prompt.text), None, basis)


def _foresee_judge(lake: Lake, config: RunConfig) -> Iterator[_Load]:
    """Two readings of each suspicion that past runs met, a blind reading and a map of each
    scenario, and two readings of what they find.

    A judge that is not calibrated for a code is asked less often.
    """
    if not _asks_judge(config):
        return
    scenarios = config.environments * config.scenarios
    met = {lap: row for lap, *row in fetch(lake, _SUSPICIONS, {"recipe": config.recipe})}
    posed = fetch(lake, _POSED, {"recipe": config.recipe})
    for runs, shown in posed:
        basis = f"one a scenario, as long as those of {_describe_runs(runs)}"
        yield _Load(
            "scenarios-verify",
            READER.name,
            "judge",
            scenarios,
            shown + len(READER.text),
            None,
            basis,
        )
        if config.fairness:
            yield _Load(
                "scenarios-verify",
                MAPPER.name,
                "judge",
                scenarios,
                shown + len(MAPPER.text),
                None,
                basis,
            )
        met.setdefault("scenarios", [runs, 0.0, shown])
    for lap, (runs, suspicions, known) in met.items():
        units = scenarios if lap == "scenarios" else config.environments
        differing = _DIFFERENCES if lap == "scenarios" else 0.0
        more = (
            f", and {differing:g} differences of the blind reader a scenario" if differing else ""
        )
        basis = f"the suspicions of {_describe_runs(runs)}{more}, two readings each"
        calls = 2 * (suspicions + differing) * units
        yield _Load(
            f"{lap}-verify",
            SUSPICION.name,
            "judge",
            calls,
            known + len(SUSPICION.text),
            None,
            basis,
        )


def _name_lap(load: _Load) -> str:
    return load.step.partition("-")[0]


def _asks_judge(config: RunConfig) -> bool:
    specs = read_specs(config)
    return config.suspicions == "judge" or (
        config.suspicions == "auto" and specs.get("judge", specs["author"]).provider != "offline"
    )


def _describe_runs(runs: int) -> str:
    return f"{runs} finished run{'s' if runs > 1 else ''}"


def _list_actors(config: RunConfig, step: str) -> set[str]:
    """Roles of a rollout that models play."""
    acts = any(getattr(config, group) == MODEL for group in _GROUPS.get(step, ()))
    talks = config.person == MODEL and config.form != "single"
    return {role for role, plays in (("policy", acts), ("user", talks)) if plays}


def _read_texts(config: RunConfig) -> list[Text]:
    return read_corpus(config.corpus, config.column, config.texts) if config.corpus else []


async def _render_first(recipe: Recipe, config: RunConfig) -> list[_Load]:
    """The prompts that depend on nothing but the texts of a corpus, or else the seeds, exactly as
    they will be sent."""
    ruler = _Ruler(config.run_seed)
    texts = [
        recipe.find_theme(text.text, ModelSession(ruler, "environments-mine", text.id))
        for text in _read_texts(config)
    ]
    grown = (
        []
        if texts
        else [
            recipe.grow(text, ModelSession(ruler, "environments-mine", text))
            for text in recipe.pick_texts(config)
        ]
    )
    # Where themes are grown first, those of the factory stand for them: they are as long.
    seeds = [] if texts else recipe.pick_seeds(config)
    for asking in (
        *texts,
        *grown,
        *(
            recipe.think_up(seed, FIRST, ModelSession(ruler, "environments-generate", seed.id))
            for seed in seeds
        ),
    ):
        with suppress(_Measured):
            await asking
    calls = ruler.requests
    names: list[tuple[str, str, Role]] = sorted(
        {(request.step, request.prompt.name, request.role) for request in calls}
    )
    return [
        _Load(
            step,
            name,
            role,
            len(same),
            sum(map(count_characters, same)) / len(same),
            None,
            "rendered",
            same,
        )
        for step, name, role in names
        if (
            same := tuple(
                one for one in calls if (one.step, one.prompt.name, one.role) == (step, name, role)
            )
        )
    ]


def _add_repairs(rendered: _Load, past: _Load | None) -> _Load:
    """What is rendered is asked once; what was asked more often in the past were repairs."""
    if past is None:
        return rendered
    repairs = max(0.0, past.calls - rendered.calls)
    calls = rendered.calls + repairs
    sent = (rendered.calls * rendered.sent + repairs * past.sent) / calls
    basis = f"rendered, repairs as in {past.basis}"
    return replace(
        rendered, calls=calls, sent=sent, got=past.got, basis=basis, repaired=repairs * past.sent
    )


async def _price(
    lake: Lake, load: _Load, config: RunConfig, prices: Prices, scales: Scales | None
) -> Forecast:
    specs = read_specs(config)
    spec = specs.get(load.role, specs["author"])
    name = f"{spec.model}@{spec.endpoint}" if spec.endpoint else spec.model
    per_sent, per_got, told = _find_ratio(lake, spec, name)
    calls = math.ceil(load.calls)
    tokens_in = math.ceil(calls * load.sent * per_sent)
    if scales is not None and (counted := await scales.weigh(spec, load.requests)) is not None:
        tokens_in = math.ceil(counted.tokens + load.repaired * per_sent)
        told = (
            f"input {counted.told}, the rest {told}"
            if load.repaired or load.got is not None
            else f"input {counted.told}"
        )
    tokens_out = None if load.got is None else math.ceil(calls * load.got * per_got)
    price = prices.find(spec.provider, name)
    free = spec.provider in _FREE
    cost = 0.0 if free else None
    if price is not None and tokens_out is not None:
        cost = price.charge(Usage(tokens_in, tokens_out))
    priced, basis = free or price is not None, f"{load.basis}; {told}"
    return Forecast(
        load.step,
        load.prompt,
        load.role,
        str(spec),
        calls,
        tokens_in,
        tokens_out,
        cost,
        priced,
        basis,
    )


def _find_ratio(lake: Lake, spec: Spec, model: str) -> tuple[float, float, str]:
    """Tokens per character sent and got, and where that comes from."""
    rows: Sequence[tuple[float, float]] = fetch(
        lake, _TOKENS, {"provider": spec.provider, "model": model}
    )  # type: ignore[assignment]
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

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:  # noqa: ARG002  nothing is spent
        self.requests.append(request)
        raise _Measured("measured")


class _Nobody:
    name = model = ""

    async def complete(self, request: Request) -> NoReturn:
        raise _Measured(request.prompt.name)

    async def close(self) -> None:
        return
