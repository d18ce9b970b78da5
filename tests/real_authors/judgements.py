"""Recorded judgements: what two readers, who saw only the question and the item, answered about
each suspicion, and what a blind reader understood of each request.

`understood.json` has the reply of gate S16's reader by the digest of what it was shown. `judgements.json` is a list of
`{"item", "question", "readings": [{"answer", "quotes", "reason"}, …]}`: the first reading answers no when in doubt, the second yes.
A question that nobody has read is an error that quotes it.
"""

import json
from functools import cache
from typing import Any

from envmill.gates import s16
from envmill.models.base import Request
from schemas.base import digest
from tests.real_authors.corpus import ROOT, Item, read_json

PATH = ROOT / "judgements.json"
UNDERSTOOD = ROOT / "understood.json"


def find_judgement(item: Item, request: Request) -> Any:
    """The answer of the first reader, who answers no when in doubt, or of the second, who answers
    yes; KeyError where nobody read it."""
    inputs: Any = request.inputs
    if request.prompt.name == s16.PROMPT.name:
        return read_understood()[digest(inputs)]
    found = [
        one
        for one in read_judgements()
        if one["item"] == item.id and one["question"] == inputs["question"]
    ]
    if not found:
        raise KeyError(f"{item.id}: nobody has read {inputs['question']!r}")
    return found[0]["readings"][inputs["doubt"] == "yes"]


@cache
def read_understood() -> dict[str, Any]:
    """Digest of the prompt's inputs → reply."""
    return json.loads(UNDERSTOOD.read_text(encoding="utf-8"))


def read_judgements() -> list[Any]:
    judgements: Any = read_json(PATH)
    return judgements
