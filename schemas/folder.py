"""The files of a bundle folder: what each JSON file in it may say."""

from typing import Literal

from pydantic import Field

from schemas.base import Contract, Json
from schemas.database import Policy, Touch
from schemas.environment import Call, Effect, Kind
from schemas.origin import Origin
from schemas.scenario import Bounds, Polarity, Split, UserContract

NOWHERE = Origin(recipe="", seed="", provider="", model="", prompt="", prompt_hash="")
"""Provenance of what nobody told us about."""


class Manifest(Contract):
    """`bundle.json`: what the environment is."""

    bundle: Literal[1]
    """Version of the layout."""
    kind: Kind
    """Kind of environment."""
    name: str = Field(min_length=1)
    """Title for people."""
    summary: str = ""
    """What this world is."""
    entry: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """`module:Class` under `program/` that a session constructs."""
    effects: dict[str, Effect] = {}
    """Tool → what it does; needed where there is no `tools.json`, and the interface is derived from
    the code."""
    touches: dict[str, Touch] = {}
    """Tool → tables it may read and write; needed beside `effects` where the kind is `sql`."""
    policies: dict[str, Policy | float] = {}
    """`table.column` → its policy, or a tolerance, where the kind is `sql`. Others are hard; a key
    that SQLite counts is exempt."""
    rules: list[str] = []
    """Rules the tools enforce."""
    policy_document: str = ""
    """Policy document for the agent."""
    tells_time: bool = True
    """Whether the folder's own runner tells an agent what day and time it is."""
    theme: str | None = None
    """Working-life domain; the name, in lower case, when left out."""
    text: str | None = None
    """Brief behind it; the summary when left out."""
    number: int = 0
    """Which variation of the theme it is."""
    blueprint: str = ""
    """Blueprint id, of an environment that was made here."""
    licence: str = "unknown"
    """Licence; unknown is not exported by default."""
    origin: Origin = NOWHERE
    """Provenance."""


class FolderTest(Contract):
    """One entry of `tests.json`."""

    name: str
    """What is tried, in words."""
    initial_state: dict[str, Json] | str
    """State the session starts from, or the name of one under `states/`."""
    setup: list[Call] = []
    """Calls made first; they must succeed."""
    call: Call
    """The call under test."""
    expect: Literal["success", "rejection"]
    """Success, or an anticipated rejection."""
    reply: Json = None
    """Part of the reply to a success: an object's values under their names, and for each entry of a
    list one that fits it."""
    after: dict[str, dict[str, Json]] = {}
    """Part of the state after the call: collection → key → values. `*` is a row that the test made,
    null one that is not there."""
    origin: Origin | None = None
    """Provenance; the environment's when left out."""


class FolderScenario(Contract):
    """`scenario.json` of one folder under `scenarios/`."""

    number: int | None = Field(default=None, ge=0)
    """Which scenario of its environment; its place in the order of names when left out."""
    request: str = Field(min_length=1)
    """What the agent is asked to do."""
    initial_state: dict[str, Json] | str
    """State every session starts from, or the name of one under `states/`."""
    user: UserContract | None = None
    """Contract of the simulated user; opens with the request when left out."""
    oracle: list[Call] = []
    """Reference path; empty when nobody knows one."""
    say: str = ""
    """Last words of the reference path."""
    polarity: Polarity = "achieve"
    """What success means here."""
    clock: str = ""
    """Virtual time at the start, ISO 8601 UTC; a Monday morning when left out."""
    seed: int = 0
    """Seed of the session's ids and randomness."""
    features: dict[str, Json] = {}
    """Difficulty features, and what the scenario was called where it comes from."""
    split: Split = "train"
    """Split."""
    draft: str = ""
    """Draft id, of a scenario that was made here."""
    oracle_reward: float = 0.0
    """Reward of the oracle when it was measured."""
    do_nothing_reward: float = 0.0
    """Reward of doing nothing when it was measured."""
    bounds: Bounds | None = None
    """Error bounds."""
    origin: Origin | None = None
    """Provenance; the environment's when left out."""
