"""τ²-bench's data as they lie on disk: domains by name, each with its state, policies, tasks and splits, or what is wrong with it.

folder ──► domain folders ──► db · user_db · policies · tasks · splits · tools.json
             │                  a file that is missing or only a pointer is named, and its domain left out
             └► fields that no record knows are counted, never used
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from envmill.base.errors import SettingsError
from envmill.interop.bundles.files import Files, fault
from envmill.interop.importers.base import MAX_RELEASE
from schemas.base import Json, is_array, is_object

Side = Literal["assistant", "user"]
Basis = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]
POINTERS = ("version https://git-lfs.github.com/spec/", "/annex/objects/", "../.git/annex/")
"""How a file begins that stands for one that was never fetched."""
BESIDE = frozenset(
    (
        "gold_diff.json",
        "initial_state.json",
        "state_schema.json",
        "tools.json",
        "split_tasks.json",
        "expected.json",
    )
)
_POLICIES = {
    "": (("policy.md",), ("main_policy.md", "tech_support_manual.md")),
    "workflow": (("main_policy.md", "tech_support_workflow.md"),),
    "solo": (("policy_solo.md",), ("main_policy_solo.md", "tech_support_manual.md")),
    "workflow-solo": (("main_policy_solo.md", "tech_support_workflow_solo.md"),),
}
"""Variant → files of which its policy is made."""


class _Released(BaseModel):
    """What else stands there is told of, and not used."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class ReleasedAction(_Released):
    """A gold call, of either side."""

    name: str
    arguments: dict[str, Json] = {}
    action_id: str = ""
    requestor: Side = "assistant"
    info: str | None = None
    compare_args: list[str] | None = None


class ReleasedEnvCall(_Released):
    """A call of a function that no side is offered: it breaks something, or looks at it."""

    env_type: Side
    func_name: str
    arguments: dict[str, Json] = {}


class ReleasedAssertion(ReleasedEnvCall):
    """One that must return a certain value at the end."""

    assert_value: bool = True
    message: str | None = None


class ReleasedCriteria(_Released):
    """How a task is judged."""

    actions: list[ReleasedAction] | None = None
    env_assertions: list[ReleasedAssertion] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: list[str] | None = None
    reward_basis: list[Basis] = ["DB", "COMMUNICATE"]


class ReleasedInstructions(_Released):
    """What the user is told about themselves."""

    domain: str = ""
    reason_for_call: str
    task_instructions: str = ""
    known_info: str | None = None
    unknown_info: str | None = None


class ReleasedUser(_Released):
    """Who calls."""

    instructions: ReleasedInstructions | str
    persona: str | None = None


class ReleasedData(_Released):
    """Fields that a task has otherwise than the domain."""

    agent_data: dict[str, Json] | None = None
    user_data: dict[str, Json] | None = None


class ReleasedToolCall(_Released):
    """A call of an earlier conversation."""

    name: str
    arguments: dict[str, Json] = {}
    id: str = ""
    requestor: Side | None = None


class ReleasedMessage(_Released):
    """A message of an earlier conversation."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str | None = None
    tool_calls: list[ReleasedToolCall] | None = None
    id: str = ""
    requestor: Side | None = None


class ReleasedStart(_Released):
    """How a task begins."""

    initialization_data: ReleasedData | None = None
    initialization_actions: list[ReleasedEnvCall] | None = None
    message_history: list[ReleasedMessage] | None = None


class ReleasedTask(_Released):
    """One task."""

    id: str
    user_scenario: ReleasedUser
    description: dict[str, Json] | str | None = None
    ticket: str | None = None
    initial_state: ReleasedStart | None = None
    evaluation_criteria: ReleasedCriteria | None = None
    issues: list[Json] | None = None
    required_documents: list[Json] | None = None
    user_tools: list[str] | None = None


_KNOWN: Mapping[str, type[BaseModel]] = {
    "": ReleasedTask,
    "user_scenario": ReleasedUser,
    "user_scenario.instructions": ReleasedInstructions,
    "initial_state": ReleasedStart,
    "initial_state.initialization_data": ReleasedData,
    "initial_state.initialization_actions": ReleasedEnvCall,
    "initial_state.message_history": ReleasedMessage,
    "initial_state.message_history.tool_calls": ReleasedToolCall,
    "evaluation_criteria": ReleasedCriteria,
    "evaluation_criteria.actions": ReleasedAction,
    "evaluation_criteria.env_assertions": ReleasedAssertion,
}
_UNUSED = {
    "initial_state.message_history": {"turn_idx", "timestamp", "cost", "usage", "raw_data", "error"}
}
"""Fields that are known and mean nothing to us."""


@dataclass
class DomainData:
    """One domain, read."""

    name: str
    agent: dict[str, Json]
    user: dict[str, Json]
    policies: dict[str, str]
    """Variant → policy."""
    tasks: list[tuple[str, ReleasedTask | str]]
    """By id, each a task or what is wrong with it."""
    splits: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    tools: dict[str, Json] | None = None
    """`tools.json`, where the folder has one."""
    unknown: dict[str, int] = field(default_factory=dict[str, int])
    """Fields of tasks that are not known → how often."""
    unread: list[str] = field(default_factory=list[str])
    """Files that are not read."""
    user_file: str = ""
    """File of the user's state, where there is one."""


