"""A recipe: how environments and scenarios are thought up. It fills hooks and never orders stages."""

from collections.abc import Mapping
from typing import Protocol

from envmill.drafting.mending import Mended
from envmill.drafting.repair import Repair
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from schemas.base import Json
from schemas.environment import Blueprint, Environment
from schemas.errand import Part
from schemas.prompts import ChecksReply, ProgramReply, ScenarioReply, TestsReply, ThemeReply
from schemas.run import RunConfig
from schemas.scenario import Draft, Polarity
from schemas.seed import Seed
from schemas.typed_prompts import Operator


class Recipe(Protocol):
    """The hooks the stages call.

    A hook that writes takes a `Repair`, empty for a first version, and passes `repair.tell()` to the account as the complaint that
    continues its conversation. A hook of several prompts, or several calls of one, asks again only for the parts that are blamed.
    """

    name: str
    prompts: Mapping[str, tuple[Prompt, ...]]
    """Step → prompts it asks; a changed prompt changes the step's fingerprint."""

    operators: tuple[Operator, ...]
    """In which ways requests are worded otherwise once they stand; none where they stay as they came."""

    def pick_seeds(self, config: RunConfig) -> list[Seed]:
        """What the run starts from; the same config always picks the same."""
        ...

    async def find_theme(self, text: str, account: Account) -> ThemeReply:
        """Text of a corpus → the environment it comes from, and how much that is worth."""
        ...

    def pick_texts(self, config: RunConfig) -> list[str]:
        """What themes are grown from, where the run is given no corpus; none where `pick_seeds` says what there is."""
        ...

    async def grow(self, text: str, account: Account) -> list[ThemeReply]:
        """One of these texts → themes that nobody named yet, each judged."""
        ...

    def make_seed(self, theme: ThemeReply, licence: str, source: str, config: RunConfig) -> Seed:
        """A theme that was found in a text, as what a run starts from."""
        ...

    async def think_up(self, seed: Seed, repair: Repair, account: Account, before: Blueprint | None = None) -> Blueprint:
        """Seed → blueprint; with the one before, its repair."""
        ...

    async def write_program(self, blueprint: Blueprint, before: ProgramReply | None, repair: Repair, account: Account) -> ProgramReply:
        """Blueprint → program; with the one before, its repair."""
        ...

    async def write_tests(
        self, environment: Environment, before: TestsReply | None, repair: Repair, account: Account, rows: Json = None
    ) -> TestsReply:
        """Environment → procedural tests, over the rows of its blueprint if it has any; with the ones before, their repair."""
        ...

    async def write_part(self, part: Part, blueprint: Blueprint, made: Mapping[Part, str], repair: Repair, account: Account) -> str:
        """A part of an errand's machine, with what was made of it so far; only blueprints that are errands are asked for parts."""
        ...

    async def debug(
        self,
        environment: Environment,
        program: ProgramReply,
        plan: TestsReply,
        red: Mapping[int, str],
        repair: Repair,
        account: Account,
    ) -> Mended | None:
        """Red tests, by their places, with how they ended → both with what is at fault mended; None where it is to be written anew."""
        ...

    async def pose(self, environment: Environment, number: int, polarity: Polarity, repair: Repair, account: Account) -> ScenarioReply:
        """Environment → one scenario of a polarity, not yet executed."""
        ...

    async def write_checks(self, environment: Environment, draft: Draft, repair: Repair, account: Account) -> ChecksReply:
        """Draft → a checklist as functions."""
        ...
