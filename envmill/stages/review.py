"""Review: what people say of stored things, and what follows from it.

queue (riskiest first) ─► a person ─► reviews: accept, reject, note, and locks
    rejected ─► dropped at the next filter, and never exported        locked ─► told to every repair; what changes it is dropped
    a bundle's sample, in an order nobody chose ─► reviewed so far ─► bound on the share of defects
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from envmill.base.errors import SettingsError
from envmill.base.version import __version__
from envmill.gates.base import Finding, drop
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.recipes.drafting.locked import (
    REASON,
    Locked,
    Parts,
    render_checks,
    render_facts,
    render_rules,
)
from envmill.verifiers.bounds import limit_share
from schemas.base import Record
from schemas.environment import Environment
from schemas.ledger import Attack, Attrition
from schemas.quality import Review
from schemas.rollout import Bundle
from schemas.scenario import Scenario

GATE = "review"
Judgement = Literal["accept", "reject", "note"]


@dataclass(frozen=True)
class ReviewItem:
    """One thing in the queue."""

    subject: str
    title: str
    risk: float
    why: str
    """What makes it risky, worst first."""
    reviewed: str
    """The latest judgement; empty when nobody looked."""


@dataclass(frozen=True)
class Doubts:
    """What the ledger left open about subjects, counted."""

    open_gates: Counter[str]
    suspicions: Counter[str]
    repairs: Counter[str]

    def weigh(self, subject: str) -> dict[str, float]:
        return {
            "gates not measured": 1.0 * self.open_gates[subject],
            "suspicions undecided": 2.0 * self.suspicions[subject],
            "attempts repeated": 0.5 * self.repairs[subject],
        }


def list_queue(lake: Lake, run: str) -> list[ReviewItem]:
    """Kept environments and scenarios of a run: what nobody looked at first, and of that the
    riskiest."""
    rows = lake.read(Attrition, run)
    kept = {
        row.subject
        for row in rows
        if (row.stage, row.gate, row.outcome) == ("filter", "exit", "kept")
    }
    judged = {subject: one.judgement for subject, one in latest_judgements(lake).items()}
    repairs = Counter(row.subject for row in rows if row.gate == "exit" and row.try_number > 1)
    open_gates = Counter(row.subject for row in rows if row.outcome == "not_measured")
    suspicions = Counter(row.subject for row in rows if row.outcome == "suspected")
    attacks = Counter(one.scenario for one in lake.read(Attack, run))
    doubts = Doubts(open_gates, suspicions, repairs)
    found = [
        _weigh_environment(one, doubts) for one in lake.read(Environment, run) if one.id in kept
    ]
    found += [
        _weigh_scenario(one, doubts, attacks) for one in lake.read(Scenario, run) if one.id in kept
    ]
    items = [
        ReviewItem(subject, title, sum(risks.values()), _describe(risks), judged.get(subject, ""))
        for subject, title, risks in found
    ]
    return sorted(items, key=lambda one: (one.reviewed != "", -one.risk, one.subject))


Weighed = tuple[str, str, dict[str, float]]


def _weigh_environment(one: Environment, doubts: Doubts) -> Weighed:
    risks = doubts.weigh(one.id)
    risks["many tools"] = max(0.0, (len(one.tools) - 20) / 20)
    risks["few rules"] = 1.0 if len(one.rules) < 3 else 0.0
    return one.id, one.name, risks


def _weigh_scenario(one: Scenario, doubts: Doubts, attacks: Counter[str]) -> Weighed:
    """A wrong acceptance teaches a policy to cheat, so its bound weighs most."""
    risks = doubts.weigh(one.id) | {"paid attacks": 1.0 * attacks[one.id]}
    risks["false accepts unbounded"] = 2.0 if one.bounds is None else 4.0 * one.bounds.false_accept
    risks["false rejects unbounded"] = 1.0 if one.bounds is None else 2.0 * one.bounds.false_reject
    risks["nothing to achieve"] = 0.0 if one.polarity == "achieve" else 0.5
    return one.id, one.request, risks


def _describe(risks: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} {value:.2g}"
        for name, value in sorted(risks.items(), key=lambda pair: -pair[1])
        if value > 0
    )


def write_review(
    lake: Lake,
    run: str,
    subject: str,
    reviewer: str,
    judgement: Judgement,
    note: str = "",
    locks: Sequence[str] = (),
) -> Review:
    """One judgement, beside the run's own rows. A lock must name what is there: a lock on nothing
    would hold nothing."""
    if not reviewer.strip():
        raise SettingsError("A review needs a reviewer: give --by a name.")
    if judgement == "reject" and not note.strip():
        raise SettingsError("A rejection needs a reason: give it a --note.")
    if missing := [lock for lock in locks if lock not in list_lockable(lake, run, subject)]:
        known = "\n".join(f"  {one}" for one in list_lockable(lake, run, subject)) or "  (nothing)"
        raise SettingsError(
            f"{subject} has no rule, fact or check {missing[0]!r}. It has:\n{known}"
        )
    now = datetime.now(UTC).isoformat()
    review = Review(
        subject=subject,
        reviewer=reviewer,
        judgement=judgement,
        note=note,
        locks=list(locks),
        reviewed_at=now,
    )
    lake.put(
        Review, [review], f"{GATE}-{uuid4().hex}", Stamp(run, GATE, "", 0, 1, __version__, now)
    )
    return review


_SAME = "same:"


def name_pair(one: str, other: str) -> str:
    """The subject of a review that says whether two scenarios are the same task, in whatever order
    they are named."""
    return f"{_SAME}{min(one, other)}:{max(one, other)}"


def read_pairs(subjects: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of scenarios among subjects of reviews."""
    pairs = (
        subject.removeprefix(_SAME).split(":", 1)
        for subject in subjects
        if subject.startswith(_SAME)
    )
    return [(one, other) for one, other in pairs]


