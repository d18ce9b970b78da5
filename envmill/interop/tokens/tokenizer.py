"""A tokenizer folder, read with only the libraries `tokenizers` and `jinja2`: its vocabulary, its
control tokens and its chat template."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (tokenizers ships stubs with unknown types)

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from envmill.base.errors import SettingsError
from envmill.interop.tokens.refusal import TokenRefusal
from envmill.interop.tokens.template import ChatTemplate
from schemas.base import Json, is_array

FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)
_NAMED = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
OPEN, CLOSE = "\U000f0000", "\U000f0001"
"""Private-use characters around a control token that is part of a message's text; the same as in
transformers."""
_MARKERS = re.compile(f"[{OPEN}{CLOSE}]")
_QUOTED = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}|[{OPEN}{CLOSE}]")

Offsets = tuple[int, int]


@dataclass(frozen=True)
class EncodedText:
    """Token ids, and the place of each token in the text."""

    ids: list[int]
    offsets: list[Offsets]


@dataclass(frozen=True)
class ChatTokenizer:
    """Converts conversations into token ids."""

    name: str
    files: Mapping[str, str]
    """File → SHA-256."""
    template: ChatTemplate
    tool_template: ChatTemplate | None
    """For conversations with tools, if the tokenizer has a separate template for them."""
    engine: Any
    """The tokenizer without its post-processor: the template writes what that would add."""
    bare: Any
    """The same without added tokens: it encodes every text as plain text."""

    def choose_template(self, tools: Sequence[Json]) -> ChatTemplate:
        return self.tool_template if tools and self.tool_template else self.template

    def find_control(self, template: ChatTemplate) -> re.Pattern[str]:
        """Control tokens: special ones, and added ones that the template writes, unless they are
        white space."""
        if template.source not in self._controls:
            self._controls[template.source] = self._list_control(template)
        return self._controls[template.source]

    def _list_control(self, template: ChatTemplate) -> re.Pattern[str]:
        added = self.engine.get_added_tokens_decoder().values()
        found = {
            one.content
            for one in added
            if one.special or (one.content in template.literals and not one.content.isspace())
        }
        return re.compile(
            "|".join(map(re.escape, sorted(found, key=lambda one: (-len(one), one)))) or "(?!)"
        )

    def encode(self, text: str) -> EncodedText:
        """Ids of a rendered conversation. Text between markers never becomes a control token."""
        if not _MARKERS.search(text):
            return _encode(self.engine, text)
        ids, offsets = list[int](), list[Offsets]()
        for start, piece, quoted in _split(text):
            found = self._continue(piece, quoted)
            ids += found.ids
            offsets += [(start + begin, start + end) for begin, end in found.offsets]
        return EncodedText(ids, offsets)

    def decode(self, ids: Sequence[int]) -> str:
        """Text, control tokens included."""
        return self.engine.decode(list(ids), skip_special_tokens=False)

    def decodes_to(self, ids: Sequence[int], text: str) -> bool:
        """Whether ids decode to a text, after the tokenizer's normaliser. Blanks are not compared
        for SentencePiece, which moves them at the edges of pieces."""
        told = self.decode(ids)
        if told == text:
            return True
        normal = self.engine.normalizer.normalize_str(text) if self.engine.normalizer else text
        return told == normal or (self._moves_blanks and _squeeze(told) == _squeeze(normal))

    def has_unknown(self, ids: Sequence[int]) -> bool:
        """Whether the vocabulary has no token for some character."""
        return self._unknown is not None and self._unknown in ids

    def describe(self) -> dict[str, Json]:
        templates = [one for one in (self.template, self.tool_template) if one]
        given = dict(self.template.given)
        return {
            "name": self.name,
            "files": dict(self.files),
            "templates": [one.sha256 for one in templates],
            "template_args": given,
        }

    @cached_property
    def _controls(self) -> dict[str, re.Pattern[str]]:
        return {}

    @cached_property
    def _unknown(self) -> int | None:
        token = getattr(self.engine.model, "unk_token", None)
        return self.engine.token_to_id(token) if token else None

    @cached_property
    def _moves_blanks(self) -> bool:
        return "ByteLevel" not in str(self.engine.decoder)

    @cached_property
    def _newline(self) -> list[int]:
        return self.engine.encode("\n", add_special_tokens=False).ids

    def _continue(self, piece: str, quoted: bool) -> EncodedText:
        """Encode a piece from the middle of a text. It is encoded after a line feed, where
        SentencePiece puts no blank before it."""
        engine = self.bare if quoted else self.engine
        found = _encode(engine, f"\n{piece}")
        size = len(self._newline)
        if found.ids[:size] == self._newline and found.offsets[size - 1][1] <= 1:
            found = EncodedText(
                found.ids[size:], [(begin - 1, end - 1) for begin, end in found.offsets[size:]]
            )
        else:
            found = _encode(engine, piece)
        if quoted and self.engine.token_to_id(piece) in found.ids:
            raise TokenRefusal(
                "control_token", f"the tokenizer encodes plain text as the control token {piece!r}"
            )
        return found


def read_tokenizer(
    folder: Path, template: Path | None = None, given: Mapping[str, Json] | None = None
) -> ChatTokenizer:
    """Read the tokenizer in a folder, and its template from the file `template` if that is given."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SettingsError(
            f"Token ids need tokenizers ({error}). Install EnvMill with its extra: pip install "
            "'envmill[tokens]'."
        ) from error

    data = _read_json(folder, "tokenizer.json", required=True)
    special = _read_special(folder)
    whole = data | {"post_processor": None, "truncation": None, "padding": None}
    try:
        engine = Tokenizer.from_str(json.dumps(whole))
        bare = Tokenizer.from_str(json.dumps(whole | {"added_tokens": []}))
    except Exception as error:
        raise SettingsError(f"{folder / 'tokenizer.json'} cannot be read: {error}.") from error
    known = {one.content for one in engine.get_added_tokens_decoder().values()}
    if strange := sorted(str(token) for token in special.values() if token not in known):
        raise SettingsError(
            f"{folder / 'tokenizer.json'} has no added token {strange[0]!r}, which "
            "tokenizer_config.json names."
        )
    main, tool = _read_templates(folder, template)
    chat = ChatTemplate(main, special, dict(given or {}))
    files = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in FILES
        if (folder / name).is_file()
    }
    return ChatTokenizer(
        folder.resolve().name,
        files,
        chat,
        replace(chat, source=tool) if tool else None,
        engine,
        bare,
    )


