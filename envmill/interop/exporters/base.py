"""What every exporter works with: the cargo that may leave, the parcel an exporter makes of it, and
the folder the parcel becomes.

Cargo ──exporter──► Parcel (files as bytes) ──write_parcel──► folder, all at once ──► Bundle
"""

import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import orjson

from envmill.agents.turn_log import LoggedTurn
from envmill.interop.bundles.envrun.layout import RECORDINGS
from envmill.interop.exporters.contents import (
    Content,
    Contents,
    Pool,
    StagedFile,
    hash_content,
    is_content,
    write_content,
)
from envmill.interop.exporters.licence_terms import TermsFile
from envmill.interop.exporters.rows import SPLITS as SPLITS
from envmill.interop.exporters.sources import RowSource, Sources, count_sources
from envmill.interop.tokens.rows import TokenSheet
from schemas.base import Json, digest
from schemas.environment import Environment, Test
from schemas.pair import Pair
from schemas.rollout import Bundle, Trajectory
from schemas.scenario import Scenario, Split
from schemas.stored import list_ids, list_owners

TRANSFER = "not measured"
"""What is known about models trained on it."""


@dataclass(frozen=True)
class StepCount:
    """What became of everything that entered one step, and what that took."""

    step: str
    kept: int
    dropped: int
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reason → how many were dropped for it."""
    tokens: int = 0
    cost: float | None = 0.0
    """Null when a price is unknown."""


@dataclass(frozen=True)
class Band:
    """Select scenarios by the share of attempts that a policy passes."""

    policy: str
    least: float
    most: float

    def describe(self) -> dict[str, Json]:
        return {"policy": self.policy, "pass_rate": [self.least, self.most]}


@dataclass(frozen=True, slots=True)
class ScoredAttempt:
    """A stored attempt at a scenario, as far as its reward goes. A run has some hundred thousand."""

    id: str
    """Rollout."""
    scenario: str
    environment: str
    form: str
    policy: str
    reward: float | None
    """Null where it counts nowhere, for the user's fault or an outage."""
    verifier_version: str = ""
    """Hash of the code that judged it; empty where that was not written down."""
    group: str = ""
    """Why it was made."""
    attempt: int = 0
    checkpoint: str = ""
    """Model that acted, as its server calls it; empty for a scripted policy."""
    termination: str = ""
    """Why it ended."""
    mask: str = ""
    """Why it counts nowhere; empty where it counts."""
    outcome: str = ""
    """pass, fail or error, as the verifier said."""
    turn_reward: float = 0.0
    """What of the reward was paid for single turns; 0 unless that was asked for."""


@dataclass(frozen=True)
class AttemptTranscript:
    """What was said and done in a stored attempt: for rows of attempts, which are written only when
    asked for."""

    id: str
    """Rollout."""
    scenario: str
    environment: str
    policy: str
    form: str
    split: Split
    licence: str
    messages: Sequence[Json]
    loss: Sequence[bool]
    """Per message: whether the policy said it, and could have been read."""
    sampled: Sequence[Json] = ()
    """Per message: its tokens as they were sampled; empty without any."""
    turns: Sequence[LoggedTurn] | None = None
    """What each turn came to; None where that is not known."""
    turns_unknown: str = ""
    """Why."""


