"""Reader of bundle folders: files in, records out; what cannot be read is an error that names file,
place and mend.

bundle.json + program/ (+ tools.json) ─► Environment
tests.json, states/                   ─► tests
scenarios/NAME/{scenario,verifier}.json, checks/*.py ─► scenarios
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import RootModel

from envmill.base.errors import BuildError
from envmill.interop.bundles.envrun.digests import refuse_differences
from envmill.interop.bundles.envrun.layout import (
    MANIFEST,
    PROGRAM,
    RECORDINGS,
    SCENARIO,
    SCENARIOS,
    TESTS,
    TOOLS,
    VERIFIER,
    list_states,
    pick_state,
    read_checks,
    read_state,
    refuse_strangers,
    refuse_unnamed,
    refuse_unsourced,
)
from envmill.interop.bundles.files import Files, fault
from envmill.interop.bundles.folder import Folder
from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.runtime.world import parse_clock
from schemas.base import Json
from schemas.database import Table
from schemas.environment import Environment, Test, Tool
from schemas.folder import FolderScenario, FolderTest, Manifest
from schemas.scenario import Scenario, UserContract, Verifier
from schemas.seed import Brief

State = dict[str, Json]


class _Tools(RootModel[list[Tool]]):
    """`tools.json`."""


class _Tests(RootModel[list[FolderTest]]):
    """`tests.json`."""


def read_folder(root: Path) -> Folder:
    """Everything a folder holds, or SettingsError. Where it has SHA256SUMS, every file is compared
    first."""
    files = Files(root, skipped=(RECORDINGS,))
    compared = refuse_differences(files)
    manifest = files.read(MANIFEST, Manifest)
    refuse_strangers(files)
    environment = _read_environment(files, manifest)
    states = {name: read_state(files, name) for name in list_states(files)}
    tests = _read_tests(files, environment, states) if TESTS in files else ()
    names = sorted({path.split("/")[0] for path in files.below(SCENARIOS)})
    scenarios = tuple(
        _read_scenario(files, name, place, environment, states) for place, name in enumerate(names)
    )
    return Folder(environment, tests, _refuse_equals(scenarios, names), states, compared)


def _read_environment(files: Files, manifest: Manifest) -> Environment:
    sources = {path: files.source(f"{PROGRAM}/{path}") for path in files.below(PROGRAM)}
    class_name = manifest.entry.partition(":")[2]
    home = KINDS[manifest.kind].find_home(manifest.entry)
    if home not in sources:
        raise fault(
            MANIFEST,
            f"{manifest.entry!r} needs {PROGRAM}/{home}, which is missing",
            "Add the file, or correct it.",
            "entry",
        )
    tables = _derive_tables(sources, manifest)
    tools = _read_tools(files, sources[home], class_name, manifest, tables)
    return Environment(
        kind=manifest.kind,
        files=sources,
        entry=manifest.entry,
        tools=[tool for tool in tools if not tool.sibling],
        beside=[tool for tool in tools if tool.sibling],
        tables=tables,
        rules=manifest.rules,
        policy_document=manifest.policy_document,
        name=manifest.name,
        summary=manifest.summary,
        brief=_read_brief(manifest),
        blueprint=manifest.blueprint,
        licence=manifest.licence,
        origin=manifest.origin,
    )


def _derive_tables(sources: Mapping[str, str], manifest: Manifest) -> list[Table]:
    try:
        return KINDS[manifest.kind].derive_tables(sources, manifest.policies)
    except BuildError as error:
        raise fault(
            MANIFEST, error.message.rstrip("."), "Mend it there, or in the schema.", "policies"
        ) from error


def _read_tools(
    files: Files, source: str, class_name: str, manifest: Manifest, tables: Sequence[Table]
) -> list[Tool]:
    """The interface; where state is tables, with the tables of each tool."""
    tools = (
        files.read(TOOLS, _Tools).root
        if TOOLS in files
        else _derive_tools(source, class_name, manifest)
    )
    try:
        return KINDS[manifest.kind].add_touches(tools, manifest.touches, tables)
    except BuildError as error:
        raise fault(
            TOOLS if TOOLS in files else MANIFEST,
            error.message.rstrip("."),
            "The jail shows later whether it is true.",
        ) from error


def _derive_tools(source: str, class_name: str, manifest: Manifest) -> list[Tool]:
    if not manifest.effects:
        mend = (
            f'Add {TOOLS}, or `effects` like {{"list_loans": "query", "add_loan": "change"}}, '
            "and the rest is derived from the code."
        )
        raise fault(MANIFEST, "nothing says what the tools do", mend, "effects")
    try:
        return KINDS[manifest.kind].derive_tools(source, class_name, manifest.effects)
    except BuildError as error:
        raise fault(
            f"{PROGRAM}/{manifest.entry.partition(':')[0]}.py",
            error.message.rstrip("."),
            f"Mend it, or add {TOOLS}.",
        ) from error


def _read_brief(manifest: Manifest) -> Brief:
    theme = (
        re.sub(r"\W+", "_", manifest.name.lower()).strip("_")
        if manifest.theme is None
        else manifest.theme
    )
    return Brief(
        theme=theme,
        text=manifest.summary if manifest.text is None else manifest.text,
        number=manifest.number,
    )


def _read_tests(
    files: Files, environment: Environment, states: Mapping[str, State]
) -> tuple[Test, ...]:
    def make(place: int, one: FolderTest) -> Test:
        state = pick_state(files, one.initial_state, states, TESTS, f"{place}.initial_state")
        told = {
            "environment": environment.id,
            "initial_state": state,
            "origin": one.origin or environment.origin,
        }
        return Test.model_validate(one.model_dump() | told)

    return tuple(make(place, one) for place, one in enumerate(files.read(TESTS, _Tests).root))


def _read_scenario(
    files: Files, name: str, place: int, environment: Environment, states: Mapping[str, State]
) -> Scenario:
    home = f"{SCENARIOS}/{name}"
    file = f"{home}/{SCENARIO}"
    told = files.read(file, FolderScenario)
    state = pick_state(files, told.initial_state, states, file, "initial_state")
    more = {
        "environment": environment.id,
        "number": place if told.number is None else told.number,
        "initial_state": state,
        "user": told.user or UserContract(opening=told.request),
        "clock": _read_clock(told.clock or CLOCK, file),
        "verifier": _read_verifier(files, home),
        "origin": told.origin or environment.origin,
    }
    return Scenario.model_validate(told.model_dump() | more)


def _read_clock(clock: str, file: str) -> str:
    try:
        parse_clock(clock)
    except ValueError as error:
        raise fault(
            file,
            f"{clock!r} is no time ({error})",
            "Write it like 2026-03-02T09:00:00+00:00.",
            "clock",
        ) from None
    return clock


def _read_verifier(files: Files, home: str) -> Verifier:
    """Declarative checks stand in the file; a generated one names its own, so that it can be read
    and edited as code."""
    written, named = read_checks(files, home)
    verifier = files.fit(f"{home}/{VERIFIER}", written, Verifier)
    refuse_unnamed(files, home, named)
    for check in (*verifier.goals, *verifier.guards):
        refuse_unsourced(files, home, check.name, check.op, check.source)
    return verifier


def _refuse_equals(scenarios: tuple[Scenario, ...], names: list[str]) -> tuple[Scenario, ...]:
    first: dict[int, str] = {}
    for scenario, name in zip(scenarios, names, strict=True):
        if twin := first.get(scenario.number):
            file = f"{SCENARIOS}/{name}/{SCENARIO}"
            raise fault(
                file,
                f"number {scenario.number} is also that of {twin}",
                "Give each scenario its own.",
                "number",
            )
        first[scenario.number] = name
    return scenarios
