"""A scenario of a machine as a Harbor folder: image, instruction, tests, solution, and the records they were written from.

environment/  the healthy machine, its breaks, a record of its files      tests/     what health means, and a judge for inside
solution/     the reference path                                          envmill.json  records, for whoever imports it again
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

import orjson

from envmill.harbor import inside
from envmill.harbor.layout import CONFIG, ENVIRONMENT, INSTRUCTION, README, RECIPE, RECORDS, SOLVE, TESTS, VERSION
from envmill.harbor.spelling import spell_toml
from envmill.sandbox.containers.image import SUITE, list_packages
from envmill.sandbox.machines import inside as machines_inside
from envmill.sandbox.machines.files import MACHINE, ROOT, SET_UP, read_machine
from envmill.sandbox.machines.files import RECIPE as OWN_RECIPE
from envmill.sandbox.machines.frame import VOLATILE, list_own
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.trust import TRUSTED
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

TAIL = "COPY begin /tmp/begin\nRUN bash /tmp/begin/begin.sh && rm -r /tmp/begin\n"
"""Last lines of the image's recipe: it is broken, and what its files are is recorded."""
READY = "/run/begun"
START = f"[ -e {READY} ] || {{ : >{READY}; {SERVICES} start; }} >/dev/null 2>&1; true"
"""Asked before the agent begins, by whatever holds the container: no image can hold what runs."""
BUILD, JUDGE = 600.0, 300.0
AGENT = 900.0
"""Seconds, where the run named none."""
_ASKERS = ("asking.py", "probing.py", "examining.py")
"""What asks a machine how it is: by probes of its health check, or by a file of tests."""
_JUDGES = ("test.sh", "judge.py", "own.py")
_ALWAYS = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gitconfig", "/etc/python3.11")
"""Users, and settings of programs that a judge asks. Compared beside the machine's own files: whoever runs an agent may install
things elsewhere."""


def find_ungraded(environment: Environment, scenario: Scenario) -> str:
    """Why a scenario cannot be judged inside a container; empty where it can."""
    verifier = scenario.verifier
    if environment.kind != "terminal":
        return f"it is of kind {environment.kind}, whose state is no machine's"
    if verifier.partial or verifier.procedure or verifier.facts or verifier.harm:
        return "its verifier asks for more than an end state"
    if strange := [each.op for each in (*verifier.goals, *verifier.guards) if each.op != "equals"]:
        return f"one of its checks is {strange[0]!r}, which the judge inside does not know"
    return ""


def write_task(environment: Environment, scenario: Scenario, limits: Mapping[str, float], canary: str) -> dict[str, bytes]:
    """Path → content."""
    healthy = read_machine(environment.files)
    texts = {
        CONFIG: spell_toml(_tell_config(environment, scenario, limits, canary)),
        INSTRUCTION: write_instruction(environment, scenario),
        README: _write_readme(environment, scenario, canary),
        RECORDS: _spell(_tell_records(environment, scenario)),
        SOLVE: write_solution(scenario),
        **_write_environment(environment, scenario, healthy),
        **_write_tests(environment, scenario, healthy),
    }
    return {path: text.encode() for path, text in sorted(texts.items())}


def write_instruction(environment: Environment, scenario: Scenario) -> str:
    """What the agent reads."""
    return "\n\n".join(part.strip() for part in (environment.policy_document, scenario.request) if part.strip()) + "\n"


def write_solution(scenario: Scenario) -> str:
    """The reference path, which ends with the first step that fails."""
    steps = [f"{call.arguments['command']}\n[ $? = 0 ] || exit 1" for call in scenario.oracle]
    return "\n\n".join(["#!/bin/bash", *steps]) + "\n"


def list_breaks(scenario: Scenario) -> dict[str, str]:
    """Path → script, in the order in which they are run."""
    breaks = scenario.initial_state.get("breaks", [])
    return {f"{ENVIRONMENT}/begin/break-{number:03d}.sh": f"{script}\n" for number, script in enumerate(breaks)}


