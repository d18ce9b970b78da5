"""Repair: a version that fails is sent back with all complaints, twice at most; then one is asked
for afresh; every version is kept.

first ─► repair ─► repair ─► afresh, told why the others failed        the first that holds ends it
  └──── the reply is unreadable ───▲
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from envmill.base.errors import BadReply
from envmill.kinds.authoring.complaint import (
    Complaint,
    describe_complaint,
    describe_earlier,
    list_once,
    render,
)
from envmill.models.gateway import ModelSession
from schemas.base import Json, digest
from schemas.environment import Build, Fault, SentBack

REPAIRS = 2


class Version(Protocol):
    """One version, judged."""

    @property
    def complaints(self) -> Sequence[Complaint]:
        """What is wrong with it; empty when it holds."""
        ...

    @property
    def fault(self) -> Fault:
        """Whom the complaints are attributed to."""
        ...

    @property
    def content(self) -> Json:
        """What was written."""
        ...


@dataclass(frozen=True)
class UnreadableVersion:
    """A version whose reply could not be read."""

    complaints: tuple[Complaint, ...]
    fault: Fault = "unknown"
    content: Json = None


@dataclass(frozen=True)
class Repair:
    """Why something is written again. Empty for a first version and for a fresh one."""

    complaints: tuple[Complaint, ...] = ()
    locked: tuple[str, ...] = ()
    """Parts that a reviewer locked."""
    summary: str = ""
    """What a model says of all that went wrong so far; it stands before the complaints."""

    def render(self) -> str:
        """The message that continues the author's conversation; empty for a first version."""
        return (
            describe_complaint(self.complaints, self.locked, self.summary)
            if self.complaints
            else ""
        )

    def about(self, tools: Sequence[str]) -> "Repair":
        """With the complaints about these tools alone."""
        return replace(
            self,
            complaints=tuple(
                complaint for complaint in self.complaints if complaint.concerns(tools)
            ),
        )


FIRST = Repair()
"""Nothing was written yet."""

V = TypeVar("V", bound=Version)


def _never(_: object) -> bool:
    return False


async def strive(
    write: Callable[[V | None, Repair, ModelSession], Awaitable[V]],
    models: ModelSession,
    locked: Callable[[], Sequence[str]] = tuple,
    ends: Callable[[V], bool] = _never,
) -> list[V | UnreadableVersion]:
    """All versions in order, the last of them one that holds, if any does. What cannot be read is
    not sent back.

    `write` gets the version before, what is wrong with it, and an account whose conversations go on from version to version.
    `locked` lists what a reviewer locked of the versions so far. `ends` says of which version no other one is asked for.
    """
    versions: list[V | UnreadableVersion] = []
    before: V | None = None
    asking, turn = models.afresh(0, describe_earlier((), locked())), 0
    while turn <= REPAIRS + 1:
        if turn > REPAIRS:
            before, asking = (
                None,
                models.afresh(1, describe_earlier(list_complaints(versions), locked())),
            )
        repair = Repair(list_once(before.complaints) if before else (), tuple(locked()))
        try:
            before = await write(before, repair, asking)
            versions.append(before)
            if ends(before):
                break
        except BadReply as error:
            versions.append(UnreadableVersion((Complaint("reply", "bad_reply", error.message),)))
            turn = max(turn, REPAIRS)
        if not versions[-1].complaints:
            break
        turn += 1
    return versions


def list_complaints(versions: Sequence[Version]) -> tuple[Complaint, ...]:
    """All complaints about them, each once."""
    return list_once(complaint for version in versions for complaint in version.complaints)


def give_up(versions: Sequence[Version]) -> tuple[str, str]:
    """(reason code, words) for the end of a candidate of which no version held: the code is that of
    the last one that could be read."""
    read = [version for version in versions if not isinstance(version, UnreadableVersion)]
    reason = read[-1].complaints[0].code if read else "bad_reply"
    return reason, f"after {len(versions)} versions: {render(versions[-1].complaints)}"


def describe_trouble(subject: str, versions: Sequence[Version]) -> tuple[Build, ...]:
    """The history of what had to be sent back; a first version that holds has none."""
    return describe_builds(subject, versions) if versions[0].complaints else ()


def describe_builds(subject: str, versions: Sequence[Version]) -> tuple[Build, ...]:
    """Their history, one row per version."""
    return tuple(
        Build(
            subject=subject,
            repair=number,
            outcome="failed" if version.complaints else "built",
            failure=render(version.complaints),
            fault=version.fault,
            content_hash=digest(version.content),
            sent_back=[SentBack(gate=gate, reason=code) for gate, code in _list_codes(version)],
        )
        for number, version in enumerate(versions)
    )


def _list_codes(version: Version) -> list[tuple[str, str]]:
    """(gate, reason code) of its complaints, each once."""
    return list(
        dict.fromkeys((complaint.source, complaint.code) for complaint in version.complaints)
    )
