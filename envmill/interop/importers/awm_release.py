"""AWM's rows as they lie on disk: JSON lines by scenario, one file for each of its stages, told
apart by what a row holds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from envmill.interop.bundles.files import Files, fault
from envmill.interop.importers.base import MAX_RELEASE, parse_text
from schemas.base import Json, is_array, is_object


class _Released(BaseModel):
    """Fields we do not use differ between the copies."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ReleasedTable(_Released):
    name: str
    ddl: str
    indexes: list[str] = []


class ReleasedSchema(_Released):
    tables: list[ReleasedTable]


class ReleasedRows(_Released):
    table_name: str
    insert_statements: list[str]


class ReleasedSample(_Released):
    tables: list[ReleasedRows]


class ReleasedParameter(_Released):
    type: str = "string"
    param_type: str = "query"
    required: bool = False
    description: str = ""


class ReleasedEndpoint(_Released):
    operation_id: str
    method: str
    path: str
    summary: str = ""
    description: str = ""
    request_params: dict[str, ReleasedParameter] = {}
    required_tables: list[str] = []


class ReleasedGroup(_Released):
    endpoints: list[ReleasedEndpoint]


class ReleasedInterface(_Released):
    api_groups: list[ReleasedGroup]


class Verification(_Released):
    code: str


class ReleasedVerifier(_Released):
    task_idx: int
    task: str
    verification: Verification


@dataclass
class ReleasedWorld:
    """All that is told of one scenario, which is an environment of ours."""

    description: str = ""
    schema: ReleasedSchema | None = None
    sample: ReleasedSample | None = None
    interface: ReleasedInterface | None = None
    tasks: list[str] = field(default_factory=list[str])
    verifiers: list[ReleasedVerifier] = field(default_factory=list[ReleasedVerifier])
    has_code: bool = False


def read_worlds(root: Path) -> tuple[dict[str, ReleasedWorld], list[tuple[str, str]]]:
    """Scenario → what is told of it, and (place, fault) of every row that cannot be read."""
    files, worlds, faults = (
        Files(root, largest=MAX_RELEASE),
        dict[str, ReleasedWorld](),
        list[tuple[str, str]](),
    )
    paths = [path for path in files.list() if "/" not in path and path.endswith(".jsonl")]
    if not paths:
        raise fault(
            str(root),
            "there are no *.jsonl",
            "Name the folder that holds the release's JSON lines.",
        )
    for path in paths:
        for place, row in _read_lines(files.text(path)):
            if told := _take(row, worlds):
                faults.append((f"{path}, line {place}", told))
    return worlds, faults


def _read_lines(text: str) -> Iterator[tuple[int, Json]]:
    for place, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield place, parse_text(line)
            except ValueError as error:
                yield place, str(error)


def _take(row: Json, worlds: dict[str, ReleasedWorld]) -> str:
    """Add a row to its scenario; what is wrong with it."""
    if not is_object(row):
        return row if isinstance(row, str) else "it is no object"
    name = row.get("scenario", row.get("name"))
    if not isinstance(name, str) or not name:
        return "it names no scenario"
    world = worlds.setdefault(name, ReleasedWorld())
    try:
        return _add(row, world)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _add(row: dict[str, Json], world: ReleasedWorld) -> str:
    known: dict[str, tuple[str, type[Any]]] = {
        "db_schema": ("schema", ReleasedSchema),
        "sample_data": ("sample", ReleasedSample),
        "api_spec": ("interface", ReleasedInterface),
    }
    for key, (name, record) in known.items():
        if key in row:
            setattr(world, name, record.model_validate(row[key]))
            return ""
    if "verification" in row:
        world.verifiers.append(ReleasedVerifier.model_validate(row))
    elif is_array(tasks := row.get("tasks")):
        world.tasks += [str(task) for task in tasks]
    elif "full_code" in row:
        world.has_code = True
    elif isinstance(row.get("description"), str):
        world.description = str(row["description"])
    else:
        return "it is a row of none of the stages that are known"
    return ""