def read_domains(root: Path) -> Iterator[tuple[str, DomainData | tuple[str, str]]]:
    """Every domain by its name, or (code, words) of what is wrong with it."""
    files = Files(root, largest=MAX_RELEASE)
    homes = sorted(
        {_find_home(path) for path in files.list() if _is_task_file(path)} - {None}, key=str
    )
    if not homes:
        raise fault(
            str(root),
            "there is no tasks.json",
            "Name a domain's folder of τ²-bench, or the folder that holds several.",
        )
    for home in homes:
        name = str(home).rpartition("/")[2] or root.resolve().name
        try:
            yield name, _read_domain(files, str(home), name)
        except SettingsError as error:
            yield (
                name,
                (
                    ("not_fetched" if "is a pointer" in error.message else "unreadable"),
                    error.message,
                ),
            )


def _is_task_file(path: str) -> bool:
    *_, folder, name = ("", *path.split("/"))
    return (name.startswith("tasks") or folder == "tasks") and name.endswith(".json")


def _find_home(path: str) -> str | None:
    """The domain's folder; None of a file that only looks like one."""
    parts = path.split("/")[:-1]
    return "/".join(parts[:-1] if parts and parts[-1] == "tasks" else parts)


def _read_domain(files: Files, home: str, name: str) -> DomainData:
    at = f"{home}/" if home else ""
    here = {path.removeprefix(at) for path in files.list() if path.startswith(at)}
    here = {path for path in here if "/" not in path or path.startswith("tasks/")}
    for path in sorted(here):
        _refuse_pointer(files, at + path)
    agent = _read_state(files, at, "db", here, needed=True)
    user_file = next((one for one in ("user_db.json", "user_db.toml") if one in here), "")
    rows, used = _read_tasks(files, at, here)
    unknown = dict[str, int]()
    tools = files.json(f"{at}tools.json") if "tools.json" in here else None
    domain = DomainData(
        name=name,
        agent=agent,
        user=_read_state(files, at, "user_db", here, needed=False),
        policies=_read_policies(files, at, here),
        tasks=list(_sort_tasks(rows, unknown)),
        splits=_read_splits(files, at, here),
        tools=tools if is_object(tools) else None,
        unknown=unknown,
        user_file=user_file,
    )
    used |= {
        "db.json",
        "db.toml",
        user_file,
        *BESIDE,
        *(file for sets in _POLICIES.values() for one in sets for file in one),
    }
    domain.unread = sorted(path for path in here if path not in used)
    return domain


def _refuse_pointer(files: Files, path: str) -> None:
    if files.content(path)[:200].decode("utf-8", "replace").lstrip().startswith(POINTERS):
        raise fault(
            path,
            "it is a pointer to a file that was not fetched",
            "Fetch it, with `git lfs pull`, or put the file itself there.",
        )


def _read_state(
    files: Files, at: str, stem: str, here: set[str], *, needed: bool
) -> dict[str, Json]:
    path = next((one for one in (f"{stem}.json", f"{stem}.toml") if one in here), "")
    if not path:
        if needed:
            raise fault(
                f"{at}{stem}.json",
                f"it is missing, and no {stem}.toml stands for it",
                "Without its state a domain cannot begin.",
            )
        return {}
    found = files.json(at + path) if path.endswith(".json") else _read_toml(files, at + path)
    if not is_object(found):
        raise fault(at + path, "it holds no object of collections", "Correct it there.")
    return found


