"""The kept files that the page is made from, each a line of JSON per record.

FOLDER/about.json          what was run: commit, dates, models, one line on who played whom
FOLDER/items.jsonl         every candidate and what became of it
FOLDER/tokens.jsonl        tokens by writer, recipe and role
FOLDER/packets.jsonl       what was read: sort, subject, and of a decoy the truth
FOLDER/readings.jsonl      what each reader said
FOLDER/decided.jsonl       what a third reading decided where two differ, or where a drop rests on an executed witness
FOLDER/natural.jsonl       attempts that the runs themselves made
FOLDER/ladder.jsonl        attempts of each policy after that
FOLDER/attacks.jsonl       what attackers came to
FOLDER/seconds.jsonl       verifiers by another reading
FOLDER/ends.jsonl          ends judged by both verifiers
FOLDER/omissions.jsonl     what a hasty author left out on purpose, and what found it
FOLDER/later.jsonl         the same in other worlds, with code that was changed since
FOLDER/bugs.jsonl          natural bugs of first drafts, and what found them
FOLDER/again/              the same of a later measurement, in other worlds
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from schemas.base import Contract
from tests.authors.attacks import Attack
from tests.authors.items import Item, parse_item
from tests.authors.ladder import LadderAttempt
from tests.authors.readings import Reading
from tests.authors.second import JudgedEnd

C = TypeVar("C", bound=Contract)


class Shown(Contract):
    """A packet, without what its readers saw."""

    id: str
    sort: Literal["drop", "keep", "decoy"]
    about: Literal["scenario", "program"]
    subject: str
    truth: str = ""


class Decided(Contract):
    """What a third reading, which knows the gates' evidence, says of an item."""

    subject: str
    good: bool
    why: str


class Tokens(Contract):
    """What models read and wrote."""

    writer: str
    recipe: str
    role: str
    calls: int
    read: int
    written: int
    repairs: int
    """Calls that were repairs."""


class Flaw(Contract):
    """Something wrong in a first draft: left out on purpose, or a natural bug."""

    where: str
    """Recipe and part."""
    what: str
    found: str
    """What found it: a gate, a stored test, a judge; empty where nothing did."""
    note: str = ""


@dataclass
class Evidence:
    """All of it."""

    about: dict[str, Any] = field(default_factory=dict[str, Any])
    items: Sequence[Item] = ()
    tokens: Sequence[Tokens] = ()
    packets: Sequence[Shown] = ()
    readings: Sequence[Reading] = ()
    decided: Sequence[Decided] = ()
    ladder: Sequence[LadderAttempt] = ()
    attacks: Sequence[Attack] = ()
    ends: Sequence[JudgedEnd] = ()
    omissions: Sequence[Flaw] = ()
    later: Sequence[Flaw] = ()
    bugs: Sequence[Flaw] = ()
    again: "Evidence | None" = None
    """A later measurement, in other worlds and with later code."""


def read_evidence(folder: Path) -> Evidence:
    about = folder / "about.json"
    return Evidence(
        about=json.loads(about.read_text(encoding="utf-8")) if about.exists() else {},
        items=[parse_item(told) for told in _read_lines(folder / "items.jsonl")],
        tokens=read_records(folder / "tokens.jsonl", Tokens),
        packets=read_records(folder / "packets.jsonl", Shown),
        readings=read_records(folder / "readings.jsonl", Reading),
        decided=read_records(folder / "decided.jsonl", Decided),
        ladder=[
            one
            for name in ("natural", "ladder")
            for one in read_records(folder / f"{name}.jsonl", LadderAttempt)
        ],
        attacks=read_records(folder / "attacks.jsonl", Attack),
        ends=read_records(folder / "ends.jsonl", JudgedEnd),
        omissions=read_records(folder / "omissions.jsonl", Flaw),
        later=read_records(folder / "later.jsonl", Flaw),
        bugs=read_records(folder / "bugs.jsonl", Flaw),
        again=read_evidence(folder / "again") if (folder / "again").exists() else None,
    )


def read_records(path: Path, record: type[C]) -> list[C]:
    return [record.model_validate(told) for told in _read_lines(path)]


def write_records(path: Path, records: Iterable[Contract], *, add: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if add else "w", encoding="utf-8") as file:
        file.writelines(f"{one.model_dump_json(exclude_defaults=False)}\n" for one in records)


def write_items(path: Path, items: Iterable[Item]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(f"{json.dumps(one.describe(), ensure_ascii=False)}\n" for one in items),
        encoding="utf-8",
    )


def _read_lines(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]
