"""The judge of suspicions: two readings of one neutral question decide whether a suspicion is
confirmed.

suspected ─► calibrated? ─no──────────────────────────────► suspected
                └─yes─► reading "in doubt no", reading "in doubt yes"
                          ├─ both yes ────────────────────► dropped
                          ├─ a no, quotes in order ───────► cleared
                          └─ outage, or no valid reading ─► suspected

The judge is shown the item and the question. It is never shown the gate, the reason code or the
gate's words.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from envmill.base.errors import BadReply, BadRequest, Outage
from envmill.gates.base import EnvironmentCase, Finding, ScenarioCase
from envmill.gates.reading.evidence import describe, holds_quote
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession, name_judge
from envmill.sandbox import Observation
from schemas.base import Json, is_object
from schemas.suspicion import JudgeCalibration, SuspicionInput, SuspicionItem, SuspicionReply

PROMPT = Prompt.load(
    Path(__file__).parents[1] / "prompts" / "suspicion.md", SuspicionInput, SuspicionReply
)

LEAST_CASES = 30
"""Planted and honest cases that a calibration needs at least."""
LEAST_KEPT, LEAST_CAUGHT = 0.9, 0.5
"""Least shares of honest cases kept and of planted cases caught. A judge that always answers no
keeps every honest case, and would clear every fault."""
_READINGS: tuple[Literal["no"], Literal["yes"]] = ("no", "yes")
_ATTEMPTS = 2
"""Attempts per reading. The second one follows only a quote that does not occur in the item."""

Decision = Literal["confirmed", "unconfirmed", "undecided"]


@dataclass(frozen=True)
class JudgeAnswer:
    """One reading's answer."""

    doubt: str
    """The default answer in this reading."""
    answer: str
    """`yes`, `no`, `void` (its quotes do not occur in the item) or `unread` (no usable reply)."""
    quotes: tuple[str, ...] = ()
    reason: str = ""


async def rule_on_suspicions(
    findings: Sequence[Finding],
    subject: EnvironmentCase | ScenarioCase,
    models: ModelSession | None,
    calibrations: Sequence[JudgeCalibration] = (),
    replies: Sequence[Observation] = (),
) -> list[Finding]:
    """The findings. Suspicions that a calibrated judge decides become `dropped` or `cleared`;
    without a model they stay as they are.

    `replies` are those to the calls of a scenario's reference path.
    """
    if models is None:
        return list(findings)
    asker: ModelSession = models
    return list(
        await asyncio.gather(
            *(_rule_on(finding, subject, asker, calibrations, replies) for finding in findings)
        )
    )


async def _rule_on(
    finding: Finding,
    subject: EnvironmentCase | ScenarioCase,
    models: ModelSession,
    calibrations: Sequence[JudgeCalibration],
    replies: Sequence[Observation],
) -> Finding:
    if finding.outcome != "suspected" or not finding.question:
        return finding
    if why := find_objection(
        find_calibration(calibrations, finding.gate, finding.reason, name_judge(models))
    ):
        return replace(finding, evidence=_add(finding, {"asked": False, "why": why}))
    try:
        readings = await read_twice(describe(subject, finding, replies), finding.question, models)
    except (Outage, BadRequest) as error:
        return replace(finding, evidence=_add(finding, {"asked": True, "why": error.message}))
    decision = decide(readings)
    told = {
        "asked": True,
        "model": name_judge(models),
        "prompt_hash": PROMPT.hash,
        "decision": decision,
    }
    heard = [{**vars(one), "quotes": [*one.quotes]} for one in readings]
    evidence = _add(finding, {**told, "question": finding.question, "readings": heard})
    if decision == "undecided":
        return replace(finding, evidence=evidence)
    return replace(
        finding, outcome="dropped" if decision == "confirmed" else "cleared", evidence=evidence
    )


async def read_twice(item: SuspicionItem, question: str, models: ModelSession) -> list[JudgeAnswer]:
    """Both readings, made independently."""
    return list(
        await asyncio.gather(*(_read(item, question, doubt, models) for doubt in _READINGS))
    )


async def _read(
    item: SuspicionItem, question: str, doubt: Literal["yes", "no"], models: ModelSession
) -> JudgeAnswer:
    inputs = SuspicionInput(
        **{name: getattr(item, name) for name in SuspicionItem.model_fields},
        question=question,
        doubt=doubt,
    )
    reading = JudgeAnswer(doubt, "unread")
    for sample in range(_ATTEMPTS):
        try:
            reply = await models.ask(PROMPT, inputs, SuspicionReply, role="judge", sample=sample)
        except BadReply as error:
            return JudgeAnswer(doubt, "unread", (), error.message)
        valid = all(holds_quote(item, quote) for quote in reply.quotes)
        reading = JudgeAnswer(
            doubt, reply.answer if valid else "void", tuple(reply.quotes), reply.reason
        )
        if valid:
            break
    return reading


def decide(readings: Sequence[JudgeAnswer]) -> Decision:
    """Confirms a suspicion if both answers are yes, and does not if one is no. A void reading
    neither confirms nor clears."""
    answers = [one.answer for one in readings]
    if "no" in answers:
        return "unconfirmed"
    return "confirmed" if answers and set(answers) == {"yes"} else "undecided"


def asks_judge(wish: str, models: ModelSession) -> bool:
    """Whether a run with this value of `suspicions` asks the judge."""
    return wish == "judge" or (wish == "auto" and name_judge(models) != "offline")


def find_calibration(
    calibrations: Sequence[JudgeCalibration], gate: str, reason: str, model: str
) -> JudgeCalibration | None:
    """The latest calibration of this judge for this code and the present prompt."""
    fitting = [
        one
        for one in calibrations
        if one.model == model
        and one.prompt_hash in (PROMPT.hash, "" if model == "offline" else PROMPT.hash)
        and (one.gate, one.reason)
        in ((gate, reason), ("*", "*") if model == "offline" else (gate, reason))
    ]
    return fitting[-1] if fitting else None


def find_objection(calibration: JudgeCalibration | None) -> str:
    """Why a judge with this calibration must not decide; empty if it may."""
    if calibration is None:
        return "this judge was not calibrated for this reason code"
    if min(calibration.planted, calibration.honest) < LEAST_CASES:
        return (
            f"{calibration.planted} planted and {calibration.honest} honest cases were read; "
            f"{LEAST_CASES} of each are needed"
        )
    if calibration.kept < LEAST_KEPT * calibration.honest:
        return (
            f"it keeps {calibration.kept} of {calibration.honest} honest cases; {LEAST_KEPT:.0%} "
            "are needed"
        )
    if calibration.caught < LEAST_CAUGHT * calibration.planted:
        return (
            f"it catches {calibration.caught} of {calibration.planted} planted cases; "
            f"{LEAST_CAUGHT:.0%} are needed"
        )
    return ""


def _add(finding: Finding, told: Json) -> Json:
    seen = finding.evidence
    return {**seen, "judge": told} if is_object(seen) else {"seen": seen, "judge": told}
