"""The `terminal` kind: state in a container's files and processes, one tool that is a shell, an
examination from without for a judge.

machine.json, check.py, root/ ──Reset──► container ──shell──► what an agent leaves ──Look──► health · lasting · what changed where
"""

import re
from collections.abc import Iterator, Mapping

from envmill.base.errors import BuildError
from envmill.sandbox.machines.files import CHECK, ERRAND, FINAL, INITIAL, RECIPE, read_machine
from envmill.sandbox.machines.starting import list_probes
from envmill.sandbox.machines.terminal import LONGEST, SECONDS
from schemas.base import Json
from schemas.database import Policy, Table
from schemas.environment import Effect, Tool
from schemas.scenario import Check, Verifier
from schemas.system import MachineState

SHELL = Tool(
    name="shell",
    description=(
        "Run a command in a bash shell of the machine, as root. The shell stays: its folder, "
        "variables and jobs are there for the next "
        "command. There is no network, no init and no terminal for programs that ask questions."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "What to run; several lines are one script.",
                "minLength": 1,
                "maxLength": 100_000,
            },
            "seconds": {
                "type": "number",
                "description": f"When to kill it; {SECONDS} if nothing is said.",
                "minimum": 1,
                "maximum": LONGEST,
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    effect="change",
)
"""All that agents have there."""

CLASSIC = ("FROM", "COPY", "RUN", "ENV", "WORKDIR", "CMD", "ARG", "LABEL", "USER", "EXPOSE")
"""Instructions of an image recipe that every builder knows."""
_FETCHES = re.compile(r"\b(apt|apt-get|pip3?|curl|wget|git clone|npm|conda)\b")


def derive_tools(source: str, class_name: str, effects: Mapping[str, Effect]) -> list[Tool]:  # noqa: ARG001  every terminal has the same
    """The shell."""
    return [SHELL]


def derive_tables(files: Mapping[str, str], policies: Mapping[str, Policy | float]) -> list[Table]:
    """None; BuildError where the files are no machine, or the recipe of its image is one that not
    every builder reads."""
    if policies:
        raise BuildError(
            "An environment of kind terminal has no tables, so leave its policies out."
        )
    read_machine(files)
    if RECIPE not in files:
        raise BuildError(f"There is no image recipe: add {RECIPE}, as `write_recipe` gives it.")
    if faults := list(find_recipe_faults(files[RECIPE])):
        raise BuildError(f"{RECIPE}: {faults[0]}")
    return []


def find_recipe_faults(recipe: str) -> Iterator[str]:
    """What the classic builder does not read, or needs a network for."""
    lines = [line.strip() for line in re.sub(r"\\\n", " ", recipe).splitlines() if line.strip()]
    if sum(line.split()[0].upper() == "FROM" for line in lines) != 1:
        yield "It has to stand on one base image: write one FROM."
    for line in lines:
        word, _, rest = line.partition(" ")
        if line.startswith("#"):
            if re.match(r"#\s*(syntax|escape|check)\s*=", line):
                yield f"{line!r} asks for another builder: leave it out."
        elif word.upper() not in CLASSIC:
            yield f"{word} is no instruction that is allowed here: use {', '.join(CLASSIC)}."
        elif rest.startswith("--") or "<<" in rest:
            yield f"{line[:60]!r} needs BuildKit: write it without options and without a heredoc."
        elif word.upper() == "COPY" and (
            told := [name for name in (CHECK, INITIAL, FINAL, ERRAND) if name in rest]
        ):
            yield f"It puts {told[0]} into the image, where agents can read it: leave that out."
        elif word.upper() == "RUN" and _FETCHES.search(rest):
            yield f"{line[:60]!r} needs a network: what it fetches belongs into the base image."


def compose_state(
    files: Mapping[str, str],
    breaks: list[str],
    places: list[str],
    ill: set[str],
    exam: str | None = None,
) -> dict[str, Json]:
    """What a look shows of a machine that was broken so and not touched; `ill` are the probes that
    say so. Where health is asked by tests,
    the initial ones are asked unless others are named."""
    exam = (INITIAL if INITIAL in files else "") if exam is None else exam
    probes = list_probes(read_machine(files), exam)
    health = {probe: "ill" if probe in ill else "well" for probe in probes}
    lasting = dict.fromkeys(probes, "unasked") if ill else health
    return MachineState.model_validate(
        {"exam": exam, "breaks": breaks, "places": places, "health": health, "lasting": lasting}
    ).model_dump()


def compose_checks(initial: Json) -> Verifier:
    """Every probe well, as it was left and after a restart, and nothing touched but where something
    was broken."""
    state = MachineState.model_validate(initial)
    parts = [("health", probe) for probe in state.health] + [
        ("lasting", probe) for probe in state.lasting
    ]
    checks = [
        Check(name=_name(part, probe, state.exam), op="equals", path=[part, probe], value="well")
        for part, probe in parts
    ]
    true_now = {("health", probe) for probe, said in state.health.items() if said == "well"}
    goals = [check for check in checks if (check.path[0], check.path[1]) not in true_now]
    guards = [check for check in checks if (check.path[0], check.path[1]) in true_now]
    own = [
        Check(
            name="the judge's own programs are the machine's",
            op="equals",
            path=["replaced"],
            value={},
        ),
        Check(name="nothing else was changed", op="equals", path=["outside"], value={}),
        Check(name="the machine has room", op="equals", path=["room"], value=True),
    ]
    return Verifier(
        goals=goals, guards=[*guards, *own], frame=[["health"], ["lasting"], ["inside"]]
    )


def write_step(script: str) -> str:
    """A step of a reference path: it ends with the first command that fails, and leaves the shell
    as it was."""
    return f"(set -e; umask 022\n{script}\n)"


def _name(part: str, probe: str, exam: str) -> str:
    holds = f"{probe} holds" if exam else f"{probe} is well"
    return holds if part == "health" else f"{holds} after a restart"
