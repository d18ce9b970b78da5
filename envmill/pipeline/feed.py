"""The recall feed: a file of all that was withdrawn, numbered in the order in which the file learnt
of it. Trainers poll it.

withdrawals and rejections of all runs ──those the file lacks──► appended with the next numbers ──► replaced at once
"""

from pathlib import Path
from uuid import uuid4

import orjson

from envmill.base.errors import SettingsError
from envmill.interop.consumers.sessions.recalls import FORM
from envmill.lake.lake import Lake
from envmill.pipeline.locking import list_withdrawals
from schemas.base import Json


def update_feed(lake: Lake, path: Path) -> list[Json]:
    """What is new in it. A number is given once, and never to another subject."""
    known = _read(path)
    there = {one["subject"] for one in known}
    fresh = sorted(
        (subject, reason)
        for subject, reason in list_withdrawals(lake).items()
        if subject not in there
    )
    new: list[Json] = [
        {"seq": number, "subject": subject, "reason": reason}
        for number, (subject, reason) in enumerate(fresh, known[-1]["seq"] + 1 if known else 1)
    ]
    if new or not path.exists():
        whole: Json = {"form": FORM, "seq": len(known) + len(new), "withdrawn": [*known, *new]}
        part = path.with_name(f".{path.name}-{uuid4().hex}")
        part.write_bytes(
            orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        part.replace(path)
    return new


def list_since(path: Path, since: int) -> list[Json]:
    """Entries after a number."""
    return [one for one in _read(path) if one["seq"] > since]


def _read(path: Path) -> list[Json]:
    if not path.exists():
        return []
    try:
        told: Json = orjson.loads(path.read_bytes())
        entries = list(told["withdrawn"])
        whole = told["form"] == FORM and [one["seq"] for one in entries] == [
            *range(1, len(entries) + 1)
        ]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise SettingsError(
            f"{path} is not a recall feed ({type(error).__name__}: {error}). Name another file."
        ) from error
    if not whole:
        raise SettingsError(
            f"{path} is not a recall feed of form {FORM}, or some of its entries are missing. Name "
            "another file."
        )
    return entries
