"""Measures how often a mapper and a judge are right about scenarios of known fairness.

case ─► map ─► findings ─► two readings each ─► outcome ─► counts by planted fault
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from envmill.base.errors import BadReply, SettingsError
from envmill.gates.reading.mapping import MOST, PROMPT, find_unfair, show_map
from envmill.gates.reading.suspicions import decide, read_twice
from envmill.models.session import ModelSession
from schemas.fairness import FairnessCase, FairnessFinding, FairnessOutcome, MapperReply

HONEST = "honest"


class FairnessCount(NamedTuple):
    """Counts of the cases with one fault, or of the honest ones."""

    what: str
    cases: int
    suspected: int
    """The map shows some fault."""
    confirmed: int
    """The judge confirms some fault: a hit, or a false alarm in an honest case."""
    named: int
    """The judge confirms the planted fault by its own code."""
    unread: int
    """No map was usable."""


def read_fairness_cases(path: Path) -> list[FairnessCase]:
    try:
        return [
            FairnessCase.model_validate_json(line)
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
    except (OSError, ValidationError) as error:
        raise SettingsError(
            f"{path} holds no scenarios whose fairness is known: {error}."
        ) from error


async def try_fairness(
    cases: Sequence[FairnessCase], models: ModelSession
) -> list[FairnessOutcome]:
    """Checks each case as S16 does. An outage stops it, because results of half of the cases would
    mislead."""
    return list(await asyncio.gather(*(_try(case, models) for case in cases)))


async def _try(case: FairnessCase, models: ModelSession) -> FairnessOutcome:
    unread = FairnessOutcome(
        source=case.source,
        planted=case.planted,
        truth=case.truth,
        request=case.item.request,
        reply=None,
        findings=[],
    )
    try:
        reply = await models.ask(
            PROMPT, show_map(case.item, case.date, case.demands), MapperReply, role="judge"
        )
    except BadReply:
        return unread
    found = find_unfair(reply, case.item, case.demands)[:MOST]
    decisions = await asyncio.gather(
        *(read_twice(case.item, one.question, models) for one in found)
    )
    findings = [
        FairnessFinding(reason=one.code, question=one.question, decision=decide(readings))
        for one, readings in zip(found, decisions, strict=True)
    ]
    return unread.model_copy(update={"reply": reply, "findings": findings})


def count_outcomes(outcomes: Sequence[FairnessOutcome]) -> Iterator[FairnessCount]:
    """Counts by planted fault, for all faults, and for honest cases."""
    planted = [one for one in outcomes if one.planted]
    for code in sorted({one.planted for one in planted}):
        yield _count(code, [one for one in planted if one.planted == code])
    yield _count("all planted", planted)
    yield _count(HONEST, [one for one in outcomes if not one.planted])


def _count(what: str, own: Sequence[FairnessOutcome]) -> FairnessCount:
    return FairnessCount(
        what=what,
        cases=len(own),
        suspected=sum(bool(one.findings) for one in own),
        confirmed=sum(bool(one.confirmed) for one in own),
        named=sum(one.planted in one.confirmed for one in own),
        unread=sum(one.reply is None for one in own),
    )
