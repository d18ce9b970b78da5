"""Walking the line: ask the lake what is lacking, work on it, save it. Prefect decorates this;
tests and benchmarks call it bare.

plan(step)          ─► buckets with something lacking
work(step, bucket)  ─► lease ─► ask again ─► subjects ─► lease confirmed ─► one published batch
conclude(step)      ─► batches of model calls handed in ─► Pending, when subjects wait for one
"""

import asyncio
import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from envmill.errors import (
    BadReply,
    BudgetReached,
    BuildError,
    CoordinationError,
    EnvMillError,
    KeyRefused,
    LakeError,
    Pending,
    SettingsError,
    StepFailed,
)
from envmill.gates.base import Finding, merge_findings
from envmill.lake.arrow import Stamp
from envmill.lake.attempts import PATIENCE
from envmill.lake.coordination import Coordinator, HeldLease, hold
from envmill.lake.lake import Fingerprint, Lake, group_rows
from envmill.models.base import Spent
from envmill.models.handing import describe_pending, hand_in, outlast
from envmill.pipeline.calls import RunCalls
from envmill.pipeline.choice import is_mined
from envmill.pipeline.given import HandedLap
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import MINE, STEPS, PipelineStep
from envmill.recipes.base import Recipe
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.passing import observe
from envmill.stages.review import Locks, find_rejected
from envmill.version import __version__
from schemas.base import Record, digest
from schemas.ledger import Attrition, Evidence, Exit
from schemas.run import RunConfig

_BATCH, _MOST_BUCKETS = 16, 40

_DROPS: dict[type[EnvMillError], str] = {BadReply: "bad_reply", BuildError: "does_not_build"}
"""Errors that say something about the candidate; all others say something about us."""

_STOPS = (LakeError, CoordinationError, BudgetReached, KeyRefused, Pending)
"""Errors that end the work of a run, or put it off: they say nothing about the candidate, which stays as if it had never been looked at."""


@dataclass(frozen=True)
class StepOutcome:
    """One subject after its step."""

    subject: Subject[object]
    exit: Exit
    reason: str
    detail: str
    result: Result
    spent: Spent
    seconds: float


