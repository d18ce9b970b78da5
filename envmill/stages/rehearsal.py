"""Rehearsing: inside the repair loop a version that runs is put to the gates, and what they find
goes back to its author.

version ─► open probes of every loop gate ─► suspicions to the judge ─► complaints, or none: the version holds
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from envmill.agents.users.wordings import FEWEST, list_written
from envmill.gates import GATES, s16
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase, keep
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.suspicions import asks_judge, rule_on_suspicions
from envmill.kinds import kind_of
from envmill.kinds.authoring.complaint import Complaint, list_once
from envmill.kinds.authoring.repair import Repair
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.contract import make_contract
from envmill.recipes.drafting.errands import LEFT
from envmill.recipes.drafting.weakening import REASON as WEAKENED
from envmill.recipes.drafting.weakening import find_vagueness, find_weakening
from envmill.sandbox import Observation
from envmill.stages.context import RunContext
from envmill.stages.passing import is_over, name_content, pass_gates, run_gates_anywhere
from schemas.base import Contract, is_object
from schemas.environment import Fault
from schemas.ledger import Evidence, GateOutcome, Lap
from schemas.prompts import ScenarioReply

LOOP = "loop"
"""Under which the ledger has what the loop found of the version that went on."""

VAGUER, FEW_QUESTIONS = "vaguer", "few_questions"
_FIVE = (
    f"`wordings` has at least {FEWEST} different questions for each name in `hidden`, and no "
    "question names the value."
)
_AS_MUCH = (
    "A repair keeps what was not complained about: mend the fault, and leave in what the version "
    "before had."
)

_TESTS: frozenset[tuple[str, str]] = frozenset((("W8", "write_not_seen"), ("W8", "not_exercised")))
"""What the author of the tests mends: no stored test reaches it."""
_WORST: tuple[GateOutcome, ...] = (
    "error",
    "dropped",
    "observed",
    "suspected",
    "cleared",
    "corrected",
    "kept",
    "not_measured",
    "not_applicable",
)


@dataclass(frozen=True)
class GateFindings:
    """What the gates found of one version."""

    content: str = ""
    """Hash of all they looked at; empty where none was asked."""
    findings: tuple[Finding, ...] = ()

    @property
    def complaints(self) -> tuple[Complaint, ...]:
        """What is sent back: proofs, and suspicions that the judge confirmed."""
        found = [one for one in self.findings if one.outcome == "dropped"]
        return list_once(Complaint(one.gate, one.reason, one.detail) for one in found)

    def list_findings(self) -> tuple[Finding, ...]:
        """The row by which verify knows what held; none where no gate was asked."""
        if not self.content:
            return ()
        outcomes: dict[str, GateOutcome] = {}
        for one in self.findings:
            before = outcomes.get(one.gate, one.outcome)
            outcomes[one.gate] = (
                one.outcome if _WORST.index(one.outcome) < _WORST.index(before) else before
            )
        return (keep(LOOP, {"content": self.content, "gates": outcomes}),)


UNASKED = GateFindings()
"""Of a version that did not get as far as the gates."""


async def rehearse(
    subject: EnvironmentCase | ScenarioCase, context: RunContext, models: ModelSession
) -> GateFindings:
    """What the loop gates find with their open probes. A gate in error says nothing of the version: verify asks it again."""
    if not context.config.rehearse:
        return UNASKED
    lap: Lap = "environments" if isinstance(subject, EnvironmentCase) else "scenarios"
    means = GateContext(
        context.sandbox, seed=context.config.run_seed, episodes=context.config.search, probes="open"
    )
    found = await ask_judge(
        await run_gates_anywhere(lap, subject, means, context.keepers), subject, context, models
    )
    if isinstance(subject, ScenarioCase) and not is_over(found):
        found = await ask_reader(found, subject, context, models)
    return GateFindings(name_content(subject), tuple(found))


async def ask_reader(
    found: Sequence[Finding], subject: ScenarioCase, context: RunContext, models: ModelSession
) -> list[Finding]:
    """The findings, and that of the gate that asks a reader, where the run asks a judge. Once asked, the reply is journalled."""
    asked = models if asks_judge(context.config.suspicions, models) else None
    means = GateContext(
        context.sandbox, asked, context.config.run_seed, fairness=context.config.fairness
    )
    read = await pass_gates([GATES[s16.GATE]], subject, means, [])
    return [*found, *await ask_judge(read, subject, context, models)]


async def ask_judge(
    found: Sequence[Finding],
    subject: EnvironmentCase | ScenarioCase,
    context: RunContext,
    models: ModelSession,
) -> list[Finding]:
    """The findings once a judge has read each suspicion, where the run asks one."""
    if not any(one.outcome == "suspected" for one in found) or not asks_judge(
        context.config.suspicions, models
    ):
        return list(found)
    return await rule_on_suspicions(
        found, subject, models, context.calibrations, await _play_path(subject, context)
    )


async def _play_path(
    subject: EnvironmentCase | ScenarioCase, context: RunContext
) -> list[Observation]:
    """Replies to the calls of the reference path, for the judge to read; none where a look is dear, as at a machine."""
    if not isinstance(subject, ScenarioCase) or not kind_of(subject.environment).looks_freely:
        return []
    (trial, *_) = await Trials.of(
        subject, GateContext(context.sandbox, seed=context.config.run_seed)
    ).oracle()
    return trial.replies


class WeakeningGuard:
    """Refuses a version with less in it than the first of its conversation had, but for what was
    complained about since.

    It is told every version that could be read: one that fails otherwise, or was itself refused,
    does not lower what is asked of the next.
    One that left its errand does: it is replaced by another.
    """

    def __init__(self) -> None:
        self._first: Contract | None = None
        self._complaints: tuple[Complaint, ...] = ()

    def refuse(self, version: Contract, repair: Repair) -> tuple[Complaint, ...]:
        """Complaints about what there is less of; none about a first version, or one that was asked for afresh."""
        self._complaints = (
            list_once((*self._complaints, *repair.complaints)) if repair.complaints else ()
        )
        if (
            self._first is None
            or not repair.complaints
            or any(complaint.code == LEFT for complaint in repair.complaints)
        ):
            self._first = version
        less = find_weakening(self._first, version, self._complaints)
        return tuple(Complaint(LOOP, WEAKENED, words, contract=_AS_MUCH) for words in less)


def doubt_request(
    before: ScenarioReply | None, after: ScenarioReply, repair: Repair
) -> tuple[Complaint, ...]:
    """Complaints about a request that became vaguer, which is read from text: they ask for another version and drop none. S9 asks for
    less in the words."""
    if (
        before is None
        or not repair.complaints
        or any(complaint.source == "S9" for complaint in repair.complaints)
    ):
        return ()
    return tuple(
        Complaint(LOOP, VAGUER, words, contract=_AS_MUCH) for words in find_vagueness(before, after)
    )


def doubt_questions(reply: ScenarioReply) -> tuple[Complaint, ...]:
    """Complaints about hidden facts with too few questions. They ask for another version and drop
    none: S17 makes what is missing."""
    contract = make_contract(reply)
    written = {
        name: list_written(contract, name) for name in contract.hidden if name in contract.facts
    }
    return tuple(
        Complaint(
            "contract",
            FEW_QUESTIONS,
            f"`wordings` holds {len(asked)} questions for {name!r} that do not name its value",
            contract=_FIVE,
        )
        for name, asked in written.items()
        if len(asked) < FEWEST
    )


def blame(complaints: Sequence[Complaint]) -> tuple[Fault, tuple[Complaint, ...]]:
    """Who mends an environment next, program or tests, and what that author is told: the program
    comes first."""
    if not complaints:
        return "none", ()
    of_tests = tuple(one for one in complaints if (one.source, one.code) in _TESTS)
    of_program = tuple(one for one in complaints if one not in of_tests)
    return ("code", of_program) if of_program else ("test", of_tests)


def read_held(rows: Iterable[Evidence]) -> Iterator[tuple[str, dict[str, GateOutcome]]]:
    """Contents, each with gate → what its open probes said."""
    for row in rows:
        if row.gate == LOOP and is_object(row.finding):
            yield row.finding["content"], row.finding["gates"]