@dataclass(frozen=True)
class ContaminationReport:
    """What the content was compared with, and how much such a comparison sees."""

    sets: Mapping[str, int]
    """Benchmark and version → its texts."""
    power: Mapping[str, float]
    """Kind of planted copy → share found, in the set where the fewest are found."""
    near: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Environment → domains of benchmarks that share a fifth of its names or of its policy."""

    def describe(self, environments: Collection[str]) -> Json:
        near = {one: list(self.near[one]) for one in sorted(environments) if self.near.get(one)}
        return {"compared_with": dict(self.sets), "power": dict(self.power), "near_domains": near}


@dataclass(frozen=True)
class ExportSet:
    """What may leave: everything in it has a known licence, and was asked for."""

    environments: Sequence[Environment] = ()
    tests: Sequence[Test] = ()
    scenarios: Sequence[Scenario] = ()
    trajectories: Sequence[Trajectory] = ()
    pairs: Sequence[Pair] = ()
    attempts: tuple[ScoredAttempt, ...] = ()
    """Probe attempts, for advantages."""
    transcripts: Sequence[AttemptTranscript] = ()
    """What was said and done in these attempts; empty where rows of attempts were not asked for."""
    sampled: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    """Rollout of a pair → per message, its tokens as they were sampled; those without any are
    missing."""
    judged_by: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rollout that a trajectory or a pair was made of → hash of the code that judged it."""
    counts: tuple[StepCount, ...] = ()
    """The way here, for the card."""
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long a rollout was allowed to be."""

    suspected: frozenset[str] = frozenset()
    """Scenarios of tier `suspected`: a suspicion about them, or about their environment, was
    decided by no judge."""
    partial: frozenset[str] = frozenset()
    """Scenarios whose verifier may pay for parts of the job."""
    turn_weight: float = 0.0
    """What a turn is paid that meets all goals, where verifiers may pay for parts; 0 unless that
    was asked for."""
    contamination: ContaminationReport | None = None
    """What it was compared with; None where nothing was protected."""
    band: Band | None = None
    """Pass rates that scenarios were selected by; None where they were not."""
    sources: Sources = field(default_factory=dict[str, tuple[RowSource, ...]])
    """What each of them rests on."""
    terms: TermsFile | None = None
    """Terms that it was held to; None where nobody gave any."""
    held_back: Mapping[str, int] = field(default_factory=dict[str, int])
    """Why rows were left out under these terms → how many."""
    tokens: TokenSheet | None = None
    """Token ids of its rows, for the tokenizer that was named; None where none was."""

    def describe_tiers(self, scenarios: Collection[str] | None = None) -> Json:
        """How many of some scenarios (of all, when none are named) are clean, which are suspected,
        and by what they were selected."""
        ids = {*self.homes} if scenarios is None else set(scenarios)
        selected = {"selected": self.band.describe()} if self.band else {}
        return {
            "clean": len(ids - self.suspected),
            "suspected": sorted(ids & self.suspected),
        } | selected

    def describe_contamination(self, scenarios: Collection[str] | None = None) -> Json:
        """What the scenarios (all, when none are named) and their environments were compared with;
        null where nothing was protected."""
        named = self.homes if scenarios is None else scenarios
        homes = {self.homes[one] for one in named if one in self.homes}
        return self.contamination.describe(homes) if self.contamination else None

    def describe_sources(self, ids: Collection[str]) -> Json:
        """Whose work rows rest on, how many on each, and under which terms that is."""
        found = count_sources(ids, self.sources)
        if self.terms is None:
            return {"counted": [one for one, _ in found], "terms": None}
        counted = [one | {"terms": self.terms.name(source)} for one, source in found]
        return {"counted": counted, "terms": self.terms.mark, "held_back": dict(self.held_back)}

    def describe_rewards(self) -> Json:
        """The entry of a manifest about rewards of attempts."""
        return {
            "partial": sorted(self.partial & self.splits.keys()),
            "others": "binary",
            "turn_reward": self.turn_weight,
        }

    def describe_tokens(self) -> dict[str, Json]:
        """The entry of a manifest about token ids; none without a tokenizer."""
        return {} if self.tokens is None else {"tokens": self.tokens.describe()}

    @cached_property
    def splits(self) -> dict[str, Split]:
        """Scenario id → split."""
        return {one.id: one.split for one in self.scenarios}

    @cached_property
    def homes(self) -> dict[str, str]:
        """Scenario id → environment."""
        known = list_owners(self.scenarios, "environment")
        return {name: known[name] for name in list_ids(self.scenarios)}


@dataclass(frozen=True)
class OutputFolder:
    """One folder yet to be written."""

    exporter: str
    name: str
    """Folder, relative to the one that all of an export lies in."""
    files: Mapping[str, bytes]
    """Path → content: what the parcel is, hashed."""
    rows: int
    environments: tuple[str, ...]
    scenarios: tuple[str, ...]
    staged: Mapping[str, StagedFile] = field(default_factory=dict[str, StagedFile])
    """Path → content that is too large for memory; as much a part of it."""
    beside: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Papers that also say what making it took, which differs between equal runs: they are no part
    of what it is."""

    @property
    def content_hash(self) -> str:
        """Hash over the files' bytes."""
        every = {**self.files, **self.staged}
        return digest({name: hash_content(content) for name, content in every.items()})


