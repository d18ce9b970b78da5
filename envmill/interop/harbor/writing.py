"""A scenario of a machine as a Harbor folder: image, instruction, tests, solution, and the records
they were written from.

environment/  the healthy machine, its breaks, a record of its files      tests/     the same once more, what health means, a judge
solution/     the reference path                                          envmill.json  records, for whoever imports it again

Tests have a container of their own: of the agent's only an archive comes there (ARCHIVE), made by a
command that says nothing of them.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template

import orjson

from envmill.interop.harbor import inside
from envmill.interop.harbor.layout import (
    ARTIFACTS,
    CONFIG,
    ENVIRONMENT,
    INSTRUCTION,
    README,
    RECIPE,
    RECORDS,
    SOLVE,
    TESTS,
    VERSION,
)
from envmill.interop.harbor.toml import render_toml
from envmill.sandbox.containers.image import SUITE, list_packages
from envmill.sandbox.machines import inside as machines_inside
from envmill.sandbox.machines.files import MACHINE, ROOT, SET_UP, read_machine
from envmill.sandbox.machines.files import RECIPE as OWN_RECIPE
from envmill.sandbox.machines.frame import VOLATILE, list_own
from envmill.sandbox.machines.healthy import SERVICES, Healthy, quote
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

ARCHIVE, RECORD, APART = (
    f"{ARTIFACTS}/machine.tar",
    "/var/lib/begun/record.json",
    "/var/lib/begun/apart",
)
TAIL = "COPY begin /tmp/begin\nRUN bash /tmp/begin/begin.sh && rm -r /tmp/begin\n"
"""Last lines of the image's recipe: it is broken, and what its files are is recorded."""
READY = "/run/begun"
START = f"[ -e {READY} ] || {{ : >{READY}; {SERVICES} start; }} >/dev/null 2>&1; true"
"""Asked before the agent begins, by whatever holds the container: no image can hold what runs."""
BUILD, JUDGE = 600.0, 300.0
AGENT = 900.0
"""Seconds, where the run named none."""
CONTAINER: dict[str, Json] = {
    "build_timeout_sec": BUILD,
    "cpus": 1,
    "memory_mb": 1024,
    "storage_mb": 2048,
    "network_mode": "no-network",
}
_ASKERS = ("asking.py", "probing.py", "examining.py")
"""What asks a machine how it is: by probes of its health check, or by a file of tests."""
_JUDGES = ("test.sh", "judge.py", "own.py", "archive.py")
_OTHERS = ("services", "round.json", "verifier.json", "Dockerfile")
MACHINE_AGAIN = "machine/"
"""In `tests/`: what the image in `environment/` is built from. A builder sees no folder but its
own."""
_ALWAYS = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gitconfig", "/etc/python3.11")
"""Users, and settings of common programs. Compared beside the machine's own files: whoever runs an
agent may install things elsewhere."""


def write_task(
    environment: Environment, scenario: Scenario, limits: Mapping[str, float], canary: str
) -> dict[str, bytes]:
    """Path → content."""
    healthy = read_machine(environment.files)
    texts = {
        CONFIG: render_toml(_describe_config(environment, scenario, healthy, limits, canary)),
        INSTRUCTION: write_instruction(environment, scenario),
        README: _write_readme(environment, scenario, canary),
        RECORDS: _render(_describe_records(environment, scenario)),
        SOLVE: write_solution(scenario),
        **_write_environment(environment, scenario, healthy),
        **_write_tests(environment, scenario, healthy),
    }
    return {path: text.encode() for path, text in sorted(texts.items())}


def write_instruction(environment: Environment, scenario: Scenario) -> str:
    """What the agent reads."""
    return (
        "\n\n".join(
            part.strip() for part in (environment.policy_document, scenario.request) if part.strip()
        )
        + "\n"
    )


