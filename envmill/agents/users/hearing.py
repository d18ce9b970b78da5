"""What an agent's message asks of a user, understood by its words alone.

message ──sentences──► questions ──words of fact names──► facts asked for, consent, anything at all, or something nobody foresaw
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from envmill.verifiers.words import normalise, split_words
from schemas.base import Json

_SENTENCE = re.compile(r"(?<=[.?!:])\s+|\n+")
_ASKS = re.compile(
    r"\?|^(?:and |so |then |also )?(?:what|which|who|whom|when|where|how (?:many|much|long)|shall|should|may i|do you|can you|could you)\b|"
    r"\b(?:please (?:tell|give|provide|specify|share|send|confirm|name|state)|let me know (?!if)|i (?:still )?need (?:to know|your|the)|"
    r"need from you)\b"
)
_CLOSES = re.compile(
    r"\b(?:anything|something|any ?one|nothing|what) else\b|\bany (?:other|more|further)\b|\bfurther (?:help|questions|assistance)\b|"
    r"\belse i can\b|\blet me know if\b|\bhelp you with\b"
)
_CONSENT = re.compile(
    r"\b(?:shall|should|may|can) (?:i|we)\b|\b(?:do you want|would you like) (?:me|us)\b|"
    r"\b(?:is|are|does|would) (?:that|this|it|these|those|everything) .*\b(?:right|correct|ok|okay|fine|good|work|suit)\b|"
    r"\bplease confirm\b|\bgo ahead\b|\bproceed\b|\bright\?|\bcorrect\?|\bok(?:ay)?\?"
)
_ANYTHING = re.compile(r"\b(?:details?|specifics|particulars|more information|tell me more|clarify|be more specific|what exactly)\b")
_PROMISES = re.compile(r"^(?:let me|i will|i'll|i am going to|i'm going to|one moment|just a moment|please wait|hold on|working on)\b")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACES = {word: str(place) for place, word in enumerate(ORDINALS, start=1)}
_NUMBERED = re.compile(r"(.*\S)[ _](\d+)")
"""Facts of one sort bear numbers from the second on: `shop`, `shop 2`."""
_SMALL = frozenset({"the", "a", "an", "of", "to", "for", "in", "on", "at", "by", "with", "your", "their", "its", "and", "or"})


@dataclass(frozen=True)
class Heard:
    """What one message asks."""

    facts: tuple[str, ...] = ()
    """Names of facts it asks for."""
    consent: bool = False
    """Whether it wants a yes."""
    anything: bool = False
    """Whether it asks for more, of whatever sort."""
    other: bool = False
    """Whether it asks something that no fact answers."""
    promise: bool = False
    """Whether it only announces what it has yet to do."""

    @property
    def asks(self) -> bool:
        return bool(self.facts) or self.consent or self.anything or self.other


def understand(message: str, facts: Mapping[str, Json]) -> Heard:
    """Closing courtesies ask nothing."""
    asked = _read(message)
    names = tuple(find_asked(asked.words, facts)) if asked.words else ()
    other = bool(asked.words) and not (names or asked.consent or asked.anything)
    return Heard(names, asked.consent, asked.anything, other, asked.promise)


@dataclass(frozen=True)
class _Asked:
    """What a message asks, whatever the facts are."""

    words: frozenset[str] = frozenset()
    """Of its questions."""
    consent: bool = False
    anything: bool = False
    promise: bool = False


@lru_cache(256)
def _read(message: str) -> _Asked:
    sentences = list_sentences(message)
    questions = [one for one in sentences if _ASKS.search(one) and not _CLOSES.search(one)]
    if not questions:
        return _Asked(promise=bool(sentences) and all(_PROMISES.search(one) for one in sentences))
    whole = " ".join(questions)
    return _Asked(frozenset(split_stems(whole)), bool(_CONSENT.search(whole)), bool(_ANYTHING.search(whole)))


def list_sentences(message: str) -> list[str]:
    """Each as it is compared."""
    return [normalise(one).strip() for one in _SENTENCE.split(message) if one.strip()]


def hold_all(name: str, words: frozenset[str]) -> bool:
    """Whether every word of a name is among these."""
    return _hold_all(name_words(name), words)


def find_asked(words: frozenset[str], facts: Mapping[str, Json]) -> Iterator[str]:
    """Facts all of whose words are asked with; where there is none, those whose last word is. Of several of one sort all are meant,
    unless the question counts them.
    """
    counted = words & set(_PLACES.values())
    for part in (_hold_all, _hold_last):
        if found := [name for name in facts if part(name_words(name), words) and (not counted or _place(name, facts) in {"", *counted})]:
            yield from found
            return


def _hold_all(name: tuple[str, ...], words: frozenset[str]) -> bool:
    return set(name) <= words


def _hold_last(name: tuple[str, ...], words: frozenset[str]) -> bool:
    return name[-1] in words


def _place(name: str, facts: Mapping[str, Json]) -> str:
    """Which of its sort a fact is; empty for the only one."""
    if numbered := _NUMBERED.fullmatch(name):
        return numbered[2]
    return "1" if f"{name} 2" in facts or f"{name}_2" in facts else ""


def spell_name(name: str, facts: Mapping[str, Json]) -> str:
    """A fact as people name it: `the start date`, `the second shop`."""
    place, numbered = _place(name, facts), _NUMBERED.fullmatch(name)
    plain = (numbered[1] if numbered else name).replace("_", " ").strip()
    owned = plain.lower().startswith(("my ", "our ", "the "))
    bare = plain.partition(" ")[2] if owned else plain
    counted = f"{ORDINALS[int(place) - 1]} {bare}" if place and int(place) <= len(ORDINALS) else f"{bare} {place}".strip()
    return f"{plain.partition(' ')[0].lower() if owned else 'the'} {counted}"


def touches(message: str, name: str) -> bool:
    """Whether a message has so much as a word of a fact's name, or asks for whatever there is: then telling it is no slip."""
    return bool(set(name_words(name)) & set(split_stems(message))) or bool(_ANYTHING.search(normalise(message)))


@lru_cache(512)
def name_words(name: str) -> tuple[str, ...]:
    """The words a fact is asked for with, its number aside; never none."""
    numbered = _NUMBERED.fullmatch(name)
    words = split_stems((numbered[1] if numbered else name).replace("_", " "))
    return tuple(word for word in words if word not in _SMALL) or tuple(words) or (name,)


def split_stems(text: str) -> list[str]:
    """Words without their plural, ordinals as figures."""
    words = (_PLACES.get(word, word) for word in split_words(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]
