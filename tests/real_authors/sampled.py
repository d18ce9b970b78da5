"""Results of the fixed sample of texts that a blind reader (S16) read: which gates ask about each
text, and what a judge answers.

`sampled.json`: of each entry of `blind.json` the case ids of what other gates ask (`noticed`) and of what S16 asks (`asked`), and
`readings`, case id → the two answers. A case that is shipped has its answers in `readings.json`.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envmill.gates.reading.suspicions import JudgeAnswer, decide
from tests.real_authors.outcomes import EXPECTED

SAMPLE, SAMPLED = Path(__file__).parent / "blind.json", Path(__file__).parent / "sampled.json"
INTRODUCTION = """
The sample has {planted} of the planted texts, in proportion to the operators and at least ten of each, {honest} honest look-alikes, and all
{recorded} scenarios as they were recorded (`blind.json`). For each, independent readers got the prompt of gate [S16](../gates/S16.md),
which shows what agent and user know together, not the reference path. A program compared their replies with the path (`understood.json`,
`sampled.json`). Two other readers answered each question that resulted; in doubt, one said no and the other yes. **Noticed**: the gate of
the table above asks. **S16**: the blind reader differs. **Confirmed**: both answers to one of the questions are yes. All readers were of
the authors' strong model family. The comparing program was developed with these replies, so it may do worse on texts that it never saw.
"""
FLAWS = """
S16 asked about three of them, and it was right: the second flat is the cheapest one that fits; the second batch is in the oven, which
then has no room; the second movement has the date "2026-03-5", which is the day of the other wish. Since then, rules of the operator
exclude such rows (`referents.py`), also the five about which S16 asked nothing. No later sample has them.
"""


@dataclass(frozen=True)
class Entry:
    """One text of the sample."""

    side: str
    """`planted`, `honest` or `recorded`."""
    operator: str
    source: str
    place: int
    """Among the texts of its operator, side and scenario."""
    spoilt: str = ""
    """Why an honest look-alike turned out to be a fault; later samples have no such text."""


@dataclass(frozen=True)
class Sampled:
    """Case ids of the questions about one text."""

    noticed: Sequence[str]
    """Of the gates that compare words."""
    asked: Sequence[str]
    """Of S16."""


@dataclass(frozen=True)
class Tally:
    """Texts of one sort: how many gates ask about, and of how many the judge confirms a
    question."""

    texts: int
    noticed: int
    asked: int
    either: int
    confirmed: int

    @property
    def share(self) -> float:
        return self.confirmed / self.texts if self.texts else 0.0


def read_sample() -> list[Entry]:
    return [Entry(*one) for one in json.loads(SAMPLE.read_text(encoding="utf-8"))]


def read_sampled() -> list[tuple[Entry, Sampled]]:
    found: list[Any] = json.loads(SAMPLED.read_text(encoding="utf-8"))["texts"]
    return [(entry, Sampled(**one)) for entry, one in zip(read_sample(), found, strict=True)]


def read_sample_readings() -> dict[str, list[str]]:
    """Case id → the answer in doubt no, the answer in doubt yes, of the cases that are not
    shipped."""
    return json.loads(SAMPLED.read_text(encoding="utf-8"))["readings"]


def decide_sample(shipped: Mapping[str, str]) -> dict[str, str]:
    """Case id → what both readings together decide, of shipped cases and of those of the sample."""
    own = {
        name: decide([JudgeAnswer("no", no), JudgeAnswer("yes", yes)])
        for name, (no, yes) in read_sample_readings().items()
    }
    return {**shipped, **own}


def write_sampled(found: Sequence[Sampled], readings: Mapping[str, Sequence[str]]) -> None:
    texts = ",\n".join(json.dumps(asdict(one)) for one in found)
    read = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(both)}" for name, both in sorted(readings.items())
    )
    SAMPLED.write_text(
        f'{{"texts": [\n{texts}\n],\n"readings": {{\n{read}\n}}}}\n', encoding="utf-8"
    )


def list_ambiguous() -> set[str]:
    """Recorded scenarios that are known to allow two readings with different right ends."""
    return {
        name
        for name, one in tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["scenarios"].items()
        if one["wanted"] == "sent back"
    }


def tally(
    texts: Sequence[tuple[Entry, Sampled]],
    decisions: Mapping[str, str],
    belongs: Callable[[Entry], bool],
) -> Tally:
    own = [one for entry, one in texts if belongs(entry)]
    confirmed = [
        any(decisions.get(name) == "confirmed" for name in (*one.noticed, *one.asked))
        for one in own
    ]
    either = sum(bool(one.noticed or one.asked) for one in own)
    return Tally(
        len(own),
        sum(bool(one.noticed) for one in own),
        sum(bool(one.asked) for one in own),
        either,
        sum(confirmed),
    )


def tally_operators(
    texts: Sequence[tuple[Entry, Sampled]], decisions: Mapping[str, str], names: Sequence[str]
) -> dict[str, Tally]:
    """Planted texts by operator."""
    return {
        name: tally(
            texts,
            decisions,
            lambda entry, name=name: (entry.side, entry.operator) == ("planted", name),
        )
        for name in names
    }


def weigh(tallies: Mapping[str, Tally], planted: Mapping[str, int]) -> float:
    """Share of all planted faults that is confirmed, each operator weighed by its texts."""
    return sum(tallies[name].share * count for name, count in planted.items()) / sum(
        planted.values()
    )


def list_sample_lines(
    shipped: Mapping[str, str], planted: Mapping[str, int], target: float
) -> Iterator[str]:
    """The section of the page. `planted` is how many texts each operator planted in all."""
    texts, decisions, ambiguous = read_sampled(), decide_sample(shipped), list_ambiguous()
    by_operator = tally_operators(texts, decisions, list(planted))
    sides: dict[str, Tally] = {
        side: tally(texts, decisions, lambda entry, side=side: entry.side == side)
        for side in ("planted", "honest", "recorded")
    }
    counts = {side: one.texts for side, one in sides.items()}
    yield from INTRODUCTION.format(**counts).strip().splitlines()
    yield ""
    yield "| fault | planted in all | in the sample | noticed | S16 | either | confirmed | share |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, one in by_operator.items():
        yield f"| {name} | {planted[name]} | {_render(one)} | {one.share:.0%} |"
    share = weigh(by_operator, planted)
    yield (
        f"| **all** | {sum(planted.values())} | {_render(sides['planted'])} | {share:.0%} of all "
        "planted |"
    )
    yield ""
    yield (
        f"The share of all weights each operator by its planted texts. The target is {target:.0%}: "
        f"{'ok' if share >= target else 'short'}."
    )
    yield ""
    yield "| text without a planted fault | texts | asked about by S16 | confirmed |"
    yield "|---|---|---|---|"
    sorts: dict[str, Callable[[Entry], bool]] = {
        "honest look-alikes, as they were drawn": lambda entry: entry.side == "honest",
        "of these, not spoilt by their operator": lambda entry: (
            entry.side == "honest" and not entry.spoilt
        ),
        "of these, spoilt by their operator": lambda entry: (
            entry.side == "honest" and bool(entry.spoilt)
        ),
        "recorded scenarios, honest": lambda entry: (
            entry.side == "recorded" and entry.source not in ambiguous
        ),
        "recorded scenarios, ambiguous": lambda entry: (
            entry.side == "recorded" and entry.source in ambiguous
        ),
    }
    for name, belongs in sorts.items():
        one = tally(texts, decisions, belongs)
        yield f"| {name} | {one.texts} | {one.asked} | {one.confirmed} |"
    yield ""
    yield (
        "A look-alike has a second row with almost the same name as the right one. It is spoilt "
        "if that row changes more than a name:"
    )
    yield ""
    for entry, one in texts:
        if entry.spoilt:
            asked = (
                "both answers are yes"
                if any(decisions.get(name) == "confirmed" for name in one.asked)
                else "S16 asks nothing"
            )
            yield f"- {entry.source}, {entry.operator} {entry.place}: {entry.spoilt} ({asked})."
    yield ""
    yield from FLAWS.strip().splitlines()


def _render(one: Tally) -> str:
    return f"{one.texts} | {one.noticed} | {one.asked} | {one.either} | {one.confirmed}"
