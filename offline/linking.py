"""Links between tools: which of them rests on which, judged by what they take, give and do."""

import re

from envmill.toolgraph.words import REFERENCES, Words, find_entity, is_ending, split_name
from offline.domain import Domain
from schemas.base import Contract, Json
from schemas.relation import Relation, RelationInput, RelationReply, ToolCard

_TYPED = re.compile(r" \([^)]*\)$")
_MAKERS = ("create", "add", "register", "put", "open", "book", "place", "start", "submit")


def answer_label(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    asked = RelationInput.model_validate(inputs)
    return RelationReply(
        relations=[
            _judge(asked.tool, other) for other in asked.others if other.name != asked.tool.name
        ]
    )


def _judge(tool: ToolCard, other: ToolCard) -> Relation:
    """What selects a thing comes from whoever makes it or shows it; what was ended gives nothing
    any more."""
    needed = {words for words in _read(tool.inputs) if words[-1] in REFERENCES and len(words) > 1}
    given = needed & _read(other.outputs)
    about = find_entity(other.name)
    made = (
        {words for words in needed if words[:-1] == about}
        if split_name(other.name)[0] in _MAKERS
        else set[Words]()
    )
    if is_ending(other.name) or not given | made:
        return Relation(other=other.name, label="independent")
    said = ", ".join(" ".join(words) for words in sorted(given | made))
    # One that makes what is needed, and needs nothing of it itself, has to come first; others give
    # it as well.
    strong = bool(made) and not made & _read(tool.outputs)
    return Relation(
        other=other.name, label="strong" if strong else "weak", reason=f"it gives {said}"
    )


def _read(cards: list[str]) -> set[Words]:
    return {tuple(_TYPED.sub("", one).split()) for one in cards}
