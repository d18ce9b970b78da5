"""EnvScaler's release as it lies on disk: environments and scenarios, in each of the forms that
went round."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from envmill.interop.bundles.files import Files, fault
from envmill.interop.importers.base import MAX_RELEASE, parse_text
from schemas.base import Json, is_array, is_object

_ENVIRONMENTS, _SCENARIOS = (
    ("environments.json", "env_metadata.json"),
    ("scenarios.json", "scenario_metadata.json"),
)


class _Released(BaseModel):
    """Fields we do not use differ between the copies."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ReleasedFunction(_Released):
    """A tool, as OpenAI's function calling describes it."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = {"type": "object", "properties": {}}


class ReleasedTool(_Released):
    function: ReleasedFunction


class ReleasedOperation(_Released):
    operation_name: str
    operation_type: str = ""


class ReleasedEnvironment(_Released):
    env_class_name: str
    env_class_code: str
    tools: list[ReleasedTool]
    environment_summary: str = ""
    environment_introduction: str = ""
    constraints_rules: list[str] = []
    operation_list: list[ReleasedOperation] = []

    @field_validator("tools", "constraints_rules", "operation_list", mode="before")
    @classmethod
    def _unpack(cls, value: Any) -> Any:
        """One copy holds lists as JSON text."""
        return parse_text(value) if isinstance(value, str) else value


class ReleasedCheck(_Released):
    check_item: str
    check_func: str


class ReleasedScenario(_Released):
    env_id: str
    task_id: str
    init_config: dict[str, Json]
    task: str
    checklist_with_func: list[ReleasedCheck]

    @field_validator("init_config", "checklist_with_func", mode="before")
    @classmethod
    def _unpack(cls, value: Any) -> Any:
        return parse_text(value) if isinstance(value, str) else value


def read_environments(root: Path) -> Iterator[tuple[str, ReleasedEnvironment | str]]:
    """Every environment by its id, or what is wrong with it."""
    files = Files(root, largest=MAX_RELEASE)
    for path in _find(files, _ENVIRONMENTS):
        found = files.json(path)
        rows = (
            list(found.items())
            if is_object(found)
            else [(_name(row), row) for row in found]
            if is_array(found)
            else None
        )
        if rows is None:
            raise fault(
                path,
                "it holds no environments",
                "It must be an object id → environment, or a list of them.",
            )
        for key, row in rows:
            yield key, _read(ReleasedEnvironment, row)


def read_scenarios(root: Path) -> Iterator[tuple[str, ReleasedScenario | str]]:
    """Every scenario with its name; none is a release of environments alone."""
    files = Files(root, largest=MAX_RELEASE)
    for path in _find(files, _SCENARIOS, needed=False):
        found = files.json(path)
        if not is_array(found):
            raise fault(path, "it holds no list of scenarios", "It must be a list.")
        for place, row in enumerate(found):
            yield (
                str(
                    row.get("task_id", f"{path}[{place}]") if is_object(row) else f"{path}[{place}]"
                ),
                _read(ReleasedScenario, row),
            )


def _find(files: Files, names: tuple[str, ...], *, needed: bool = True) -> list[str]:
    found = [path for path in files.list() if "/" not in path and path.endswith(names)]
    if needed and not found:
        raise fault(
            str(files.root),
            f"there is no {names[0]} nor *{names[1]}",
            "Name the folder that holds the release's JSON files.",
        )
    return found


def _name(row: Json) -> str:
    return str(row.get("env_id", "")) if is_object(row) else ""


def _read(record: type[Any], row: Json) -> Any:
    try:
        return record.model_validate(row)
    except (ValidationError, ValueError) as error:
        first = (
            error.errors(include_url=False)[0]
            if isinstance(error, ValidationError)
            else {"loc": (), "msg": str(error)}
        )
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
