"""What an operation takes and gives: parameters and body as one arguments object, and the schema of
its first good reply."""

from collections.abc import Mapping, Sequence

from envmill.interop.importers.tools.base import ToolHarvest
from envmill.interop.importers.tools.shaping import Shaper, take_array, take_object
from schemas.base import Json, is_object

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Inputs:
    """Arguments of one operation in the making."""

    def __init__(self, document: Json, harvest: ToolHarvest, tool: str) -> None:
        self._harvest, self._tool = harvest, tool
        self._shaper = Shaper(
            document,
            lambda code, part: harvest.change(tool, code, "in its arguments", part),
            "readOnly",
        )
        self._properties: dict[str, Json] = {}
        self._required: list[str] = []

    def read(
        self, parameters: Sequence[Json], operation: Mapping[str, Json]
    ) -> dict[str, Json] | None:
        """A closed object; None when a required part cannot be mapped."""
        mine: dict[tuple[str, str], Mapping[str, Json]] = {}
        for one in map(self._shaper.resolve, parameters):
            if is_object(one):
                # What an operation says of a parameter stands above what its route says.
                mine[str(one.get("name")), str(one.get("in"))] = one
        if not all([self._take(one) for one in mine.values()]):
            return None
        body = self._shaper.resolve(operation.get("requestBody"))
        if is_object(body) and not self._take_body(body):
            return None
        required = list(dict.fromkeys(self._required))
        closed = {"type": "object", "properties": self._properties, "additionalProperties": False}
        return closed | ({"required": required} if required else {})

    def _take(self, one: Mapping[str, Json]) -> bool:
        name, place, required = str(one.get("name")), one.get("in"), one.get("required") is True
        if place in ("header", "cookie"):
            self._harvest.note(
                self._tool,
                "header",
                "headers and cookies are left to whoever serves the tool",
                name,
            )
            return True
        if place == "body":
            return self._add_body(one.get("schema"), required)
        if one.get("type") == "file":
            return self._lose("file", "a file is no JSON", required, name)
        schema = (
            one.get("schema")
            or _find_content(one)[1]
            or {key: value for key, value in one.items() if key not in _ABOUT}
        )
        self._add(name, self._shaper.shape(schema), required, one.get("description"))
        return True

    def _take_body(self, body: Mapping[str, Json]) -> bool:
        kind, schema = _find_content(body)
        required = body.get("required") is True
        if schema is None:
            return self._lose("body", f"a body of {kind or 'no kind'} is no JSON", required, kind)
        if kind in FORMS:
            self._harvest.change(
                self._tool, "form", "a form's fields are taken as a JSON object's", kind
            )
        return self._add_body(schema, required)

    def _add_body(self, schema: Json, required: bool) -> bool:
        shaped = self._shaper.shape(schema)
        properties = shaped.get("properties")
        if not is_object(properties):
            self._add("body", shaped, required, None)
            return True
        wanted = take_array(shaped, "required") if required else []
        for name, part in properties.items():
            free = name if name not in self._properties else f"body_{name}"
            if free != name:
                self._harvest.change(
                    self._tool, "two_of_a_name", f"the body's is called {free}", name
                )
            self._add(free, part, name in wanted, None)
        return True

    def _add(self, name: str, schema: dict[str, Json], required: bool, description: Json) -> None:
        self._properties[name] = (
            {"description": description} if isinstance(description, str) else {}
        ) | schema
        self._required += [name] if required else []

    def _lose(self, code: str, detail: str, required: bool, part: str) -> bool:
        """Whether the tool can do without."""
        if required:
            self._harvest.refuse(self._tool, code, f"{detail}, and the tool needs it", part)
        else:
            self._harvest.change(self._tool, code, f"{detail}; left out", part)
        return not required


_ABOUT = frozenset(
    {
        "name",
        "in",
        "required",
        "description",
        "style",
        "explode",
        "allowReserved",
        "content",
        "schema",
    }
)


def find_reply(shaper: Shaper, operation: Mapping[str, Json]) -> dict[str, Json] | None:
    """The schema of the first good reply that has one."""
    responses = take_object(operation, "responses")
    for code in sorted(responses, key=_rank):
        response = shaper.resolve(responses[code])
        if _rank(code)[0] == 2 or not is_object(response):
            continue
        schema = response.get("schema") or _find_content(response)[1]
        if is_object(schema):
            return schema
    return None


def _rank(code: str) -> tuple[int, str]:
    """Good ones in their order, then whatever is said of all others; refusals never."""
    return (0, code) if code.startswith("2") else (1, code) if code == "default" else (2, code)


def _find_content(holder: Mapping[str, Json]) -> tuple[str, Json | None]:
    """JSON before forms; a kind and no schema where neither is there."""
    content = holder.get("content")
    if not is_object(content):
        return "", None
    kinds = {kind: kind.partition(";")[0].strip().lower() for kind in content}
    json = [
        kind
        for kind, plain in kinds.items()
        if plain.endswith(("/json", "+json")) or plain == "*/*"
    ]
    forms = [kind for kind, plain in kinds.items() if plain in FORMS]
    for kind in (*json, *forms):
        media = content[kind]
        if is_object(media):
            return kinds[kind], media.get("schema") or {}
    return next(iter(kinds.values()), ""), None
