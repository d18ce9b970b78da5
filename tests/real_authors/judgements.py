"""Recorded judgements: what two readers, who saw only the question and the item, answered about each suspicion.

`judgements.json` is a list of `{"item", "question", "readings": [{"answer", "quotes", "reason"}, …]}`: the first reading answers no when in
doubt, the second yes.
A question that nobody has read is an error that quotes it.
"""

from typing import Any

from envmill.models.base import Request
from tests.real_authors.corpus import ROOT, Item, read_json

PATH = ROOT / "judgements.json"


def find_judgement(item: Item, request: Request) -> Any:
    """The answer of the first reader, who answers no when in doubt, or of the second, who answers yes; KeyError where nobody read it."""
    inputs: Any = request.inputs
    found = [one for one in read_judgements() if one["item"] == item.id and one["question"] == inputs["question"]]
    if not found:
        raise KeyError(f"{item.id}: nobody has read {inputs['question']!r}")
    return found[0]["readings"][inputs["doubt"] == "yes"]


def read_judgements() -> list[Any]:
    judgements: Any = read_json(PATH)
    return judgements
