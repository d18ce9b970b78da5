"""A recipe: how environments and scenarios are thought up. It is a set of hooks; it never orders
stages and never inherits.

recipes/<name>.py ──make(themes, whole)──► Recipe(hook=…, hook=…) ◄── functions of its own, functions that recipes share, defaults from here
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

from envmill.base.errors import SettingsError
from envmill.gates.base import Finding
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import PlanErrands, plan_nothing
from envmill.recipes.drafting.mending import Mended
from schemas.base import Json
from schemas.choice import NO_PAST, Past
from schemas.dialogue import Repertoire
from schemas.environment import Blueprint, Environment
from schemas.errand import Part
from schemas.prompts import ChecksReply, ProgramReply, ScenarioReply, TestsReply, ThemeReply
from schemas.rollout import Rollout
from schemas.run import RecipeName, RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from schemas.typed_prompts import Operator

WHOLE = 24
"""Tools up to which a program comes in one reply: some 800 lines, as much as most models send at
once."""
PROMPTS = Path(__file__).parent / "prompts"
"""A folder for each recipe's own prompts; `shared` and `documents` hold those that several recipes
ask."""

Themes = Sequence[tuple[str, str]]
"""Names of known fields of work, each with what it is about."""


class PickSeeds(Protocol):
    """Config, and what earlier runs started from → seeds of this run. The same two always give the
    same seeds."""

    def __call__(self, config: RunConfig, past: Past = NO_PAST, /) -> list[Seed]:
        """Least-used themes first."""
        ...


class PickTexts(Protocol):
    """Config, and what earlier runs started from → texts that themes are grown from."""

    def __call__(self, config: RunConfig, past: Past = NO_PAST, /) -> list[str]:
        """None where `pick_seeds` says what there is."""
        ...


class MakeSeed(Protocol):
    """Theme, licence and source of what was found in a text → what a run starts from."""

    def __call__(
        self,
        theme: ThemeReply,
        licence: str,
        source: str,
        config: RunConfig,
        past: Past = NO_PAST,
        /,
    ) -> Seed:
        """Under a variation that no earlier run started from."""
        ...


class ThinkUp(Protocol):
    """Seed → blueprint; with the one before, its repair."""

    def __call__(
        self, seed: Seed, repair: Repair, models: ModelSession, before: Blueprint | None = None, /
    ) -> Awaitable[Blueprint]:
        """The blueprint, not yet checked."""
        ...


class WriteTests(Protocol):
    """Environment → procedural tests, over the rows of its blueprint if it has any; with the ones
    before, their repair."""

    def __call__(
        self,
        environment: Environment,
        before: TestsReply | None,
        repair: Repair,
        models: ModelSession,
        rows: Json = None,
        /,
    ) -> Awaitable[TestsReply]:
        """The tests, not yet run."""
        ...


Debug = Callable[
    [Environment, ProgramReply, TestsReply, Mapping[int, str], Repair, ModelSession],
    Awaitable[Mended | None],
]


def _refuse(told: str) -> Callable[..., Coroutine[Any, Any, NoReturn]]:
    """A default for a hook that most recipes need not fill."""

    async def refuse(*_: object) -> NoReturn:
        raise SettingsError(f"The recipe of this run {told}.")

    return refuse


_find_no_theme = _refuse("finds no themes in texts: leave `corpus` out")
_grow_nothing = _refuse("grows no themes: let its `pick_texts` pick no texts")
_write_no_program = _refuse("writes no programs: walk the blueprint with the recipe it came from")
_write_no_atoms = _refuse("writes no atoms: build the blueprint with the recipe it came from")
_write_no_tests = _refuse("writes no tests: walk the environment with the recipe it came from")
_pose_nothing = _refuse("poses no scenarios: walk the environment with the recipe it came from")
_write_no_checks = _refuse("writes no checks: build with `checks` derived")


async def _write_no_part(_part: Part, blueprint: Blueprint, *_: object) -> NoReturn:
    raise SettingsError(
        f"The recipe of this run makes no errands, and {blueprint.id} is one: use the recipe it came from."
    )


def _make_no_seed(*_: object) -> NoReturn:
    raise SettingsError("The recipe of this run makes no seeds of themes: leave `corpus` out.")


def _pick_no_texts(_config: RunConfig, _past: Past = NO_PAST) -> list[str]:
    return []


async def _sum_nothing(
    _plan: Blueprint, _failed: Sequence[Sequence[Complaint]], repair: Repair, _models: ModelSession
) -> Repair:
    return repair


async def _mend_nothing(*_: object) -> None:
    return None


def _keep_all(
    rollouts: Sequence[Rollout], _: Scenario
) -> tuple[list[Rollout], tuple[Finding, ...]]:
    return list(rollouts), ()


@dataclass(frozen=True)
class Recipe:
    """The hooks that stages call. All defaults stand here: a recipe names the hooks that it fills,
    and no other.

    A hook that writes takes a `Repair`, empty for a first version, and passes `repair.render()` to
    the model session as the complaint that
    continues its conversation. A hook of several prompts, or several calls of one, asks again only
    for the parts that are blamed.
    """

    name: RecipeName
    pick_seeds: PickSeeds
    """What the run starts from; the same config and past always give the same."""
    think_up: ThinkUp
    prompts: Mapping[str, tuple[Prompt, ...]] = field(default_factory=dict[str, tuple[Prompt, ...]])
    """Step → prompts it asks; a changed prompt changes the step's fingerprint."""
    operators: tuple[Operator, ...] = ()
    """In which ways requests are worded otherwise once they stand; none where they stay as they
    came."""
    tabled: bool = False
    """Whether its environments keep their state in tables, whose records a run may copy
    (`enlarge`)."""
    grows: bool = False
    """Whether the worlds of its scenarios are grown until enough tools succeed in them
    (`reach`)."""
    given: bool = False
    """Whether its environments ship with the factory, so that an earlier run is no copy."""

    find_theme: Callable[[str, ModelSession], Awaitable[ThemeReply]] = _find_no_theme
    """Text of a corpus → the environment it comes from, and how much that is worth."""
    pick_texts: PickTexts = _pick_no_texts
    """What themes are grown from, where the run is given no corpus; none where `pick_seeds` says
    what there is."""
    grow: Callable[[str, ModelSession], Awaitable[list[ThemeReply]]] = _grow_nothing
    """One of these texts → themes that nobody named yet, each judged."""
    make_seed: MakeSeed = _make_no_seed
    """Theme, licence and source of what was found in a text → what a run starts from."""

    write_program: Callable[
        [Blueprint, ProgramReply | None, Repair, ModelSession], Awaitable[ProgramReply]
    ] = _write_no_program
    """Blueprint → program; with the one before, its repair."""
    write_tests: WriteTests = _write_no_tests
    """Environment → procedural tests, over the rows of its blueprint if it has any; with the ones
    before, their repair."""
    debug: Debug = _mend_nothing
    """Red tests, by their places, with how they ended → both with what is at fault mended; None
    where it is to be written anew."""
    sum_errors: Callable[
        [Blueprint, Sequence[Sequence[Complaint]], Repair, ModelSession], Awaitable[Repair]
    ] = _sum_nothing
    """Complaints about each version of a program so far → its repair, with a summary of them where
    one is written."""
    write_part: Callable[
        [Part, Blueprint, Mapping[Part, str], Repair, ModelSession], Awaitable[str]
    ] = _write_no_part
    """A part of an errand's machine, with what was made of it so far; only blueprints that are
    errands are asked for parts."""

    write_atoms: Callable[
        [Environment, Repertoire | None, Repair, ModelSession], Awaitable[Repertoire]
    ] = _write_no_atoms
    """Environment of a dialogue → what its scenarios are composed of; with the one before, its repair."""

    plan_errands: PlanErrands = plan_nothing
    """Block of scenarios → a line for each; none where the recipe knows their errands otherwise."""
    pose: Callable[[ScenarioBrief, Repair, ModelSession], Awaitable[ScenarioReply]] = _pose_nothing
    """Brief → the scenario, not yet executed."""
    samplers: tuple[str, ...] = ()
    """Samplers of the chains that authors of scenarios are offered, in turn; `walk` for the walks
    of an outline. None where authors choose
    their paths."""
    write_checks: Callable[[Environment, Draft, Repair, ModelSession], Awaitable[ChecksReply]] = (
        _write_no_checks
    )
    """Draft → a checklist as functions."""
    sift: Callable[[Sequence[Rollout], Scenario], tuple[list[Rollout], tuple[Finding, ...]]] = (
        _keep_all
    )
    """Rollouts of the teacher → those that trajectories are chosen from, and a finding for each
    step that sifted them."""

    @property
    def poses(self) -> bool:
        """Whether an author writes its scenarios; what a kind composes comes with its
        environment."""
        return self.pose is not _pose_nothing

    @property
    def plans(self) -> bool:
        """Whether its scenarios are planned together; what a kind composes, and errands of
        machines, are not."""
        return self.plan_errands is not plan_nothing
