"""Length: whether a reference path has as many calls as the brief asks for."""

from envmill.kinds.authoring.complaint import Complaint
from schemas.scenario import Draft
from schemas.seed import Brief

SLACK = 0.25
"""Share of the wanted calls that a path may have more or less."""


def find_length_fault(brief: Brief, draft: Draft) -> Complaint | None:
    """Of a path that was carried out. One under another polarity only reads, and is as long as its lookups."""
    if brief.calls is None or draft.polarity != "achieve":
        return None
    made, least, most = len(draft.oracle), round(brief.calls * (1 - SLACK)), round(brief.calls * (1 + SLACK))
    if least <= made <= most:
        return None
    code, mend = ("path_short", "add errands for further records") if made < least else ("path_long", "leave out some of its errands")
    words = f"the reference path makes {made} calls, and the brief asks for {brief.calls} (at least {least}, at most {most}): {mend}"
    return Complaint("oracle", code, words)
