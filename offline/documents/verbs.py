"""Verbs: what a tool does, as far as its name says."""

from typing import Literal

from envmill.toolgraph.words import split_name
from schemas.sketch import ToolSketch

Family = Literal["create", "get", "list", "update", "delete", "halt", "revive", "attach", "detach"]

_VERBS: dict[Family, str] = {
    "create": "create add register put open book place post send publish submit issue schedule new "
    "insert make request",
    "get": "get describe show read fetch retrieve view",
    "list": "list search find query scan",
    "update": "update modify set change edit patch configure",
    "delete": "delete remove terminate destroy deregister drop",
    "halt": "cancel close stop disable suspend archive deactivate revoke lock pause reject deprecate "
    "finish complete",
    "revive": "start enable activate resume reopen unlock restore reactivate",
    "attach": "attach associate link assign",
    "detach": "detach disassociate unlink unassign",
}
_PAST = {"stop": "stopped", "cancel": "cancelled"}


def find_family(tool: ToolSketch) -> Family | None:
    """By its verb, a service's name before it or not; nothing where the document says otherwise, or
    the verb is none of these."""
    verb = find_verb(tool)
    family: Family | None = next(
        (name for name, verbs in _VERBS.items() if verb in verbs.split()), None
    )
    if family == "get" and _is_many(tool):
        family = "list"
    if family in ("create", "delete") and (tied := _find_tie(tool)):
        family = tied
    reads = family in ("get", "list")
    return (
        None
        if family is None or (tool.effect != "unknown" and reads != (tool.effect == "query"))
        else family
    )


def find_verb(tool: ToolSketch) -> str:
    """The first word that is one; empty where none of the first two is."""
    known = " ".join(_VERBS.values()).split()
    return next((word for word in split_name(tool.name)[:2] if word in known), "")


def _is_many(tool: ToolSketch) -> bool:
    """`describe_streams` and `get_orders` list; what needs something to be selected by shows
    one."""
    return (
        tool.name.endswith("s") and not tool.name.endswith("ss") and not tool.inputs.get("required")
    )


def _find_tie(tool: ToolSketch) -> Family | None:
    """`add_thing_to_group` and `remove_thing_from_group` tie and untie what is there."""
    words = tool.name.split("_")
    if words[0] == "add" and "to" in words[2:]:
        return "attach"
    return "detach" if words[0] == "remove" and "from" in words[2:] else None


def render_past(verb: str) -> str:
    """`closed`, `cancelled`."""
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("y"):
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"
