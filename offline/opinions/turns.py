"""Turns of a simulated user: tells the facts it is asked for in its own manner, and nothing it was
not told itself."""

import random
import re

from schemas.base import Json

ASKED = re.compile(
    r"\?|\b(which|what|who|when|how (many|much|long)|do you mean|need to know|tell me|please "
    r"(give|confirm|specify))\b",
    re.IGNORECASE,
)
KNOWN = (
    "{name}: {value}.",
    "The {name} is {value}.",
    "That would be {value}.",
    "{value}.",
    "Sorry, I should have said: the {name} is {value}.",
)
UNKNOWN = (
    "I don't know that.",
    "No idea, sorry.",
    "I cannot tell you that, please look it up.",
    "That I don't have at hand.",
)
ENOUGH = (
    "Fine, thank you.",
    "All right, thanks.",
    "Good, that is all then.",
    "Thanks, that is what I needed.",
)


def write_turn(facts: dict[str, Json], heard: str, dice: random.Random) -> str:
    """What the person answers to the agent's last words."""
    if not ASKED.search(heard):
        return dice.choice(ENOUGH)
    asked = {name: value for name, value in facts.items() if _is_asked(name, heard)}
    if not asked:
        return dice.choice(UNKNOWN)
    told = (dice.choice(KNOWN).format(name=name, value=value) for name, value in asked.items())
    return " ".join(each[:1].upper() + each[1:] for each in told)


def _is_asked(name: str, heard: str) -> bool:
    """By any of its words: an agent seldom calls a thing exactly as the tools do."""
    words = [each for each in re.findall(r"[a-z]+", name.lower()) if len(each) > 2]
    return any(re.search(rf"\b{word.removesuffix('s')}", heard.lower()) for word in words)
