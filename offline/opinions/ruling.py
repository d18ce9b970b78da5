"""A ruling on an end: what changed and was told, beside what the reference path changes and what
had to be told."""

from collections.abc import Iterator, Sequence

from envmill.verifiers.facts import find_shortfall
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.ruling import RulingInput, RulingReply
from schemas.scenario import Change

_MASK = "#"


def rule_on(asked: RulingInput) -> RulingReply:
    """What somebody says of it who compares place by place; new rows go by what they hold, not by
    their ids."""
    wanted, found = _outline(asked.expected), _outline(asked.changes)
    if missing := next((one for one in wanted if one not in found), ""):
        broken = next((call for call in asked.calls if call.outcome == "failure"), None)
        if broken:
            return RulingReply(
                outcome="server_error",
                reason=f"{broken.name} broke down ({broken.code}), and this is missing: {missing}",
            )
        return RulingReply(outcome="incomplete", reason=f"This is missing: {missing}")
    if stray := next((one for one in found if one not in wanted), ""):
        return RulingReply(outcome="incomplete", reason=f"Nobody asked for this: {stray}")
    if len(found) != len(wanted):
        return RulingReply(
            outcome="incomplete", reason="The same was done more often than asked for."
        )
    for fact in asked.facts:
        if find_shortfall(fact, asked.said) is not None:
            return RulingReply(outcome="incomplete", reason=f"The person was not told {fact.name}.")
    return RulingReply(
        outcome="complete", reason="All that was asked for is there, and nothing besides."
    )


def _outline(changes: Sequence[Change]) -> list[str]:
    fresh = frozenset(
        change.path[-1] for change in changes if change.op == "add" and is_object(change.after)
    )
    return sorted(_describe_changes(changes, fresh))


def _describe_changes(changes: Sequence[Change], fresh: frozenset[str]) -> Iterator[str]:
    for change in changes:
        path = [_MASK if key in fresh else key for key in change.path]
        yield canonical_json({"at": path, "op": change.op, "value": _hide(change.after, fresh)})


def _hide(value: Json, fresh: frozenset[str], name: str = "") -> Json:
    """Ids of new rows masked; those that are numbers only where a field is named so, since any
    amount may be the same."""
    if is_object(value):
        return {key: _hide(one, fresh, key) for key, one in value.items()}
    if is_array(value):
        return [_hide(one, fresh, name) for one in value]
    known = str(value) in fresh
    return (
        _MASK
        if known and (isinstance(value, str) or name == "id" or name.endswith("_id"))
        else value
    )