def list_lockable(lake: Lake, run: str, subject: str) -> list[str]:
    """Rules of an environment; facts and checks of a scenario."""
    for held in (*lake.read(Environment, run), *lake.read(Scenario, run)):
        if held.id == subject:
            return sorted(_render_parts(held))
    return []


def _render_parts(record: Record) -> Parts:
    """What can be locked."""
    if isinstance(record, Environment):
        return render_rules(record.rules)
    if isinstance(record, Scenario):
        return render_facts(record.user.facts) | render_checks(
            [*record.verifier.goals, *record.verifier.guards]
        )
    return {}


def read_reviews(lake: Lake) -> list[Review]:
    """Of every run, oldest first: ids are made of content, so that what was said of a thing holds
    wherever it comes up."""
    return sorted(
        (one for run in lake.runs_with(Review) for one in lake.read(Review, run)),
        key=lambda one: one.reviewed_at,
    )


def latest_judgements(lake: Lake) -> dict[str, Review]:
    """Subject → the judgement that counts: the latest. Notes judge nothing."""
    return {one.subject: one for one in read_reviews(lake) if one.judgement != "note"}


def find_rejected(lake: Lake, subjects: Iterable[str]) -> dict[str, Finding]:
    """Subject → why it goes no further. The latest judgement counts."""
    latest = latest_judgements(lake)
    rejected = {
        subject: latest[subject]
        for subject in subjects
        if subject in latest and latest[subject].judgement == "reject"
    }
    return {
        subject: drop(GATE, "rejected", f"{one.reviewer}: {one.note}", {"review": one.id})
        for subject, one in rejected.items()
    }


class Locks:
    """What no repair may change, by what it was made from: a rebuilt environment has another id,
    and the same blueprint."""

    def __init__(self, lake: Lake | None = None) -> None:
        self._held: dict[str, dict[str, str]] = {}
        reviews = [one for one in read_reviews(lake) if one.locks] if lake else []
        subjects = {one.subject for one in reviews}
        for record in _find_records(lake, subjects) if lake and subjects else ():
            parts = _render_parts(record)
            for review in (one for one in reviews if one.subject == record.id):
                for origin in _list_origins(record):
                    self._held.setdefault(origin, {}).update(
                        {name: parts[name] for name in review.locks if name in parts}
                    )

    def of(self, origin: str) -> Locked:
        """Of a blueprint or its seed: rules. Of a draft or its place: facts and checks."""
        return Locked(self._held.get(origin, {}))

    def find_broken(self, records: Iterable[Record]) -> Finding | None:
        """The first locked part that a new record lacks, or has otherwise."""
        for record in records:
            locked = self.of(next(_list_origins(record), ""))
            if changed := list(locked.beyond(_render_parts(record) if locked.parts else {}).parts):
                return drop(
                    GATE,
                    REASON,
                    f"{record.id} changes {changed[0]!r}, which a reviewer locked",
                    {"changed": changed},
                )
        return None


def _find_records(lake: Lake, subjects: set[str]) -> Iterator[Record]:
    for run in lake.runs_with(Environment):
        yield from (
            one
            for kind in (Environment, Scenario)
            for one in lake.read(kind, run)
            if one.id in subjects
        )


def name_place(environment: str, number: int) -> str:
    """The id of a scenario that is yet to be thought up."""
    return f"{environment}:{number:03d}"


def _list_origins(record: Record) -> Iterator[str]:
    """What it was built from, and what that was thought up for."""
    if isinstance(record, Environment):
        yield from (record.blueprint, record.origin.seed)
    elif isinstance(record, Scenario):
        yield from (record.draft, name_place(record.environment, record.number))


@dataclass(frozen=True)
class Acceptance:
    """What a sample of a bundle says about all of it."""

    bundle: str
    size: int
    order: tuple[str, ...]
    """Its scenarios in the order in which they are to be reviewed."""
    reviewed: int
    """How many of the first were, without a gap: what was picked by hand says nothing about the
    rest."""
    rejected: int

    @property
    def bound(self) -> float:
        """Upper bound, with 95 % confidence, of the share that a reviewer would reject."""
        if self.reviewed == self.size:
            return self.rejected / self.size if self.size else 0.0
        return limit_share(self.rejected, self.reviewed)


def sample_bundle(lake: Lake, bundle: Bundle) -> Acceptance:
    """The order is drawn from ids, so that nobody chooses and everybody gets the same."""
    order = sorted(
        bundle.scenarios, key=lambda one: hashlib.blake2b(f"{bundle.id}:{one}".encode()).digest()
    )
    judged = {subject: one.judgement for subject, one in latest_judgements(lake).items()}
    seen = next((index for index, subject in enumerate(order) if subject not in judged), len(order))
    return Acceptance(
        bundle.id,
        len(order),
        tuple(order),
        seen,
        sum(judged[one] == "reject" for one in order[:seen]),
    )