class Runner:
    """One process's walk over one run."""

    def __init__(
        self, context: RunContext, lake: Lake, coordinator: Coordinator, calls: RunCalls
    ) -> None:
        self.context, self.lake, self.coordinator, self._calls = context, lake, coordinator, calls
        self.line: tuple[PipelineStep, ...] = (
            (MINE, *STEPS) if is_mined(context.config, context.recipe) else STEPS
        )
        """The steps of this run, in order."""
        self.marks = mark_steps(context.config, context.recipe, self.line)
        self._upstream = StepInputs(lake, context.run, self.marks, context.config, context.recipe)
        self._entered: dict[str, Sequence[Subject[object]]] = {}
        self._decided: dict[str, Mapping[str, Finding]] = {}
        given = self._upstream.given
        self._handed = HandedLap(lake, given) if given is not None else None
        self._finished: set[str] = set()
        self._waiting: Counter[str] = Counter()

    async def plan(self, step: PipelineStep) -> list[int]:
        """Buckets that lack an outcome. Their number is fixed when the step first starts."""
        self._require_finished(step)
        subjects = self._enter(step)
        lacking = self._lacking(step, subjects)
        buckets = self._buckets(step, len(subjects))
        return sorted({bucket_of(subject.id, buckets) for subject in lacking})

    async def work(self, step: PipelineStep, bucket: int) -> int:
        """Do what a bucket lacks, save all of it, and only then fail if items ended in error."""
        async with (
            hold(self.coordinator, f"{self.context.run}/{step.name}-{bucket:02d}") as lease,
            self._calls.shared(lease),
        ):
            subjects = self._entered.get(step.name) or self._enter(step)
            buckets = self._buckets(step, len(subjects))
            lacking = [
                one for one in self._lacking(step, subjects) if bucket_of(one.id, buckets) == bucket
            ]
            if not lacking:
                return 0
            ended = await asyncio.gather(
                *(self._process(step, subject) for subject in lacking), return_exceptions=True
            )
            done = [one for one in ended if isinstance(one, StepOutcome)]
            self._waiting[step.name] += sum(isinstance(one, Pending) for one in ended)
            await self._save(step, bucket, done, lease)
        _raise_errors(
            step,
            done,
            [
                one
                for one in ended
                if isinstance(one, BaseException) and not isinstance(one, Pending)
            ],
        )
        return len(done)

    async def conclude(self, step: PipelineStep) -> Pending | None:
        """Hand in the batches that the step's subjects asked for; what the step waits for, if
        anything."""
        door = self.context.door
        underway = await hand_in([door.provider, *door.others.values()])
        items = self._waiting.pop(step.name, 0)
        return describe_pending(step.name, items, underway, time.time()) if items else None

    async def walk(self, steps: Sequence[PipelineStep] = ()) -> None:
        """The line, bare, or some of its steps."""
        for step in steps or self.line:
            ended = await asyncio.gather(
                *(self.work(step, bucket) for bucket in await self.plan(step)),
                return_exceptions=True,
            )
            pending, failed = (
                await self.conclude(step),
                [one for one in ended if isinstance(one, BaseException)],
            )
            if waits := outlast(pending, failed):
                raise waits
            if failed:
                raise failed[0]

    def _require_finished(self, step: PipelineStep) -> None:
        """A step reads all that the steps before it made; half of it would decide duplicates and
        buckets wrongly."""
        names = [one.name for one in self.line]
        if step.name not in names:
            raise SettingsError(
                f"Run {self.context.run} has no step {step.name}: it was given no corpus and its "
                "recipe grows no themes. "
                f"Its steps begin with {self.line[0].name}."
            )
        for earlier in self.line[: names.index(step.name)]:
            if earlier.name in self._finished:
                continue
            if lacking := self._lacking(earlier, earlier.enter(self._upstream)):
                raise StepFailed(
                    f"{step.name} cannot start: {earlier.name} still lacks {len(lacking)} items, "
                    f"{lacking[0].id} among them. Run that step first.",
                    step=earlier.name,
                    items=[one.id for one in lacking],
                )
            self._finished.add(earlier.name)

    def _enter(self, step: PipelineStep) -> Sequence[Subject[object]]:
        """Read what the steps before left; they are finished, so this is read once."""
        subjects = self._entered[step.name] = step.enter(self._upstream)
        decide = None if self._is_handed(step) else step.decide
        decided: Mapping[str, Finding] = decide(subjects, self.context) if decide else {}
        rejected = (
            find_rejected(self.lake, [one.id for one in subjects]) if step.stage == "filter" else {}
        )
        self._decided[step.name] = {**decided, **rejected}
        if step.stage in ("generate", "build"):
            self.context = replace(self.context, locks=Locks(self.lake))
        return subjects

    def _lacking(
        self, step: PipelineStep, subjects: Sequence[Subject[object]]
    ) -> list[Subject[object]]:
        return list_lacking(self.lake, self.context.run, self.marks[step.name], subjects)

    def _buckets(self, step: PipelineStep, subjects: int) -> int:
        wanted = max(1, min(_MOST_BUCKETS, math.ceil(subjects / _BATCH)))
        return int(self.lake.fix(self.context.run, step.name, {"buckets": wanted})["buckets"])

    async def _process(self, step: PipelineStep, subject: Subject[object]) -> StepOutcome:
        models, began = self.context.door.open_session(step.name, subject.id), time.monotonic()
        decided = self._decided[step.name].get(subject.id)
        if decided is not None:
            (decided,) = self._let_pass(step, (decided,))

        def end(exit: Exit, reason: str, detail: str, result: Result) -> StepOutcome:
            return StepOutcome(
                subject, exit, reason, detail, result, models.spent, time.monotonic() - began
            )

        if decided is not None and decided.outcome == "dropped":
            return end("dropped", decided.reason, decided.detail, Result(findings=(decided,)))
        try:
            if self._handed is not None and self._is_handed(step):
                result = self._handed.hand_over(step.name, subject)
            else:
                result = await step.work(subject, self.context, models)
        except _STOPS:
            raise
        except EnvMillError as error:
            exit: Exit = "dropped" if type(error) in _DROPS else "error"
            return end(
                exit, _DROPS.get(type(error), type(error).__name__.lower()), error.message, Result()
            )
        except Exception as error:  # noqa: BLE001
            # one item's bug becomes a row, and the step fails with it
            return end("error", "bug", f"{type(error).__name__}: {error}", Result())
        found = self._let_pass(step, result.findings)
        result = self._keep_locks(
            step, Result(result.records, merge_findings((decided, *found) if decided else found))
        )
        stop = result.stopped_by
        if stop is None:
            return end("kept", "", "", result)
        if stop.outcome == "error":
            return end("error", stop.reason, stop.detail, Result(findings=result.findings))
        return end("dropped", stop.reason, stop.detail, result)

    def _is_handed(self, step: PipelineStep) -> bool:
        """Whether an earlier run did the step's work."""
        return self._handed is not None and step.lap == "environments"

    def _let_pass(self, step: PipelineStep, found: Sequence[Finding]) -> Sequence[Finding]:
        """In a run that observes, what the gates of the filter would drop goes on; what a reviewer
        rejected does not."""
        if not self.context.config.observe or step.stage != "filter":
            return found
        return [
            one
            for each in found
            for one in (observe([each]) if each.gate in step.gates else [each])
        ]

    def _keep_locks(self, step: PipelineStep, result: Result) -> Result:
        """What a build made against a reviewer's lock does not come to be; how it was built
        stays."""
        broken = self.context.locks.find_broken(result.records) if step.stage == "build" else None
        if broken is None:
            return result
        return Result(
            tuple(one for one in result.records if one.table == "builds"),
            (*result.findings, broken),
        )

    async def _save(
        self, step: PipelineStep, bucket: int, done: Sequence[StepOutcome], lease: HeldLease
    ) -> None:
        """Publish what still lacks once every earlier attempt has ended. If others end ours, look again, and wait longer for theirs."""
        make_stamp, patience = (
            partial(self.stamp, step.name, self.marks[step.name].fingerprint, bucket),
            PATIENCE,
        )
        while done:
            stamp, attempt = await self.lake.attempts.take_turn(
                make_stamp, group_rows(_content(done)), patience, lease
            )
            lacking = {subject.id for subject in self._lacking(step, [one.subject for one in done])}
            done = [one for one in done if one.subject.id in lacking]
            attrition = [
                row
                for one in done
                for row in _attrition_rows(step, self.context.config.recipe, one, stamp.try_number)
            ]
            if not done:
                self.lake.attempts.void(self.context.run, attempt)
            elif self.lake.commit(attempt, group_rows(_content(done)), attrition, stamp):
                return
            patience *= 2

    def stamp(self, step: str, fingerprint: str, bucket: int, number: int) -> Stamp:
        """Whose work a file is."""
        return Stamp(
            self.context.run,
            step,
            fingerprint,
            bucket,
            number,
            __version__,
            datetime.now(UTC).isoformat(),
        )


