"""Terms of a run: the discipline its calls are held to, made of its config, this process's settings
and what the ledger knows."""

from collections.abc import Iterable

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.lake.catching_up import read_new
from envmill.lake.coordination import Coordinator
from envmill.lake.events import note
from envmill.lake.journal import read_calls
from envmill.lake.lake import Lake
from envmill.lake.replies import StoredReplies
from envmill.models.base import Provider
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.caller import Retries
from envmill.models.gateway import CallPolicy
from envmill.models.limiter import ModelLimits, Shares
from envmill.models.prices import Prices
from envmill.models.redaction import Redactor
from envmill.models.role_models import RoleModels, read_specs
from envmill.models.spec import Spec
from schemas.ledger import ModelCall, RunEvent
from schemas.run import RunConfig

_FREE = ("offline", "replay")


def check_terms(config: RunConfig, settings: Settings, lake: Lake) -> None:
    """Before anything is fixed: a run that cannot be held to its terms must not take its id
    along."""
    prices = Prices.load(settings.prices)
    if config.reuse and config.reuse not in lake.runs():
        raise SettingsError(
            f"There is no run {config.reuse!r} to reuse replies of. Set `reuse` to one of the "
            f"runs in {lake.url}."
        )
    if config.budget is not None:
        specs = [spec for spec in read_specs(config).values() if spec.provider not in _FREE]
        _require_prices([(spec.provider, _render_model(spec)) for spec in specs], prices)


def agree_on_budget(run: str, asked: RunConfig, fixed: RunConfig, lake: Lake) -> Allowance:
    """What a run may spend is the one thing that may change while it goes on: asked for by its id,
    and written down."""
    agreed = Allowance(fixed.budget, fixed.budget_tokens)
    changes = sorted(
        (row for row in lake.read(RunEvent, run) if row.event == "budget"),
        key=_order,
    )
    if changes:
        agreed = Allowance(changes[-1].detail["money"], changes[-1].detail["tokens"])
    wanted = Allowance(
        agreed.money if asked.budget is None else asked.budget,
        agreed.tokens if asked.budget_tokens is None else asked.budget_tokens,
    )
    if not asked.run or wanted == agreed:
        return agreed
    note(
        lake,
        run,
        "budget",
        {"money": wanted.money, "tokens": wanted.tokens, "number": len(changes) + 1},
    )
    return wanted


def _order(change: RunEvent) -> tuple[int, str]:
    """By number, where versions that wrote it did: clocks of two machines may differ."""
    return change.detail.get("number", 0), change.happened_at


def set_terms(
    run: str,
    config: RunConfig,
    allowance: Allowance,
    settings: Settings,
    coordinator: Coordinator,
    lake: Lake,
    cast: RoleModels,
    spent: Amount,
) -> CallPolicy:
    """Open the budget of the run and our shares of the limits. Whoever sets terms closes them. `spent`: what the run has spent."""
    prices = Prices.load(settings.prices)
    providers: list[Provider] = [cast.author, *cast.others.values()]
    if allowance.money is not None:
        _require_prices(
            [(one.name, one.model) for one in providers if one.name not in _FREE], prices
        )
    return CallPolicy(
        limits=ModelLimits(
            settings.in_flight, settings.requests_per_minute, settings.tokens_per_minute
        ),
        retries=Retries(deadline=settings.call_seconds),
        prices=prices,
        budget=Budget(coordinator, run, allowance, spent) if allowance.bounded else None,
        shares=Shares(coordinator),
        is_assured=coordinator.is_assured,
        redactor=Redactor(endpoint.key.reveal() for endpoint in settings.endpoints.values()),
        borrowed=read_replies(config.reuse, settings, lake) if config.reuse else {},
        lender=config.reuse,
    )


def hold_calls(settings: Settings) -> CallPolicy:
    """The discipline of calls outside of any run: limits, deadlines and redaction as a run has
    them, and no budget."""
    return CallPolicy(
        limits=ModelLimits(
            settings.in_flight, settings.requests_per_minute, settings.tokens_per_minute
        ),
        retries=Retries(deadline=settings.call_seconds),
        prices=Prices.load(settings.prices),
        redactor=Redactor(endpoint.key.reveal() for endpoint in settings.endpoints.values()),
    )


def read_replies(run: str, settings: Settings, lake: Lake) -> StoredReplies:
    """Every reply of a run that can be given again, sealed or not."""
    known = StoredReplies()
    # Before the lake: seen twice rather than missed.
    known.learn(read_calls(settings.home / "journal" / run))
    known.learn(read_new(lake, ModelCall, run, set()))
    return known


def count_spent(calls: Iterable[ModelCall]) -> Amount:
    """What the ledger says was spent or may have been; a row seen in journal and lake counts once,
    a price nobody knows counts as
    tokens alone."""
    rows = {
        call.id: (
            (call.cost or 0.0) + (call.possibly_paid_cost or 0.0),
            call.tokens_in + call.tokens_out + call.possibly_paid_tokens,
        )
        for call in calls
    }
    return Amount(sum(cost for cost, _ in rows.values()), sum(took for _, took in rows.values()))


def _render_model(spec: Spec) -> str:
    """As the ledger has it: with the server's name, where it has one."""
    return f"{spec.model}@{spec.endpoint}" if spec.endpoint else spec.model


def _require_prices(models: Iterable[tuple[str, str]], prices: Prices) -> None:
    if unpriced := sorted(
        {
            f"{provider}:{model}"
            for provider, model in models
            if prices.find(provider, model) is None
        }
    ):
        raise SettingsError(
            f"A budget in money cannot be held without the price of {', '.join(unpriced)}. Enter "
            "it in the price file with where and when "
            "you read it, or set a budget in tokens."
        )
