"""Reader `botocore`: real services out of the models in the installed botocore package. They are
read where they are, and never copied.

data/<service>/<version>/service-2.json(.gz) ─► operations ─► input and output shapes as JSON Schema
"""

import gzip
import html
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.interop.importers.tools.base import ToolHarvest, make_name
from envmill.interop.importers.tools.shaping import DEPTH
from envmill.toolgraph.words import find_entity
from schemas.base import Json, is_object
from schemas.sketch import ToolSketch

LICENCE = "Apache-2.0"
"""Of the package: its LICENSE.txt; the models are part of it."""
READING = (
    "Get",
    "List",
    "Describe",
    "Search",
    "Query",
    "Lookup",
    "Scan",
    "Head",
    "Select",
    "Check",
    "Count",
    "Filter",
    "View",
)
SAID = 300
"""Characters of a description: the first sentences."""

_TAG, _SENTENCES = re.compile(r"<[^>]+>"), re.compile(r"(?<=[.!?])\s+")
_SIMPLE = {"string": "string", "character": "string", "integer": "integer", "long": "integer", "short": "integer", "bigInteger": "integer",
           "double": "number", "float": "number", "bigDecimal": "number", "boolean": "boolean"}  # fmt: skip


def read_services(names: Sequence[str]) -> ToolHarvest:
    """Services by their folders' names; all there are when none is named."""
    root, harvest = find_models(), ToolHarvest()
    known = list_services(root)
    if unknown := [name for name in names if name not in known]:
        raise SettingsError(
            f"The installed botocore has no service {unknown[0]}. It has {len(known)}, among them "
            f"{', '.join(known[:8])}."
        )
    for name in names or known:
        _Service(name, _read_model(root / name), harvest).read()
    return harvest.settle()


def find_models() -> Path:
    """The installed package's data."""
    found = importlib.util.find_spec("botocore")
    place = (
        Path(found.submodule_search_locations[0]) / "data"
        if found and found.submodule_search_locations
        else None
    )
    if place is None or not place.is_dir():
        raise SettingsError(
            "botocore is not installed, or without its data. Install EnvMill with its extra: pip "
            "install 'envmill[services]'."
        )
    return place


def list_services(root: Path) -> list[str]:
    """By name."""
    return sorted({path.parent.parent.name for path in root.glob("*/*/service-2.json*")})


def _read_model(folder: Path) -> dict[str, Json]:
    """The newest version."""
    path = max(folder.glob("*/service-2.json*"))
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


