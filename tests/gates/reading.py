"""The page about rules that read text, written from counts: `python -m tests.gates.reading`.

confusion tables ─┐
judge's readings ─┼─► python -m tests.gates.reading measure ─► reading.json ─► docs/gates/reading.md
real authors ─────┘
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from envmill.base.settings import ROOT
from tests.authors.evidence import read_evidence
from tests.authors.page import count_findings
from tests.authors.publishing import KEPT
from tests.real_authors.planted import CodeReadings, count_codes, read_decisions

PAGE = ROOT / "docs" / "gates" / "reading.md"
STORE = Path(__file__).with_name("reading.json")
AUDIT = ROOT / "docs" / "audit"
RULES: tuple[tuple[str, str], ...] = (
    ("S8", "underivable_argument"),
    ("S8", "wrong_answer"),
    ("S9", "tool_name"),
    ("S9", "answer"),
    ("S9", "id_like"),
    ("S9", "state_key"),
    ("S10", "unmatched_value"),
    ("S10", "unasked_change"),
    ("S10", "wrong_order"),
    ("S12", "undemanded_fact"),
    ("S15", "ambiguous_referent"),
    ("S15", "wrong_referent"),
    ("S15", "untouched_referent"),
    ("S16", "two_readings"),
    ("S16", "read_otherwise"),
    ("S16", "unasked"),
    ("S16", "unchecked"),
    ("S16", "shows_way"),
    ("S17", "reads_as_delegation"),
    ("W1", "rival_rules"),
    ("W1", "terse_description"),
    ("W11", "failure_in_words"),
)
DELETED: Mapping[tuple[str, str], str] = {
    ("S10", "wrong_weekday"): "no true finding in the tables above, one false one; "
    "no cases calibrated it",
    ("S10", "wrong_count"): "no finding, true or false; no cases calibrated it",
}
"""Rule → why it was deleted."""
LITTLE = 10
"""Findings and readings together below which a rule has little evidence."""

_HEAD = """# Rules that read text

Written by `make docs` from `tests/gates/reading.json`. `python -m tests.gates.reading measure` counts again from the audit's results.

Some gates compare words of a request, a rule or a reply with the program's data. These rules only report a suspicion. A suspicion
drops nothing until a calibrated judge confirms it ([gates](README.md)). This page counts true and false findings of each rule, and lists
the rules that were deleted.

