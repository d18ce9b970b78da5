"""A machine that somebody else described, and the one thing asked of it, as an environment of kind
`terminal` with one scenario.

files, commands, tests ──► system without services of its own ──► machine.json, root/, set_up.sh, check.py ──► Folder
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from envmill.base.errors import BuildError
from envmill.interop.bundles import Folder
from envmill.kinds.start import CLOCK
from envmill.kinds.terminal import SHELL, compose_checks, compose_state, derive_tables
from envmill.kinds.terminal.breaking.systems import write_services
from envmill.kinds.terminal.perturbing import BASE
from envmill.sandbox.machines.files import write_machine
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.folder import NOWHERE
from schemas.origin import Origin
from schemas.scenario import Scenario, UserContract
from schemas.seed import Brief
from schemas.system import System

PROBE = "tests"
ANYWHERE = ""
"""A place that holds every path: nobody said what may be changed."""
LONGEST = 100.0
"""Seconds that tests may take: a health check has little more."""
PAGE = "/etc/motd"


@dataclass(frozen=True)
class Described:
    """What was read of it."""

    name: str
    summary: str
    request: str
    commands: list[str]
    """Lines of shell that finish the machine once its files stand."""
    tests: dict[str, bytes]
    """What asks it, by path below `/tests`."""
    ask: str
    """Shell command that runs them: it ends with 0 where all is well, with 1 where it is not, else
    there is no word."""
    solution: str = ""
    """Shell commands of a reference path; empty where none is known."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """By absolute path."""
    modes: dict[str, str] = field(default_factory=dict[str, str])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    """Files that stay with the environment and that no machine is given."""
    licence: str = "unknown"
    features: dict[str, Json] = field(default_factory=dict[str, Json])


def make_folder(described: Described, system: str) -> Folder | str:
    """The environment and its scenario, or why they cannot be made."""
    if any(
        ".." in PurePosixPath(path).parts or not path.startswith("/") for path in described.files
    ):
        return "a file of its image would stand outside of the machine"
    if not described.request.strip():
        return "it asks for nothing"
    healthy = _make_healthy(described)
    try:
        files = {**write_machine(healthy, BASE), **described.kept}
    except TypeError as error:  # half a character: nothing can be written of it
        return f"what it says cannot be written: {error}"
    try:
        derive_tables(files, {})
    except BuildError as error:
        return error.message
    origin = NOWHERE.model_copy(update={"recipe": system, "provider": "released"})
    environment = _make_environment(described, files, origin)
    return Folder(environment, (), (_make_scenario(described, environment, origin),))


def _make_environment(described: Described, files: dict[str, str], origin: Origin) -> Environment:
    return Environment(
        kind="terminal",
        files=files,
        entry="machine:Terminal",
        tools=[SHELL],
        rules=[],
        policy_document="",
        name=described.name,
        summary=described.summary,
        brief=Brief(theme=origin.recipe, text=described.summary, number=0),
        blueprint="",
        licence=described.licence,
        origin=origin,
    )


def _make_scenario(described: Described, environment: Environment, origin: Origin) -> Scenario:
    initial = compose_state(environment.files, [], [ANYWHERE], {PROBE})
    return Scenario(
        environment=environment.id,
        number=0,
        draft="",
        initial_state=initial,
        request=described.request,
        user=UserContract(opening=described.request),
        oracle=[Call(name=SHELL.name, arguments={"command": described.solution, "seconds": 600})]
        if described.solution
        else [],
        polarity="achieve",
        clock=CLOCK,
        seed=0,
        verifier=compose_checks(initial),
        features={"released_as": described.name, **described.features},
        split="train",
        oracle_reward=0.0,
        do_nothing_reward=0.0,
        origin=origin,
    )


def _make_healthy(described: Described) -> Healthy:
    system = System(
        name="imported",
        about=described.summary,
        licence=described.licence,
        page=PAGE,
        variables={},
        modes=described.modes,
        set_up="\n".join(described.commands),
        complaints={PROBE: described.request},
        handles=[],
    )
    files = {path: text.encode() for path, text in described.files.items()} | {
        SERVICES: write_services(system).encode()
    }
    return Healthy(system, 0, {}, files, write_check(described.tests, described.ask))


def write_check(tests: Mapping[str, bytes], ask: str) -> str:
    """A health check of one probe. Tests that come to no word of their own are the check's fault,
    and no verdict."""
    packed = {path: base64.b64encode(content).decode() for path, content in sorted(tests.items())}
    return f'''"""Runs the tests that came with it, as they are: one probe, well where they say so."""

import base64
import shutil
import subprocess
from pathlib import Path

from probing import Bad, Values, probe, report

TESTS = {packed!r}
ASK = {ask!r}


@probe
def {PROBE}(_: Values) -> None:
    for folder in ("/tests", "/logs"):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        for path, content in TESTS.items():
            Path("/tests", path).parent.mkdir(parents=True, exist_ok=True)
            Path("/tests", path).write_bytes(base64.b64decode(content))
            Path("/tests", path).chmod(0o755)
        done = subprocess.run(["/bin/bash", "-c", ASK], stdin=subprocess.DEVNULL, capture_output=True, timeout={LONGEST}, check=False)
    finally:
        for folder in ("/tests", "/logs"):
            shutil.rmtree(folder, ignore_errors=True)
    said = (done.stdout + done.stderr).decode("utf-8", "replace")[-300:]
    if done.returncode == 1:
        raise Bad(said or "the tests say so")
    if done.returncode:
        raise RuntimeError(f"no word: exit code {{done.returncode}}, {{said}}")


report()
'''


def read_texts(files: Mapping[str, bytes]) -> dict[str, str] | str:
    """Contents as text, or the file that is none."""
    texts: dict[str, str] = {}
    for path, content in files.items():
        try:
            texts[path] = content.decode("utf-8")
        except UnicodeDecodeError:
            return path
    return texts
