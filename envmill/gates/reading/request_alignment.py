"""Which sentence of a request asks for which change of its reference path.

request ─► sentences ─┐
changes ─► signs ─────┴─► each change goes to the sentence that shows most of its signs, most certain ones first
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import ScenarioCase
from envmill.gates.exploring.trials import list_writes
from envmill.gates.reading.coreference import name_antecedents
from envmill.gates.reading.known_values import list_leaves
from envmill.gates.reading.question import Mask, Question, cut_name, split_sentences
from envmill.gates.s15 import describe_row
from envmill.language.words import normalise
from schemas.base import Json
from schemas.environment import Call

_DEPTH = 2
"""Number of references followed from a row, because people often call a row by the name of another
one."""
_REFERRED = 0.4
"""Weight of texts in rows that a row refers to, where its own texts have 1. Also of every word of a
tool's name after the first, which has 1."""
_TAKEN = 0.4
"""Weight of a sentence that already asks for another change."""

Sign = tuple[str, Json]
"""`name` and a word of the tool's name, or `value` and a value of an argument or of a row."""


@dataclass(frozen=True)
class RequestedChange:
    """A change of the reference path, and the sentence that asks for it; -1 if unknown."""

    place: int
    sentence: int
    call: Call
    signs: Mapping[Sign, float]
    """Signs of the change, with their weights."""
    counted: frozenset[str] = frozenset()
    """Arguments that are keys of numbered rows, and no amounts."""

    def list_shown(self, text: Question) -> set[Sign]:
        """Signs that occur in a sentence."""
        return {sign for sign in self.signs if is_shown(sign, text)}

    def list_telling(self, text: Question) -> set[Sign]:
        """Shown signs, without the words of the tool's name after its first: `ticket` in `close_ticket`
        fits every change of a ticket."""
        return {
            sign
            for sign in self.list_shown(text)
            if sign[0] == "value" or self.signs[sign] > _REFERRED
        }


@dataclass(frozen=True)
class RequestAlignment:
    """The sentences of a request, and the changes each asks for."""

    texts: Sequence[Question]
    wishes: Sequence[RequestedChange]
    """In the order of the path."""

    @classmethod
    def of(cls, subject: ScenarioCase) -> "RequestAlignment":
        stock, oracle = StateIndex.of(subject.scenario.initial_state), subject.scenario.oracle
        sentences = name_antecedents(split_sentences(subject.scenario.request), stock)
        texts = [Question(normalise(sentence)) for sentence in sentences]
        places = list_writes(subject)
        signs = leave_out_written(
            [oracle[place] for place in places],
            [list_signs(oracle[place], stock) for place in places],
        )
        found = assign([score(each, texts) for each in signs])
        counted = [list_counted(oracle[place], stock) for place in places]
        return cls(
            texts,
            [
                RequestedChange(place, found[row], oracle[place], signs[row], counted[row])
                for row, place in enumerate(places)
            ],
        )

    @property
    def known(self) -> list[RequestedChange]:
        return [one for one in self.wishes if one.sentence >= 0]

    def find_text(self, place: int) -> str:
        """The sentence that asks for the change at this position. Empty if none does, or if the call
        there only reads."""
        return next((self.texts[one.sentence].text for one in self.known if one.place == place), "")

    def read_on(self, wish: RequestedChange) -> str:
        """The sentence that asks for a change, with the parts after its semicolons that ask for
        nothing else."""
        taken, last = {one.sentence for one in self.wishes}, wish.sentence
        while (
            self.texts[last].text.rstrip().endswith(";")
            and last + 1 < len(self.texts)
            and last + 1 not in taken
        ):
            last += 1
        return " ".join(text.text for text in self.texts[wish.sentence : last + 1])

    def mentions_for_others(self, place: int, value: Json) -> bool:
        """Whether the request says the value only where it asks for other changes that use it."""
        own = next((one.sentence for one in self.known if one.place == place), -1)
        said = [number for number, text in enumerate(self.texts) if text.mark_value(value)]
        users = {
            one.sentence
            for one in self.known
            if one.place != place and value in list(list_leaves(one.call.arguments))
        }
        return bool(said) and own >= 0 and own not in said and users.issuperset(said)

    def may_be_elsewhere(self, wish: RequestedChange) -> bool:
        """Whether a sentence without wishes mentions its rows or values."""
        free = set(range(len(self.texts))) - {one.sentence for one in self.wishes}
        return any(
            sort == "value" for number in free for sort, _ in wish.list_shown(self.texts[number])
        )

    def list_beside(self, wish: RequestedChange) -> list[RequestedChange]:
        """Other changes of the same sentence."""
        return [one for one in self.wishes if one.sentence == wish.sentence and one is not wish]


