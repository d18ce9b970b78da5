"""What all exporters share: the export set that may be exported, the output that an exporter makes from
it, and the folder that the output becomes.

ExportSet ──exporter──► OutputFolder (files as bytes) ──write_output──► folder, all at once ──► Bundle
"""

import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

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
"""What is known about models trained on the export."""


@dataclass(frozen=True)
class StepCount:
    """Counts and costs of one step."""

    step: str
    kept: int
    dropped: int
    reasons: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reason → number of candidates dropped for it."""
    tokens: int = 0
    cost: float | None = 0.0
    """Null if a price is unknown."""


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
    """A stored attempt at a scenario, reduced to what its reward needs: a run has some hundred
    thousand."""

    id: str
    """Rollout."""
    scenario: str
    environment: str
    form: str
    policy: str
    reward: float | None
    """Null if it is masked because of a user's fault or an outage."""
    verifier_version: str = ""
    """Hash of the code that judged it; empty if it was not recorded."""
    group: str = ""
    """Why it was made."""
    attempt: int = 0
    checkpoint: str = ""
    """Model that acted, by its server's name for it; empty for a scripted policy."""
    termination: str = ""
    """Why it ended."""
    mask: str = ""
    """Why it is masked; empty if it is valid."""
    outcome: str = ""
    """`pass`, `fail` or `error`."""
    turn_reward: float = 0.0
    """Part of the reward for single turns; 0 unless `--turn-reward` asked for it."""


@dataclass(frozen=True)
class AttemptTranscript:
    """Transcript of a stored attempt, for rows of attempts, which are written only on request."""

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
    """For each message, whether the policy wrote it and it could be parsed."""
    sampled: Sequence[Json] = ()
    """For each message, its tokens as they were sampled; empty without any."""
    turns: Sequence[LoggedTurn] | None = None
    """Log of each turn; None if it is unknown."""
    turns_unknown: str = ""
    """Why the log is unknown."""


@dataclass(frozen=True)
class ContaminationReport:
    """Benchmarks that the content was compared with, and how many copies such a comparison
    finds."""

    sets: Mapping[str, int]
    """Benchmark and version → its texts."""
    power: Mapping[str, float]
    """Kind of planted copy → share found, in the benchmark where the fewest are found."""
    near: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Environment → domains of benchmarks that share a fifth of its names or of its policy
    document."""

    def describe(self, environments: Collection[str]) -> Json:
        near = {one: list(self.near[one]) for one in sorted(environments) if self.near.get(one)}
        return {"compared_with": dict(self.sets), "power": dict(self.power), "near_domains": near}


@dataclass(frozen=True)
class ExportSet:
    """What may be exported: all of it has a known licence and was asked for."""

    environments: Sequence[Environment] = ()
    tests: Sequence[Test] = ()
    scenarios: Sequence[Scenario] = ()
    trajectories: Sequence[Trajectory] = ()
    pairs: Sequence[Pair] = ()
    attempts: tuple[ScoredAttempt, ...] = ()
    """Probe attempts, for advantages."""
    transcripts: Sequence[AttemptTranscript] = ()
    """Transcripts of these attempts; empty if rows of attempts were not asked for."""
    sampled: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    """Rollout of a pair → for each message, its tokens as they were sampled. Rollouts without
    tokens are missing."""
    judged_by: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rollout of a trajectory or pair → hash of the code that judged it."""
    counts: tuple[StepCount, ...] = ()
    """Counts of earlier steps, for the card."""
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    """Limits of a rollout."""

    suspected: frozenset[str] = frozenset()
    """Scenarios of tier `suspected`: no judge decided a suspicion about them or their
    environment."""
    partial: frozenset[str] = frozenset()
    """Scenarios whose verifier may pay for parts of the job."""
    turn_weight: float = 0.0
    """Reward of a turn that meets all goals, where verifiers may pay for parts; 0 unless it was
    asked for."""
    contamination: ContaminationReport | None = None
    """Result of the comparison with benchmarks; None if nothing was protected."""
    band: Band | None = None
    """Pass rates by which scenarios were selected; None if they were not."""
    sources: Sources = field(default_factory=dict[str, tuple[RowSource, ...]])
    """Sources of each row."""
    terms: TermsFile | None = None
    """Terms applied to the export; None without a file of terms."""
    held_back: Mapping[str, int] = field(default_factory=dict[str, int])
    """Reason under these terms → number of rows left out."""
    tokens: TokenSheet | None = None
    """Token ids of the rows, for the given tokenizer; None without one."""

    def describe_tiers(self, scenarios: Collection[str] | None = None) -> Json:
        """How many scenarios are clean, which are suspected, and how they were selected. Without
        `scenarios`, all are counted."""
        ids = {*self.homes} if scenarios is None else set(scenarios)
        selected = {"selected": self.band.describe()} if self.band else {}
        return {
            "clean": len(ids - self.suspected),
            "suspected": sorted(ids & self.suspected),
        } | selected

    def describe_contamination(self, scenarios: Collection[str] | None = None) -> Json:
        """Benchmarks that the scenarios and their environments were compared with; null if nothing
        was protected. Without `scenarios`, all are meant."""
        named = self.homes if scenarios is None else scenarios
        homes = {self.homes[one] for one in named if one in self.homes}
        return self.contamination.describe(homes) if self.contamination else None

    def describe_sources(self, ids: Collection[str]) -> Json:
        """Sources of the rows, the number of rows of each, and the terms that apply to it."""
        found = count_sources(ids, self.sources)
        if self.terms is None:
            return {"counted": [one for one, _ in found], "terms": None}
        counted = [one | {"terms": self.terms.name(source)} for one, source in found]
        return {"counted": counted, "terms": self.terms.mark, "held_back": dict(self.held_back)}

    def describe_rewards(self) -> Json:
        """The manifest's entry about rewards of attempts."""
        return {
            "partial": sorted(self.partial & self.splits.keys()),
            "others": "binary",
            "turn_reward": self.turn_weight,
        }

    def describe_tokens(self) -> dict[str, Json]:
        """The manifest's entry about token ids; none without a tokenizer."""
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
    """One folder that is to be written."""

    exporter: str
    name: str
    """Path of the folder, relative to the export's folder."""
    files: Mapping[str, bytes]
    """Path → content. The output's hash is over these files."""
    rows: int
    environments: tuple[str, ...]
    scenarios: tuple[str, ...]
    staged: Mapping[str, StagedFile] = field(default_factory=dict[str, StagedFile])
    """Path → content that is too large for memory; part of the hash, too."""
    beside: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Files that also say what the run spent. That differs between equal runs, so they are not part
    of the hash."""

    @property
    def content_hash(self) -> str:
        """Hash over the files' bytes."""
        every = {**self.files, **self.staged}
        return digest({name: hash_content(content) for name, content in every.items()})


