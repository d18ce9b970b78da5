"""A conversation as token ids, and a mask that separates what the policy said from what it read.

messages ──render up to each turn, and with it──► where each turn begins and ends ──render whole──► ids, masks ──decode──► what was said?
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.interop.tokens.refusal import TokenRefusal
from envmill.interop.tokens.said import find_difference, leaves_thinking_out
from envmill.interop.tokens.template import ChatTemplate, RenderedChat
from envmill.interop.tokens.template_messages import TemplateMessage, convert_messages
from envmill.interop.tokens.tokenizer import (
    CLOSE,
    OPEN,
    ChatTokenizer,
    EncodedText,
    Offsets,
    contains_control,
    quote_control,
    unquote,
)
from schemas.base import Json, is_array, is_object


@dataclass(frozen=True)
class SaidTurn:
    """One message of the policy, in tokens."""

    place: int
    """Index among the messages of the row."""
    first: int
    """Its first token."""
    last: int
    """The token after its last one."""


@dataclass(frozen=True)
class EncodedChat:
    """A conversation, or its beginning, as token ids."""

    ids: list[int]
    mask: list[bool]
    """Per token: whether the policy said it."""
    turns: tuple[SaidTurn, ...]
    """Turns in the mask."""
    quoted: bool = False
    """Whether one of its texts contains the characters of a control token."""
    thinking_left_out: bool = False
    """Whether the template leaves out thinking that a message has."""

    def mask_turns(self, places: Collection[int]) -> list[bool]:
        """The mask of some turns only."""
        kept = [one for one in self.turns if one.place in places]
        return [
            said and any(one.first <= place < one.last for one in kept)
            for place, said in enumerate(self.mask)
        ]


@dataclass(frozen=True)
class _Turn:
    """A turn in a rendered conversation: the text up to its end, and where it begins in that
    text."""

    number: int
    source: TemplateMessage
    text: str
    start: int

    def find_spans(self, rendered: RenderedChat, marked: bool) -> list[Offsets]:
        """Spans of what the policy said, in the text of this turn or a longer one. They follow the
        template's marks, and never reach beyond the turn.

        Empty if the text does not begin with the text of the turn."""
        if not rendered.text.startswith(self.text):
            return []
        if not marked:
            return [(self.start, len(self.text))]
        found = [
            (max(begin, self.start), min(end, len(self.text))) for begin, end in rendered.spans
        ]
        return [one for one in found if one[0] < one[1]]


@dataclass(frozen=True)
class ChatEncoder:
    """A tokenizer on one conversation."""

    chat: ChatTokenizer
    template: ChatTemplate
    control: re.Pattern[str]
    messages: tuple[TemplateMessage, ...]
    tools: tuple[Json, ...]
    quoted: bool

    @classmethod
    def of(
        cls, chat: ChatTokenizer, messages: Sequence[Json], tools: Sequence[Json]
    ) -> "ChatEncoder":
        """An encoder of a conversation. If its texts contain control tokens, markers go around
        these; all other conversations are encoded in one piece."""
        template = chat.choose_template(tools)
        control, converted = chat.find_control(template), convert_messages(messages)
        quoted = contains_control([one.message for one in converted], control) or contains_control(
            list(tools), control
        )
        if quoted:
            converted = [
                replace(one, message=quote_control(one.message, control)) for one in converted
            ]
            tools = quote_control(list(tools), control)
        return cls(chat, template, control, tuple(converted), tuple(tools), quoted)

    def encode_prompt(self, size: int | None = None) -> list[int]:
        """Ids of the first `size` messages of the row (default: all), up to the point where the
        policy's turn begins."""
        number = (
            len(self.messages) if size is None else sum(one.place < size for one in self.messages)
        )
        later = self.messages[number:]
        return self._encode(
            self._render(number, prompt=not later or later[0].message["role"] == "assistant")
        ).ids

    def encode_parts(self) -> Iterator[EncodedChat]:
        """The whole conversation; then its beginnings, for turns that the template writes
        differently when later messages follow."""
        turns = [
            self._read_turn(number)
            for number, one in enumerate(self.messages)
            if one.message["role"] == "assistant"
        ]
        left, upto = [one for one in turns if one.source.exact], len(self.messages)
        while left:
            rendered = self._render(upto, prompt=False)
            held = {
                one.number: spans
                for one in left
                if (spans := one.find_spans(rendered, self.template.marked))
            }
            if held:
                yield self._mask(
                    rendered, [(one, held[one.number]) for one in left if one.number in held]
                )
            elif upto == left[-1].number + 1:
                raise TokenRefusal(
                    "says_less", f"the template marks nothing of message {left[-1].source.place}"
                )
            left = [one for one in left if one.number not in held]
            upto = left[-1].number + 1 if left else 0

    def _read_turn(self, number: int) -> _Turn:
        """Read a turn. It begins where the prompt before it ends."""
        source = self.messages[number]
        before, text = (
            self._render(number, prompt=True).text,
            self._render(number + 1, prompt=False).text,
        )
        if not text.startswith(before):
            raise TokenRefusal(
                "prefix_broken",
                f"message {source.place} does not begin with the prompt that the template writes "
                "for it",
            )
        return _Turn(number, source, text[: self._find_end(text, len(before))], len(before))

    def _find_end(self, text: str, start: int) -> int:
        """The place after the control token that ends the turn; white space after that is the
        template's."""
        ends = [start + found.end() for found in self._list_control(text[start:])]
        return ends[-1] if ends and not text[ends[-1] :].strip() else len(text)

    def _list_control(self, text: str) -> Iterator[re.Match[str]]:
        """Control tokens that the template wrote."""
        quoted = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}|(?P<control>{self.control.pattern})")
        return (found for found in quoted.finditer(text) if found["control"])

    def _mask(
        self, rendered: RenderedChat, turns: Sequence[tuple[_Turn, list[Offsets]]]
    ) -> EncodedChat:
        encoded = self._encode(rendered)
        mask = [False] * len(encoded.ids)
        said: list[SaidTurn] = []
        left_out = False
        for turn, spans in turns:
            found = [place for span in spans for place in _list_tokens(encoded, span)]
            parts = [turn.text[start:end] for start, end in spans]
            left_out = self._check(turn, parts, [encoded.ids[place] for place in found]) or left_out
            for place in found:
                mask[place] = True
            said.append(SaidTurn(turn.source.place, found[0], found[-1] + 1))
        return EncodedChat(encoded.ids, mask, tuple(said), self.quoted, left_out)

    def _check(self, turn: _Turn, parts: Sequence[str], ids: Sequence[int]) -> bool:
        """Check that the masked tokens decode to what the policy said. Returns whether the template
        leaves out thinking that the message has."""
        message = _unquote_all(turn.source.message)
        where, shown = f"message {turn.source.place}", unquote("".join(parts))
        if not self.chat.decodes_to(ids, shown):
            raise TokenRefusal("does_not_decode", where)
        words = unquote(
            "".join(piece for part in parts for piece in _drop(part, self._list_control(part)))
        )
        if found := find_difference(message, shown, words):
            raise TokenRefusal(found[0], f"{where}: {found[1]}")
        return leaves_thinking_out(message, shown)

    def _render(self, upto: int, *, prompt: bool) -> RenderedChat:
        return self.template.render(
            [one.message for one in self.messages[:upto]], self.tools, prompt=prompt
        )

    def _encode(self, rendered: RenderedChat) -> EncodedText:
        found = self.chat.encode(rendered.text)
        if self.chat.has_unknown(found.ids):
            raise TokenRefusal("unknown_token", "the vocabulary has no token for some character")
        return found


def _list_tokens(encoded: EncodedText, span: Offsets) -> Iterator[int]:
    """Tokens of a span. If a token crosses its edge, the row is refused: the policy said only a
    part of it, so no policy sampled it."""
    start, end = span
    for place, (begin, stop) in enumerate(encoded.offsets):
        if begin < end and stop > start:
            if begin < start or stop > end:
                raise TokenRefusal(
                    "token_straddles",
                    f"token {encoded.ids[place]} is part template, part what the policy said",
                )
            yield place


def _drop(text: str, found: Iterator[re.Match[str]]) -> Iterator[str]:
    """A text without some matches."""
    last = 0
    for one in found:
        yield text[last : one.start()]
        last = one.end()
    yield text[last:]


def _unquote_all(value: Json) -> Json:
    """A value without markers."""
    if isinstance(value, str):
        return unquote(value)
    if is_object(value):
        return {unquote(key): _unquote_all(one) for key, one in value.items()}
    return [_unquote_all(one) for one in value] if is_array(value) else value
