"""Stand-in for pydantic on a bare interpreter: records out of JSON that was validated when it was
exported, and back."""

# pyright: reportUnknownVariableType=false
# (JSON has no types)

import copy
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

F = TypeVar("F")
SerializerFunctionWrapHandler = Callable[[Any], Any]
_MISSING: Any = object()


class BaseModel:
    """A record: fields are the annotations of its class and those above; a field nobody gave has
    its default."""

    def __init__(self, **given: Any) -> None:
        hints = _list_hints(type(self))
        if strange := given.keys() - hints.keys():
            raise ValueError(f"{type(self).__name__} has no field {sorted(strange)[0]!r}")
        for name, hint in hints.items():
            default = getattr(type(self), name, _MISSING)
            if name not in given and default is _MISSING:
                raise ValueError(f"{type(self).__name__} lacks {name!r}")
            self.__dict__[name] = (
                _build(hint, given[name]) if name in given else copy.deepcopy(default)
            )

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """The record of an object."""
        return cls(**value)

    def model_dump(
        self,
        *,
        mode: str = "python",  # noqa: ARG002
        include: set[str] | None = None,
        exclude_defaults: bool = False,
    ) -> dict[str, Any]:
        """The record as JSON."""
        shown = {
            name: value
            for name, value in self.__dict__.items()
            if include is None or name in include
        }
        kept = {
            name: value
            for name, value in shown.items()
            if not exclude_defaults or value != getattr(type(self), name, _MISSING)
        }
        return {name: _dump(value, exclude_defaults) for name, value in kept.items()}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as a record that holds lists


def ConfigDict(**settings: Any) -> dict[str, Any]:
    """How records are validated elsewhere."""
    return settings


def Field(default: Any = _MISSING, **_: Any) -> Any:
    """A field's default."""
    return default


def model_serializer(**_: Any) -> Callable[[F], F]:
    """Nothing here is stored."""
    return _keep


model_validator = field_validator = model_serializer


def _keep(function: F) -> F:
    return function


@cache
def _list_hints(cls: type) -> dict[str, Any]:
    return {
        name: hint
        for name, hint in get_type_hints(cls).items()
        if get_origin(hint) is not ClassVar and hint is not ClassVar
    }


def _build(hint: Any, value: Any) -> Any:
    """The value with objects turned into the records that the hint names."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint(**value) if isinstance(value, dict) else value
    inner = get_args(hint)
    if get_origin(hint) is list and isinstance(value, list):
        return [_build(inner[0], one) for one in value]
    if get_origin(hint) is dict and isinstance(value, dict):
        return {key: _build(inner[1], one) for key, one in value.items()}
    if get_origin(hint) in (Union, types.UnionType) and value is not None:
        return _build(next(iter(_list_records(inner)), Any), value)
    return value


def _list_records(hints: tuple[Any, ...]) -> Iterator[Any]:
    return (hint for hint in hints if isinstance(hint, type) and issubclass(hint, BaseModel))


def _dump(value: Any, exclude_defaults: bool) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_defaults=exclude_defaults)
    if isinstance(value, list):
        return [_dump(one, exclude_defaults) for one in value]
    if isinstance(value, dict):
        return {key: _dump(one, exclude_defaults) for key, one in value.items()}
    return value
