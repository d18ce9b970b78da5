"""Is a folder what Harbor reads, and would it be graded? Stricter than Harbor itself, which passes
over keys that it does not know.

Tree ──► files that have to be there ──► task.toml, key by key ──► exit-code discipline ──► faults, each with its mend
"""

import re
import tomllib
from collections.abc import Iterator

from pydantic import BaseModel, ValidationError

from envmill.base.errors import SettingsError
from envmill.interop.bundles.files import fault
from envmill.interop.harbor.layout import (
    COMPOSE,
    CONFIG,
    ENVIRONMENT,
    INSTRUCTION,
    README,
    RECIPE,
    RECORDS,
    SOLUTION,
    SOLVE,
    STEPS,
    TEST,
    TESTS,
    TRAJECTORY,
    VERSION,
)
from envmill.interop.harbor.tree import Tree
from schemas.base import Json
from schemas.harbor import VERSIONS, Judging, Surroundings, TaskFile

MAX_CONFIG = 256 << 10
MAX_NESTING = 32
OLD = {
    "memory": "memory_mb",
    "storage": "storage_mb",
    "allow_internet": "network_mode",
    "version": "schema_version",
}
"""Spellings that Harbor still reads, and what stands for them today."""
KNOWN = (CONFIG, INSTRUCTION, README, RECORDS, TRAJECTORY, ".gitignore", "LICENSE", "NOTICE")
_FOLDERS = (ENVIRONMENT, TESTS, SOLUTION, STEPS)
_FETCHES = re.compile(
    r"^[^#\n]*\b(apt|apt-get|pip3?|uvx?|curl -LsSf|wget|npm|conda)\b\s+(install|http|-)",
    re.MULTILINE,
)


def read_config(tree: Tree) -> TaskFile:
    """`task.toml`, or a complaint about its first fault."""
    try:
        return TaskFile.model_validate(read_toml(tree))
    except ValidationError as error:
        raise fault(CONFIG, *next(_explain(error))) from None


def read_toml(tree: Tree) -> dict[str, Json]:
    """The file as values."""
    if CONFIG in tree and len(tree.files[CONFIG].content) > MAX_CONFIG:
        raise fault(
            CONFIG,
            f"it has more than {MAX_CONFIG >> 10} KB",
            "What is long belongs into a file of its own.",
        )
    text = tree.text(CONFIG)
    if (
        max((line.count("[") + line.count("{") for line in text.splitlines()), default=0)
        > MAX_NESTING * 8
    ):
        raise fault(CONFIG, "it is nested too deeply", "Write it flatter.")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise fault(CONFIG, f"it is no TOML ({error})", "Correct it there.") from None


def find_faults(tree: Tree) -> list[str]:
    """Everything that is wrong, each with its mend; none is a folder that can be run and graded."""
    try:
        config = _read_all(tree)
    except SettingsError as error:
        return [error.message, *_find_missing(tree, None)]
    if isinstance(config, list):
        return [*config, *_find_missing(tree, None)]
    return [*_find_missing(tree, config), *_find_strangers(tree), *_find_slips(tree, config)]


def _read_all(tree: Tree) -> TaskFile | list[str]:
    try:
        return TaskFile.model_validate(read_toml(tree))
    except ValidationError as error:
        return [fault(CONFIG, *each).message for each in _explain(error)]


def _explain(error: ValidationError) -> Iterator[tuple[str, str, str]]:
    """What is wrong, how it is mended, and where."""
    for each in error.errors(include_url=False):
        place = ".".join(map(str, each["loc"]))
        key = str(each["loc"][-1]) if each["loc"] else ""
        if key == "schema_version":
            yield (
                f"it says version {str(each['input'])[:40]!r}",
                f"Known: {', '.join(VERSIONS)}; write {VERSION!r}.",
                place,
            )
        elif each["type"] == "extra_forbidden":
            yield (
                f"the key {key!r} is unknown",
                f"{_suggest(key)} Known there: {', '.join(_list_known(each['loc']))}.",
                place,
            )
        else:
            yield f"{each['msg']}, and it is {str(each['input'])[:80]!r}", "Correct it.", place


def _suggest(key: str) -> str:
    return (
        f"Write {OLD[key]} in its place."
        if key in OLD
        else "Correct or remove it: Harbor would pass it over in silence."
    )


