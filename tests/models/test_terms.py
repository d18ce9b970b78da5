"""A run held to its terms: a budget that stops it and a larger one that lets it go on, replies of
another run, prices that are lacking."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envmill.base.errors import BudgetReached, KeyRefused, SettingsError
from envmill.base.settings import Settings
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.models.base import Completion, Request, Usage
from envmill.models.counting import Scales
from envmill.models.offline import Offline
from envmill.models.prices import Prices
from envmill.pipeline.estimate import estimate
from envmill.pipeline.line import STEPS
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from flows.cli.query import COSTS
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.models.vendors.launch import Loopback

CONFIG = RunConfig(environments=4, scenarios=2, seed=11, mistakes=0.4)
TOOK = Usage(input=1000, output=500)


class Metered:
    """The offline author as a model that counts tokens, is counted, and can be refused."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self.key_holds = True


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch) -> Metered:
    meter, answer = Metered(), Offline.complete

    async def complete(self: Offline, request: Request) -> Completion:
        if not meter.key_holds:
            raise KeyRefused("The key is revoked.")
        meter.asked[request.key(self.model), request.sample] += 1
        said = await answer(self, request)
        return Completion(said.text, usage=TOOK, cost=0.25)

    monkeypatch.setattr(Offline, "complete", complete)
    return meter


async def walk(settings: Settings, name: str = "r1", steps: int = 1, **config: object) -> None:
    async with open_walk(name, CONFIG.model_copy(update=config), settings) as opened:
        await opened.walk(STEPS[:steps])


def exits(settings: Settings, run: str = "r1") -> list[tuple[object, ...]]:
    return fetch(
        Lake(settings.lake),
        "select stage, subject, outcome, reason from exits where run = ? order by all",
        [run],
    )


async def test_a_budget_stops_a_run_and_a_larger_one_lets_it_go_on(
    settings: Settings, metered: Metered
) -> None:
    with pytest.raises(BudgetReached, match="3,000 tokens is reached"):
        await walk(settings, budget_tokens=3000)
    assert metered.asked.total() in (
        1,
        2,
    )  # of 1,500 tokens each; the second may be foreseen as longer than it is
    asked = metered.asked.total()
    assert all(
        outcome == "kept" for _, _, outcome, _ in exits(settings)
    )  # what was not asked is no failure of anybody
    with pytest.raises(BudgetReached):
        await walk(settings)
    assert metered.asked.total() - asked <= 1
    await walk(settings, run="r1", budget_tokens=1_000_000)
    assert len(exits(settings)) == 4
    assert set(metered.asked.values()) == {1}
    assert fetch(
        Lake(settings.lake), "select detail ->> 'tokens' from run_events where event = 'budget'"
    ) == [("1000000",)]
    assert list((settings.home / "coordination" / "processes").iterdir()) == []


async def test_a_budget_in_money_is_counted_by_the_ledger_too(
    settings: Settings, metered: Metered
) -> None:
    with pytest.raises(BudgetReached):
        await walk(settings, budget=0.6)
    spent = fetch(
        Lake(settings.lake),
        "select sum(cost), sum(tokens_in + tokens_out)::bigint, sum(calls)::bigint from spending",
    )
    assert spent == [
        (0.25 * metered.asked.total(), 1500 * metered.asked.total(), metered.asked.total())
    ]
    (settings.home / "coordination" / "budgets" / "r1.json").unlink()
    asked = metered.asked.total()
    with pytest.raises(BudgetReached):
        await walk(settings)
    assert metered.asked.total() <= asked + 1  # a lost document is made good from the ledger


async def test_a_revoked_key_ends_the_calls_and_blames_no_candidate(
    settings: Settings, metered: Metered
) -> None:
    metered.key_holds = False
    with pytest.raises(KeyRefused):
        await walk(settings)
    assert exits(settings) == []
    metered.key_holds = True
    await walk(settings)
    assert len(exits(settings)) == 4


