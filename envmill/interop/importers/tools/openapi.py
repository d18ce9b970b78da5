"""Reader `openapi`: operations of OpenAPI 3.0, 3.1 and 2.0 documents.

paths ─► method ─► parameters and body as one arguments object, the first good JSON reply as outputs, effect by method
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from envmill.interop.importers.tools.base import ToolHarvest, make_name
from envmill.interop.importers.tools.bodies import Inputs, find_reply
from envmill.interop.importers.tools.documents import read_files
from envmill.interop.importers.tools.shaping import (
    ForeignReference,
    Shaper,
    take_array,
    take_object,
    wrap,
)
from envmill.toolgraph.words import split_name
from schemas.base import Json, is_object
from schemas.sketch import ToolSketch

METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
READING = frozenset(
    {
        "get",
        "list",
        "find",
        "search",
        "query",
        "describe",
        "read",
        "fetch",
        "lookup",
        "check",
        "count",
        "show",
        "head",
        "batch",
    }
)
"""First words of operations that only read, where the method does not say."""


def read_documents(sources: Sequence[str]) -> ToolHarvest:
    """Every operation of every document."""
    harvest = ToolHarvest()
    for path, document in read_files(sources, harvest):
        if (
            is_object(document)
            and is_object(document.get("paths") or {})
            and ("openapi" in document or "swagger" in document)
        ):
            _Document(path, document, harvest).read()
        else:
            harvest.refuse(
                path.name,
                "not_openapi",
                "no OpenAPI document: it has no `openapi` or `swagger` beside its `paths`",
            )
    return harvest.settle()


class _Document:
    """One document on its way into sketches."""

    def __init__(self, path: Path, document: dict[str, Json], harvest: ToolHarvest) -> None:
        self._document, self._harvest = document, harvest
        info = take_object(document, "info")
        self._service = make_name(str(info.get("title") or path.stem))
        self._licence = _read_licence(info)

    def read(self) -> None:
        if self._licence == "unknown":
            self._harvest.note(
                self._service,
                "no_licence",
                "its licence is not said: what is made of it is not exported by default",
            )
        if self._document.get("security") or self._document.get("securityDefinitions"):
            self._harvest.note(
                self._service,
                "security",
                "credentials are no arguments: they are left to whoever serves the tools",
            )
        for name in take_object(self._document, "webhooks"):
            self._harvest.refuse(
                self._service, "webhook", "the service calls, it is not called", name
            )
        for route, item in take_object(self._document, "paths").items():
            self._read_item(route, item)

    def _read_item(self, route: str, item: Json) -> None:
        try:
            item = Shaper(self._document, lambda _code, _part: None).resolve(item)
        except ForeignReference as error:
            self._harvest.refuse(self._service, "foreign_reference", str(error), route)
            return
        for method, operation in item.items() if is_object(item) else ():
            if method in METHODS and is_object(operation):
                self._harvest.found += 1
                self._read_operation(route, method, item, operation)

    def _read_operation(
        self, route: str, method: str, item: Mapping[str, Json], operation: Mapping[str, Json]
    ) -> None:
        name = make_name(str(operation.get("operationId") or f"{method} {route}"))
        try:
            inputs = Inputs(self._document, self._harvest, name).read(
                [*take_array(item, "parameters"), *take_array(operation, "parameters")], operation
            )
        except ForeignReference as error:
            self._harvest.refuse(name, "foreign_reference", str(error))
            return
        if inputs is None:
            return
        for callback in take_object(operation, "callbacks"):
            self._harvest.refuse(name, "callback", "the service calls, it is not called", callback)
        if operation.get("deprecated") is True:
            self._harvest.note(name, "deprecated", "its document advises against it")
        said = (operation.get("summary"), operation.get("description"))
        sketch = ToolSketch(
            name=name,
            description=" ".join(" ".join(str(one).split()) for one in said if one)[:1000],
            service=self._service,
            entity=(entity := find_route_entity(route)),
            about={
                name: about
                for name, about in find_route_places(route).items()
                if about != entity and name in inputs["properties"]
            },
            effect=_find_effect(method, name),
            inputs=inputs,
            outputs=self._read_outputs(name, operation),
            licence=self._licence,
            source="openapi",
        )
        self._harvest.add(sketch)

    def _read_outputs(self, name: str, operation: Mapping[str, Json]) -> dict[str, Json]:
        shaper = Shaper(
            self._document,
            lambda code, part: self._harvest.change(name, code, "in its reply", part),
            "writeOnly",
        )
        try:
            schema = find_reply(shaper, operation)
            shaped = shaper.shape(schema) if schema is not None else {}
        except ForeignReference as error:
            self._harvest.change(name, "foreign_reference", f"its reply is left open: {error}")
            return {}
        if not shaped:
            self._harvest.note(
                name, "no_reply", "its document does not say what a good reply holds"
            )
            return {}
        return shaped if shaped.get("type") == "object" else wrap(shaped)


def _read_licence(info: Mapping[str, Json]) -> str:
    licence = take_object(info, "license")
    return str(licence.get("identifier") or licence.get("name") or "unknown")


def find_route_entity(route: str) -> str:
    """The last collection of a route: `/shops/{shop}/orders/{id}/cancel` is about an order; the
    last word of one without a collection."""
    parts = [part for part in route.split("/") if _is_word(part)]
    return next(
        (one for part in reversed(parts) if (one := _read_collection(part))),
        " ".join(split_name(parts[-1])) if parts else "",
    )


def find_route_places(route: str) -> dict[str, str]:
    """Parameter of a route → the collection it stands behind."""
    places, about = dict[str, str](), ""
    for part in route.split("/"):
        about = (_read_collection(part) or about) if _is_word(part) else about
        if part.startswith("{") and part.endswith("}") and about:
            places[part[1:-1]] = about
    return places


def _is_word(part: str) -> bool:
    words = split_name(part)
    return (
        "{" not in part and bool(words) and words[0] not in ("v", "api") and not words[-1].isdigit()
    )


def _read_collection(part: str) -> str:
    """Its singular, when it is a plural; else empty."""
    words = split_name(part)
    return (
        " ".join(words)
        if part.lower().endswith("s") and not part.lower().endswith(words[-1])
        else ""
    )


def _find_effect(method: str, name: str) -> Literal["query", "change", "unknown"]:
    if method in ("get", "head", "options"):
        return "query"
    return "unknown" if method == "post" and name.partition("_")[0] in READING else "change"