def _list_known(place: tuple[int | str, ...]) -> list[str]:
    """Keys of the table that a place lies in."""
    model: type[BaseModel] = TaskFile
    for key in place[:-1]:
        found = model.model_fields.get(str(key))
        inner = [each for each in _list_models(found.annotation) if each] if found else []
        model = inner[0] if inner else model
    return sorted(model.model_fields)


def _list_models(annotation: object) -> list[type[BaseModel]]:
    parts = [annotation, *getattr(annotation, "__args__", ())]
    return [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]


def _find_missing(tree: Tree, config: TaskFile | None) -> Iterator[str]:
    if config and config.steps:
        for step in config.steps:
            if f"{STEPS}/{step.name}/{INSTRUCTION}" not in tree:
                yield (
                    f"{STEPS}/{step.name}/{INSTRUCTION}: the file is missing. Add it: every step "
                    "is asked for something."
                )
            if f"{STEPS}/{step.name}/tests/test.sh" not in tree and TEST not in tree:
                yield (
                    f"{STEPS}/{step.name}/tests/test.sh: the file is missing, and so is {TEST}. "
                    "Add one of them."
                )
    else:
        if INSTRUCTION not in tree or not tree.files[INSTRUCTION].content.strip():
            yield f"{INSTRUCTION}: it is missing or empty. Write what the agent is asked to do."
        if TEST not in tree:
            yield f"{TEST}: the file is missing. Add it: nothing else can give a reward."
    prebuilt = config is not None and config.environment.docker_image
    if not prebuilt and RECIPE not in tree and not any(each in tree for each in COMPOSE):
        yield f"{RECIPE}: the file is missing. Add it, or name a docker_image in [environment]."


def _find_strangers(tree: Tree) -> Iterator[str]:
    """A misspelled file would be passed over in silence."""
    for path in tree.files:
        top, _, rest = path.partition("/")
        if not rest and path not in KNOWN:
            yield f"{path}: it is no part of a Harbor folder. Known: {', '.join(KNOWN)}."
        elif rest and top not in _FOLDERS:
            yield f"{path}: its folder is no part of a Harbor folder. Known: {', '.join(_FOLDERS)}."


def _find_slips(tree: Tree, config: TaskFile) -> Iterator[str]:
    """What Harbor reads and nobody wants."""
    if config.task is None:
        yield f"{CONFIG}, task: it has no name. Add [task] with name = 'organisation/name'."
    if tree.below(SOLUTION) and SOLVE not in tree:
        yield (
            f"{SOLVE}: {SOLUTION}/ holds files and no solve.sh, so that no solution is ever run. "
            "Add it."
        )
    for path in (TEST, SOLVE):
        if path in tree:
            yield from _find_script_faults(path, tree)
    for name, surroundings in _list_surroundings(config.environment, config.verifier):
        if surroundings.docker_image and RECIPE in tree and name == "environment":
            yield (
                f"{CONFIG}, environment.docker_image: {RECIPE} is there as well, and which of "
                "them counts differs. Leave one out."
            )
    for path in tree.below(ENVIRONMENT):
        if path.startswith(("tests/", "solution/")):
            yield (
                f"{ENVIRONMENT}/{path}: it is built into the image, where agents read it. Move "
                f"it to {path.partition('/')[0]}/."
            )


def _list_surroundings(
    first: Surroundings, verifier: Judging
) -> Iterator[tuple[str, Surroundings]]:
    yield "environment", first
    if verifier.environment:
        yield "verifier.environment", verifier.environment


def _find_script_faults(path: str, tree: Tree) -> Iterator[str]:
    try:
        text = tree.text(path)
    except SettingsError as error:
        yield error.message
        return
    if not text.startswith("#!"):
        yield f"{path}: it names no interpreter. Begin it with #!/bin/bash."
    if "\r\n" in text:
        yield (
            f"{path}: its lines end as on Windows, which no interpreter of the container finds. "
            "Save it with line feeds alone."
        )
    if path == TEST:
        everything = text + "".join(
            leaf.content.decode(errors="replace") for leaf in tree.below(TESTS).values()
        )
        if "reward.txt" not in everything and "reward.json" not in everything:
            yield (
                f"{path}: nothing of {TESTS}/ writes /logs/verifier/reward.txt or reward.json. "
                "Write one, once there is a whole report."
            )
        if _FETCHES.search(text):
            yield (
                f"{path}: it fetches what it grades with, so that a network that is down is a "
                "reward of 0. Put that into the image."
            )