async def test_another_runs_replies_cost_nothing_and_are_kept(
    settings: Settings, metered: Metered
) -> None:
    await walk(settings)
    asked = metered.asked.total()
    await walk(settings, "r2", reuse="r1")
    assert metered.asked.total() == asked
    rows = fetch(
        Lake(settings.lake),
        "select distinct reused, reused_from, cost, tokens_in, reply <> '' from model_calls "
        "where run = 'r2'",
    )
    assert rows == [(True, "r1", 0.0, 0, True)]
    await walk(settings, "r3", reuse="r2")  # what was borrowed can be lent
    assert metered.asked.total() == asked
    with pytest.raises(SettingsError, match="no run 'r9' to reuse"):
        await walk(settings, "r4", reuse="r9")
    assert "r4" not in Lake(settings.lake).runs()


@contextmanager
def priced(settings: Settings, path: Path) -> Iterator[Settings]:
    path.write_text(
        '[[price]]\nprovider = "openai"\nmodel = "m"\ninput = 1\noutput = 2\nsource = "x"\n'
        "read_on = 2026-11-21\n"
    )
    yield Settings.read(
        {
            "ENVMILL_HOME": str(settings.home),
            "ENVMILL_LAKE": settings.lake,
            "ENVMILL_PRICES": str(path),
            "OPENAI_API_KEY": "k" * 20,
        }
    )


async def test_a_budget_in_money_needs_prices_before_the_run_has_its_id(
    settings: Settings, tmp_path: Path
) -> None:
    with (
        priced(settings, tmp_path / "p.toml") as own,
        pytest.raises(SettingsError, match="price of openai:other"),
    ):
        await walk(own, provider="openai", model="other", budget=1.0)
    assert Lake(settings.lake).runs() == []


