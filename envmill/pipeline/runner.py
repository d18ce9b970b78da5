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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from envmill.base.errors import (
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
    describe_bug,
)
from envmill.base.version import __version__
from envmill.gates.base import Finding, merge_findings
from envmill.interop.exporters.base import StepCount
from envmill.lake.arrow import Stamp
from envmill.lake.attempts import PATIENCE
from envmill.lake.coordination import Coordinator, HeldLease, hold
from envmill.lake.identity import check_identity
from envmill.lake.lake import Fingerprint, Lake, group_rows
from envmill.lake.spool import Shelf
from envmill.lake.stores.base import ask_aside
from envmill.models.base import Spent
from envmill.models.handing import describe_pending, hand_in, outlast
from envmill.pipeline.calls import RunCalls
from envmill.pipeline.choice import is_mined
from envmill.pipeline.given import HandedLap
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import MINE, STEPS, PipelineStep
from envmill.pipeline.room import Room
from envmill.recipes.base import Recipe
from envmill.stages.context import Result, RunContext, Subject, Subjects
from envmill.stages.passing import observe
from envmill.stages.review import Locks, find_rejected
from schemas.base import Record, digest
from schemas.ledger import Attrition, Evidence, Exit
from schemas.run import RunConfig

_BATCH, _STRIPES, _MOST = 16, 40, 64
"""Subjects of a bucket in a run of few, tasks of a step at most, and subjects of a bucket in a run of many: a bucket is saved as one."""
_AT_ONCE = 256
"""Subjects of a process that are worked on at once, and held in memory: a model is asked some 64 questions at a time."""

_DROPS: dict[type[EnvMillError], str] = {BadReply: "bad_reply", BuildError: "does_not_build"}
"""Errors that say something about the candidate; all others say something about us."""

_STOPS = (LakeError, CoordinationError, BudgetReached, KeyRefused, Pending)
"""Errors that end the work of a run, or put it off: they say nothing about the candidate, which
stays as if it had never been looked at."""


