"""Fitting: whether an input can take a value at all, independent of evidence."""

from envmill.toolgraph.parameters import NOBODY, Parameters, ToolParameter

_WIDER = {("integer", "number")}


def find_refusal(parameters: Parameters, giver: ToolParameter, taker: ToolParameter) -> str:
    """Code of the reason why the input cannot take the value; empty if it can."""
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
    """Types must agree if both are known. Booleans and free objects mean nothing outside their own
    record."""
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
    """Whether both belong to one service. Columns belong to every service."""
    return (
        giver.owner == NOBODY
        or parameters.services[giver.owner] == parameters.services[taker.owner]
    )


def _are_strangers(parameters: Parameters, giver: ToolParameter, taker: ToolParameter) -> bool:
    """Whether the value refers to another kind of thing than the input. Both kinds must be
    known."""
    ends = giver.words[-1], taker.words[-1]
    if not (giver.is_reference or taker.is_reference):
        return False
    mine, yours = giver.words[:-1], taker.words[:-1]
    if ends[0] != ends[1]:
        return mine == yours or {mine, yours} <= parameters.known
    return mine != yours and mine in parameters.known and yours in parameters.known
