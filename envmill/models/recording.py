"""A recording: the model calls of a run as one file that can be kept, shared and played back. No
key of ours is in it.

first line  what it is, and how many calls follow
others      one call each, in the order their answers came
"""

import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.models.redaction import Redactor
from envmill.models.replay import order_calls
from schemas.base import Json, is_array, is_object
from schemas.choice import NO_PAST, Past
from schemas.ledger import ModelCall
from schemas.shapes import upgrade, version_of

_KIND, _VERSION = "envmill recording", 1


def is_file(recording: str) -> bool:
    """Whether a recording is named as a file, and not as a run."""
    return "/" in recording or recording.endswith(".jsonl")


def write_recording(
    path: Path, run: str, calls: Iterable[ModelCall], redactor: Redactor, past: Past = NO_PAST
) -> int:
    """Write the file whole or not at all; how many calls it holds."""
    rows = [_hide(call.model_dump(mode="json"), redactor) for call in order_calls(calls)]
    head = {
        "kind": _KIND,
        "version": _VERSION,
        "run": run,
        "calls": len(rows),
        "past": past.model_dump(mode="json"),
    }
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            file.writelines(orjson.dumps(row) + b"\n" for row in (head, *rows))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SettingsError(
            f"The recording cannot be written to {path} ({error}). The run is saved; name another "
            "file and resume it."
        ) from error
    return len(rows)


def read_recording(path: Path) -> list[ModelCall]:
    """Its calls; a file that is cut short or is something else is refused, since a gap would look
    like a changed prompt."""
    try:
        head, *rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read as a recording ({error}). Make one with `envmill run --record "
            "FILE`."
        ) from error
    if not is_object(head) or head.get("kind") != _KIND:
        raise SettingsError(
            f"{path} is not a recording of EnvMill. Make one with `envmill run --record FILE`."
        )
    if head.get("version") != _VERSION or head.get("calls") != len(rows):
        said = f"version {head.get('version')}, {len(rows)} of {head.get('calls')} calls"
        raise SettingsError(
            f"{path} is damaged or of another EnvMill ({said}). Copy it again, or record again."
        )
    return [_read_row(row, path, number) for number, row in enumerate(rows, start=2)]


def read_past(recording: str) -> Past:
    """What was known of earlier runs when the recorded run was opened: its prompts depend on it.
    Older recordings hold none."""
    head = orjson.loads(Path(recording).read_bytes().partition(b"\n")[0])
    return Past.model_validate(head.get("past") or {})


def _read_row(row: Json, path: Path, number: int) -> ModelCall:
    try:
        return ModelCall.model_validate(
            upgrade(ModelCall.table, int(row["schema_version"]), row, version_of(ModelCall))
        )
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{path}, line {number} is not a model call ({error}). Copy the file again, or record again."
        ) from error


def _hide(value: Any, redactor: Redactor) -> Any:
    """Every text without our secrets. Ids are hashes of other fields, so the row stays whole."""
    if isinstance(value, str):
        return redactor.hide(value)
    if is_object(value):
        return {name: _hide(one, redactor) for name, one in value.items()}
    return [_hide(one, redactor) for one in value] if is_array(value) else value
