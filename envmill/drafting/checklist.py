"""A written checklist: heard on the untouched state and on the right path taken twice, and sent back with what failed.

write ─► goals and guards ─► right path, here and elsewhere ─► it holds: taken
  ▲            └─── failing check ───┘
  └──── repair ◄─────────────────────┘
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from envmill.drafting.locked import REASON, Locked, spell_checks
from envmill.drafting.repair import give_up, strive, tell_builds
from envmill.errors import BuildError
from envmill.models.door import Account
from envmill.sandbox import Sandbox
from envmill.verifiers.court import decide, sort_checks
from envmill.verifiers.ending import Ending
from envmill.verifiers.weights import balance
from schemas.base import Json
from schemas.environment import Build, Fault
from schemas.prompts import ChecksReply
from schemas.scenario import Check, Draft, Verifier

Write = Callable[[str, Account], Awaitable[ChecksReply]]
"""What failed, empty for a first version → a checklist."""


@dataclass(frozen=True)
class Checklist:
    """What came of asking for one."""

    verifier: Verifier | None
    """None when no version held."""
    builds: tuple[Build, ...]
    """One per version."""
    end: tuple[str, str] = ("", "")
    """(reason code, words) where there is none."""


@dataclass(frozen=True)
class _Heard:
    """One version, heard."""

    verifier: Verifier | None = None
    failure: str = ""
    fault: Fault = "none"
    content: Json = None
    reason: str = "checks_do_not_hold"


async def write_checklist(
    draft: Draft, derived: Verifier, endings: Sequence[Ending], write: Write, sandbox: Sandbox, account: Account, locked: Locked
) -> Checklist:
    """The first version that holds, locked checks among it, in place of the derived goals and guards; what was derived besides stays."""

    async def write_once(before: _Heard | None, asking: Account) -> _Heard:
        reply = await write(before.failure if before else "", asking)
        if fault := locked.find_fault(spell_checks(reply.checks)):
            return _Heard(failure=fault, fault="code", content=reply.model_dump(mode="json"), reason=REASON)
        return replace(await _hear(reply, draft, derived, endings, sandbox), content=reply.model_dump(mode="json"))

    versions = await strive(write_once, account)
    last = versions[-1]
    if isinstance(last, _Heard) and last.verifier is not None:
        return Checklist(last.verifier, tell_builds(draft.id, versions))
    reason = next((one.reason for one in reversed(versions) if isinstance(one, _Heard)), "")
    return Checklist(None, tell_builds(draft.id, versions), give_up(reason, versions))


async def _hear(reply: ChecksReply, draft: Draft, derived: Verifier, endings: Sequence[Ending], sandbox: Sandbox) -> _Heard:
    checks = [Check(name=one.name[:200], op="generated", path=[], source=one.source) for one in reply.checks]
    try:
        goals, guards = await sort_checks(sandbox, checks, draft.initial_state, draft.clock)
    except BuildError as error:
        return _Heard(failure=error.message, fault="code")
    if not goals:
        return _Heard(failure="Every check is true of the untouched state: none asks for anything.", fault="code")
    verifier = balance(derived.model_copy(update={"goals": goals, "guards": guards, "frame": _open_frame(derived)}))
    for place, ending in enumerate(endings):
        verdict = await decide(sandbox, verifier, ending, draft.clock)
        if verdict.outcome != "pass":
            when = "on another day, with other ids for what is new" if place else "as you were shown it"
            return _Heard(failure=f"After the right path, taken {when}: {verdict.reason}", fault="code")
    return _Heard(verifier)


def _open_frame(derived: Verifier) -> list[list[str]]:
    """No written check names the row it found, so where rows are new the whole collection is left to the checks."""
    return [*derived.frame, *(goal.path for goal in derived.goals if goal.op == "present")]