@pytest.mark.parametrize(
    "name",
    [
        "ENVMILL_IN_FLIGHT",
        "ENVMILL_REQUESTS_PER_MINUTE",
        "ENVMILL_TOKENS_PER_MINUTE",
        "ENVMILL_CALL_SECONDS",
    ],
)
@pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "1e9"])
def test_a_limit_that_is_none_is_refused(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.read({name: text})


@pytest.mark.long
async def test_an_estimate_tells_what_the_same_run_takes_again(
    settings: Settings, tmp_path: Path
) -> None:
    """An offline run has the calls and the lengths; a model's own ledger has the tokens; a price
    makes it money."""
    lake = Lake(settings.lake)
    await walk(settings, steps=2)
    note(lake, "r1", "finished", [])
    took = fetch(
        lake,
        "select step, prompt, count(*), sum(characters)::bigint from model_calls where not "
        "reused group by all order by all",
    )
    recipe = RECIPES[CONFIG.recipe](read_themes())
    *same, planned = await estimate(lake, CONFIG, recipe, Prices())
    assert (planned.step, planned.prompt, planned.calls) == (
        "scenarios-generate",
        "errands",
        CONFIG.environments,
    )
    assert [(one.step, one.prompt, one.calls) for one in same] == [
        (step, prompt, calls) for step, prompt, calls, _ in took
    ]
    assert [one.tokens_in for one in same[:2]] == [
        pytest.approx(characters / 4, abs=1) for *_, characters in took[:2]
    ]
    assert same[2].tokens_in == pytest.approx(
        took[2][3] / 4, rel=0.2
    )  # what a repair quotes differs from what is asked first
    assert {one.cost for one in same} == {0.0}
    assert [one.basis.split(";")[0] for one in same] == [
        "1 finished run",
        "1 finished run",
        "rendered, repairs as in 1 finished run",
    ]
    twice = CONFIG.model_copy(update={"environments": 8, "provider": "openai", "model": "m"})
    with priced(settings, tmp_path / "p.toml") as own:
        dear = await estimate(lake, twice, recipe, Prices.load(own.prices))
    assert [one.calls for one in dear] == [2 * one.calls for one in (*same, planned)]
    assert all(
        one.cost == pytest.approx((one.tokens_in + 2 * (one.tokens_out or 0)) / 1e6)
        for one in dear[:-1]
    )
    assert {one.cost for one in await estimate(lake, twice, recipe, Prices())} == {None}


@pytest.mark.long
async def test_each_kept_thing_has_its_line_and_its_cost(
    settings: Settings, metered: Metered
) -> None:
    """Counted again from the ledger, by the names of what each was made of."""
    await walk(settings, steps=8, environments=1, scenarios=1, mistakes=0.0, attempts=8)
    lake, question = (
        Lake(settings.lake),
        dict(COSTS)["each kept environment and scenario, its own steps alone"],
    )
    told = {
        str(item): (id, tokens, cost)
        for item, id, _, _, tokens, cost, *_ in fetch(lake, question, ["r1"])
    }
    asked = dict(
        fetch(
            lake,
            "select split_part(subject, '_', 1), count(*) from model_calls where not reused "
            "group by all",
        )
    )
    scenarios = fetch(
        lake, "select count(*) from model_calls where not reused and step like 'scenarios-%'"
    )
    (environment,), (scenario,) = (
        fetch(lake, "select id from environments"),
        fetch(lake, "select id from scenarios"),
    )
    calls = {"environment": asked["seed"] + asked["bp"], "scenario": int(scenarios[0][0])}  # type: ignore[call-overload]
    assert min(calls.values()) >= 1
    assert told == {
        item: (id, 1500 * calls[item], pytest.approx(0.25 * calls[item]))
        for item, (id,) in {"environment": environment, "scenario": scenario}.items()
    }


async def test_without_any_past_only_the_first_step_is_told(settings: Settings) -> None:
    (only,) = await estimate(
        Lake(settings.lake), CONFIG, RECIPES[CONFIG.recipe](read_themes()), Prices()
    )
    assert (only.step, only.calls, only.tokens_out, only.basis.split(";")[0]) == (
        "environments-generate",
        4,
        None,
        "rendered",
    )


@pytest.mark.parametrize(
    ("spec", "per_call", "characters_a_token"),
    [("anthropic:m", 0, 4), ("responses:m", 100, 1), ("openai:m@lab", 200, 1), ("openai:m", 0, 4)],
)
async def test_a_server_that_counts_is_asked_to(
    settings: Settings, vendors: Loopback, spec: str, per_call: int, characters_a_token: int
) -> None:
    """To the token, by each server's own measure; OpenAI's chat completions are not counted, and
    the guess says so."""
    provider, model = spec.split(":")
    told = {
        "ENVMILL_HOME": str(settings.home),
        "ENVMILL_OPENAI_URL": "",
        "OPENAI_API_KEY": "k" * 20,
        "ANTHROPIC_API_KEY": "k" * 20,
    }
    told |= {"ENVMILL_ANTHROPIC_URL": vendors.anthropic, "ENVMILL_ENDPOINT_LAB": vendors.openai}
    told |= {"ENVMILL_OPENAI_URL": vendors.openai} if provider == "responses" else {}
    config = CONFIG.model_copy(update={"environments": 3, "provider": provider, "model": model})
    recipe = RECIPES[CONFIG.recipe](read_themes())
    (plain,) = await estimate(Lake(settings.lake), config, recipe, Prices())
    (found,) = await estimate(
        Lake(settings.lake), config, recipe, Prices(), Scales(Settings.read(told))
    )
    bodies = [str(one["body"]) for one in vendors.requests()]
    if spec == "openai:m":
        assert (found, bodies) == (plain, [])
        assert "4 characters a token guessed" in found.basis
        return
    assert found.basis == "rendered; input counted"
    assert found.tokens_in == pytest.approx(
        3 * per_call + plain.tokens_in * 4 / characters_a_token, abs=4
    )
    assert len(bodies) == 3
    assert not any(knob in body for body in bodies for knob in ("max_tokens", "stream", "'store'"))


@pytest.mark.parametrize("kind", ["status", "html", "shapeless"])
async def test_a_server_that_does_not_count_is_asked_once_and_the_guess_is_called_one(
    settings: Settings, vendors: Loopback, kind: str
) -> None:
    vendors.fail(kind, path="/tokenize", status=404 if kind == "status" else 0)
    own = Settings.read(
        {"ENVMILL_HOME": str(settings.home), "ENVMILL_ENDPOINT_LAB": vendors.openai}
    )
    config = CONFIG.model_copy(update={"environments": 3, "provider": "openai", "model": "m@lab"})
    (found,) = await estimate(
        Lake(settings.lake), config, RECIPES[CONFIG.recipe](read_themes()), Prices(), Scales(own)
    )
    assert "4 characters a token guessed" in found.basis
    assert len(vendors.requests()) == 1
