"""Parts of an errand tried on machines of their own: what holds, or whose fault it is and what was
seen.

image ─► built? ─► initial test ─► machine
final test ─► fails untouched? ─► solution ─► passes, also after a restart, and nothing else was changed
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from envmill.base.errors import SandboxError
from envmill.kinds.terminal import write_step
from envmill.kinds.terminal.errands.wishes import find_told
from envmill.kinds.terminal.lending import lend_container
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import Examination, examine, take_reference
from envmill.sandbox.machines.exams import find_exam_faults
from envmill.sandbox.machines.files import FINAL, INITIAL
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import (
    NoRoomError,
    check_health,
    must_run,
    pack,
    put,
    run,
    write_set_up,
)
from schemas.errand import Errand, Part

SECONDS = 120
_RESTART = re.compile(r"\bservices\s+(restart|stop|start)\b")
_IDLE = f"""mv {SERVICES} {SERVICES}.kept
printf '#!/bin/bash\ncase $1 in start|stop|restart) exit 0 ;; esac\nexec {SERVICES}.kept "$@"\n' >{SERVICES}
chmod 755 {SERVICES}"""
"""`services` that says what runs, and starts and stops nothing."""
SHOWN = 2000
"""Characters of a log that are sent back, from its end: the failure stands there."""


class ErrandTrial(NamedTuple):
    """How far it got."""

    reason: str = ""
    """Why it does not hold; empty where it does."""
    failure: str = ""
    """What was seen, as quoted to the author."""
    blamed: Part = "image"
    """Whose fault it is, as far as that can be seen."""
    goals: tuple[str, ...] = ()
    """Final tests that fail on the machine nobody touched."""


async def try_machine(
    healthy: Healthy, answers: Sequence[str], sandbox: Sandbox, doubted: bool
) -> ErrandTrial:
    """The image is built and the initial test asked. What fails twice is `doubted`: then the test
    is at fault."""
    if faults := list(find_exam_faults(healthy.exams[INITIAL])):
        return ErrandTrial("bad_test", "\n".join(faults), "initial_test")
    for path, content in healthy.files.items():
        if told := find_told(list(answers), content.decode()):
            return ErrandTrial(
                "tells_answer",
                f"{path} holds {told[0]!r}, which has to be worked out: leave it out.",
                "image",
            )
    async with lend_container(sandbox) as container:
        if failure := await _build(container, healthy):
            return ErrandTrial("does_not_build", failure, "image")
        said, failure = await _ask(container, healthy, INITIAL)
        if failure:
            return ErrandTrial("no_report", failure, "initial_test")
        if wrong := _render_wrong(said):
            return ErrandTrial("not_as_told", wrong, "initial_test" if doubted else "image")
    return ErrandTrial()


async def try_solution(
    healthy: Healthy, errand: Errand, commands: Sequence[str], sandbox: Sandbox, doubted: bool
) -> ErrandTrial:
    """The final test is asked of the machine as it is, then the path is walked and judged as an
    agent's would be."""
    if faults := list(find_exam_faults(healthy.exams[FINAL])):
        return ErrandTrial("bad_test", "\n".join(faults), "final_test")
    async with lend_container(sandbox) as container:
        if failure := await _build(container, healthy):
            raise SandboxError(f"A machine that was built before is not built again: {failure}")
        said, failure = await _ask(container, healthy, FINAL)
        goals = tuple(sorted(name for name, wrong in said.items() if wrong))
        if failure:
            return ErrandTrial("no_report", failure, "final_test")
        if not goals:
            return ErrandTrial(
                "passes_untouched",
                "Every test passes on the machine that nobody touched: ask for what is wanted.",
                "final_test",
            )
        reference = await take_reference(container, healthy)
        if failure := await _walk(container, commands):
            return ErrandTrial("step_fails", failure, "solution", goals)
        found = await examine(container, healthy, errand.places, reference, FINAL)
    reason, failure, second = _judge(found)
    if (
        not reason
        and errand.restarts
        and (unseen := await _try_without_restart(healthy, errand, commands, sandbox))
    ):
        return unseen._replace(goals=goals)
    return ErrandTrial(reason, failure, "final_test" if doubted and second else "solution", goals)


async def _try_without_restart(
    healthy: Healthy, errand: Errand, commands: Sequence[str], sandbox: Sandbox
) -> ErrandTrial | None:
    """The same path where `services` starts nothing again: a final test that passes then cannot
    tell that a restart happened."""
    names = ", ".join(errand.restarts)
    if not any(_RESTART.search(command) for command in commands):
        return ErrandTrial(
            "restart_missing",
            f"The request needs {names} to be started again, and no command runs `services "
            "restart`.",
            "solution",
        )
    async with lend_container(sandbox) as container:
        if failure := await _build(container, healthy):
            raise SandboxError(f"A machine that was built before is not built again: {failure}")
        # A service that is still starting would read what the path has changed by then.
        await _ask(container, healthy, INITIAL)
        await must_run(container, _IDLE, "take the restarts out")
        # A command that fails without the restart tells of it, too.
        if await _walk(container, commands):
            return None
        said, failure = await _ask(container, healthy, FINAL)
    if failure or any(said.values()):
        return None
    words = (
        f"Every test passes although {names} was never started again. Ask what the running "
        "service answers, or how long its process runs."
    )
    return ErrandTrial("restart_unseen", words, "final_test")


async def _build(container: Container, healthy: Healthy) -> str:
    """What is wrong, with the end of the log."""
    try:
        await put(container, "/tmp/system.tar", pack(healthy))
    except NoRoomError:
        return "Its files are more than the machine has room for."
    ran = await run(container, write_set_up(healthy), SECONDS)
    if ran.outcome != "done" or ran.code:
        return (
            f"The build ends with {ran.code if ran.outcome == 'done' else ran.outcome}. End of "
            f"its log:\n{ran.text[-SHOWN:]}"
        )
    return ""


async def _ask(container: Container, healthy: Healthy, exam: str) -> tuple[dict[str, str], str]:
    """What it says, or why it says nothing."""
    try:
        return await check_health(container, healthy, exam=exam), ""
    except SandboxError as error:
        return {}, error.message[-SHOWN:]


async def _walk(container: Container, commands: Sequence[str]) -> str:
    for number, command in enumerate(commands, 1):
        ran = await container.shell(write_step(command), seconds=SECONDS)
        if ran.outcome == "timeout" or ran.code:
            return (
                f"Command {number} of {len(commands)} ends with {ran.code}: {command}\n"
                f"{ran.text[-SHOWN:]}"
            )
    return ""


def _judge(found: Examination) -> tuple[str, str, bool]:
    """Reason, words, and whether the test may be at fault as well."""
    if wrong := _render_wrong(found.left):
        return "oracle_fails", f"When all commands were run:\n{wrong}", True
    if not found.room or found.replaced:
        return (
            "oracle_spoils",
            f"The machine has no room, or its own programs were replaced: {list(found.replaced)}",
            False,
        )
    if found.outside:
        return (
            "oracle_strays",
            f"Changed outside of the places that were named: {', '.join(found.outside[:10])}",
            False,
        )
    if wrong := _render_wrong(found.lasting):
        return (
            "oracle_does_not_last",
            f"When every process was ended and the services were started anew:\n{wrong}",
            True,
        )
    return "", "", False


def _render_wrong(said: dict[str, str]) -> str:
    return "\n".join(f"{name}: {wrong}" for name, wrong in said.items() if wrong)[-SHOWN:]