def list_lacking(
    lake: Lake, run: str, mark: Fingerprint, subjects: Sequence[Subject[object]]
) -> list[Subject[object]]:
    """Those that a step has not settled: an error is no outcome."""
    settled = {key for key, outcome in lake.outcomes(run, mark).items() if outcome != "error"}
    return [subject for subject in subjects if subject.id not in settled]


def mark_steps(
    config: RunConfig, recipe: Recipe, line: Sequence[PipelineStep]
) -> dict[str, Fingerprint]:
    """Each step's fingerprint: its own settings, its prompts, and everything before it."""
    marks: dict[str, Fingerprint] = {}
    upstream = ""
    for step in line:
        settings = {name: getattr(config, name) for name in step.settings}
        prompts = [prompt.hash for prompt in (*step.prompts, *recipe.prompts.get(step.name, ()))]
        upstream = digest([step.name, settings, prompts, upstream])
        marks[step.name] = Fingerprint(step.name, upstream)
    return marks


def bucket_of(subject: str, buckets: int) -> int:
    """Where a subject belongs, the same in every process."""
    return int.from_bytes(hashlib.blake2b(subject.encode(), digest_size=4).digest()) % buckets


def _content(done: Sequence[StepOutcome]) -> Iterator[Record]:
    """Rows beside attrition. What ended in error has left none but dossiers: it will be worked on
    again, and may make others then."""
    for one in done:
        yield from one.result.records
        yield from _evidence_rows(one)


def _attrition_rows(
    step: PipelineStep, recipe: str, done: StepOutcome, number: int
) -> list[Attrition]:
    def row(gate: str, outcome: str, reason: str, detail: str, **more: Any) -> Attrition:
        return Attrition.model_validate(
            {
                "lap": step.lap,
                "stage": step.stage,
                "gate": gate,
                "subject": done.subject.id,
                "parent": done.subject.parent,
                "try_number": number,
                "outcome": outcome,
                "reason": reason,
                "detail": detail,
                "evidence": "",
                "children": 0,
                "recipe": recipe,
                "theme": done.subject.theme,
                "seconds": 0.0,
                "tokens": 0,
                "cost": 0.0,
            }
            | more
        )

    gates = [
        row(
            one.gate,
            one.outcome,
            one.reason,
            one.detail,
            evidence=_evidence_id(one, done),
            seconds=one.seconds,
        )
        for one in done.result.findings
    ]
    main = sum(record.table in step.makes[:1] for record in done.result.records)
    spent = {"seconds": done.seconds, "tokens": done.spent.tokens, "cost": done.spent.cost}
    return [*gates, row("exit", done.exit, done.reason, done.detail, children=main, **spent)]


def _evidence(finding: Finding, done: StepOutcome) -> Evidence | None:
    return (
        None
        if finding.evidence is None
        else Evidence(gate=finding.gate, subject=done.subject.id, finding=finding.evidence)
    )


def _evidence_id(finding: Finding, done: StepOutcome) -> str:
    evidence = _evidence(finding, done)
    return evidence.id if evidence else ""


def _evidence_rows(done: StepOutcome) -> list[Evidence]:
    return [row for finding in done.result.findings if (row := _evidence(finding, done))]


def _raise_errors(
    step: PipelineStep, done: Sequence[StepOutcome], broken: Sequence[BaseException]
) -> None:
    """A damaged lake comes before items in error: it needs somebody's hands."""
    if broken:
        raise broken[0]
    failed = [one for one in done if one.exit == "error"]
    if failed:
        named = "; ".join(f"{one.subject.id}: {one.reason}: {one.detail}" for one in failed[:5])
        raise StepFailed(
            f"{step.name}: {len(failed)} of {len(done)} items ended in error, the others are "
            f"saved. {named}",
            step=step.name,
            items=[one.subject.id for one in failed],
            reasons={one.subject.id: f"{one.reason}: {one.detail}" for one in failed},
        )
