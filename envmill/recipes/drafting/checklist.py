"""A written checklist: heard on the untouched state and on the right path taken twice, and sent
back with what failed.

write ─► goals and guards ─► right path, here and elsewhere ─► it holds: taken
  ▲            └─── failing check ───┘
  └──── repair ◄─────────────────────┘
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import Repair, describe_builds, give_up, strive
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.locked import REASON, Locked, render_checks
from envmill.sandbox import Sandbox
from envmill.verifiers.court import decide, sort_checks
from envmill.verifiers.ending import Ending
from envmill.verifiers.weights import balance
from schemas.base import Json
from schemas.environment import Build, Fault
from schemas.prompts import ChecksReply
from schemas.rollout import Verdict
from schemas.scenario import Check, Draft, Verifier

Write = Callable[[Repair, ModelSession], Awaitable[ChecksReply]]
"""What failed, empty for a first version → a checklist."""

_SOURCE, _CODE = "verifier", "checks_do_not_hold"


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
    complaints: tuple[Complaint, ...] = ()
    content: Json = None

    @property
    def fault(self) -> Fault:
        return "code" if self.complaints else "none"


async def write_checklist(
    draft: Draft,
    derived: Verifier,
    endings: Sequence[Ending],
    write: Write,
    sandbox: Sandbox,
    models: ModelSession,
    locked: Locked,
) -> Checklist:
    """The first version that holds, locked checks among it, in place of the derived goals and
    guards; what was derived besides stays."""

    async def write_once(_before: _Heard | None, repair: Repair, asking: ModelSession) -> _Heard:
        reply = await write(repair, asking)
        if faults := locked.find_faults(render_checks(reply.checks)):
            return _Heard(
                None,
                tuple(Complaint(_SOURCE, REASON, fault) for fault in faults),
                reply.model_dump(mode="json"),
            )
        return replace(
            await _run_checks(reply, draft, derived, endings, sandbox),
            content=reply.model_dump(mode="json"),
        )

    versions = await strive(write_once, models, locked.render)
    last = versions[-1]
    if isinstance(last, _Heard) and last.verifier is not None:
        return Checklist(last.verifier, describe_builds(draft.id, versions))
    return Checklist(None, describe_builds(draft.id, versions), give_up(versions))


async def _run_checks(
    reply: ChecksReply, draft: Draft, derived: Verifier, endings: Sequence[Ending], sandbox: Sandbox
) -> _Heard:
    checks = [
        Check(name=one.name[:200], op="generated", path=[], source=one.source)
        for one in reply.checks
    ]
    try:
        goals, guards = await sort_checks(sandbox, checks, draft.initial_state, draft.clock)
    except BuildError as error:
        return _Heard(None, (Complaint(_SOURCE, _CODE, error.message),))
    if not goals:
        return _Heard(
            None,
            (
                Complaint(
                    _SOURCE,
                    _CODE,
                    "Every check is true of the untouched state: none asks for anything.",
                ),
            ),
        )
    verifier = balance(
        derived.model_copy(update={"goals": goals, "guards": guards, "frame": _open_frame(derived)})
    )
    complaints = list[Complaint]()
    for place, ending in enumerate(endings):
        verdict = await decide(sandbox, verifier, ending, draft.clock)
        when = "on another day, with other ids for what is new" if place else "as you were shown it"
        complaints += [_complain(shortfall, when) for shortfall in _list_shortfalls(verdict)]
    return _Heard(None, tuple(complaints)) if complaints else _Heard(verifier)


def _list_shortfalls(verdict: Verdict) -> list[str]:
    """Every check that an end fails, in words."""
    if verdict.outcome == "pass":
        return []
    return [
        f"{one['name']}: {one['found']}"
        for one in verdict.evidence
        if "name" in one and "found" in one
    ] or [verdict.reason]


def _complain(shortfall: str, when: str) -> Complaint:
    contract = "Every check must hold after the right path."
    return Complaint(
        _SOURCE, _CODE, f"after the right path, taken {when}: {shortfall}", contract=contract
    )


def _open_frame(derived: Verifier) -> list[list[str]]:
    """No written check names the row it found, so where rows are new the whole collection is left
    to the checks."""
    return [*derived.frame, *(goal.path for goal in derived.goals if goal.op == "present")]