- **Caught**: faults planted in the embedded author's work that this rule was the first to report
  ([all tables](../trust.md#words)). **Honest dropped**: honest items of the same tables that this rule reported.
- **Planted, confirmed**: questions about faults planted in a real model's texts, and how many of them two readers confirmed
  ([planted in real work](../audit/planted-in-real-work.md)). **Honest, confirmed**: the same for texts without a fault. A confirmed one is
  a false finding.
- **Would drop, undecided, cleared**: findings in runs of real models ([real authors](../audit/real-authors.md)). The judge found a
  *cleared* one to be false. No judge decided an *undecided* one.
- **Released**: suspicions in [EnvScaler's release](../audit/envscaler-released.md).

| gate | reason code | caught | honest dropped | planted, confirmed | honest, confirmed | would drop | undecided | cleared | released |
|---|---|---|---|---|---|---|---|---|---|
"""
_TAIL = """
## What follows

- Where cases calibrate a rule, readers confirmed {least:.0f} to {most:.0f} % of what was planted, and {false} of {honest} texts without
  a fault. A false finding costs two questions to the judge.
- `id_like` and `state_key` compare letter for letter with keys of the state. `undemanded_fact` compares the verifier with the polarity.
  These three read no English.
- S10 `wrong_order` is decided by execution: the gate plays the order that the text asks for, and its end must be the same.
  In the one case whose truth is known, the suspicion was false.
- Fewer than {little} findings or readings: {few}. Where no cases calibrate such a rule, it drops nothing.

## Deleted

| gate | reason code | why |
|---|---|---|
"""


@dataclass
class RuleCounts:
    """True and false findings of one rule."""

    caught: int = 0
    honest_dropped: int = 0
    planted: int = 0
    planted_confirmed: int = 0
    honest: int = 0
    honest_confirmed: int = 0
    would_drop: int = 0
    undecided: int = 0
    cleared: int = 0
    released: int = 0

    @property
    def evidence(self) -> int:
        return sum(asdict(self).values()) - self.planted_confirmed - self.honest_confirmed


def read_counts() -> dict[tuple[str, str], RuleCounts]:
    """As they were measured last."""
    stored = orjson.loads(STORE.read_bytes())
    return {
        (gate, reason): RuleCounts(**counts)
        for name, counts in stored.items()
        for gate, reason in [name.split()]
    }


def measure() -> dict[tuple[str, str], RuleCounts]:
    """Count in the audit's results."""
    caught, dropped = _count_first("first drops"), _count_first("dropped by")
    read = count_codes(read_decisions())
    found: dict[tuple[str, str], Counter[str]] = {}
    evidence = read_evidence(KEPT)
    while evidence is not None:
        for code, outcomes in count_findings(evidence).items():
            found[code] = found.get(code, Counter()) + outcomes
        evidence = evidence.again
    released = _count_released()
    counts: dict[tuple[str, str], RuleCounts] = {}
    for rule in RULES:
        readings, outcomes = read.get(rule, CodeReadings()), found.get(rule, Counter[str]())
        counts[rule] = RuleCounts(
            caught=caught[rule],
            honest_dropped=dropped[rule],
            planted=readings.planted,
            planted_confirmed=readings.planted_confirmed,
            honest=readings.honest,
            honest_confirmed=readings.honest_confirmed,
            would_drop=outcomes["observed"] + outcomes["dropped"],
            undecided=outcomes["suspected"],
            cleared=outcomes["cleared"],
            released=released[rule],
        )
    return counts


def write_counts(counts: Mapping[tuple[str, str], RuleCounts]) -> bytes:
    lines = (
        f"{orjson.dumps(' '.join(rule)).decode()}: {orjson.dumps(found).decode()}"
        for rule, found in counts.items()
    )
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def render(counts: Mapping[tuple[str, str], RuleCounts]) -> str:
    calibrated = [found for found in counts.values() if found.planted]
    shares = [100 * found.planted_confirmed / found.planted for found in calibrated]
    few = [
        f"{gate} `{reason}`" for (gate, reason), found in counts.items() if found.evidence < LITTLE
    ]
    return "".join(
        (
            _HEAD,
            *(f"{_render_row(*rule, found)}\n" for rule, found in counts.items()),
            _TAIL.format(
                least=min(shares),
                most=max(shares),
                false=sum(found.honest_confirmed for found in calibrated),
                honest=sum(found.honest for found in calibrated),
                little=LITTLE,
                few=", ".join(few),
            ),
            *(f"| {gate} | `{reason}` | {why} |\n" for (gate, reason), why in DELETED.items()),
        )
    )


def _render_row(gate: str, reason: str, found: RuleCounts) -> str:
    cells = (
        found.caught or "–",
        found.honest_dropped or "–",
        f"{found.planted_confirmed} of {found.planted}" if found.planted else "–",
        f"{found.honest_confirmed} of {found.honest}" if found.honest else "–",
        *(
            count or "–"
            for count in (found.would_drop, found.undecided, found.cleared, found.released)
        ),
    )
    return f"| {gate} | `{reason}` | {' | '.join(map(str, cells))} |"


def _count_first(column: str) -> Counter[tuple[str, str]]:
    """Sum over the confusion tables whose last column is this one."""
    counts: Counter[tuple[str, str]] = Counter()
    for cells in _list_last_cells(column):
        for gate, reason, count in re.findall(r"(\w+) (\w+) (\d+)", cells):
            counts[gate, reason] += int(count)
    return counts


def _list_last_cells(column: str) -> Iterator[str]:
    for page in sorted(AUDIT.glob("confusion*.md")):
        head = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            last = line.rstrip("|").rpartition("|")[2].strip() if line.startswith("|") else ""
            if not line.startswith("|"):
                head = ""
            elif not head:
                head = last
            elif head == column:
                yield last


def _count_released() -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    text = (AUDIT / "envscaler-released.md").read_text(encoding="utf-8")
    for gate, row in re.findall(r"^\| ([WSF]\d+) \|(.*)$", text, re.MULTILINE):
        for reason, count in re.findall(r"`(\w+)` (\d+)", row):
            counts[gate, reason] += int(count)
    return counts


if __name__ == "__main__":
    if "measure" in sys.argv[1:]:
        STORE.write_bytes(write_counts(measure()))
    PAGE.write_text(render(read_counts()), encoding="utf-8")
