"""Rounds: the whole line again with the next seeds, until as many environments are kept as were
wanted.

round 1 (RUN) ─► enough kept? ─► round 2 (RUN-r2) ─► enough kept? ─► …

Each round is a run of its own and of one size, decided when the one before is finished: a Retry
walks the same rounds again, and those that are finished cost nothing.
"""

from collections.abc import Sequence

from prefect import get_run_logger
from prefect.runtime import flow_run

from envmill.base.errors import BudgetReached, SettingsError
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from envmill.models.terms import agree_on_budget, count_spent
from flows.running import walk_run
from flows.spread.names import RunnerName
from flows.surroundings import read_settings
from schemas.ledger import Attrition, ModelCall
from schemas.run import RunConfig


async def walk_rounds(config: RunConfig, runner: RunnerName = "local") -> None:
    """One round unless there is a target. A resumed run has the target it began with."""
    lake, run = Lake(open_store(read_settings().lake)), config.run or str(flow_run.get_id())
    config = fill_in(lake, run, config)
    check_rounds(config)
    done: list[str] = []
    while number := next_round(lake, done, config):
        done.append(run if number == 1 else f"{run}-r{number}")
        await walk_run(
            make_round(config, run, number, spent=[_read_calls(lake, one) for one in done[:-1]]),
            runner=runner,
        )
    if config.target is not None:
        kept = count_kept(lake, done)
        told = (
            "the target is reached"
            if kept >= config.target
            else f"{config.target} were wanted: raise `max_candidates`, or see `failures`"
        )
        get_run_logger().info("%d environments kept of %d rounds; %s", kept, len(done), told)


def fill_in(lake: Lake, run: str, asked: RunConfig) -> RunConfig:
    """What decides about rounds, as the run began with it, and the budget that was agreed on last;
    the rest each round fixes for itself."""
    if run not in lake.runs():
        return asked
    began = RunConfig.read(lake.fix(run, "config", asked.model_dump(mode="json")))
    agreed = agree_on_budget(run, asked, began, lake)
    budgets = {"budget": agreed.money, "budget_tokens": agreed.tokens}
    return began.model_copy(update={"run": asked.run} | budgets)


def check_rounds(config: RunConfig) -> None:
    """A target needs seeds that go on."""
    if config.target is not None and config.corpus:
        raise SettingsError(
            "A target needs further seeds, and a corpus has only its texts. Leave out one of the two."
        )
    if config.max_candidates is not None and config.target is None:
        raise SettingsError(
            "`max_candidates` bounds the search for a target: set `target` too, or set "
            "`environments` alone."
        )
    if config.max_candidates is not None and config.max_candidates < config.environments:
        raise SettingsError(
            f"A round has {config.environments} candidates, more than `max_candidates` "
            f"({config.max_candidates}). Set fewer `environments`."
        )


def next_round(lake: Lake, done: Sequence[str], config: RunConfig) -> int:
    """Number of the round that is due, from 1; 0 when none is. All rounds have one size, so the
    last may end short of the bound."""
    if not done:
        return 1
    if config.target is None or count_kept(lake, done) >= config.target:
        return 0
    most = config.max_candidates or 4 * config.target
    return (
        len(done) + 1
        if (len(done) + 1) * config.environments <= max(most, config.environments)
        else 0
    )


def count_kept(lake: Lake, runs: Sequence[str]) -> int:
    """Environments that the last of their gates kept."""
    rows = [row for run in runs for row in lake.read(Attrition, run)]
    return len(
        {
            row.subject
            for row in rows
            if (row.lap, row.stage, row.gate, row.outcome)
            == ("environments", "filter", "exit", "kept")
        }
    )


def make_round(
    config: RunConfig, run: str, number: int, spent: Sequence[Sequence[ModelCall]] = ()
) -> RunConfig:
    """The first round is the run itself. Later ones have what earlier ones left of the budget."""
    if number == 1:
        return config
    amounts = [count_spent(call for call in each if not call.reused) for each in spent]
    left = {
        "budget": _take(config.budget, sum(amount.money for amount in amounts)),
        "budget_tokens": _take(config.budget_tokens, sum(amount.tokens for amount in amounts)),
    }
    if any(bound is not None and bound <= 0 for bound in left.values()):
        raise BudgetReached(
            f"The budget of run {run} is spent after {number - 1} rounds. Resume it with a larger "
            f"one: --resume {run} --budget MORE."
        )
    own = {
        "run": f"{run}-r{number}",
        "first": _find_first(config, number),
        "target": None,
        "max_candidates": None,
    }
    return config.model_copy(update=own | left)


def _find_first(config: RunConfig, number: int) -> int:
    """Seeds that a round skips. Where a round counts what the rounds before it used, those come
    last anyway."""
    counts = config.fresh and not config.reuse and config.provider != "replay"
    return config.first if counts else config.first + (number - 1) * config.environments


def _take(bound: float | int | None, spent: float) -> float | int | None:
    return None if bound is None else bound - spent


def _read_calls(lake: Lake, run: str) -> list[ModelCall]:
    """Of a round that is over, all calls are sealed."""
    return lake.read(ModelCall, run)
