"""Trying again: a version that failed is sent back with its failure, twice at most; then one is asked for afresh; every version is kept.

first ─► repair ─► repair ─► afresh        the first that holds ends it
  └──── nobody can read it ───▲
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from envmill.errors import BadReply
from envmill.models.door import Account
from schemas.base import Json, digest
from schemas.environment import Build, Fault

REPAIRS = 2


class Version(Protocol):
    """One version, judged."""

    @property
    def failure(self) -> str:
        """As quoted to the author; empty when it holds."""
        ...

    @property
    def fault(self) -> Fault:
        """Whom the failure is attributed to."""
        ...

    @property
    def content(self) -> Json:
        """What was written."""
        ...


@dataclass(frozen=True)
class Unread:
    """A version nobody could read."""

    failure: str
    fault: Fault = "unknown"
    content: Json = None


V = TypeVar("V", bound=Version)


async def strive(write: Callable[[V | None, Account], Awaitable[V]], account: Account) -> list[V | Unread]:
    """All versions in order, the last of them one that holds, if any does. What cannot be read is not sent back."""
    versions: list[V | Unread] = []
    before: V | None = None
    turn = 0
    while turn <= REPAIRS + 1:
        afresh = turn > REPAIRS
        try:
            before = await write(None if afresh else before, account.afresh(1) if afresh else account)
            versions.append(before)
        except BadReply as error:
            versions.append(Unread(error.message))
            turn = max(turn, REPAIRS)
        if not versions[-1].failure:
            break
        turn += 1
    return versions


def give_up(reason: str, versions: Sequence[Version]) -> tuple[str, str]:
    """(reason code, words) for the end of a candidate of which no version held."""
    unread = all(isinstance(one, Unread) for one in versions)
    return "bad_reply" if unread else reason, f"after {len(versions)} versions: {versions[-1].failure}"


def tell_trouble(subject: str, versions: Sequence[Version]) -> tuple[Build, ...]:
    """The history of what had to be sent back; a first version that holds has none."""
    return tell_builds(subject, versions) if versions[0].failure else ()


def tell_builds(subject: str, versions: Sequence[Version]) -> tuple[Build, ...]:
    """Their history, one row per version."""
    return tuple(
        Build(
            subject=subject,
            repair=number,
            outcome="failed" if version.failure else "built",
            failure=version.failure,
            fault=version.fault,
            content_hash=digest(version.content),
        )
        for number, version in enumerate(versions)
    )
