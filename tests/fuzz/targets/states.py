"""States that one session shows, one after the other: the driver reads what differs, and must take
no text that is not an object's."""

import json
from typing import Any

from envmill.runtime.jail import wire
from envmill.runtime.jail.allowance import is_deeper
from envmill.runtime.jail.reading import DEEPEST, StateReading
from envmill.runtime.jail.wire import BadFrame
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import LARGEST, Mutator
from tests.fuzz.targets.wire import adopted

STATE: dict[str, Any] = {
    "tools": {
        f"T{number}": {
            "name": f"tool {number}",
            "free": number % 2 == 0,
            "tags": ["a", None],
            "price": number / 4,
        }
        for number in range(12)
    },
    "loans": {
        f"L{number}": {"tool": f"T{number}", "by": "M1", "until": "2026-03-01"}
        for number in range(9)
    },
    "name": "Yard",
    "count": 3,
}


class StatesTarget(Target):
    """A reader that remembers the last state it read."""

    def make(self, mutator: Mutator) -> bytes:
        """Texts, one a line of a list: each like the one before it."""
        texts, state = [_render(STATE)], STATE
        for _ in range(mutator.rng.randint(1, 4)):
            if len(texts[-1]) > LARGEST:
                break
            if mutator.rng.random() < 0.5:
                state = mutator.change(state, 2)
                texts.append(_render(state))
            else:
                texts.append(
                    mutator.damage(texts[-1].encode("utf-8", "surrogatepass"), 2).decode(
                        "utf-8", "replace"
                    )
                )
        return json.dumps(texts).encode()

    def play(self, content: bytes) -> str:
        texts: list[str] = json.loads(content)
        told = _read_all(texts)
        with adopted("orjson"):
            return f"{told}, {_read_all(texts)}"


def _read_all(texts: list[str]) -> str:
    """With the codec that is set, whose word counts: of a key that stands twice, one looks at both
    values and the other at the last."""
    reading, told = StateReading(), set[str]()
    for text in texts:
        try:
            reading.check(text)
        except BadFrame:
            told.add("refused")
            continue
        told.add("accepted")
        try:
            state = wire.decode(text.encode())
        except BadFrame as error:
            raise BrokenPromise(f"a text that is no JSON was accepted: {error}") from None
        if is_deeper(state, DEEPEST):
            raise BrokenPromise("a state was accepted that is too deep")
    return " and ".join(sorted(told))


def _render(state: Any) -> str:
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


def open_target() -> Target:
    return StatesTarget()
