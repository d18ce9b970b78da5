"""An image as somebody wrote it → the machine: what it copies are files, what it runs finishes it,
and nothing else is taken.

The same machine is set up in a container over the base image, or built with the classic builder
from the recipe that its files hold.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from envmill.base.errors import BuildError
from envmill.kinds.terminal import find_recipe_faults
from envmill.kinds.terminal.breaking.systems import write_services
from envmill.kinds.terminal.errands.wishes import SKIPPED
from envmill.sandbox.machines.healthy import SERVICES, Healthy, quote
from schemas.errand import Image
from schemas.system import System

_TAKEN = ("FROM", "COPY", "RUN", "LABEL", "CMD")
"""A shell that is opened later knows nothing of ENV, WORKDIR and USER."""


def read_image(image: Image, name: str, about: str, licence: str) -> Healthy:
    """The machine, or BuildError with everything that is wrong with the recipe."""
    lines = _list_lines(image.recipe)
    if faults := [
        *find_recipe_faults(image.recipe),
        *_find_faults(lines),
        *_find_path_faults(image),
    ]:
        raise BuildError("\n".join(dict.fromkeys(faults)))
    files = dict(_copy(lines, image.files))
    system = System(
        name=name,
        about=about,
        licence=licence,
        page="",
        variables={},
        complaints={},
        handles=[],
        directories=_list_folders(files),
        services=image.services,
        volatile=image.volatile,
        set_up="\n".join(
            _render_run(number, rest)
            for number, (word, rest) in enumerate(lines, 1)
            if word == "RUN"
        ),
    )
    return Healthy(system, 0, {}, {**files, SERVICES: write_services(system).encode()}, "")


def _list_folders(files: dict[str, bytes]) -> list[str]:
    """The machine's own, compared by content with all that RUN makes there: a database that is only
    read may get another change time."""
    folders = {str(PurePosixPath(each).parent) for each in files}
    return sorted(
        {
            "/srv",
            *(
                each
                for each in folders
                if each.count("/") > 1 and not each.startswith(("/srv/", "/usr/bin", "/usr/lib"))
            ),
        }
    )


def _list_lines(recipe: str) -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", recipe)
    lines = [
        line.strip()
        for line in joined.splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]
    return [(line.split()[0].upper(), line.partition(" ")[2].strip()) for line in lines]


def _find_faults(lines: list[tuple[str, str]]) -> Iterator[str]:
    words = [word for word, _ in lines]
    for word in words:
        if word not in _TAKEN:
            yield (
                f"{word} says nothing to a shell that is opened later: write it into a file, and "
                f"use {', '.join(_TAKEN)} alone."
            )
    if "RUN" in words and "COPY" in words[words.index("RUN") :]:
        yield "A COPY stands after a RUN: put all of COPY first."
    for word, rest in lines:
        if word == "COPY" and len(rest.split()) != 2:
            yield f"COPY {rest}: write one source and one target a line."
        if word in ("RUN", "CMD") and rest.startswith("[") and word == "RUN":
            yield f"RUN {rest}: write it as a shell command."


def _find_path_faults(image: Image) -> Iterator[str]:
    try:
        targets = [target for target, _ in _copy(_list_lines(image.recipe), image.files)]
    except BuildError as error:
        yield error.message
        return
    for target in targets:
        if not target.startswith("/") or ".." in PurePosixPath(target).parts:
            yield f"{target!r} is no absolute path."
        elif target == SERVICES or any(target.startswith(f"{each}/") for each in SKIPPED):
            yield f"{target} is not the image's to write: choose another path."


def _copy(lines: list[tuple[str, str]], files: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """Target → content, folders whole."""
    for word, rest in lines:
        if word != "COPY" or len(rest.split()) != 2:
            continue
        source, target = rest.split()
        source = source.removeprefix("./").rstrip("/")
        below = {name: text for name, text in files.items() if name.startswith(f"{source}/")}
        if source in files:
            yield (
                (f"{target}{PurePosixPath(source).name}" if target.endswith("/") else target),
                files[source].encode(),
            )
        elif below:
            yield from (
                (f"{target.rstrip('/')}/{name.removeprefix(f'{source}/')}", text.encode())
                for name, text in below.items()
            )
        else:
            raise BuildError(f"COPY {rest}: there is no file {source!r} beside the recipe.")


def _render_run(number: int, command: str) -> str:
    """With its line in the log, so that whoever reads a failed build knows where it failed."""
    return f"echo {quote(f'line {number}: RUN {command[:200]}')}\n/bin/sh -c {quote(command)}"