class _Service:
    """One service's model on its way into sketches."""

    def __init__(self, name: str, model: Mapping[str, Json], harvest: ToolHarvest) -> None:
        self._name, self._harvest, self._shapes = name, harvest, model["shapes"]
        self._operations: Mapping[str, Mapping[str, Json]] = model["operations"]
        self._made: dict[tuple[str, int], tuple[dict[str, Json], frozenset[tuple[str, str]]]] = {}

    def read(self) -> None:
        for operation, model in sorted(self._operations.items()):
            self._harvest.found += 1
            self._read_operation(operation, model)

    def _read_operation(self, operation: str, model: Mapping[str, Json]) -> None:
        name = make_name(operation)
        if model.get("deprecated"):
            self._harvest.note(name, "deprecated", f"{self._name} advises against it")
        inputs, outputs = (
            self._shape(name, model.get("input"), "arguments"),
            self._shape(name, model.get("output"), "reply"),
        )
        reads = operation.removeprefix("Batch").startswith(READING) or model.get("http", {}).get(
            "method"
        ) in ("GET", "HEAD")
        sketch = ToolSketch(
            name=name,
            description=make_plain(model.get("documentation", "")),
            service=self._name,
            entity=" ".join(find_entity(operation)),
            effect="query" if reads else "change",
            inputs={"type": "object", "properties": {}} | inputs | {"additionalProperties": False},
            outputs=outputs,
            licence=LICENCE,
            source="botocore",
        )
        self._harvest.add(sketch)

    def _shape(self, tool: str, member: Json, side: str) -> dict[str, Json]:
        if not is_object(member):
            return {}
        schema, lost = self._make(str(member["shape"]), (), DEPTH)
        for code, part in sorted(lost):
            self._harvest.change(tool, code, f"in its {side} ({self._name})", part)
        return schema

    def _make(
        self, name: str, trail: tuple[str, ...], depth: int
    ) -> tuple[dict[str, Json], frozenset[tuple[str, str]]]:
        """A shape as a schema, and what is lost of it; made once for each depth."""
        if name in trail:
            return {"type": "object"}, frozenset({("recursive", name)})
        if not depth:
            return {"type": "object"} if self._shapes[name][
                "type"
            ] == "structure" else {}, frozenset({("too_deep", "")})
        known = self._made.get((name, depth))
        if known is None:
            lost = set[tuple[str, str]]()
            known = (
                dict(self._make_any(self._shapes[name], (*trail, name), depth, lost)),
                frozenset(lost),
            )
            if not any(code == "recursive" for code, _ in lost):
                self._made[name, depth] = known
        return known

    def _make_any(
        self,
        shape: Mapping[str, Json],
        trail: tuple[str, ...],
        depth: int,
        lost: set[tuple[str, str]],
    ) -> Iterator[tuple[str, Json]]:
        kind = shape["type"]
        if kind == "structure" and not shape.get("document"):
            yield from self._make_structure(shape, trail, depth, lost)
        elif kind == "list":
            yield from (
                ("type", "array"),
                ("items", self._make_member(shape["member"], trail, depth, lost)),
            )
        elif kind == "map":
            yield from (
                ("type", "object"),
                ("additionalProperties", self._make_member(shape["value"], trail, depth, lost)),
            )
        elif kind == "blob":
            lost.add(("bytes", ""))
            yield from (("type", "string"), ("format", "binary"))
        elif kind == "timestamp":
            yield from (("type", "string"), ("format", "date-time"))
        elif kind in _SIMPLE:
            yield "type", _SIMPLE[kind]
        else:
            lost.add(("free", kind))
        yield from _make_bounds(shape, lost)

    def _make_structure(
        self,
        shape: Mapping[str, Json],
        trail: tuple[str, ...],
        depth: int,
        lost: set[tuple[str, str]],
    ) -> Iterator[tuple[str, Json]]:
        if shape.get("union"):
            lost.add(("union", ""))
        if shape.get("eventstream"):
            lost.add(("stream", ""))
        yield "type", "object"
        yield (
            "properties",
            {
                name: self._make_member(member, trail, depth, lost)
                for name, member in shape["members"].items()
            },
        )
        if shape.get("required"):
            yield "required", list(shape["required"])

    def _make_member(
        self,
        member: Mapping[str, Json],
        trail: tuple[str, ...],
        depth: int,
        lost: set[tuple[str, str]],
    ) -> dict[str, Json]:
        # Lists and maps are no level: an agent sees through them.
        schema, gone = self._make(str(member["shape"]), trail, depth - 1)
        lost |= gone
        said = make_plain(member.get("documentation", ""))
        return {**schema, "description": said} if said else schema


def _make_bounds(
    shape: Mapping[str, Json], lost: set[tuple[str, str]]
) -> Iterator[tuple[str, Json]]:
    names = {"string": ("minLength", "maxLength"), "list": ("minItems", "maxItems")}.get(
        shape["type"], ("minimum", "maximum")
    )
    for bound, name in zip(("min", "max"), names, strict=True):
        if isinstance(shape.get(bound), (int, float)) and shape["type"] not in ("map", "blob"):
            yield name, shape[bound]
    if shape.get("enum"):
        yield "enum", list(shape["enum"])
    if shape.get("pattern"):
        lost.add(("keyword", "pattern"))


def make_plain(text: str) -> str:
    """Documentation without its markup, the first sentences of it."""
    words = " ".join(html.unescape(_TAG.sub(" ", text)).split())
    said = ""
    for sentence in _SENTENCES.split(words):
        if said and len(said) + len(sentence) >= SAID:
            break
        said = f"{said} {sentence}".strip()
    return said[:SAID]
