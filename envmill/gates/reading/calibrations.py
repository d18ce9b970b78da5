"""Stores calibrations of judges: a folder of JSON lines, one line for each judge, prompt and reason
code.

cases whose truth is known ─► both readings of each ─► counts by reason code ─► data/calibration/JUDGE.jsonl
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.gates.reading.suspicions import PROMPT, decide, read_twice
from envmill.models.session import ModelSession, name_judge
from schemas.suspicion import JudgeCalibration, SuspicionCase

SHIPPED = ROOT / "data/calibration/cases"
"""Cases that EnvMill ships."""
FAIRNESS = ROOT / "data/calibration/fairness/cases.jsonl"
"""Scenarios of known fairness that EnvMill ships."""
_ANY = "*"


def read_calibrations(folder: Path) -> Iterator[JudgeCalibration]:
    """All calibrations of a folder, in order of file names; none if it does not exist."""
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                yield _read_line(line, f"{path}:{number}")


def read_cases(path: Path) -> list[SuspicionCase]:
    """Cases from a file of JSON lines, or from all such files of a folder in order of their
    names."""
    try:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        return [SuspicionCase.model_validate_json(line) for line in lines if line.strip()]
    except (OSError, ValidationError) as error:
        raise SettingsError(
            f"{path} holds no cases: {error}. Write one SuspicionCase a line, as "
            "docs/gates/README.md shows."
        ) from error


async def calibrate(cases: Sequence[SuspicionCase], models: ModelSession) -> list[JudgeCalibration]:
    """Counts the judge's answers by reason code. An outage stops it, because counts of half of the
    cases would mislead."""
    decisions = await asyncio.gather(*(_decide(case, models) for case in cases))
    codes = sorted({(case.gate, case.reason) for case in cases})
    return [_count(code, cases, decisions, models) for code in codes]


def write_calibrations(found: Sequence[JudgeCalibration], folder: Path) -> Path:
    """Writes one file for each judge. A new calibration replaces the line with the same code and
    prompt."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^a-z0-9.-]+', '-', found[0].model.lower())}.jsonl"
    fresh = {(one.gate, one.reason, one.prompt_hash) for one in found}
    known = (
        [_read_line(line, str(path)) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )
    kept = [one for one in known if (one.gate, one.reason, one.prompt_hash) not in fresh]
    path.write_text(
        "".join(f"{one.model_dump_json()}\n" for one in (*kept, *found)), encoding="utf-8"
    )
    return path


async def _decide(case: SuspicionCase, models: ModelSession) -> str:
    return decide(await read_twice(case.item, case.question, models))


def _count(
    code: tuple[str, str],
    cases: Sequence[SuspicionCase],
    decisions: Sequence[str],
    models: ModelSession,
) -> JudgeCalibration:
    ours = [
        (case.planted, decision)
        for case, decision in zip(cases, decisions, strict=True)
        if (case.gate, case.reason) == code
    ]
    return JudgeCalibration(
        gate=code[0],
        reason=code[1],
        model=name_judge(models),
        prompt_hash=PROMPT.hash,
        planted=sum(planted for planted, _ in ours),
        caught=sum(planted and decision == "confirmed" for planted, decision in ours),
        honest=sum(not planted for planted, _ in ours),
        kept=sum(not planted and decision != "confirmed" for planted, decision in ours),
    )


def _read_line(line: str, place: str) -> JudgeCalibration:
    try:
        read = JudgeCalibration.model_validate_json(line)
    except ValidationError as error:
        raise SettingsError(
            f"{place} is not a calibration: {error}. Make it by `envmill calibrate`."
        ) from error
    if _ANY in (read.gate, read.reason) and read.model != "offline":
        raise SettingsError(
            f"{place} calibrates {read.model} for every code. Only the embedded judge, a test "
            "double, may have that."
        )
    return read
