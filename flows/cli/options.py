"""Options of a command that are the fields of `RunConfig`: name, type, bounds, default and help are
read from the field.

def run(context, …, **settings) ─► complete ─► def run(context, *, environments, target, …)
"""

import inspect
from collections.abc import Callable, Container, Iterator
from functools import wraps
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

WITHHELD = ("run", "first")
"""Fields without an option: `--resume` names a run to go on with, and rounds count their own
seeds."""
_RENAMED = {"with_tier": "--with"}
"""Options that are not named as their field is."""


def render_option(name: str) -> str:
    """The option of a field."""
    return _RENAMED.get(name, f"--{name.replace('_', '-')}")


def complete(
    command: Callable[..., Any], words: Container[str] | None = None
) -> Callable[..., Any]:
    """The command with an option for each setting in place of its `**` parameter. It gets none when
    the command line does not name it,
    because loading the settings takes longer than `envmill --help` may."""
    signature = inspect.signature(command)
    own = [
        one
        for one in signature.parameters.values()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    if len(own) == len(signature.parameters):
        return command
    settings = list(list_options()) if words is None or command.__name__ in words else []
    context, *others = own

    @wraps(command)
    def completed(**given: Any) -> Any:
        return command(**given)

    parameters = [
        context,
        *settings,
        *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in others),
    ]
    completed.__dict__["__signature__"] = signature.replace(parameters=parameters)
    completed.__annotations__ = {one.name: one.annotation for one in parameters}
    return completed


def list_options() -> Iterator[inspect.Parameter]:
    """One option for each setting, in the order of the fields."""
    from schemas.run import RunConfig

    for name, field in RunConfig.model_fields.items():
        if name not in WITHHELD:
            kind = _find_type(field.annotation)
            flags = (
                f"{render_option(name)}/--no-{name.replace('_', '-')}"
                if kind is bool
                else render_option(name)
            )
            option = Annotated[kind | None, typer.Option(flags, help=describe_setting(field))]
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option
            )


def describe_setting(field: "FieldInfo") -> str:
    """The field's text, then the values it takes and its default."""
    parts = [" ".join((field.description or "").split())]
    if choices := _find_choices(field.annotation):
        parts.append(f"One of {', '.join(choices)}.")
    if bounds := _render_bounds(field.metadata):
        parts.append(f"{bounds}.")
    if default := _render_default(field.default):
        parts.append(f"Default: {default}.")
    return " ".join(parts)


def _render_bounds(metadata: list[Any]) -> str:
    bounds = {
        name: f"{getattr(one, name):,g}"
        for one in metadata
        for name in ("gt", "ge", "le")
        if getattr(one, name, None) is not None
    }
    if "gt" in bounds:
        return f"More than {bounds['gt']}" + (f", at most {bounds['le']}" if "le" in bounds else "")
    if "ge" in bounds:
        return f"{bounds['ge']} to {bounds['le']}" if "le" in bounds else f"{bounds['ge']} or more"
    return ""


def _find_type(annotation: Any) -> type:
    """Numbers and switches are read by the command line; everything else is text, which the record
    reads."""
    kinds = [one for one in _list_alternatives(annotation) if one in (int, float, bool)]
    return kinds[0] if kinds else str


def _find_choices(annotation: Any) -> list[str]:
    return [
        choice
        for one in _list_alternatives(annotation)
        for each in (get_args(one) if get_origin(one) is tuple else (one,))
        if get_origin(each) is Literal
        for choice in get_args(each)
        if choice
    ]


def _list_alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _render_default(default: Any) -> str:
    """As it would be typed; empty for a switch that is off and for a field that is empty."""
    if isinstance(default, bool):
        return "on" if default else ""
    if isinstance(default, dict):
        return ",".join(f"{name}={share}" for name, share in default.items())
    return (
        ",".join(default) if isinstance(default, tuple) else "" if default is None else str(default)
    )