def _write_environment(environment: Environment, scenario: Scenario, healthy: Healthy) -> dict[str, str]:
    """The image needs the machine's files and nothing that says what is asked of it."""
    shown = {f"{ENVIRONMENT}/{path}": text for path, text in environment.files.items() if _is_shown(path)}
    begin = {"begin.sh": read_program("begin.sh"), "own.py": read_program("own.py"), "round.json": _spell(_tell_own(healthy))}
    return {
        **shown,
        RECIPE: environment.files[OWN_RECIPE].rstrip("\n") + "\n" + TAIL,
        **{f"{ENVIRONMENT}/begin/{name}": text for name, text in begin.items()},
        **list_breaks(scenario),
    }


def _is_shown(path: str) -> bool:
    return path == SET_UP or path.startswith(f"{ROOT}/")


def _write_tests(environment: Environment, scenario: Scenario, healthy: Healthy) -> dict[str, str]:
    """Everything of the environment that no agent sees, the judge, and what it asks."""
    hidden = {path: text for path, text in environment.files.items() if not _is_shown(path) and path not in (OWN_RECIPE, MACHINE)}
    begun = {name: scenario.initial_state[name] for name in ("exam", "breaks", "places") if name in scenario.initial_state}
    services = {name: each.model_dump() for name, each in healthy.system.services.items()}
    asked = {"begun": begun, "probes": sorted(scenario.initial_state["health"]), "values": healthy.values, "services": services}
    own = {
        **{name: read_program(name) for name in _JUDGES},
        **{path.name: _read(path) for name in _ASKERS if (path := Path(machines_inside.__file__).with_name(name)).exists()},
        "services": healthy.files[SERVICES].decode(),
        "round.json": _spell({**_tell_own(healthy), **asked}),
        "verifier.json": _spell(scenario.verifier.model_dump(mode="json", include={"goals", "guards"})),
    }
    return {f"{TESTS}/{path}": text for path, text in {**hidden, **own}.items()}


def list_judging() -> set[str]:
    """What lies in `tests/` beside the environment's own files."""
    return {*_JUDGES, *_ASKERS, "services", "round.json", "verifier.json"}


def _tell_own(healthy: Healthy) -> Json:
    """What is recorded when the image is built, and compared at the end."""
    own = sorted(path for path in {*list_own(healthy), SERVICES, *_ALWAYS} if path.startswith("/"))
    return {"own": own, "volatile": sorted({*healthy.system.volatile, *VOLATILE}), "trusted": list(TRUSTED)}


def _tell_records(environment: Environment, scenario: Scenario) -> Json:
    """Files stand for themselves elsewhere in the folder, but for the machine's description, whose paths no test needs."""
    told = environment.model_dump(mode="json", exclude={"id", "files"})
    return {"environment": told, "scenario": scenario.model_dump(mode="json", exclude={"id"}), MACHINE: environment.files[MACHINE]}


def _tell_config(environment: Environment, scenario: Scenario, limits: Mapping[str, float], canary: str) -> Json:
    bounds = {name: each for name, each in (scenario.bounds.model_dump().items() if scenario.bounds else ())}
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
        "agent": {"timeout_sec": limits.get("seconds", AGENT)},
        "verifier": {"timeout_sec": JUDGE, "environment_mode": "shared"},
        "environment": {
            "build_timeout_sec": BUILD,
            "cpus": 1,
            "memory_mb": 1024,
            "storage_mb": 2048,
            "network_mode": "no-network",
            "healthcheck": {"command": START, "interval_sec": 1.0, "timeout_sec": 60.0, "retries": 3},
        },
    }


def _write_readme(environment: Environment, scenario: Scenario, canary: str) -> str:
    base = next(line.split()[1] for line in environment.files[OWN_RECIPE].splitlines() if line.startswith("FROM "))
    return Template(_read(Path(__file__).parent / "papers" / "README.md")).substitute(
        summary=environment.summary, scenario=scenario.id, base=base, suite=SUITE, packages=",".join(list_packages()),
        split=scenario.split, licence=environment.licence, canary=canary,
    )  # fmt: skip


def read_program(name: str) -> str:
    """One of the programs that run inside."""
    return _read(Path(inside.__file__).with_name(name))


def _spell(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE).decode()


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
