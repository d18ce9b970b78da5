"""An image's recipe, read step by step, so that any engine of containers can follow it: the classic
builder's instructions alone."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from envmill.interop.harbor.tree import FolderFile
from envmill.kinds.terminal import find_recipe_faults

BASE = "envmill/base"
"""The one image that is had without a registry."""


@dataclass(frozen=True)
class CopyFiles:
    """Files that are put, by absolute path."""

    files: dict[str, FolderFile]


@dataclass(frozen=True)
class RunCommand:
    """A program, with the variables, folder and user it has."""

    words: tuple[str, ...]
    folder: str
    user: str
    variables: dict[str, str]


@dataclass
class ImageRecipe:
    """What to do, in order, and what holds afterwards."""

    base: str = ""
    steps: list[CopyFiles | RunCommand] = field(default_factory=list[CopyFiles | RunCommand])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    folder: str = "/"
    user: str = "root"
    command: str = ""
    """What the container runs, which whoever holds it replaces."""
    faults: list[str] = field(default_factory=list[str])
    """Why it cannot be followed here."""


def read_recipe(text: str, context: dict[str, FolderFile]) -> ImageRecipe:
    """Never raises: what cannot be followed is a fault."""
    recipe = ImageRecipe(faults=list(find_recipe_faults(text)))
    if ".dockerignore" in context:
        recipe.faults.append(
            ".dockerignore is not followed here: leave out of the folder what the image must not "
            "have."
        )
    if not recipe.faults:
        for word, rest in split_lines(text):
            _follow(recipe, word, rest, context)
    return recipe


def split_lines(text: str) -> Iterator[tuple[str, str]]:
    """Instruction and what follows it; comments and continuations are settled."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\[ \t]*\n", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word.upper(), rest.strip()


def _follow(recipe: ImageRecipe, word: str, rest: str, context: dict[str, FolderFile]) -> None:
    filled = _fill(recipe, rest)
    if word == "FROM":
        recipe.base = filled
    elif word == "COPY":
        _copy(recipe, filled, context)
    elif word == "RUN":
        words = _read_words(rest) or ["/bin/sh", "-c", rest]
        recipe.steps.append(
            RunCommand(
                tuple(words), recipe.folder, recipe.user, {**recipe.arguments, **recipe.variables}
            )
        )
    elif word == "ENV":
        recipe.variables |= _read_pairs(filled)
    elif word == "ARG":
        name, _, value = filled.partition("=")
        recipe.arguments[name] = value.strip("\"'")
    elif word == "WORKDIR":
        recipe.folder = str(PurePosixPath(recipe.folder) / filled)
        recipe.steps.append(RunCommand(("mkdir", "-p", recipe.folder), "/", "root", {}))
    elif word == "USER":
        recipe.user = filled
    elif word == "CMD":
        recipe.command = rest


def _copy(recipe: ImageRecipe, rest: str, context: dict[str, FolderFile]) -> None:
    *sources, target = _read_words(rest) or rest.split()
    into = target.endswith("/") or target in (".", "..") or len(sources) > 1
    home = PurePosixPath(recipe.folder) / target
    files: dict[str, FolderFile] = {}
    for source in sources:
        found = dict(_find(source, context, str(home), into))
        if not found or ".." in PurePosixPath(source).parts or ".." in home.parts:
            recipe.faults.append(
                f"COPY {rest}: {source!r} is no file or folder of the recipe's own. Add it, or "
                "name another."
            )
        files |= found
    recipe.steps.append(CopyFiles(files))


def _find(
    source: str, context: dict[str, FolderFile], home: str, into: bool
) -> Iterator[tuple[str, FolderFile]]:
    """A folder's content goes to the target; a file goes into it, or becomes it."""
    name = str(PurePosixPath(source.lstrip("/") or "."))
    for path, leaf in context.items():
        if name == "." or path.startswith(f"{name}/"):
            yield (
                f"{home.rstrip('/')}/{path if name == '.' else path.removeprefix(f'{name}/')}",
                leaf,
            )
        elif fnmatchcase(path, name) and path.count("/") == name.count("/"):
            yield (
                f"{home.rstrip('/')}/{PurePosixPath(path).name}" if into or path != name else home,
                leaf,
            )


def _read_words(text: str) -> list[str]:
    """The form that is a JSON list; empty where it is none."""
    if not text.startswith("["):
        return []
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return [str(each) for each in found]


def _read_pairs(text: str) -> dict[str, str]:
    name, _, value = text.partition(" ")
    if "=" not in name:
        return {name: value.strip()}
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    return dict((each.partition("=")[0], each.partition("=")[2]) for each in words)


def _fill(recipe: ImageRecipe, text: str) -> str:
    known = {**recipe.arguments, **recipe.variables}
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: known.get(found[1] or found[2], ""), text)
