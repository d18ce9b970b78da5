"""Decides the verdict of any verifier. Generated checks run in the judge zygote; everything else is
decided here.

generated ──► judge zygote ──► yes / no / neither ─┐
declarative, frame ───────────────────────────────┴─► verdict; one check that says neither makes it an error
"""

from collections.abc import Mapping, Sequence

from envmill.base.errors import BuildError
from envmill.sandbox import CheckReply, CheckSession, Sandbox
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import classify, judge, make_error
from envmill.verifiers.progress import find_progress
from schemas.base import Json
from schemas.rollout import Verdict
from schemas.scenario import Check, Verifier


async def decide(sandbox: Sandbox, verifier: Verifier, ending: Ending, clock: str) -> Verdict:
    """The verdict on an ending. An outage of the jail raises SandboxError and gives no verdict."""
    asked = [check for check in (*verifier.guards, *verifier.goals) if check.op == "generated"]
    heard = await run_checks(sandbox, asked, ending, clock)
    silent = next(
        ((check, said) for check, said in zip(asked, heard, strict=True) if said.holds is None),
        None,
    )
    if silent:
        return make_error(_quote(*silent))
    return judge(
        verifier,
        ending,
        {check.source: said.holds is True for check, said in zip(asked, heard, strict=True)},
    )


async def measure(
    sandbox: Sandbox, verifier: Verifier, ending: Ending, clock: str
) -> Mapping[str, list[int]]:
    """Goals that hold and guards that are broken in the middle of an attempt. Raises BuildError,
    which names the check, if a check says neither yes nor no."""
    asked = [check for check in (*verifier.guards, *verifier.goals) if check.op == "generated"]
    heard = await run_checks(sandbox, asked, ending, clock)
    for check, said in zip(asked, heard, strict=True):
        if said.holds is None:
            raise BuildError(_quote(check, said))
    return find_progress(
        verifier,
        ending,
        {check.source: said.holds is True for check, said in zip(asked, heard, strict=True)},
    )


async def sort_checks(
    sandbox: Sandbox, checks: Sequence[Check], initial: Json, clock: str
) -> tuple[list[Check], list[Check]]:
    """Goals and guards, found by running every check on the untouched state. Raises BuildError,
    which names the check, if a check says neither yes nor no."""
    asked = [check for check in checks if check.op == "generated"]
    heard = await run_checks(sandbox, asked, Ending(initial, initial), clock)
    for check, said in zip(asked, heard, strict=True):
        if said.holds is None:
            raise BuildError(_quote(check, said))
    return classify(
        list(checks),
        initial,
        {check.source: said.holds is True for check, said in zip(asked, heard, strict=True)},
    )


async def run_checks(
    sandbox: Sandbox, asked: Sequence[Check], ending: Ending, clock: str
) -> list[CheckReply]:
    """The reply of each generated check. Each runs in a process of its own."""
    if not asked:
        return []
    try:
        return await sandbox.judge(
            CheckSession(
                [check.source for check in asked],
                ending.initial,
                ending.final,
                clock,
                rollout=ending.describe(),
            )
        )
    except BuildError as error:
        # The state is too large to send to the jail, so no check can say anything about it.
        return [CheckReply(None, "bad_state", error.message) for _ in asked]


def _quote(check: Check, said: CheckReply) -> str:
    """The reason of an error. A check that raises, hangs or changes its input says nothing about
    the policy."""
    return f"check {check.name} said neither yes nor no ({said.code}): {said.message}"