Placed = dict[int, dict[int, list[str]]]
"""Stripe → bucket → subjects of a step."""


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
        self.context, self.lake = context, lake
        self.coordinator, self._calls = coordinator, calls
        self.line: tuple[PipelineStep, ...] = (
            (MINE, *STEPS) if is_mined(context.config, context.recipe) else STEPS
        )
        """The steps of this run, in order."""
        self.marks = mark_steps(context.config, context.recipe, self.line)
        self._upstream = StepInputs(lake, context.run, self.marks, context.config, context.recipe)
        self._entered: dict[str, Subjects[object]] = {}
        self._placed: dict[str, Placed] = {}
        self._decided: dict[str, Shelf[Finding]] = {}
        self._room = Room(_AT_ONCE)
        given = self._upstream.given
        self._handed = HandedLap(lake, given) if given is not None else None
        self._finished: set[str] = set()
        self._waiting: Counter[str] = Counter()

    async def plan(self, step: PipelineStep) -> list[int]:
        """Stripes of buckets that lack an outcome. The number of buckets is fixed when the step first starts."""
        check_identity(self.lake.store, self.context.settings.home)
        self._require_finished(step)
        self._enter(step)
        is_settled = self.lake.is_settled(self.context.run, self.marks[step.name])
        return sorted(
            stripe
            for stripe, buckets in self._placed[step.name].items()
            if not all(is_settled(name) for names in buckets.values() for name in names)
        )

    async def work(self, step: PipelineStep, stripe: int) -> int:
        """Do what the buckets of a stripe lack, one after the other; save each, and only then fail if items ended in error."""
        failures, count = Failures(), 0
        async with (
            hold(self.coordinator, f"{self.context.run}/{step.name}-{stripe:02d}") as lease,
            self._calls.shared(lease),
        ):
            if step.name not in self._entered:
                self._enter(step)
            asked = partial(self.lake.is_settled, self.context.run, self.marks[step.name])
            is_settled = await ask_aside(self.lake.store, asked)
            for bucket, names in sorted(self._placed[step.name].get(stripe, {}).items()):
                lacking = [name for name in names if not is_settled(name)]
                if not lacking:
                    continue
                async with self._room.take(len(lacking)):
                    count += await self._work_bucket(step, bucket, lacking, lease, failures)
                if failures.broken:
                    break
        failures.raise_any(step, count)
        return count

    async def _work_bucket(
        self,
        step: PipelineStep,
        bucket: int,
        names: Sequence[str],
        lease: HeldLease,
        failures: "Failures",
    ) -> int:
        make = self._entered[step.name].make
        ended = await asyncio.gather(
            *(self._process(step, make(name)) for name in names), return_exceptions=True
        )
        done = [one for one in ended if isinstance(one, StepOutcome)]
        self._waiting[step.name] += sum(isinstance(one, Pending) for one in ended)
        await self._save(step, bucket, done, lease)
        failures.add(
            done,
            [
                one
                for one in ended
                if isinstance(one, BaseException) and not isinstance(one, Pending)
            ],
        )
        return len(done)

    def find_entered(self, step: PipelineStep) -> Sequence[str]:
        """Ids of what entered a step."""
        return (self._entered.get(step.name) or self._enter(step)).ids

    def count(self, step: PipelineStep) -> StepCount:
        """What became of everything that entered a step."""
        return self._upstream.count(step.name)

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
            if lacking := self._lacking(earlier, earlier.enter(self._upstream).ids):
                raise StepFailed(
                    f"{step.name} cannot start: {earlier.name} still lacks {len(lacking)} items, "
                    f"{lacking[0]} among them. Run that step first.",
                    step=earlier.name,
                    items=lacking,
                )
            self._finished.add(earlier.name)

    def _enter(self, step: PipelineStep) -> Subjects[object]:
        """Read what the steps before left; they are finished, so this is read once."""
        subjects = self._entered[step.name] = step.enter(self._upstream)
        self._placed[step.name] = place_subjects(subjects.ids, self._buckets(step, len(subjects)))
        decided = self._decided[step.name] = self._upstream.shelve_findings()
        if step.decide and not self._is_handed(step):
            decided.put_all(step.decide(subjects, self._upstream, self.context))
        if step.stage == "filter":
            decided.put_all(find_rejected(self.lake, subjects.ids).items())
        if step.stage in ("generate", "build"):
            self.context = replace(self.context, locks=Locks(self.lake))
        return subjects

    def _lacking(
        self, step: PipelineStep, subjects: Sequence[str], bucket: int | None = None
    ) -> list[str]:
        return list_lacking(self.lake, self.context.run, self.marks[step.name], subjects, bucket)

    def _buckets(self, step: PipelineStep, subjects: int) -> int:
        wanted = max(1, min(_STRIPES, math.ceil(subjects / _BATCH)), math.ceil(subjects / _MOST))
        return int(self.lake.fix(self.context.run, step.name, {"buckets": wanted})["buckets"])

    async def _process(self, step: PipelineStep, subject: Subject[object]) -> StepOutcome:
        models, began = self.context.door.open_session(step.name, subject.id), time.monotonic()
        decided = self._decided[step.name].get(subject.id)
        if decided is not None:
            (decided,) = self._let_pass(step, (decided,))

        def end(exit: Exit, reason: str, detail: str, result: Result) -> StepOutcome:
            return StepOutcome(
                replace(subject, record=None),
                exit,
                reason,
                detail,
                result,
                models.spent,
                time.monotonic() - began,
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
        except Exception as error:  # one item's bug becomes a row, and the step fails with it  # noqa: BLE001
            return end("error", "bug", describe_bug(error), Result())
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
            names, store = [one.subject.id for one in done], self.lake.store
            lacking = {*await ask_aside(store, partial(self._lacking, step, names, bucket))}
            done = [one for one in done if one.subject.id in lacking]
            attrition = [
                row
                for one in done
                for row in _attrition_rows(step, self.context.config.recipe, one, stamp.try_number)
            ]
            if not done:
                await ask_aside(store, partial(self.lake.attempts.void, self.context.run, attempt))
            elif await ask_aside(
                store,
                partial(self.lake.commit, attempt, group_rows(_content(done)), attrition, stamp),
            ):
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
    lake: Lake, run: str, mark: Fingerprint, subjects: Sequence[str], bucket: int | None = None
) -> list[str]:
    """Those that a step has not settled: an error is no outcome. With a bucket: subjects of that one."""
    is_settled = lake.is_settled(run, mark, bucket)
    return [subject for subject in subjects if not is_settled(subject)]


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


def place_subjects(subjects: Sequence[str], buckets: int) -> Placed:
    """Subjects by the task that does them and the bucket that they are saved with."""
    placed: Placed = {}
    for subject in subjects:
        bucket = bucket_of(subject, buckets)
        placed.setdefault(bucket % _STRIPES, {}).setdefault(bucket, []).append(subject)
    return placed


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


class Failures:
    """What went wrong in a stripe. Items in error end no bucket; what is broken does."""

    def __init__(self) -> None:
        self.broken: list[BaseException] = []
        self._reasons: dict[str, str] = {}

    def add(self, done: Sequence[StepOutcome], broken: Sequence[BaseException]) -> None:
        self.broken += broken
        self._reasons |= {
            one.subject.id: f"{one.reason}: {one.detail}" for one in done if one.exit == "error"
        }

    def raise_any(self, step: PipelineStep, count: int) -> None:
        """A damaged lake comes before items in error: it needs somebody's hands."""
        if self.broken:
            raise self.broken[0]
        if self._reasons:
            named = "; ".join(f"{subject}: {why}" for subject, why in [*self._reasons.items()][:5])
            raise StepFailed(
                f"{step.name}: {len(self._reasons)} of {count} items ended in error, the others are saved. {named}",
                step=step.name,
                items=[*self._reasons],
                reasons=self._reasons,
            )