def write_solution(scenario: Scenario) -> str:
    """The reference path, which ends with the first step that fails."""
    steps = [f"{call.arguments['command']}\n[ $? = 0 ] || exit 1" for call in scenario.oracle]
    return "\n\n".join(["#!/bin/bash", *steps]) + "\n"


def list_breaks(scenario: Scenario) -> dict[str, str]:
    """Path → script, in the order in which they are run."""
    breaks = scenario.initial_state.get("breaks", [])
    return {
        f"{ENVIRONMENT}/begin/break-{number:03d}.sh": f"{script}\n"
        for number, script in enumerate(breaks)
    }


def _write_environment(
    environment: Environment, scenario: Scenario, healthy: Healthy
) -> dict[str, str]:
    """The image needs the machine's files and nothing that says what is asked of it."""
    built = {
        f"{ENVIRONMENT}/{path}": text
        for path, text in _list_built(environment, scenario, healthy).items()
    }
    return {RECIPE: environment.files[OWN_RECIPE].rstrip("\n") + "\n" + TAIL, **built}


def _list_built(environment: Environment, scenario: Scenario, healthy: Healthy) -> dict[str, str]:
    begin = {
        "begin.sh": read_program("begin.sh"),
        "own.py": read_program("own.py"),
        "round.json": _render(_describe_own(healthy)),
    }
    return {
        **{path: text for path, text in environment.files.items() if _is_shown(path)},
        **{f"begin/{name}": text for name, text in begin.items()},
        **{
            path.removeprefix(f"{ENVIRONMENT}/"): text
            for path, text in list_breaks(scenario).items()
        },
    }


def _write_recipe(environment: Environment) -> str:
    """Of the container in which tests are run: the machine again, as it was broken, and what judges
    it."""
    recipe = (environment.files[OWN_RECIPE].rstrip("\n") + "\n" + TAIL).replace(
        "\nCOPY ", f"\nCOPY {MACHINE_AGAIN}"
    )
    return (
        f"{recipe}COPY . /{TESTS}/\nRUN touch {APART} && mkdir -p /logs/verifier /logs/artifacts\n"
    )


def write_collecting(healthy: Healthy, places: Sequence[str]) -> str:
    """A command for the agent's container: its files into an archive. It ends well whatever became
    of them, which is the judge's to say."""
    paths = [path.lstrip("/") for path in [*_list_compared(healthy), *places, RECORD]]
    kept = [
        path
        for path in dict.fromkeys(paths)
        if not any(path.startswith(f"{other}/") for other in paths)
    ]
    options = "--numeric-owner --hard-dereference --sparse --ignore-failed-read --format=pax"
    return (
        f"rm -rf {ARCHIVE}; mkdir -p {ARTIFACTS}; cd / && tar {options} -cf {ARCHIVE} -- "
        f"{' '.join(map(quote, kept))} 2>/dev/null; true"
    )


def _is_shown(path: str) -> bool:
    return path == SET_UP or path.startswith(f"{ROOT}/")


def _write_tests(environment: Environment, scenario: Scenario, healthy: Healthy) -> dict[str, str]:
    """Everything of the environment that no agent sees, the judge, what it asks, and the machine
    for it."""
    hidden = {
        path: text
        for path, text in environment.files.items()
        if not _is_shown(path) and path not in (OWN_RECIPE, MACHINE)
    }
    begun = {
        name: scenario.initial_state[name]
        for name in ("exam", "breaks", "places")
        if name in scenario.initial_state
    }
    services = {name: each.model_dump() for name, each in healthy.system.services.items()}
    asked = {
        "begun": begun,
        "probes": sorted(scenario.initial_state["health"]),
        "values": healthy.values,
        "services": services,
    }
    own = {
        **{name: read_program(name) for name in _JUDGES},
        **{
            path.name: _read(path)
            for name in _ASKERS
            if (path := Path(machines_inside.__file__).with_name(name)).exists()
        },
        "services": healthy.files[SERVICES].decode(),
        "round.json": _render({**_describe_own(healthy), **asked}),
        "verifier.json": _render(
            scenario.verifier.model_dump(mode="json", include={"goals", "guards"})
        ),
        "Dockerfile": _write_recipe(environment),
        **{
            f"{MACHINE_AGAIN}{path}": text
            for path, text in _list_built(environment, scenario, healthy).items()
        },
    }
    return {f"{TESTS}/{path}": text for path, text in {**hidden, **own}.items()}


