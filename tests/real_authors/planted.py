"""`python -m tests.real_authors.planted`: plant every text fault again, and write which of them a
gate notices to `planted.json` and the page.

`readings.json` holds the answers that a judge gave to the shipped cases: case id → answer in doubt no, answer in doubt yes.
"""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from envmill.base.settings import Settings
from envmill.gates.base import GateContext
from envmill.gates.reading.calibrations import SHIPPED, read_cases
from envmill.gates.reading.suspicions import JudgeAnswer, decide
from envmill.sandbox import Sandbox
from schemas.suspicion import SuspicionCase
from tests.real_authors.sampled import list_sample_lines
from tests.real_authors.texts import Text

PLANTED = Path(__file__).parent / "planted.json"
READINGS = Path(__file__).parent / "readings.json"
TARGET = 0.8
"""Share of the planted faults that a gate is to notice and the judge is to confirm."""

Listed = Mapping[str, Mapping[str, Mapping[str, Sequence[Sequence[str]]]]]
"""Operator → `planted` or `honest` → scenario → case ids of each text; none where the gate does not
notice it."""


@dataclass(frozen=True)
class Count:
    """What became of the texts of one operator."""

    texts: int
    asked: int
    """Texts about which the gate asks."""
    read: int
    """Of those, the ones the judge was asked about."""
    confirmed: int

    @property
    def share(self) -> float:
        """Share that is noticed and confirmed, as if the cases that were not read were confirmed as
        often as the others."""
        return self.asked / self.texts * self.confirmed / self.read if self.read else 0.0


@dataclass
class CodeReadings:
    """Questions of one reason code that the judge was asked, and those it confirmed."""

    planted: int = 0
    planted_confirmed: int = 0
    honest: int = 0
    honest_confirmed: int = 0


def count_codes(decisions: Mapping[str, str]) -> dict[tuple[str, str], CodeReadings]:
    """(gate, reason code) → readings of the shipped cases."""
    counts: dict[tuple[str, str], CodeReadings] = defaultdict(CodeReadings)
    for case in read_cases(SHIPPED):
        if (name := name_case(case)) not in decisions:
            continue
        found, confirmed = counts[case.gate, case.reason], decisions[name] == "confirmed"
        if case.planted:
            found.planted += 1
            found.planted_confirmed += confirmed
        else:
            found.honest += 1
            found.honest_confirmed += confirmed
    return counts


def name_case(case: SuspicionCase) -> str:
    return sha256(case.model_dump_json().encode()).hexdigest()[:10]


def read_planted() -> Listed:
    return json.loads(PLANTED.read_text(encoding="utf-8"))


def read_decisions() -> dict[str, str]:
    """Case id → what both readings together decide."""
    answers: dict[str, list[str]] = json.loads(READINGS.read_text(encoding="utf-8"))
    return {
        name: decide(
            [JudgeAnswer(doubt, one) for doubt, one in zip(("no", "yes"), both, strict=True)]
        )
        for name, both in answers.items()
    }


def count(texts: Iterable[Sequence[str]], decisions: Mapping[str, str]) -> Count:
    listed = list(texts)
    read = [
        found
        for cases in listed
        if (found := [decisions[name] for name in cases if name in decisions])
    ]
    return Count(
        len(listed), sum(map(bool, listed)), len(read), sum("confirmed" in found for found in read)
    )


def count_side(listed: Listed, operator: str, side: str, decisions: Mapping[str, str]) -> Count:
    return count(
        (cases for texts in listed[operator].get(side, {}).values() for cases in texts), decisions
    )


def estimate_share(counts: Sequence[Count]) -> float:
    """Share of all planted faults that are noticed and confirmed."""
    return sum(one.share * one.texts for one in counts) / sum(one.texts for one in counts)


def list_lines() -> Iterator[str]:
    """The section of the page."""
    listed, decisions = read_planted(), read_decisions()
    sides = {
        name: [count_side(listed, name, side, decisions) for side in ("planted", "honest")]
        for name in listed
    }
    yield (
        "| fault | planted | noticed by the gate | read | confirmed | caught | honest "
        "look-alikes | asked about | read | confirmed |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, (planted, honest) in sides.items():
        share = f"{planted.share:.0%}"
        yield f"| {name} | {_render(planted)} | {share} | {_render(honest)} |"
    faults, honest = ([both[place] for both in sides.values()] for place in (0, 1))
    share = estimate_share(faults)
    yield f"| **all** | {_render(_add(faults))} | {share:.0%} | {_render(_add(honest))} |"
    yield ""
    yield (
        f"The target is {TARGET:.0%}: {'ok' if share >= TARGET else 'short'}. S16 is not counted "
        "here: see the blind sample below."
    )
    yield ""
    yield "All readings by reason code, including the cases of the embedded author:"
    yield ""
    yield "| code | planted, read | confirmed | honest, read | confirmed |"
    yield "|---|---|---|---|---|"
    for (gate, reason), found in count_codes(decisions).items():
        yield (
            f"| {gate} {reason} | {found.planted} | {found.planted_confirmed} | {found.honest} | "
            f"{found.honest_confirmed} |"
        )
    yield ""
    yield "## A blind reader"
    yield ""
    yield from list_sample_lines(
        decisions, {name: planted.texts for name, (planted, _) in sides.items()}, TARGET
    )


def _render(one: Count) -> str:
    return f"{one.texts} | {one.asked} | {one.read} | {one.confirmed}"


def _add(counts: Sequence[Count]) -> Count:
    return Count(
        *(
            sum(column)
            for column in zip(
                *((one.texts, one.asked, one.read, one.confirmed) for one in counts), strict=True
            )
        )
    )


def list_texts_once(
    found: Iterable[tuple[str, Text]],
) -> dict[str, dict[str, dict[str, list[list[str]]]]]:
    """The texts by operator, side and scenario; one that two operators' draws make alike is listed
    once."""
    listed: dict[str, dict[str, dict[str, list[list[str]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    seen: set[tuple[str, ...]] = set()
    for source, text in found:
        key = (
            text.operator,
            str(text.planted),
            text.posed.scenario.model_dump_json(),
            *(one.question for one in text.findings),
        )
        if key not in seen:
            seen.add(key)
            side = "planted" if text.planted else "honest"
            listed[text.operator][side][source].append(
                [name_case(case) for case in text.list_cases()]
            )
    return listed


def write_planted(listed: Listed) -> None:
    PLANTED.write_text(
        json.dumps(listed, separators=(",", ":")).replace("]],", "]],\n").replace("},", "},\n")
        + "\n",
        encoding="utf-8",
    )


async def main() -> None:
    from tests.real_authors.cases import list_recorded
    from tests.real_authors.catching import PAGE, read_caught, read_faults, write_page

    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": folder})) as sandbox:
            write_planted(
                list_texts_once([one async for one in list_recorded(GateContext(sandbox))])
            )
    PAGE.write_text(write_page(read_faults(), read_caught()), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