def hold_folders(folders: Iterable[OutputFolder]) -> list[OutputFolder]:
    """All folders; contents go to disk where together they are too many for memory."""
    pool, held = Pool(), list[OutputFolder]()
    for folder in folders:
        contents = Contents(pool)
        for name, content in folder.files.items():
            contents.add(name, content)
        held.append(
            replace(folder, files=contents.files, staged={**folder.staged, **contents.staged})
        )
    return held


Exporter: TypeAlias = Callable[[ExportSet], Iterable[OutputFolder]]


def make_canary(names: Sequence[str]) -> str:
    """A line that no text holds by chance, the same for the same content: whoever trains on a crawl
    can find it and leave it out."""
    guid = uuid.uuid5(uuid.NAMESPACE_URL, f"envmill:{digest(sorted(names))}")
    return (
        f"EnvMill canary {guid}: made for training agents in its environment. Keep it out of "
        "other corpora, and its test split out of all."
    )


def render_json(value: Json) -> bytes:
    """For people and diffs: indented, keys sorted."""
    return orjson.dumps(
        value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def render_lines(rows: Iterable[Json]) -> bytes:
    """JSON Lines."""
    return b"".join(stream_lines(rows))


def stream_lines(rows: Iterable[Json]) -> Iterator[bytes]:
    """JSON Lines, one after the other."""
    return (orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def write_parcel(parcel: OutputFolder, folder: Path, home: str) -> Bundle:
    """The parcel's folder below `folder`, and its record; `home` is how that folder is called among
    all bundles."""
    _replace_folder(folder / parcel.name, {**parcel.files, **parcel.staged, **parcel.beside})
    return Bundle(
        exporter=parcel.exporter,
        content_hash=parcel.content_hash,
        path=f"{home}/{parcel.name}",
        files={
            name: len(content)
            for name, content in sorted({**parcel.files, **parcel.staged}.items())
        },
        rows=parcel.rows,
        environments=list(parcel.environments),
        scenarios=list(parcel.scenarios),
    )


def write_parcels(parcels: Iterable[OutputFolder], folder: Path, home: str) -> list[Bundle]:
    """All folders of one export, each written as it is made, and nothing else: what an earlier or
    killed export left in the folder goes."""
    bundles, wanted = list[Bundle](), set[Path]()
    for parcel in parcels:
        bundles.append(write_parcel(parcel, folder, home))
        wanted.add(folder / parcel.name)
    for path in sorted(path for depth in ("*", "*/*") for path in folder.glob(depth)):
        within = any(one.is_relative_to(path) or path.is_relative_to(one) for one in wanted)
        if path.is_dir() and not within:
            shutil.rmtree(path)
    return bundles


def _replace_folder(target: Path, files: Mapping[str, Content]) -> None:
    """The files appear all at once; where another content stood, for an instant there is none. The
    same content is left alone."""
    if _holds(target, files):
        return
    part = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
    for folder in {(part / name).parent for name in files}:
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_content(content, part / name)
    if target.exists():
        target.rename(old := part.with_name(f"{part.name}-old"))
        if (old / RECORDINGS).exists():
            (old / RECORDINGS).rename(part / RECORDINGS)
        part.rename(target)
        shutil.rmtree(old)
    else:
        part.rename(target)


def _holds(target: Path, files: Mapping[str, Content]) -> bool:
    if not target.is_dir():
        return False
    every = {path.relative_to(target): path for path in target.rglob("*") if path.is_file()}
    # What users make there while they play it is no other content.
    found = {
        str(inside): path
        for inside, path in every.items()
        if inside.parts[0] != RECORDINGS and "__pycache__" not in inside.parts
    }
    return found.keys() == files.keys() and all(
        is_content(found[name], content) for name, content in files.items()
    )
