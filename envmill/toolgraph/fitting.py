"""Fitting: whether a value can go into an input at all, whatever any evidence says."""

from envmill.toolgraph.parameters import NOBODY, Parameters, ToolParameter

_WIDER = {("integer", "number")}


def find_refusal(parameters: Parameters, giver: ToolParameter, taker: ToolParameter) -> str:
    """Why a value cannot go there, whatever evidence says; empty when it can."""
    if giver.side == "input" or taker.side != "input":
        return "wrong side"
    if giver.owner == taker.owner:
        return "own output"
    if giver.owner in parameters.ending:
        return "of what is gone"
    if giver.is_control or taker.is_control:
        return "steers a reply"
    if fault := find_type_fault(giver, taker):
        return fault
    if _are_strangers(parameters, giver, taker):
        return "another entity"
    return (
        ""
        if taker.is_reference or _are_neighbours(parameters, giver, taker)
        else "a mere value of another service"
    )


def find_type_fault(giver: ToolParameter, taker: ToolParameter) -> str:
    """Types must agree, as far as they are known; truth values and free objects stand for nothing
    beyond their own record."""
    if {giver.type, taker.type} & {"boolean", "object", "array", "null"}:
        return "no value to give on"
    if (
        giver.type
        and taker.type
        and giver.type != taker.type
        and (giver.type, taker.type) not in _WIDER
    ):
        return "type"
    if giver.format and taker.format and giver.format != taker.format:
        return "format"
    return (
        "choices"
        if taker.choices and giver.choices and not set(giver.choices) & set(taker.choices)
        else ""
    )


def _are_neighbours(parameters: Parameters, giver: ToolParameter, taker: ToolParameter) -> bool:
    """Whether both belong to one service; records belong to all."""
    return (
        giver.owner == NOBODY
        or parameters.services[giver.owner] == parameters.services[taker.owner]
    )


def _are_strangers(parameters: Parameters, giver: ToolParameter, taker: ToolParameter) -> bool:
    """A reference is worth nothing for a thing of another kind, where both kinds are known here."""
    ends = giver.words[-1], taker.words[-1]
    if not (giver.is_reference or taker.is_reference):
        return False
    mine, yours = giver.words[:-1], taker.words[:-1]
    if ends[0] != ends[1]:
        return mine == yours or {mine, yours} <= parameters.known
    return mine != yours and mine in parameters.known and yours in parameters.known
