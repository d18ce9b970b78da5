"""Opening a run: the config it keeps, what it already knows, and the means to go on."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Literal

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.gates.reading.calibrations import read_calibrations
from envmill.kinds import open_sandbox
from envmill.lake.coordination import Coordinator, hold
from envmill.lake.events import note
from envmill.lake.identity import check_identity
from envmill.lake.journal import Journal, read_calls
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from envmill.models.base import Provider
from envmill.models.batch import Batch, open_batch
from envmill.models.batches import CARRIERS
from envmill.models.gateway import CallPolicy, Gateway, ModelSession
from envmill.models.offline import Author, Offline
from envmill.models.recording import is_file, read_recording, write_recording
from envmill.models.replay import open_playback
from envmill.models.role_models import Opener, RoleModels, check_cast, open_cast, read_specs
from envmill.models.spec import BATCH, Spec
from envmill.models.terms import agree_on_budget, check_terms, hold_calls, read_replies, set_terms
from envmill.pipeline.calls import RunCalls
from envmill.pipeline.choice import find_choice, settle_choice
from envmill.pipeline.coordinating import agree_on_coordinator, open_coordinator
from envmill.pipeline.given import find_given
from envmill.pipeline.runner import Runner
from envmill.pipeline.version import claim_version
from envmill.recipes import RECIPES, check_recipe
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.context import RunContext
from envmill.stages.errands import ErrandPlans
from envmill.stages.gate_workers import GateWorkers
from envmill.verifiers.bounds import FindTruth
from schemas.choice import Past
from schemas.ledger import ModelCall
from schemas.run import RunConfig


@asynccontextmanager
async def open_walk(
    run: str,
    config: RunConfig,
    settings: Settings,
    answer: Author | None = None,
    find_truth: FindTruth | None = None,
) -> AsyncGenerator[Runner]:
    """Everything one process needs to work on a run. A run keeps the config it started with,
    whatever is asked later."""
    lake = Lake(open_store(settings.lake))
    check_identity(lake.store, settings.home)
    _check(run, config, settings, lake, answer)
    asked, (config, recipe, past) = config, _settle(run, config, lake)
    with closing(open_coordinator(settings)) as coordinator:
        agree_on_coordinator(run, lake, coordinator)
        calls = RunCalls(run, lake, settings.home / "journal" / run)
        allowance = agree_on_budget(run, asked, config, lake)
        by_order = config.playback == "by-order"
        playback = open_playback(
            _read_recording(config, settings, lake),
            calls.known.values() if by_order else (),
            by_order,
        )
        cast = open_cast(
            config,
            settings,
            _open_house(run, config, settings, lake, coordinator, answer, playback["author"]),
        )
        if config.provider == "replay":
            cast = RoleModels(cast.author, {**playback, **cast.others})
        terms = set_terms(run, config, allowance, settings, coordinator, lake, cast, calls.spent)
        _bind_batches(cast, terms, calls.known)
        calibrations = tuple(read_calibrations(settings.calibrations))
        keepers = GateWorkers(settings, find_truth)
        try:
            async with open_sandbox(settings) as sandbox:
                door = Gateway(
                    cast.author, calls.journal, calls.known, config.run_seed, cast.others, terms
                )
                context = RunContext(
                    run,
                    config,
                    settings,
                    recipe,
                    door,
                    sandbox,
                    keepers,
                    ErrandPlans(partial(calls.alone, coordinator)),
                    find_truth=find_truth,
                    calibrations=calibrations,
                    past=past,
                )
                yield Runner(context, lake, coordinator, calls)
        finally:
            await keepers.close()
            await cast.close()
            terms.close()
            await calls.close()
            if config.record:
                write_recording(
                    Path(config.record),
                    run,
                    read_replies(run, settings, lake).values(),
                    terms.redactor,
                    past,
                )


def _settle(run: str, config: RunConfig, lake: Lake) -> tuple[RunConfig, Recipe, Past]:
    """The config that the run started with, its recipe, and what it knew of earlier runs."""
    claim_version(run, lake)
    settled = RunConfig.read(lake.fix(run, "config", config.model_dump(mode="json")))
    note(lake, run, "started", settled.model_dump(mode="json"))
    recipe = RECIPES[settled.recipe](read_themes(), settled.whole)
    return settled, recipe, settle_choice(lake, run, settled, recipe).past


def _bind_batches(
    cast: RoleModels, terms: CallPolicy, known: Mapping[tuple[str, int], ModelCall]
) -> None:
    """What batches may spend, and what they need not ask."""
    for provider in {id(one): one for one in (cast.author, *cast.others.values())}.values():
        if isinstance(provider, Batch):
            provider.bind(terms.budget, lambda request, sample: (request, sample) in known)


@asynccontextmanager
async def open_judge(
    spec: str, settings: Settings, answer: Author | None = None
) -> AsyncGenerator[ModelSession]:
    """A judge outside of any run. Its replies are journalled in the home, so that an interrupted
    calibration pays for nothing twice."""
    async with open_role("judge", spec, settings, settings.home / "calibration", answer) as models:
        yield models


@asynccontextmanager
async def open_role(
    role: Literal["judge", "policy"],
    spec: str,
    settings: Settings,
    folder: Path,
    answer: Author | None = None,
) -> AsyncGenerator[ModelSession]:
    """A model in one role outside of any run. Its replies are journalled in `folder`: what was
    answered is not asked again."""
    config = RunConfig.model_validate({role: spec, "mistakes": 0.0})
    check_cast(config, settings)
    _check_author(config, settings, answer)
    if (provider := Spec.parse(spec).provider).startswith(BATCH) or provider == "replay":
        raise SettingsError(
            f"The {role} must answer at once, and {spec} does not: name a direct provider."
        )
    known = {(call.request, call.sample): call for call in read_calls(folder) if call.answers}
    cast = open_cast(
        config,
        settings,
        {"offline": lambda _: Offline(answer, config.mistakes, settings.author_url)},
    )
    journal = Journal(folder)
    try:
        yield Gateway(
            cast.author, journal, known, 0, cast.others, hold_calls(settings)
        ).open_session("calibrate", "cases")
    finally:
        await cast.close()
        await journal.close()


def _open_house(
    run: str,
    config: RunConfig,
    settings: Settings,
    lake: Lake,
    coordinator: Coordinator,
    answer: Author | None,
    playback: Provider,
) -> dict[str, Opener]:
    """Providers that need no vendor."""
    house: dict[str, Opener] = {
        "offline": lambda _: Offline(answer, config.mistakes, settings.author_url),
        "replay": lambda _: playback,
    }
    lease = partial(hold, coordinator, f"{run}/batches")
    batch: Opener = lambda spec: open_batch(spec, settings, lake.store, run, lease)  # noqa: E731
    return house | {f"{BATCH}{kind}": batch for kind in CARRIERS}


def _check(
    run: str, config: RunConfig, settings: Settings, lake: Lake, answer: Author | None
) -> None:
    """Before anything is fixed: a run that cannot start must not take its id along."""
    check_cast(config, settings)
    _check_author(config, settings, answer)
    check_terms(config, settings, lake)
    check_recipe(config)
    if config.given_by and find_choice(lake, run) is None:
        find_given(lake, config, RECIPES[config.recipe](read_themes(), config.whole))
    _check_recording(config, settings, lake)


def _check_author(config: RunConfig, settings: Settings, answer: Author | None) -> None:
    """Whether somebody plays the provider `offline`, where a role asks for it."""
    roles = [role for role, spec in read_specs(config).items() if spec.provider == "offline"]
    if roles and answer is None and not settings.author_url:
        raise SettingsError(
            f"The {roles[0]}'s provider is `offline`, and no embedded author is registered: name "
            "a model."
        )


def _check_recording(config: RunConfig, settings: Settings, lake: Lake) -> None:
    if (
        config.provider == "replay"
        and not is_file(config.recording)
        and config.recording not in lake.runs()
    ):
        raise SettingsError(
            f"There is no run {config.recording!r} to replay. Set `recording` to one of the runs "
            f"in {lake.url}, "
            "or to a file like kept/run.jsonl."
        )
    _read_recording(config, settings, lake)


def _read_recording(config: RunConfig, settings: Settings, lake: Lake) -> list[ModelCall]:
    """What is played back; nothing when nothing is."""
    if config.provider != "replay":
        return []
    if is_file(config.recording):
        return read_recording(Path(config.recording))
    return list(read_replies(config.recording, settings, lake).values())