def hold_folders(folders: Iterable[OutputFolder]) -> list[OutputFolder]:
    """All folders. Contents that together are too large for memory go to disk."""
    pool, held = Pool(), list[OutputFolder]()
    for folder in folders:
        contents = Contents(pool)
        for name, content in folder.files.items():
            contents.add(name, content)
        held.append(
            replace(folder, files=contents.files, staged={**folder.staged, **contents.staged})
        )
    return held


@dataclass(frozen=True)
class Exporter:
    """A format that trainers or people read, and what else must be known of it."""

    name: str
    make: Callable[[ExportSet], Iterable[OutputFolder]]
    """Its folders; none where it has nothing to say of the export set."""
    rows: tuple[str, ...] = ("scenarios",)
    """Tables that its rows come from: the recall of such a row names its folders."""
    teaches: bool = False
    """Whether its rows are to be imitated: scripted trajectories are left out of them."""
    rewards: bool = False
    """Whether it writes rewards of stored attempts, which must be of one version of the judging
    code."""

    def __call__(self, export_set: ExportSet) -> Iterable[OutputFolder]:
        return self.make(export_set)


def make_canary(names: Sequence[str]) -> str:
    """A line with an id that is the same for the same content and occurs in no other text. Who
    trains on a crawl can find it and leave the content out."""
    guid = uuid.uuid5(uuid.NAMESPACE_URL, f"envmill:{digest(sorted(names))}")
    return (
        f"EnvMill canary {guid}: made for training agents in its environment. Keep it out of "
        "other corpora, and its test split out of all."
    )


def render_json(value: Json) -> bytes:
    """JSON for people and diffs: indented, with sorted keys."""
    return orjson.dumps(
        value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def render_lines(rows: Iterable[Json]) -> bytes:
    """JSON Lines."""
    return b"".join(stream_lines(rows))


def stream_lines(rows: Iterable[Json]) -> Iterator[bytes]:
    """JSON Lines as a stream."""
    return (orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def write_output(output: OutputFolder, folder: Path, home: str) -> Bundle:
    """Write the output's folder below `folder`; returns its record. `home` is the folder's name
    among all bundles."""
    _replace_folder(folder / output.name, {**output.files, **output.staged, **output.beside})
    return Bundle(
        exporter=output.exporter,
        content_hash=output.content_hash,
        path=f"{home}/{output.name}",
        files={
            name: len(content)
            for name, content in sorted({**output.files, **output.staged}.items())
        },
        rows=output.rows,
        environments=list(output.environments),
        scenarios=list(output.scenarios),
    )


def write_outputs(outputs: Iterable[OutputFolder], folder: Path, home: str) -> list[Bundle]:
    """Write all folders of one export, each as it is made. Folders that an earlier or killed export
    left are removed."""
    bundles, wanted = list[Bundle](), set[Path]()
    for output in outputs:
        bundles.append(write_output(output, folder, home))
        wanted.add(folder / output.name)
    for path in sorted(path for depth in ("*", "*/*") for path in folder.glob(depth)):
        within = any(one.is_relative_to(path) or path.is_relative_to(one) for one in wanted)
        if path.is_dir() and not within:
            shutil.rmtree(path)
    return bundles


def _replace_folder(target: Path, files: Mapping[str, Content]) -> None:
    """The files appear all at once. If other content was there, the folder is missing for an
    instant. A folder with the same content is not changed."""
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
