"""How a request reads, from its words alone: names of it that two rows bear. Which changes it wants
is left out."""

from collections.abc import Iterator

from schemas.base import Json, is_object
from schemas.reading import ReaderInput, ReaderReply, TwoReadings, Understanding

_LABELS = ("name", "title", "label", "subject", "code")
_MOST = 3


def read_request(asked: ReaderInput) -> ReaderReply:
    """A name that several rows bear is read in two ways; nothing is said of anything else."""
    found = list(_list_shared(asked))[:_MOST]
    return ReaderReply(changes=[], answers=[], readings=found)


def _list_shared(asked: ReaderInput) -> Iterator[TwoReadings]:
    for table, rows in asked.rows.items() if is_object(asked.rows) else ():
        bearing: dict[str, list[str]] = {}
        for key, row in rows.items() if is_object(rows) else ():
            if (label := _find_label(row)) and label in asked.request:
                bearing.setdefault(label, []).append(key)
        for label, (one, *others) in bearing.items():
            if others:
                yield TwoReadings(words=label, one=_mean(table, one), other=_mean(table, others[0]))


def _find_label(row: Json) -> str:
    return (
        next((row[name] for name in _LABELS if isinstance(row.get(name), str)), "")
        if is_object(row)
        else ""
    )


def _mean(table: str, key: str) -> Understanding:
    return Understanding(meaning=f"{key} of {table}", decision="do")
