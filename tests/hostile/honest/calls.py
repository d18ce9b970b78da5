"""Calls drawn for a program whose meaning nobody knows here: values it has itself shown under the
name of a parameter, or plain ones."""

from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

from envmill.sandbox import Invoke
from schemas.base import is_array, is_object
from schemas.environment import Call, Tool

_DATES = ("2024-05-20", "2024-05-20T10:00:00", "2024-05-20T10:00:00Z")
_WORDS = ("active", "pending", "ok", "one", "x@example.org", "10", *_DATES)


class Sightings:
    """Values by the name they were seen under, and the keys of every collection."""

    def __init__(self) -> None:
        self._values: defaultdict[str, list[Any]] = defaultdict(list)
        self._keys: list[str] = []

    def see(self, value: Any, name: str = "") -> None:
        if is_object(value):
            self._keys += [key for key, item in value.items() if is_object(item)]
            for key, item in value.items():
                self.see(item, key)
        elif is_array(value):
            for item in value:
                self.see(item, name)
        elif value is not None:
            self._values[name].append(value)

    def draw(self, name: str, schema: dict[str, Any], dice: Random) -> Any:
        """A value of the schema's type, where possible one that was seen."""
        kinds = schema.get("type", "string")
        kind: str = kinds if isinstance(kinds, str) else dice.choice(kinds)
        seen = [value for value in self._values.get(name, []) if _is_of(value, kind)]
        if seen and dice.random() < 0.7:
            return dice.choice(seen)
        if kind == "string" and self._keys and dice.random() < 0.4:
            return dice.choice(self._keys)
        return self._make(name, kind, schema, dice)

    def _make(self, name: str, kind: str, schema: dict[str, Any], dice: Random) -> Any:
        if kind == "object":
            return {
                key: self.draw(key, part, dice)
                for key, part in schema.get("properties", {}).items()
            }
        if kind == "array":
            return [
                self.draw(name, schema.get("items", {}), dice) for _ in range(dice.randrange(3))
            ]
        if kind == "string":
            return dice.choice((*_WORDS, f"{name}_{dice.randrange(4)}"))
        return {
            "integer": dice.randrange(1, 9),
            "number": dice.randrange(1, 90) / 4,
            "boolean": dice.random() < 0.5,
        }.get(kind)


def draw_calls(tools: list[Tool], sightings: Sightings, dice: Random) -> Iterator[Invoke]:
    """One call of every tool, those that make something first."""
    for tool in sorted(
        tools, key=lambda tool: (not tool.name.startswith(("add", "create", "register")), tool.name)
    ):
        parameters = tool.parameters.get("properties", {})
        arguments = {
            name: sightings.draw(name, schema, dice) for name, schema in parameters.items()
        }
        yield Invoke(Call(name=tool.name, arguments=arguments))


def _is_of(value: Any, kind: str) -> bool:
    kinds: dict[str, Any] = {"string": str, "integer": int, "number": int | float, "boolean": bool}
    return isinstance(value, kinds.get(kind, ())) and (kind == "boolean") == isinstance(value, bool)
