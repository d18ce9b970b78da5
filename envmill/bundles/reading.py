"""Reader of bundle folders: files in, records out; what cannot be read is an error that names file, place and mend.

bundle.json + program/ (+ tools.json) ─► Environment
tests.json, states/                   ─► tests
scenarios/NAME/{scenario,verifier}.json, checks/*.py ─► scenarios
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import RootModel, TypeAdapter, ValidationError

from envmill.bundles.files import Files, fault, resolve
from envmill.bundles.folder import CARRIED, MANIFEST, PAPERS, PROGRAM, SCENARIO, SCENARIOS, STATES, TESTS, TOOLS, VERIFIER, Folder
from envmill.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.sql import add_touches
from envmill.kinds.start import CLOCK
from envmill.runtime.world import parse_clock
from envmill.sandbox.machines.files import MACHINE
from schemas.base import Json, is_array, is_object
from schemas.database import Table
from schemas.environment import Environment, Test, Tool
from schemas.folder import FolderScenario, FolderTest, Manifest
from schemas.scenario import Scenario, UserContract, Verifier
from schemas.seed import Brief

State = dict[str, Json]
_STATE: TypeAdapter[State] = TypeAdapter(State)


class _Tools(RootModel[list[Tool]]):
    """`tools.json`."""


class _Tests(RootModel[list[FolderTest]]):
    """`tests.json`."""


def read_folder(root: Path) -> Folder:
    """Everything a folder holds, or SettingsError."""
    files = Files(root)
    manifest = files.read(MANIFEST, Manifest)
    _refuse_strangers(files)
    environment = _read_environment(files, manifest)
    states = {path.removesuffix(".json"): _read_state(files, f"{STATES}/{path}") for path in files.below(STATES)}
    tests = _read_tests(files, environment, states) if TESTS in files else ()
    names = sorted({path.split("/")[0] for path in files.below(SCENARIOS)})
    scenarios = tuple(_read_scenario(files, name, place, environment, states) for place, name in enumerate(names))
    return Folder(environment, tests, _refuse_equals(scenarios, names), states)


def _refuse_strangers(files: Files) -> None:
    """A misspelled file would be passed over in silence."""
    for path in files.list():
        top, _, rest = path.partition("/")
        if not rest and top not in (MANIFEST, TOOLS, TESTS) and not top.startswith(PAPERS):
            raise fault(path, "it is no part of a bundle folder", f"Known: {MANIFEST}, {TOOLS}, {TESTS}, {', '.join(PAPERS)}, folders.")
        if rest and top not in (PROGRAM, STATES, SCENARIOS, CARRIED):
            raise fault(path, "its folder is no part of a bundle folder", f"Known: {PROGRAM}/, {STATES}/, {SCENARIOS}/, {CARRIED}/.")
        if top == STATES and not re.fullmatch(r"[\w.-]+\.json", rest):
            raise fault(path, "it is no state", f"{STATES}/ holds files like {STATES}/empty.json, and no folders.")


def _read_environment(files: Files, manifest: Manifest) -> Environment:
    sources = {path: files.text(f"{PROGRAM}/{path}") for path in files.below(PROGRAM)}
    module, _, class_name = manifest.entry.partition(":")
    # A machine is described, and no program.
    home = MACHINE if manifest.kind == "terminal" else f"{module.replace('.', '/')}.py"
    if home not in sources:
        raise fault(MANIFEST, f"{manifest.entry!r} needs {PROGRAM}/{home}, which is missing", "Add the file, or correct it.", "entry")
    tables = _derive_tables(sources, manifest)
    return Environment(
        kind=manifest.kind,
        files=sources,
        entry=manifest.entry,
        tools=_read_tools(files, sources[home], class_name, manifest, tables),
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
        raise fault(MANIFEST, error.message.rstrip("."), "Mend it there, or in the schema.", "policies") from error


def _read_tools(files: Files, source: str, class_name: str, manifest: Manifest, tables: Sequence[Table]) -> list[Tool]:
    """The interface; where state is tables, with the tables of each tool."""
    tools = files.read(TOOLS, _Tools).root if TOOLS in files else _derive_tools(source, class_name, manifest)
    if not tables:
        return tools
    try:
        return add_touches(tools, manifest.touches, tables)
    except BuildError as error:
        raise fault(TOOLS if TOOLS in files else MANIFEST, error.message.rstrip("."), "The jail shows later whether it is true.") from error


def _derive_tools(source: str, class_name: str, manifest: Manifest) -> list[Tool]:
    if not manifest.effects:
        mend = f'Add {TOOLS}, or `effects` like {{"list_loans": "query", "add_loan": "change"}}, and the rest is derived from the code.'
        raise fault(MANIFEST, "nothing says what the tools do", mend, "effects")
    try:
        return KINDS[manifest.kind].derive_tools(source, class_name, manifest.effects)
    except BuildError as error:
        raise fault(f"{PROGRAM}/{manifest.entry.partition(':')[0]}.py", error.message.rstrip("."), f"Mend it, or add {TOOLS}.") from error


def _read_brief(manifest: Manifest) -> Brief:
    theme = re.sub(r"\W+", "_", manifest.name.lower()).strip("_") if manifest.theme is None else manifest.theme
    return Brief(theme=theme, text=manifest.summary if manifest.text is None else manifest.text, number=manifest.number)


def _read_state(files: Files, path: str) -> State:
    try:
        return _STATE.validate_python(files.json(path))
    except ValidationError:
        raise fault(path, "it is no object of collections", 'Write one like {"tools": {"T1": {"free": true}}}.') from None


def _pick_state(given: State | str, states: Mapping[str, State], file: str, place: str) -> State:
    if not isinstance(given, str):
        return given
    if given not in states:
        raise fault(file, f"there is no state {given!r}", f"Add {STATES}/{given}.json; known: {', '.join(states) or 'none'}.", place)
    return states[given]


def _read_tests(files: Files, environment: Environment, states: Mapping[str, State]) -> tuple[Test, ...]:
    def make(place: int, one: FolderTest) -> Test:
        state = _pick_state(one.initial_state, states, TESTS, f"{place}.initial_state")
        told = {"environment": environment.id, "initial_state": state, "origin": one.origin or environment.origin}
        return Test.model_validate(one.model_dump() | told)

    return tuple(make(place, one) for place, one in enumerate(files.read(TESTS, _Tests).root))


def _read_scenario(files: Files, name: str, place: int, environment: Environment, states: Mapping[str, State]) -> Scenario:
    home = f"{SCENARIOS}/{name}"
    file = f"{home}/{SCENARIO}"
    told = files.read(file, FolderScenario)
    state = _pick_state(told.initial_state, states, file, "initial_state")
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
        raise fault(file, f"{clock!r} is no time ({error})", "Write it like 2026-03-02T09:00:00+00:00.", "clock") from None
    return clock


def _read_verifier(files: Files, home: str) -> Verifier:
    """Declarative checks stand in the file; a generated one names its own, so that it can be read and edited as code."""
    file = f"{home}/{VERIFIER}"
    written = files.json(file)
    named: set[str] = set()
    for check in _list_checks(written):
        if "file" in check:
            path = resolve(home, str(check.pop("file")), file)
            named.add(path)
            check["source"] = files.text(path)
    verifier = files.fit(file, written, Verifier)
    for path in files.below(home):
        if path not in (SCENARIO, VERIFIER) and f"{home}/{path}" not in named:
            raise fault(f"{home}/{path}", f"no check of {VERIFIER} names it", "Name it as the `file` of a check, or remove it.")
    for check in (*verifier.goals, *verifier.guards):
        if (check.op == "generated") != bool(check.source):
            raise fault(file, f"the check {check.name!r} is {check.op} and its source does not say so", "A generated check names a `file`.")
    return verifier


def _list_checks(written: Json) -> Iterator[dict[str, Json]]:
    """Goals and guards of what may yet turn out to be no verifier."""
    for part in ("goals", "guards"):
        checks = written.get(part) if is_object(written) else None
        yield from filter(is_object, checks if is_array(checks) else [])


def _refuse_equals(scenarios: tuple[Scenario, ...], names: list[str]) -> tuple[Scenario, ...]:
    first: dict[int, str] = {}
    for scenario, name in zip(scenarios, names, strict=True):
        if twin := first.get(scenario.number):
            file = f"{SCENARIOS}/{name}/{SCENARIO}"
            raise fault(file, f"number {scenario.number} is also that of {twin}", "Give each scenario its own.", "number")
        first[scenario.number] = name
    return scenarios
