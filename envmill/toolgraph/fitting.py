"""Fitting: whether a value can go into an input at all, whatever any evidence says."""

from envmill.toolgraph.parameters import Parameter, Parameters
from envmill.toolgraph.words import REFERENCES

_WIDER = {("integer", "number")}


def find_refusal(parameters: Parameters, giver: Parameter, taker: Parameter) -> str:
    """Why a value cannot go there, whatever evidence says; empty when it can."""
    if giver.side == "input" or taker.side != "input":
        return "wrong side"
    if giver.owner == taker.owner:
        return "own output"
    if giver.is_control or taker.is_control:
        return "steers a reply"
    if fault := find_type_fault(giver, taker):
        return fault
    return "another entity" if _are_strangers(parameters, giver, taker) else ""


def find_type_fault(giver: Parameter, taker: Parameter) -> str:
    """Types must agree, as far as they are known; truth values and free objects stand for nothing beyond their own record."""
    if {giver.type, taker.type} & {"boolean", "object", "array", "null"}:
        return "no value to give on"
    if giver.type and taker.type and giver.type != taker.type and (giver.type, taker.type) not in _WIDER:
        return "type"
    if giver.format and taker.format and giver.format != taker.format:
        return "format"
    return "choices" if taker.choices and giver.choices and not set(giver.choices) & set(taker.choices) else ""


def _are_strangers(parameters: Parameters, giver: Parameter, taker: Parameter) -> bool:
    """A reference is worth nothing for a thing of another kind, where both kinds are known here."""
    ends = giver.words[-1], taker.words[-1]
    if not set(ends) & REFERENCES:
        return False
    mine, yours = giver.words[:-1], taker.words[:-1]
    if ends[0] != ends[1]:
        return mine == yours or {mine, yours} <= parameters.known
    return mine != yours and mine in parameters.known and yours in parameters.known
