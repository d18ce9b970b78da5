"""A complaint: one thing that is wrong with a version, told to its author so that the item at fault
can be found.

"call 3, book_berth {"berth_id":"B2"}: was rejected (limit: …). Every call of a reference path must
succeed."
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.base import Json, canonical_json

MOST = 40
"""Complaints told about one version."""
_LONGEST, _SHORT = 2500, 300
"""Characters of one complaint, and of one that is only remembered. The end of a build's log (2000)
fits into the first."""


@dataclass(frozen=True)
class Complaint:
    """One finding about one version."""

    source: str
    """Gate or stage that complains."""
    code: str
    """Its reason code."""
    words: str
    """What is wrong."""
    item: str = "call"
    """What `index` counts: calls, tests."""
    index: int | None = None
    tool: str = ""
    arguments: Json | None = None
    expected: str = ""
    seen: str = ""
    contract: str = ""
    """The rule, description or request that is violated, as a sentence."""

    def concerns(self, tools: Sequence[str]) -> bool:
        """Whether it is about one of the tools; without a tool of its own, whether its words name
        one."""
        return (
            self.tool in tools
            if self.tool
            else any(re.search(rf"\b{re.escape(tool)}\b", self.words) for tool in tools)
        )

    def render(self) -> str:
        """As one text."""
        call = (
            self.tool if self.arguments is None else f"{self.tool} {canonical_json(self.arguments)}"
        )
        place = ", ".join(
            part
            for part in ("" if self.index is None else f"{self.item} {self.index}", call)
            if part
        )
        ends = (("expected", self.expected), ("seen", self.seen))
        said = "; ".join([self.words, *(f"{name}: {text}" for name, text in ends if text)])
        told = f"{place}: {said}" if place else said
        return f"{told}. {self.contract}" if self.contract else told


def list_once(complaints: Iterable[Complaint]) -> tuple[Complaint, ...]:
    """Each once, in their order: the same words twice are one complaint."""
    return tuple({complaint.render(): complaint for complaint in complaints}.values())


def render(complaints: Sequence[Complaint]) -> str:
    """One line or more for each; empty when there is nothing to complain about."""
    return "\n".join(complaint.render() for complaint in complaints)


def number(complaints: Sequence[Complaint], longest: int = _LONGEST) -> str:
    """A numbered list, cut where nobody would read on."""
    lines = [
        f"{place}. {complaint.render()[:longest]}"
        for place, complaint in enumerate(complaints[:MOST], 1)
    ]
    return "\n".join(
        [*lines, *([f"And {len(complaints) - MOST} more."] if len(complaints) > MOST else [])]
    )


def describe_complaint(
    complaints: Sequence[Complaint], locked: Sequence[str], summary: str = ""
) -> str:
    """The message that goes on from a reply."""
    parts = [
        f"A reader of all complaints so far sums them up:\n\n{summary}" if summary else "",
        f"Your last reply was tried. What is wrong with it:\n\n{number(complaints)}",
        describe_locked(locked),
    ]
    parts.append(
        "Correct what is wrong and leave the rest as it is. Reply again in the same form, complete."
    )
    return "\n\n".join(part for part in parts if part)


def describe_earlier(complaints: Sequence[Complaint], locked: Sequence[str]) -> str:
    """What follows a prompt: why the versions before this attempt failed, and what must stay."""
    told = (
        "## Earlier versions\n\nEarlier versions were tried and rejected. What was wrong with "
        f"them:\n\n{number(complaints, _SHORT)}"
    )
    told = told if complaints else ""
    return "\n\n".join(part for part in (told, describe_locked(locked)) if part)


def describe_locked(locked: Sequence[str]) -> str:
    """What a reviewer locked; empty where nothing is."""
    return (
        "\n".join(["These parts must stay word for word:", *(f"- {part}" for part in locked)])
        if locked
        else ""
    )
