"""Schemas of documents as schemas of ours: references followed, circles and depths cut, and a word
about each promise that is lost.

$ref, allOf, nullable, oneOf, … ──► the keywords that the runtime validates, and `format`, which tells kinds of text apart
"""

from collections.abc import Callable, Iterator, Mapping

from envmill.runtime.schema import KEYWORDS, TYPES
from schemas.base import Json, is_array, is_object

DEPTH = 6
"""Levels; below, a value is any object."""
MOST = 5_000
"""Schemas within one side of one tool: references let a small document ask for billions. Below,
anything goes."""
SILENT = frozenset(
    {"example", "examples", "xml", "externalDocs", "deprecated", "discriminator", "$schema", "$id", "$comment", "$anchor", "$defs",
     "definitions", "readOnly", "writeOnly", "collectionFormat", "in", "name", "allowEmptyValue", "contentMediaType", "contentEncoding"}
)  # fmt: skip
"""Keywords that promise nothing about a value, or that are read elsewhere."""

Tell = Callable[[str, str], None]
"""(code, keyword or reference)."""


class ForeignReference(ValueError):
    """A reference to another document."""


class Shaper:
    """One document's schemas."""

    def __init__(self, document: Json, tell: Tell, leave_out: str = "") -> None:
        """`leave_out`: `readOnly` for what is sent, `writeOnly` for what comes back."""
        self._document, self._tell, self._leave_out = document, tell, leave_out
        self._left = MOST

    def shape(
        self, schema: Json, trail: tuple[str, ...] = (), depth: int = DEPTH
    ) -> dict[str, Json]:
        """A schema without references, of the subset."""
        if not is_object(schema):
            return {}
        self._left -= 1
        if self._left < 0:
            self._tell("too_large", "")
            return {}
        if "$ref" in schema:
            return self._shape_reference(schema, str(schema["$ref"]), trail, depth)
        if not depth:
            self._tell("too_deep", "")
            return {"type": "object"} if "properties" in schema else {}
        if "allOf" in schema:
            schema = self._merge(schema, trail)
        return dict(self._shape_keywords(schema, trail, depth))

    def resolve(self, value: Json) -> Json:
        """What a reference stands for, whatever it is; anything else as it is."""
        for _ in range(16):
            if not is_object(value) or "$ref" not in value:
                return value
            value = self._find(str(value["$ref"]))
        raise ForeignReference("references that lead in a circle")

    def _shape_reference(
        self, schema: Mapping[str, Json], name: str, trail: tuple[str, ...], depth: int
    ) -> dict[str, Json]:
        if name in trail:
            self._tell("recursive", name)
            return {"type": "object"}
        said = (
            {"description": schema["description"]}
            if isinstance(schema.get("description"), str)
            else {}
        )
        return self.shape(self._find(name), (*trail, name), depth) | said

    def _find(self, name: str) -> Json:
        if not name.startswith("#/"):
            raise ForeignReference(f"a reference to another document: {name[:80]}")
        value = self._document
        for part in name[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            if not is_object(value) or key not in value:
                raise ForeignReference(f"a reference to nothing: {name[:80]}")
            value = value[key]
        return value

    def _merge(self, schema: Mapping[str, Json], trail: tuple[str, ...]) -> dict[str, Json]:
        """All of them as one: properties together, and the last word on everything else."""
        merged: dict[str, Json] = {}
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        for part in [*schema["allOf"], rest] if is_array(schema["allOf"]) else [rest]:
            found = part
            if is_object(part) and "$ref" in part:
                if str(part["$ref"]) in trail:
                    self._tell("recursive", str(part["$ref"]))
                    continue
                found = self._find(str(part["$ref"]))
            if is_object(found) and "allOf" in found:
                found = self._merge(
                    found, (*trail, str(part.get("$ref", ""))) if is_object(part) else trail
                )
            if is_object(found):
                properties = take_object(merged, "properties") | take_object(found, "properties")
                required = [
                    name
                    for part in (merged, found)
                    for name in take_array(part, "required")
                    if isinstance(name, str)
                ]
                merged |= found
                merged |= {"properties": properties} if properties else {}
                merged |= {"required": list(dict.fromkeys(required))} if required else {}
        return merged

    def _shape_keywords(
        self, schema: Mapping[str, Json], trail: tuple[str, ...], depth: int
    ) -> Iterator[tuple[str, Json]]:
        yield from self._shape_type(schema)
        yield from self._shape_bounds(schema)
        yield from self._shape_parts(schema, trail, depth)
        for key, value in schema.items():
            if key in _HANDLED or key in SILENT or key.startswith("x-") or value is None:
                continue
            known = KEYWORDS.get(key, _is_text if key == "format" else None)
            if known is not None and known(value):
                yield key, value
            else:
                self._tell("keyword", key)

    def _shape_type(self, schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
        given = schema.get("type", "object" if "properties" in schema else [])
        types = [given] if isinstance(given, str) else list(given) if is_array(given) else []
        known = [one for one in types if isinstance(one, str) and one in TYPES]
        if len(known) < len(types):
            self._tell("type", str(given)[:40])
        if schema.get("nullable") is True and known and "null" not in known:
            known.append("null")
        if known:
            yield "type", known[0] if len(known) == 1 else known

    def _shape_bounds(self, schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
        """Before 3.1 `exclusiveMinimum` was a yes or no about `minimum`."""
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            value, strict = schema.get(bound), schema.get(exclusive)
            if isinstance(strict, (int, float)) and not isinstance(strict, bool):
                yield exclusive, strict
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield exclusive if strict is True else bound, value

    def _shape_parts(
        self, schema: Mapping[str, Json], trail: tuple[str, ...], depth: int
    ) -> Iterator[tuple[str, Json]]:
        properties = schema.get("properties")
        if is_object(properties):
            kept = {name: part for name, part in properties.items() if not self._is_left_out(part)}
            yield (
                "properties",
                {name: self.shape(part, trail, depth - 1) for name, part in kept.items()},
            )
            wanted = schema.get("required")
            required = (
                [name for name in wanted if isinstance(name, str) and name in kept]
                if is_array(wanted)
                else []
            )
            if required:
                yield "required", required
        if is_object(schema.get("items")):
            yield "items", self.shape(schema["items"], trail, depth - 1)
        more = schema.get("additionalProperties")
        if is_object(more) or isinstance(more, bool):
            yield (
                "additionalProperties",
                self.shape(more, trail, depth - 1) if is_object(more) else more,
            )
        options = [
            one for key in ("oneOf", "anyOf") if is_array(found := schema.get(key)) for one in found
        ]
        if options:
            yield "anyOf", [self.shape(one, trail, depth - 1) for one in options]

    def _is_left_out(self, part: Json) -> bool:
        return bool(self._leave_out) and is_object(part) and part.get(self._leave_out) is True


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def take_object(holder: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The object of that name; an empty one where there is none."""
    found = holder.get(name)
    return found if is_object(found) else {}


def take_array(holder: Mapping[str, Json], name: str) -> list[Json]:
    """The same of a list."""
    found = holder.get(name)
    return found if is_array(found) else []


_HANDLED = frozenset(
    {"type", "nullable", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "properties", "required", "items",
     "additionalProperties", "oneOf", "anyOf", "allOf", "$ref"}
)  # fmt: skip


def wrap(schema: dict[str, Json]) -> dict[str, Json]:
    """A reply that is no object, as the only value of one."""
    return {
        "type": "object",
        "properties": {"items" if schema.get("type") == "array" else "value": schema},
    }
