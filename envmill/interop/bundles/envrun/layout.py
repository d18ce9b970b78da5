"""Names of the files in a bundle folder, and the parts that the factory and an exported folder read
in one way."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from .digests import DIGESTS
from .files import PlainFiles

MANIFEST = "bundle.json"
TOOLS = "tools.json"
TESTS = "tests.json"
REPORT = "import.json"
PROGRAM, STATES, SCENARIOS = "program", "states", "scenarios"
SCENARIO, VERIFIER = "scenario.json", "verifier.json"
PROVENANCE = "provenance.json"
CARRIED = "envrun"
"""Folder of what an exported bundle runs by where nothing is installed. Here it is passed over:
what runs here is our own."""
PAPERS = ("README", "LICENSE", "LICENCE", "NOTICE", REPORT, PROVENANCE, DIGESTS)
"""Files that may lie beside; no reader uses them."""
RECORDINGS = "recordings"
"""Folder for moves and recordings of those who play the environment. No reader of a folder looks
into it."""

S = TypeVar("S")


def refuse_strangers(files: PlainFiles) -> None:
    """A misspelled file would be passed over in silence."""
    for path in files.list():
        top, _, rest = path.partition("/")
        if not rest and top not in (MANIFEST, TOOLS, TESTS) and not top.startswith(PAPERS):
            known = (
                f"Known: {MANIFEST}, {TOOLS}, {TESTS}, {', '.join(PAPERS)}, folders. Moves and "
                f"recordings belong into {RECORDINGS}/."
            )
            raise files.complain(path, "it is no part of a bundle folder", known)
        if rest and top not in (PROGRAM, STATES, SCENARIOS, CARRIED):
            known = f"Known: {PROGRAM}/, {STATES}/, {SCENARIOS}/, {CARRIED}/, {RECORDINGS}/."
            raise files.complain(path, "its folder is no part of a bundle folder", known)
        if top == STATES and not re.fullmatch(r"[\w.-]+\.json", rest):
            raise files.complain(
                path,
                "it is no state",
                f"{STATES}/ holds files like {STATES}/empty.json, and no folders.",
            )


def list_states(files: PlainFiles) -> list[str]:
    """Names of the states."""
    return [path.removesuffix(".json") for path in files.below(STATES)]


def read_state(files: PlainFiles, name: str) -> dict[str, Any]:
    """A state by its name."""
    path = f"{STATES}/{name}.json"
    found = files.json(path)
    if not isinstance(found, dict):
        raise files.complain(
            path,
            "it is no object of collections",
            'Write one like {"tools": {"T1": {"free": true}}}.',
        )
    return found  # pyright: ignore[reportUnknownVariableType]


def pick_state(
    files: PlainFiles, given: S | str, states: Mapping[str, S], file: str, place: str
) -> S:
    """A state that stands in a file, or that the file names."""
    if not isinstance(given, str):
        return given
    if given not in states:
        mend = f"Add {STATES}/{given}.json; known: {', '.join(states) or 'none'}."
        raise files.complain(file, f"there is no state {given!r}", mend, place)
    return states[given]


def read_checks(files: PlainFiles, home: str) -> tuple[Any, set[str]]:
    """The verifier of a scenario's folder with the sources of its generated checks, and the paths
    of these sources."""
    file = f"{home}/{VERIFIER}"
    written = files.json(file)
    named: set[str] = set()
    for check in _list_checks(written):
        if "file" in check:
            path = files.resolve(home, str(check.pop("file")), file)
            named.add(path)
            check["source"] = files.source(path)
    return written, named


def refuse_unnamed(files: PlainFiles, home: str, named: set[str]) -> None:
    """A file that no check names would be passed over in silence."""
    for path in files.below(home):
        if path not in (SCENARIO, VERIFIER) and f"{home}/{path}" not in named:
            raise files.complain(
                f"{home}/{path}",
                f"no check of {VERIFIER} names it",
                "Name it as the `file` of a check, or remove it.",
            )


def refuse_unsourced(files: PlainFiles, home: str, check: str, op: str, source: str) -> None:
    """A check is generated exactly where it has a source."""
    if (op == "generated") != bool(source):
        file = f"{home}/{VERIFIER}"
        raise files.complain(
            file,
            f"the check {check!r} is {op} and its source does not say so",
            "A generated check names a `file`.",
        )


def _list_checks(written: Any) -> Iterator[dict[str, Any]]:
    """Goals and guards of what may yet turn out to be no verifier."""
    for part in ("goals", "guards"):
        checks = written.get(part) if isinstance(written, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        for check in checks if isinstance(checks, list) else []:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(check, dict):
                yield check
