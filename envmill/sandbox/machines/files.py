"""A healthy system as an environment's files: what a record keeps, and what a session sets up, are
the same texts.

machine.json   the system, one variation of it      check.py   what health means; it never stands in the container before the end
root/…         its files, by absolute path           Dockerfile, set_up.sh   the image, for those who build one
test_*.py      in place of check.py where health is asked by tests: of the machine nobody touched, and of what is wanted of it
errand.json    what is wanted, and the truth about it, where tests ask
"""

from collections.abc import Mapping

import orjson
from pydantic import ValidationError

from envmill.base.errors import BuildError
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import write_commands
from schemas.system import System

MACHINE, CHECK, ROOT, RECIPE, SET_UP = "machine.json", "check.py", "root", "Dockerfile", "set_up.sh"
INITIAL, FINAL, ERRAND = "test_initial.py", "test_final.py", "errand.json"


def write_machine(healthy: Healthy, base: str) -> dict[str, str]:
    """Path → text. `base` is the reference of the base image for those who build."""
    told = {
        "system": healthy.system.model_dump(mode="json"),
        "variation": healthy.variation,
        "values": healthy.values,
    }
    return {
        MACHINE: orjson.dumps(
            told, option=orjson.OPT_INDENT_2
        ).decode(),  # not sorted: complaints stand in the order they are made in
        **(healthy.exams or {CHECK: healthy.check}),
        RECIPE: write_recipe(base),
        SET_UP: "\n".join(["#!/bin/bash", *write_commands(healthy), f"chmod 755 {SERVICES}", ""]),
        **{f"{ROOT}{path}": content.decode() for path, content in sorted(healthy.files.items())},
    }


def read_machine(files: Mapping[str, str]) -> Healthy:
    """The healthy system again, or BuildError."""
    if lacking := [
        name
        for name in (MACHINE, CHECK)
        if name not in files and not (name == CHECK and INITIAL in files)
    ]:
        raise BuildError(
            f"An environment of kind terminal holds {lacking[0]}, and this one does not: write "
            "its files by `write_machine`."
        )
    try:
        told = orjson.loads(files[MACHINE])
        system, variation, values = (
            System.model_validate(told["system"]),
            int(told["variation"]),
            dict(told["values"]),
        )
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise BuildError(
            f"{MACHINE} describes no system: {error}. Write it by `write_machine`."
        ) from error
    own = {
        path.removeprefix(ROOT): text.encode()
        for path, text in files.items()
        if path.startswith(f"{ROOT}/")
    }
    exams = {name: files[name] for name in (INITIAL, FINAL) if name in files}
    return Healthy(system, variation, values, own, files.get(CHECK, ""), exams)


def write_recipe(base: str) -> str:
    """An image recipe that the classic builder reads: no mounts, no heredocs, nothing fetched."""
    lines = [
        f"FROM {base}",
        f"COPY {ROOT}/ /",
        f"COPY {SET_UP} /tmp/{SET_UP}",
        f"RUN bash /tmp/{SET_UP} && rm /tmp/{SET_UP}",
    ]
    return "\n".join([*lines, 'CMD ["/bin/bash"]', ""])