def list_signs(call: Call, stock: StateIndex) -> dict[Sign, float]:
    """Words of the tool's name, values of the arguments, and texts of the rows that these name.
    Words after the first, and texts of rows that those rows refer to, have less weight."""
    verb, *nouns = cut_name(call.name) or [call.name]
    signs: dict[Sign, float] = {("name", verb): 1.0} | {("name", noun): _REFERRED for noun in nouns}
    for argument, value in (
        (name, leaf) for name, given in call.arguments.items() for leaf in list_leaves(given)
    ):
        home = stock.find_home(value, argument)
        signs["value", value] = 1.0
        for name, word in describe_row(stock, home, str(value), _DEPTH) if home else ():
            if isinstance(word, str):
                signs.setdefault(("value", word), _REFERRED if "." in name else 1.0)
    return signs


def leave_out_written(
    calls: Sequence[Call], signs: Sequence[dict[Sign, float]]
) -> list[dict[Sign, float]]:
    """Signs of each change, without texts of its rows that only other calls have as arguments.
    `Describe it as 'for the audit'` does not mean a row that already has this description."""
    given = [
        [leaf for leaf in list_leaves(call.arguments) if isinstance(leaf, str)] for call in calls
    ]
    return [
        {
            (sort, value): weight
            for (sort, value), weight in own.items()
            if sort == "name"
            or value in given[number]
            or not any(value in others for others in given)
        }
        for number, own in enumerate(signs)
    ]


def list_counted(call: Call, stock: StateIndex) -> frozenset[str]:
    """Arguments that are keys of numbered rows."""
    return frozenset(
        name for name, value in call.arguments.items() if stock.find_counted(name, value)
    )


def score(signs: Mapping[Sign, float], texts: Sequence[Question]) -> list[float]:
    """Score of each sentence. A sign counts less if several sentences show it. If a sentence says a
    value, a tool's name alone does not count."""
    scores, said = [0.0] * len(texts), [False] * len(texts)
    for sign, weight in signs.items():
        shown = [is_shown(sign, text) for text in texts]
        for number in (number for number, one in enumerate(shown) if one):
            scores[number] += weight / sum(shown)
            said[number] |= sign[0] == "value"
    return [
        round(one, 6) if known or not any(said) else 0.0
        for one, known in zip(scores, said, strict=True)
    ]


def is_shown(sign: Sign, text: Question) -> bool:
    return bool(mask_sign(sign, text))


def mask_sign(sign: Sign, text: Question) -> Mask:
    """Words that show the sign."""
    sort, value = sign
    return text.mark_name(str(value)) if sort == "name" else text.mark_value(value)


def assign(scores: Sequence[Sequence[float]]) -> list[int]:
    """A sentence for each change, most certain ones first. Sentences that are already taken count
    less; -1 if none shows a sign."""
    found, left = dict[int, int](), set(range(len(scores)))
    while left and scores[0]:
        row, sentence = max(
            product(left, range(len(scores[0]))),
            key=lambda one: (_value(scores, found, *one), -_stray(scores, *one)),
        )
        found[row] = sentence if _value(scores, found, row, sentence) > 0 else -1
        left.discard(row)
    return [found.get(row, -1) for row in range(len(scores))]


def _value(
    scores: Sequence[Sequence[float]], found: Mapping[int, int], row: int, sentence: int
) -> float:
    return scores[row][sentence] * (_TAKEN if sentence in found.values() else 1.0)


def _stray(scores: Sequence[Sequence[float]], row: int, sentence: int) -> float:
    """Distance from the position it would have if the request followed the path."""
    return abs(row / len(scores) - sentence / len(scores[row]))