def quote_control(value: Any, control: re.Pattern[str]) -> Any:
    """A value with markers around each control token in its strings."""
    if isinstance(value, str):
        if _MARKERS.search(value):
            raise TokenRefusal(
                "reserved_character",
                "a text has U+F0000 or U+F0001, which mark control tokens here",
            )
        return control.sub(f"{OPEN}\\g<0>{CLOSE}", value)
    if isinstance(value, Mapping):
        return {
            quote_control(key, control): quote_control(one, control) for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [quote_control(one, control) for one in value]
    return value


def unquote(text: str) -> str:
    """A text without markers."""
    return _MARKERS.sub("", text)


def contains_control(value: Any, control: re.Pattern[str]) -> bool:
    """Whether some string of a value contains a control token."""
    if isinstance(value, str):
        return bool(control.search(value))
    if isinstance(value, Mapping):
        return any(contains_control(one, control) for pair in value.items() for one in pair)
    return isinstance(value, list | tuple) and any(contains_control(one, control) for one in value)


def _encode(engine: Any, text: str) -> EncodedText:
    found = engine.encode(text, add_special_tokens=False)
    return EncodedText(list(found.ids), list(found.offsets))


def _split(text: str) -> Iterator[tuple[int, str, bool]]:
    """Pieces with their start, and whether each is a control token from a message's text."""
    last = 0
    for found in _QUOTED.finditer(text):
        if found.start() > last:
            yield last, text[last : found.start()], False
        if not found[1]:
            raise TokenRefusal(
                "control_token", "the template cuts a text inside a control token that it contains"
            )
        yield found.start(1), found[1], True
        last = found.end()
    if last < len(text):
        yield last, text[last:], False


def _read_json(folder: Path, name: str, *, required: bool = False) -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        if required:
            raise SettingsError(f"{folder} is not a tokenizer folder: it has no {name}.")
        return {}
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise SettingsError(f"{path} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise SettingsError(f"{path} is not a JSON object.")
    return found


def _read_special(folder: Path) -> dict[str, Json]:
    """Special tokens by name."""
    given = _read_json(folder, "special_tokens_map.json") | _read_json(
        folder, "tokenizer_config.json"
    )
    found = {name: given[name] for name in _NAMED if given.get(name)}
    return {name: one["content"] if isinstance(one, dict) else one for name, one in found.items()}


def _read_templates(folder: Path, chosen: Path | None) -> tuple[str, str]:
    """The template, and the one for conversations with tools (empty if there is no separate
    one)."""
    if chosen:
        if not chosen.is_file():
            raise SettingsError(f"There is no chat template {chosen}.")
        return chosen.read_text(), ""
    if (folder / "chat_template.jinja").is_file():
        return (folder / "chat_template.jinja").read_text(), ""
    found = _read_json(folder, "tokenizer_config.json").get("chat_template")
    named: dict[str, str] = (
        {one["name"]: one["template"] for one in found}
        if is_array(found)
        else {"default": found or ""}
    )
    if not named.get("default"):
        raise SettingsError(f"{folder} has no chat template. Name one with --chat-template FILE.")
    return named["default"], named.get("tool_use", "")


def _squeeze(text: str) -> str:
    return text.replace(" ", "").replace("▁", "")
