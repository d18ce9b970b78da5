"""One message that asks for some wishes in order, put together from pieces that remember what they
are.

register ──► opening · wishes, each as an order or as news, alone or in pairs · what to do about news · reason · closing
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from offline.domain import Domain, State
from offline.wording.grammar import Register, load_registers
from offline.wording.phrases import Names, WantedChange, capitalise, render_phrase

NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
VOICED, OPENED, REASONED, CLOSED = 0.45, 0.8, 0.3, 0.65
"""Shares of requests with the domain's own opening, with any opening, with a reason, with a
closing."""
TRIES = 6
LETTERS = 26


@dataclass(frozen=True)
class Piece:
    """A stretch of a request."""

    sort: Literal["frame", "ask", "tell"]
    text: str
    """As it is read."""
    template: str
    """With its fields left open, for a wish; the text itself for a frame."""


Pieces = list[Piece]


def write_request(
    wishes: list[WantedChange],
    domain: Domain,
    state: State,
    dice: random.Random,
    names: Names | None = None,
    aside: str = "",
) -> str:
    """One message that asks for all wishes in order, with every fact needed to carry them out."""
    return "".join(
        piece.text for piece in compose_request(wishes, domain, state, dice, names, aside)
    )


def compose_request(
    wishes: list[WantedChange],
    domain: Domain,
    state: State,
    dice: random.Random,
    names: Names | None = None,
    aside: str = "",
) -> Pieces:
    """The same, piece by piece; an aside is a sentence more, after the wishes."""
    registers = [each for each in load_registers() if len(wishes) > 1 or not each.list]
    register = dice.choices(registers, [each.weight for each in registers])[0]
    writer = _Writer(register, domain, state, dice, names or {}, len(wishes))
    body = writer.write_list(wishes) if register.list else writer.write_text(wishes)
    ending = writer.write_ending(any(each.sort == "tell" for line in body for each in line))
    lines = [*writer.write_opening(), *body, *([[_frame(aside)]] if aside else []), *ending]
    return _join(lines, "\n" if register.list else " ")


@dataclass(frozen=True)
class _Writer:
    register: Register
    domain: Domain
    state: State
    dice: random.Random
    names: Names
    count: int
    said: set[str] = field(default_factory=set[str])
    """Phrases used so far: nobody asks four times in the same words."""

    def write_opening(self) -> Iterator[Pieces]:
        drawn = self.dice.random()
        if drawn < VOICED and not self.register.list:
            yield [_frame(self.dice.choice(self.domain.voices))]
        elif drawn < OPENED or self.register.list:
            yield from self._sample_frame("open")

    def write_ending(self, told: bool) -> Iterator[Pieces]:
        if told:
            yield from self._sample_frame("settle")
        if self.dice.random() < REASONED:
            yield from self._sample_frame("reason")
        if self.dice.random() < CLOSED:
            yield from self._sample_frame("close")

    def write_list(self, wishes: list[WantedChange]) -> list[Pieces]:
        bullet, item = (
            self.register.sample("bullet", self.dice),
            self.register.sample("item", self.dice),
        )
        lines = [
            self._write_wishes(item, [wish], "ask" if self._asks(wish) else "tell")
            for wish in wishes
        ]
        return [[_frame(_count_on(bullet, number)), *line] for number, line in enumerate(lines)]

    def write_text(self, wishes: list[WantedChange]) -> list[Pieces]:
        lines: list[Pieces] = []
        place = 0
        while place < len(wishes):
            count = (
                2 if place + 1 < len(wishes) and self.dice.random() < self.register.paired else 1
            )
            lines.append(self._write_sentence(wishes[place : place + count], place))
            place += count
        return lines

    def _write_sentence(self, wishes: list[WantedChange], place: int) -> Pieces:
        if len(wishes) == 2:
            return self._write_wishes(self.register.sample("pair", self.dice), wishes, "ask")
        if not self._asks(wishes[0]):
            # What begins with "then" cannot come first.
            return self._write_wishes(
                self.register.sample("news", self.dice) if place else "{a}", wishes, "tell"
            )
        return self._write_wishes(
            self.register.sample(self._pick_word(place), self.dice), wishes, "ask"
        )

    def _pick_word(self, place: int) -> str:
        """The word for a sentence of one order; only one in three says where in the order it
        stands."""
        ranked = "first" if place == 0 else "last" if place == self.count - 1 else "then"
        return (
            ranked
            if self.count > 1 and self.dice.random() < (0.3 if place == 0 else 0.55)
            else self.dice.choice(("ask", "question"))
        )

    def _asks(self, wish: WantedChange) -> bool:
        drawn = self.dice.random() >= self.register.implicit
        return drawn or not set(wish.operation.tells) - self.said

    def _write_wishes(
        self, frame: str, wishes: list[WantedChange], sort: Literal["ask", "tell"]
    ) -> Pieces:
        said = {
            letter: self._render(wish, sort) for letter, wish in zip("ab", wishes, strict=False)
        }
        pieces: Pieces = []
        for part in re.split(r"(\{[aAbB]\})", frame):
            if part[:1] == "{" and part[1:2].lower() in said:
                piece = said[part[1].lower()]
                sentence = sort == "tell" or part[1].isupper()
                pieces.append(
                    Piece(sort, capitalise(piece.text), capitalise(piece.template))
                    if sentence
                    else piece
                )
            elif part:
                pieces.append(_frame(part))
        return [
            Piece(pieces[0].sort, capitalise(pieces[0].text), capitalise(pieces[0].template)),
            *_mend_end(pieces[1:], sort),
        ]

    def _render(self, wish: WantedChange, sort: Literal["ask", "tell"]) -> Piece:
        known = wish.operation.asks if sort == "ask" else wish.operation.tells
        template = self.dice.choice([each for each in known if each not in self.said] or known)
        self.said.add(template)
        return Piece(
            sort, render_phrase(template, wish, self.domain, self.state, self.names), template
        )

    def _sample_frame(self, word: str) -> Iterator[Pieces]:
        """A sentence without wishes; one that counts things is of no use for a single thing."""
        for _ in range(TRIES):
            text = self.register.sample(word, self.dice)
            if "{n}" not in text or self.count > 1:
                yield [_frame(capitalise(text.replace("{n}", _count_in_words(self.count))))]
                return


def _frame(text: str) -> Piece:
    return Piece("frame", text, text)


def _mend_end(pieces: Pieces, sort: Literal["ask", "tell"]) -> Pieces:
    """News is a whole sentence: what a line adds behind it would be a second full stop."""
    return [each for each in pieces if sort == "ask" or each.sort == "tell"]


def _count_in_words(count: int) -> str:
    return NUMBERS[count] if count < len(NUMBERS) else str(count)


def _count_on(bullet: str, number: int) -> str:
    """After z come numbers."""
    letter = chr(ord("a") + number) if number < LETTERS else str(1 + number)
    return bullet.replace("1", str(1 + number)).replace("a)", f"{letter})")


def _join(lines: list[Pieces], between: str) -> Pieces:
    pieces: Pieces = []
    for number, line in enumerate(lines):
        pieces += [_frame(between), *line] if number else line
    return pieces
