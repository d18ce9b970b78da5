"""Length: whether a reference path has as many calls as the brief asks for."""

from envmill.kinds.authoring.complaint import Complaint
from envmill.toolgraph.validity import bound_calls
from schemas.scenario import Draft
from schemas.seed import Brief


def find_length_fault(brief: Brief, draft: Draft) -> Complaint | None:
    """Of a path that was carried out. One under another polarity only reads, and is as long as its
    lookups."""
    if brief.calls is None or draft.polarity != "achieve":
        return None
    made, (least, most) = len(draft.oracle), bound_calls(brief.calls)
    if least <= made <= most:
        return None
    code, mend = (
        ("path_short", "add errands for further records")
        if made < least
        else ("path_long", "leave out some of its errands")
    )
    words = (
        f"the reference path makes {made} calls, and the brief asks for {brief.calls} (at least "
        f"{least}, at most {most}): {mend}"
    )
    return Complaint("oracle", code, words)