def is_judging(path: str) -> bool:
    """Whether it lies in `tests/` beside the environment's own files."""
    return path in {*_JUDGES, *_ASKERS, *_OTHERS} or path.startswith(MACHINE_AGAIN)


def _describe_own(healthy: Healthy) -> Json:
    """What is recorded when the image is built, and compared at the end."""
    return {
        "own": _list_compared(healthy),
        "volatile": sorted({*healthy.system.volatile, *VOLATILE}),
    }


def _list_compared(healthy: Healthy) -> list[str]:
    return sorted(path for path in {*list_own(healthy), SERVICES, *_ALWAYS} if path.startswith("/"))


def _describe_records(environment: Environment, scenario: Scenario) -> Json:
    """Files stand for themselves elsewhere in the folder, but for the machine's description, whose
    paths no test needs."""
    told = environment.model_dump(mode="json", exclude={"id", "files"})
    return {
        "environment": told,
        "scenario": scenario.model_dump(mode="json", exclude={"id"}),
        MACHINE: environment.files[MACHINE],
    }


def describe_task(environment: Environment, scenario: Scenario, canary: str) -> dict[str, Json]:
    """What the folder is, for its `task.toml`."""
    bounds = {
        name: each
        for name, each in (scenario.bounds.model_dump().items() if scenario.bounds else ())
    }
    return {
        "schema_version": VERSION,
        "task": {
            "name": f"envmill/{scenario.id}",
            "description": environment.summary,
            "keywords": [environment.kind, environment.brief.theme],
        },
        "metadata": {
            "environment": environment.id,
            "scenario": scenario.id,
            "recipe": scenario.origin.recipe,
            "model": f"{scenario.origin.provider} {scenario.origin.model}".strip(),
            "licence": environment.licence,
            "split": scenario.split,
            "oracle_reward": scenario.oracle_reward,
            "do_nothing_reward": scenario.do_nothing_reward,
            **bounds,
            "canary": canary,
        },
    }


def _describe_config(
    environment: Environment,
    scenario: Scenario,
    healthy: Healthy,
    limits: Mapping[str, float],
    canary: str,
) -> Json:
    return {
        **describe_task(environment, scenario, canary),
        "agent": {"timeout_sec": limits.get("seconds", AGENT)},
        "verifier": {
            "timeout_sec": JUDGE,
            "environment_mode": "separate",
            "environment": CONTAINER,
            "collect": [
                {
                    "command": write_collecting(healthy, scenario.initial_state["places"]),
                    "timeout_sec": 60.0,
                }
            ],
        },
        "environment": {
            **CONTAINER,
            "healthcheck": {
                "command": START,
                "interval_sec": 1.0,
                "timeout_sec": 60.0,
                "retries": 3,
            },
        },
    }


def _write_readme(environment: Environment, scenario: Scenario, canary: str) -> str:
    base = next(
        line.split()[1]
        for line in environment.files[OWN_RECIPE].splitlines()
        if line.startswith("FROM ")
    )
    return Template(_read(Path(__file__).parent / "papers" / "README.md")).substitute(
        summary=environment.summary, scenario=scenario.id, base=base, suite=SUITE, packages=",".join(list_packages()),
        split=scenario.split, licence=environment.licence, canary=canary,
    )  # fmt: skip


def read_program(name: str) -> str:
    """One of the programs that run inside."""
    return _read(Path(inside.__file__).with_name(name))


def _render(value: Json) -> str:
    return orjson.dumps(
        value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    ).decode()


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
