"""Recall: what was shipped is judged again, by today's gates and every attack the lake knows; what
fails is withdrawn.

bundles ─► shipped environments with their scenarios ─► gates ─► verdicts
                                                          └────► withdrawals, naming the bundles that hold it
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar
from uuid import uuid4

from envmill.base.errors import EnvMillError, LakeError
from envmill.base.version import __version__
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, Gate, GateContext, ScenarioCase, fail
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.stages.verify import list_attacks
from schemas.base import Record
from schemas.environment import Environment, Test
from schemas.ledger import Attack
from schemas.quality import Reverification, Withdrawal
from schemas.rollout import Bundle
from schemas.scenario import Scenario

GATE = "recall"
"""Under which a verdict stands that no gate spoke against."""
T = TypeVar("T")


@dataclass(frozen=True)
class Shipped:
    """An environment that left the factory, with those of its scenarios that did."""

    run: str
    environment: str
    scenarios: tuple[str, ...]
    judged_at: str
    """When it was last judged again; empty when never."""

    @property
    def key(self) -> str:
        """Two runs may have shipped the same environment, each with scenarios of its own."""
        return f"{self.environment} of {self.run}"


@dataclass(frozen=True)
class RejudgedEnvironment:
    """One environment, judged again."""

    verdicts: tuple[Reverification, ...]
    withdrawals: tuple[Withdrawal, ...]
    attacks: tuple[Attack, ...]

    @property
    def errors(self) -> list[Reverification]:
        """Subjects nothing could be said of."""
        return [one for one in self.verdicts if one.outcome == "error"]


def list_shipped(lake: Lake) -> list[Shipped]:
    """Every shipped environment that is not withdrawn, longest unjudged first."""
    return sorted(
        (one for run in lake.runs_with(Bundle) for one in _list_of_run(lake, run)),
        key=lambda one: (one.judged_at, one.run, one.environment),
    )


def _list_of_run(lake: Lake, run: str) -> Iterator[Shipped]:
    bundles = lake.read(Bundle, run)
    if not bundles:
        return
    shipped = {one for bundle in bundles for one in bundle.scenarios} - read_withdrawn(lake, run)
    environments = {one for bundle in bundles for one in bundle.environments} - read_withdrawn(
        lake, run
    )
    judged = {
        one.subject: one.judged_at
        for one in sorted(lake.read(Reverification, run), key=lambda one: one.judged_at)
    }
    homes: dict[str, list[str]] = defaultdict(list)
    for scenario in lake.read(Scenario, run):
        if scenario.id in shipped:
            homes[scenario.environment].append(scenario.id)
    for environment in sorted(environments):
        yield Shipped(
            run, environment, tuple(sorted(homes[environment])), judged.get(environment, "")
        )


def read_withdrawn(lake: Lake, run: str) -> set[str]:
    """Subjects of a run that were recalled."""
    return {one.subject for one in lake.read(Withdrawal, run)}


async def judge_again(lake: Lake, shipped: Shipped, means: GateContext) -> RejudgedEnvironment:
    """An environment that fails takes its scenarios along. Attacks come from every run that has any
    on it."""
    (environment,) = [
        one for one in lake.read(Environment, shipped.run) if one.id == shipped.environment
    ][:1] or [None]
    if environment is None:
        raise LakeError(
            f"{shipped.environment} was shipped by run {shipped.run}, and its record is gone. "
            "Restore the lake's files from a copy."
        )
    tests = tuple(one for one in lake.read(Test, shipped.run) if one.environment == environment.id)
    scenarios = [one for one in lake.read(Scenario, shipped.run) if one.id in shipped.scenarios]
    known = [
        one
        for run in lake.runs_with(Attack)
        for one in lake.read(Attack, run)
        if one.environment == environment.id
    ]
    own = await _pass(
        ENVIRONMENT_GATES,
        EnvironmentCase(environment, tests, tuple(one.initial_state for one in scenarios)),
        means,
    )
    found = {environment.id: own}
    for scenario in scenarios:
        siblings = tuple(one for one in scenarios if one.id != scenario.id)
        posed = ScenarioCase(scenario, environment, siblings, tuple(known))
        found[scenario.id] = [
            *own,
            *([] if _stopped(own) else await _pass(SCENARIO_GATES, posed, means)),
        ]
    attacks = tuple(
        attack for scenario in scenarios for attack in list_attacks(scenario, found[scenario.id])
    )
    return _conclude(lake, found, attacks)


async def _pass(gates: Sequence[Gate[T]], subject: T, means: GateContext) -> list[Finding]:
    """As in production, up to the first that stops; that one is asked again, in fresh sessions,
    since a recall is no place for a fluke."""
    findings: list[Finding] = []
    for gate in gates:
        if not gate.required:
            continue
        finding = await _ask(gate, subject, means)
        careful = (
            replace(means, sandbox=means.sandbox.careful) if finding.outcome == "dropped" else means
        )
        if (
            finding.outcome == "dropped"
            and (again := await _ask(gate, subject, careful)).outcome != "dropped"
        ):
            finding = fail(
                gate.name,
                "not_repeated",
                f"it dropped this once ({finding.reason}: {finding.detail}), then said "
                f"{again.outcome}",
            )
        findings.append(finding)
        if finding.outcome in ("dropped", "error"):
            break
    return findings


async def _ask(gate: Gate[T], subject: T, means: GateContext) -> Finding:
    try:
        return await gate.check(subject, means)
    except EnvMillError as error:
        return fail(gate.name, type(error).__name__.lower(), error.message)
    except Exception as error:  # noqa: BLE001
        # one gate's failure becomes a verdict of its subject
        return fail(gate.name, "gate_breaks", f"{type(error).__name__}: {error}")


def _stopped(findings: Sequence[Finding]) -> Finding | None:
    return next((one for one in findings if one.outcome in ("dropped", "error")), None)


def _conclude(
    lake: Lake, found: dict[str, list[Finding]], attacks: tuple[Attack, ...]
) -> RejudgedEnvironment:
    now = datetime.now(UTC).isoformat()
    verdicts = tuple(
        _make_verdict(subject, _stopped(findings), now) for subject, findings in found.items()
    )
    failed = [one for one in verdicts if one.outcome == "fail"]
    bundles = find_bundles(lake, [one.subject for one in failed])
    withdrawals = tuple(
        Withdrawal(
            subject=one.subject,
            reason=f"{one.gate}: {one.reason}",
            bundles=bundles[one.subject],
            withdrawn_at=now,
        )
        for one in failed
    )
    return RejudgedEnvironment(verdicts, withdrawals, attacks)


def _make_verdict(subject: str, stop: Finding | None, now: str) -> Reverification:
    return Reverification(
        subject=subject,
        gate=stop.gate if stop else GATE,
        outcome="pass" if stop is None else "fail" if stop.outcome == "dropped" else "error",
        reward=None,
        reason=f"{stop.reason}: {stop.detail}" if stop else "",
        judged_at=now,
        evidence=[stop.evidence] if stop and stop.evidence is not None else [],
        outcome_before="pass",
    )


def find_bundles(lake: Lake, subjects: Sequence[str]) -> dict[str, list[str]]:
    """Subject → ids of all bundles, of whatever run, that hold it."""
    found: dict[str, set[str]] = {subject: set() for subject in subjects}
    for bundle in (
        (one for run in lake.runs_with(Bundle) for one in lake.read(Bundle, run)) if found else ()
    ):
        for subject in found.keys() & {*bundle.environments, *bundle.scenarios}:
            found[subject].add(bundle.id)
    return {subject: sorted(ids) for subject, ids in found.items()}


def save(lake: Lake, run: str, judged: RejudgedEnvironment) -> None:
    """Withdrawals first: killed in between, the verdicts lack, and all is judged again."""
    now = datetime.now(UTC).isoformat()
    tables: tuple[tuple[type[Record], Sequence[Record]], ...] = (
        (Withdrawal, judged.withdrawals),
        (Attack, judged.attacks),
        (Reverification, judged.verdicts),
    )
    for record, rows in tables:
        if rows:
            lake.put(
                record, rows, f"{GATE}-{uuid4().hex}", Stamp(run, GATE, "", 0, 1, __version__, now)
            )
