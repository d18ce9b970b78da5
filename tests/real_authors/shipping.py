"""`python -m tests.real_authors.shipping CASES READINGS`: write the cases on which a judge is
calibrated for the codes of S16, and what two readers answered.

sample ──blind.py compare──► CASES ──two readers──► READINGS ─► `data/calibration/cases/s16-*.jsonl`, `readings.json`, `sampled.json`

A line of READINGS is `{"case", "doubt", "answer", "quotes"}`. The readers saw the whole item; a
shipped case is shorter, and keeps all that either of them quotes: then their answers hold for it,
too.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envmill.gates.reading.calibrations import SHIPPED, read_cases
from envmill.gates.reading.evidence import holds_quote
from schemas.base import Json, canonical_json
from schemas.suspicion import SuspicionCase, SuspicionItem
from tests.real_authors.cases import write_cases
from tests.real_authors.planted import READINGS, name_case
from tests.real_authors.sampled import Sampled, read_sampled, write_sampled
from tests.real_authors.texts import count_said, say_parameters

MOST = 30
"""Shipped cases of a code and a side: as few as a calibration needs, since each holds a reference
path with replies."""
_ROOM, _LEAST = 600, 3
"""Characters of rows that nobody quotes, and rows that are shown in any case."""


@dataclass(frozen=True)
class Asked:
    """A question about the sample, and what was answered."""

    case: SuspicionCase
    calibrates: bool
    """Whether its truth is known: not where the text is ambiguous or spoilt."""
    answers: tuple[str, ...]
    quotes: tuple[str, ...]


def read_asked(cases: Path, readings: Path) -> dict[str, Asked]:
    """By case id; an answer with a quote that the item does not hold is void."""
    heard: dict[str, dict[str, Any]] = defaultdict(dict)
    for line in readings.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        heard[told["case"]][told["doubt"]] = told
    asked: dict[str, Asked] = {}
    for line in cases.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        case = SuspicionCase.model_validate(told["case"])
        if (name := name_case(case)) in heard:
            both = [heard[name][doubt] for doubt in ("no", "yes")]
            answers = [
                one["answer"]
                if all(holds_quote(case.item, quote) for quote in one["quotes"])
                else "void"
                for one in both
            ]
            asked[name] = Asked(
                case,
                told["calibrates"],
                tuple(answers),
                tuple(quote for one in both for quote in one["quotes"]),
            )
    return asked


def shorten(case: SuspicionCase, quotes: Sequence[str]) -> SuspicionCase:
    """The tools of the path and the question, replies that are quoted or refuse, and rows: quoted
    ones first, then those spoken of."""
    item, path = case.item, case.item.path
    assert isinstance(path, dict)
    calls: Any = path["calls"]
    named = {call["name"] for call in calls}
    tools = [
        tool
        for tool in item.tools
        if tool.name in named or re.search(rf"\b{tool.name}\b", case.question)
    ]
    tools = [
        tool.model_copy(update={"parameters": say_parameters(tool.parameters)}) for tool in tools
    ]
    kept = [
        {
            name: part
            for name, part in call.items()
            if name != "reply" or _matters(part, item, quotes)
        }
        for call in calls
    ]
    said = f"{item.request} {item.told} {canonical_json(kept)} {case.question}".casefold()
    rows = _pick_rows(item.rows, said, item, quotes)
    return case.model_copy(
        update={
            "item": item.model_copy(
                update={"tools": tools, "path": {**path, "calls": kept}, "rows": rows}
            )
        }
    )


def _matters(reply: str, item: SuspicionItem, quotes: Sequence[str]) -> bool:
    return reply.startswith("rejection") or _is_quoted(reply, item, quotes)


def _is_quoted(value: Json, item: SuspicionItem, quotes: Sequence[str]) -> bool:
    alone = item.model_copy(
        update={
            "brief": item.brief.model_copy(update={"theme": "", "text": ""}),
            "name": "",
            "rules": [],
            "policy": "",
        }
    )
    alone = alone.model_copy(
        update={"tools": [], "request": "", "told": [], "path": [], "rows": value, "witness": []}
    )
    return any(holds_quote(alone, quote) for quote in quotes)


def _pick_rows(
    rows: Any, said: str, item: SuspicionItem, quotes: Sequence[str]
) -> dict[str, dict[str, Json]]:
    listed = [
        (table, key, row, _is_quoted(row, item, quotes))
        for table, held in rows.items()
        for key, row in held.items()
    ]
    room, kept = _ROOM, set[int]()
    for place in sorted(
        range(len(listed)),
        key=lambda place: (not listed[place][3], -count_said(*listed[place][1:3], said)),
    ):
        room -= len(canonical_json(listed[place][2]))
        if listed[place][3] or room > 0 or len(kept) < _LEAST:
            kept.add(place)
    picked: dict[str, dict[str, Json]] = defaultdict(dict)
    for table, key, row, _ in (listed[place] for place in sorted(kept)):
        picked[table][key] = row
    return dict(picked)


def choose(asked: Iterable[Asked]) -> dict[str, tuple[SuspicionCase, tuple[str, ...]]]:
    """Of each code of S16 the shortest cases of both sides that still hold every quote, with their
    answers."""
    sides: dict[tuple[str, bool], dict[str, tuple[SuspicionCase, tuple[str, ...]]]] = defaultdict(
        dict
    )
    for one in asked:
        if one.case.gate == "S16" and one.calibrates and "void" not in one.answers:
            case = shorten(one.case, one.quotes)
            if all(holds_quote(case.item, quote) for quote in one.quotes):
                sides[case.reason, case.planted][name_case(case)] = case, one.answers
    chosen = [
        sorted(held.items(), key=lambda pair: len(pair[1][0].model_dump_json()))[:MOST]
        for _, held in sorted(sides.items())
    ]
    return dict(pair for held in chosen for pair in held)


def write_readings(shipped: Mapping[str, Sequence[str]]) -> None:
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(list(answers))}"
        for name, answers in sorted(shipped.items())
    )
    READINGS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def main(cases: Path, readings: Path) -> None:
    asked = read_asked(cases, readings)
    chosen = choose(asked.values())
    write_cases(case for case, _ in chosen.values())
    former: dict[str, list[str]] = json.loads(READINGS.read_text(encoding="utf-8"))
    shipped = {name_case(case) for case in read_cases(SHIPPED)}
    answers = former | {name: given for name, (_, given) in chosen.items()}
    write_readings({name: given for name, given in answers.items() if name in shipped})
    texts: list[Sampled] = [found for _, found in read_sampled()]
    wanted = {name for one in texts for name in (*one.noticed, *one.asked)} - set(former)
    write_sampled(texts, {name: asked[name].answers for name in wanted})


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
