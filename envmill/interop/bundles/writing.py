"""Writer of bundle folders: what the reader reads, in a folder that did not exist before."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from envmill.agents.briefing import knows_time
from envmill.base.errors import SettingsError
from envmill.interop.bundles.envrun.layout import (
    MANIFEST,
    PROGRAM,
    SCENARIO,
    SCENARIOS,
    STATES,
    TESTS,
    TOOLS,
    VERIFIER,
)
from envmill.interop.bundles.folder import Folder
from envmill.kinds import kind_of
from schemas.base import Json, canonical_json, digest, leave_out
from schemas.environment import Environment, Test
from schemas.scenario import Check, Scenario

LONGEST = 200
"""Bytes of the name of a state."""


def write_folder(root: Path, folder: Folder, beside: dict[str, str] | None = None) -> None:
    """The whole folder; `beside` are papers that lie in it, by name."""
    if root.exists():
        raise SettingsError(
            f"{root} exists already. Name a folder that does not, or remove it first."
        )
    for path, text in (render_folder(folder) | (beside or {})).items():
        _write(root, path, text)


def render_folder(folder: Folder) -> dict[str, str]:
    """Path → text of every file."""
    states = _name_states(folder)
    texts = {f"{PROGRAM}/{path}": text for path, text in folder.environment.files.items()}
    texts[MANIFEST] = _render(_describe_environment(folder.environment))
    texts[TOOLS] = _render([tool.model_dump(mode="json") for tool in folder.environment.shown])
    names = {canonical_json(state): name for name, state in states.items()}
    if folder.tests:
        texts[TESTS] = _render(
            [_describe_test(test, names, folder.environment) for test in folder.tests]
        )
    texts |= {f"{STATES}/{name}.json": _render(state) for name, state in states.items()}
    for scenario in folder.scenarios:
        texts |= {
            f"{SCENARIOS}/{scenario.number:03d}/{path}": text
            for path, text in _describe_scenario(scenario, names, folder).items()
        }
    for path in texts:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise SettingsError(
                f"The environment has a file {path!r}, which leads out of its folder. Rename it."
            )
    return texts


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8", newline="")


def _render(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _name_states(folder: Folder) -> dict[str, dict[str, Json]]:
    """Those it names, and one name for every further state that tests share."""
    named = {_shorten(name): state for name, state in folder.states.items()}
    known = {canonical_json(state) for state in named.values()}
    for test in folder.tests:
        if canonical_json(test.initial_state) not in known:
            known.add(canonical_json(test.initial_state))
            named[
                next(
                    name
                    for number in range(len(named) + 1)
                    if (name := f"tests-{number + 1}") not in named
                )
            ] = test.initial_state
    return named


def _shorten(name: str) -> str:
    """A name that a file can bear."""
    return name if len(name.encode()) <= LONGEST else f"{name[: LONGEST // 4]}-{digest(name, 8)}"


def _describe_environment(environment: Environment) -> dict[str, Json]:
    kept = environment.model_dump(
        mode="json",
        include={
            "kind",
            "name",
            "summary",
            "entry",
            "rules",
            "policy_document",
            "blueprint",
            "licence",
            "origin",
        },
    )
    brief = environment.brief
    policies = kind_of(environment).list_policies(environment.tables)
    settled = {} if policies is None else {"policies": policies}
    return {
        "bundle": 1,
        **kept,
        "tells_time": knows_time(environment),
        **settled,
        "theme": brief.theme,
        "text": brief.text,
        "number": brief.number,
    }


def _describe_test(test: Test, names: dict[str, str], environment: Environment) -> dict[str, Json]:
    kept = {"name", "setup", "call", "expect", "after", *(() if test.reply is None else ("reply",))}
    told = leave_out(test.model_dump(mode="json", include=kept), "after")
    own = (
        {} if test.origin == environment.origin else {"origin": test.origin.model_dump(mode="json")}
    )
    return told | {"initial_state": names[canonical_json(test.initial_state)]} | own


def _describe_scenario(scenario: Scenario, names: dict[str, str], folder: Folder) -> dict[str, str]:
    told = leave_out(
        scenario.model_dump(
            mode="json", exclude={"id", "schema_version", "environment", "verifier"}
        ),
        "parts",
    )
    told["initial_state"] = names.get(
        canonical_json(scenario.initial_state), scenario.initial_state
    )
    if scenario.origin == folder.environment.origin:
        told.pop("origin")
    verifier = scenario.verifier.model_dump(mode="json")
    sources: dict[str, str] = {}
    for part, checks in (("goals", scenario.verifier.goals), ("guards", scenario.verifier.guards)):
        verifier[part] = [
            _describe_check(check, written, sources)
            for check, written in zip(checks, verifier[part], strict=True)
        ]
    return {SCENARIO: _render(told), VERIFIER: _render(verifier), **sources}


def _describe_check(
    check: Check, written: dict[str, Any], sources: dict[str, str]
) -> dict[str, Json]:
    """A generated check goes into a file of its own."""
    if check.op != "generated":
        return written
    path = f"checks/{len(sources) + 1:03d}.py"
    sources[path] = check.source
    return {name: value for name, value in written.items() if name != "source"} | {"file": path}