def _read_toml(files: Files, path: str) -> Json:
    """TOML has dates that JSON has not: they become texts."""
    try:
        return _plain(tomllib.loads(files.text(path)))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise fault(path, f"it is no TOML ({str(error)[:200]})", "Correct it there.") from None


def _plain(value: Any) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float) and not -1e308 <= value <= 1e308:
        raise ValueError(f"{value} is no number of JSON")
    return value if isinstance(value, str | int | float | bool) else str(value)


def _read_policies(files: Files, at: str, here: set[str]) -> dict[str, str]:
    found = dict[str, str]()
    for variant, choices in _POLICIES.items():
        names = next((one for one in choices if set(one) <= here), None)
        if names is None:
            continue
        texts = [files.text(at + name) for name in names]
        found[variant] = (
            texts[0]
            if len(texts) == 1
            else f"<main_policy>\n{texts[0]}\n</main_policy>\n<tech_support_policy>\n{texts[1]}\n</tech_support_policy>"
        )
    if "" not in found:
        lacking = "tech_support_manual.md" if "main_policy.md" in here else "policy.md"
        raise fault(
            at + lacking,
            "it is missing",
            "A domain's policy is policy.md, or main_policy.md with tech_support_manual.md.",
        )
    return found


def _read_tasks(files: Files, at: str, here: set[str]) -> tuple[list[tuple[str, Json]], set[str]]:
    """Rows with where they stand. Where each task has a file of its own, these count, as in the benchmark's own loader."""
    alone = sorted(path for path in here if path.startswith("tasks/") and path.endswith(".json"))
    if alone:
        return [(path, files.json(at + path)) for path in alone], {*alone, "tasks.json"}
    if "tasks.json" not in here:
        others = ", ".join(sorted(path for path in here if _is_task_file(path)))
        raise fault(
            f"{at}tasks.json",
            "it is missing",
            f"There is {others}, another set of tasks: name that file tasks.json to import it.",
        )
    found = files.json(f"{at}tasks.json")
    rows = found.get("tasks") if is_object(found) else found
    if not is_array(rows):
        raise fault(f"{at}tasks.json", "it holds no list of tasks", "It must be a list of tasks.")
    return [(f"tasks.json[{place}]", row) for place, row in enumerate(rows)], {"tasks.json"}


def _sort_tasks(
    rows: Sequence[tuple[str, Json]], unknown: dict[str, int]
) -> Iterator[tuple[str, ReleasedTask | str]]:
    seen = set[str]()
    for place, row in rows:
        name = str(row.get("id") or place) if is_object(row) else place
        try:
            task = ReleasedTask.model_validate(row)
        except (ValidationError, RecursionError) as error:
            yield name, _explain(error)
            continue
        for path in _list_unknown(row):
            unknown[path] = unknown.get(path, 0) + 1
        yield name, f"another task bears the id {name}" if name in seen else task
        seen.add(name)


def _explain(error: Exception) -> str:
    first: Mapping[str, Any] = (
        error.errors(include_url=False)[0]
        if isinstance(error, ValidationError)
        else {"loc": (), "msg": str(error)}
    )
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _list_unknown(value: Json, path: str = "") -> Iterator[str]:
    """Fields that no record here knows, with their place."""
    if is_array(value):
        for item in value:
            yield from _list_unknown(item, path)
    elif is_object(value) and path in _KNOWN:
        known = set(_KNOWN[path].model_fields) | _UNUSED.get(path, set())
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            if name not in known:
                yield below
            else:
                yield from _list_unknown(item, below)


def _read_splits(files: Files, at: str, here: set[str]) -> dict[str, list[str]]:
    if "split_tasks.json" not in here:
        return {}
    found = files.json(f"{at}split_tasks.json")
    if not is_object(found) or not all(is_array(ids) for ids in found.values()):
        raise fault(
            f"{at}split_tasks.json",
            "it holds no lists of ids by the name of a split",
            "Correct it there.",
        )
    return {name: [str(one) for one in ids] for name, ids in found.items()}
