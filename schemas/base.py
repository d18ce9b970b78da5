"""The record: a frozen, content-addressed row that knows its table.

identity fields ──canonical JSON──► blake2b ──► id        (content records)
coordinates     ──join──────────────────────► id          (events override `make_id`)
"""

import hashlib
import json
from contextvars import ContextVar
from typing import Any, ClassVar, Self, TypeAlias, TypeGuard

from pydantic import BaseModel, ConfigDict, model_validator

Json: TypeAlias = Any
"""A JSON value. Parquet holds it as a JSON string: nested Arrow columns corrupt heterogeneous
JSON."""


def canonical_json(value: Json) -> str:
    """The one byte-stable representation of a JSON value, on every machine and Python version."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def order_keys(value: Json) -> Json:
    """A JSON value as the lake gives it back: the keys of every object in order of their names."""
    return json.loads(canonical_json(value))


def digest(value: Json, length: int = 20) -> str:
    """A hex digest of a JSON value's canonical representation."""
    return hashlib.blake2b(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[
        :length
    ]


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Json) -> TypeGuard[list[Json]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def leave_out(written: dict[str, Any], *names: str) -> dict[str, Any]:
    """What a contract writes, without the named fields that are empty."""
    return {name: value for name, value in written.items() if name not in names or value}


class Contract(BaseModel):
    """Base of everything that crosses a module line."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    fenced: ClassVar[str] = ""
    """Of a reply: the field that a model writes as a fenced block behind its JSON object, since a
    program is no text for a JSON string."""
    aside: ClassVar[tuple[str, ...]] = ()
    """Fields that a prompt shows only where it names them (`{{brief.outline}}`), since they are
    long and few prompts need them."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """A docstring's line breaks belong to the source, not to the description."""
        super().__pydantic_init_subclass__(**kwargs)
        for info in cls.__pydantic_fields__.values():
            if info.description:
                info.description = " ".join(info.description.split())

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        written = handler(core_schema)
        for name, field in handler.resolve_ref_schema(written).get("properties", {}).items():
            if name in cls.__pydantic_fields__ and "description" in field:
                field["description"] = " ".join(field["description"].split())
        return written


CHECKED: ContextVar[bool] = ContextVar("CHECKED", default=False)
"""Whether rows are read whose ids were compared with their content before, in this process: to hash the content again takes as long as
to parse it."""


class Record(Contract):
    """A row of a lake table. Its id is filled at construction, and checked when read back."""

    table: ClassVar[str]
    prefix: ClassVar[str]
    identity: ClassVar[tuple[str, ...]]
    late: ClassVar[tuple[str, ...]] = ()
    """Identity fields that were added later: one at its default takes no part, so that older ids
    stay."""

    id: str = ""
    """Content id, or the coordinates of an event."""
    schema_version: int = 1
    """Version of this record's shape; older versions stay readable."""

    def make_id(self) -> str:
        """Hash the identity fields; provenance never takes part."""
        usual = {
            name
            for name in self.late
            if getattr(self, name) == type(self).model_fields[name].default
        }
        fields = self.model_dump(mode="json", include=set(self.identity) - usual)
        return f"{self.prefix}_{digest(fields)}"

    @model_validator(mode="after")
    def _fill_id(self) -> Self:
        if self.id and CHECKED.get():
            return self
        expected = self.make_id()
        if self.id not in ("", expected):
            raise ValueError(f"{self.table}: id {self.id} does not match its content ({expected})")
        object.__setattr__(self, "id", expected)
        self.__pydantic_fields_set__.add("id")
        return self
