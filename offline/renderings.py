"""How a domain is rendered, by kind: state as attributes of the program, or as tables of a
database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from offline import tables
from offline.columns import settle_state
from offline.database import write_schema
from offline.domain import Domain, Operation, WriteStep
from offline.formula import parse_expression, parse_statement, render, render_statement
from schemas.base import Json

Lines = list[str]
State = dict[str, Json]


@dataclass(frozen=True)
class Rendering:
    """What a program of a kind looks like where kinds differ."""

    write_constructor: Callable[[Domain], Lines]
    finder: Lines
    """The method that finds a row by its id."""
    render_collection: Callable[[str], str]
    """The collection as the finder is given it."""
    write_steps: Callable[[Operation, Sequence[WriteStep], Domain], Lines]
    render_result: Callable[[Operation, Domain], str]
    write_schema: Callable[[Domain], str]
    """The schema of its tables; empty where there are none."""
    settle: Callable[[Domain, State], State]
    """A state as sessions give it back."""


def _write_constructor(domain: Domain) -> Lines:
    rows = [
        f'    self.{name}: dict[str, dict[str, Any]] = copy.deepcopy(state.get("{name}", {{}}))'
        for name in domain.collections
    ]
    return ["def __init__(self, state: dict[str, Any]) -> None:", *rows]


_FINDER: Lines = [
    "def _find(self, rows: dict[str, dict[str, Any]], row_id: str, noun: str) -> dict[str, Any]:",
    "    if row_id not in rows:",
    '        raise Rejection(f"unknown_{noun}", f"There is no {noun} with the id {row_id!r}; '
    'look the id up first.")',
    "    return rows[row_id]",
]


def _write_steps(operation: Operation, steps: Sequence[WriteStep], domain: Domain) -> Lines:  # noqa: ARG001
    return [line for step in steps for line in render_statement(parse_statement(step.do), domain)]


def _render_result(operation: Operation, domain: Domain) -> str:
    text = render(parse_expression(operation.gives), domain)
    return f"dict({text})" if operation.gives.isidentifier() else text


RENDERINGS: Mapping[str, Rendering] = {
    "stateful": Rendering(
        _write_constructor,
        _FINDER,
        lambda name: f"self.{name}",
        _write_steps,
        _render_result,
        lambda _: "",
        lambda _, state: state,
    ),
    "sql": Rendering(
        lambda _: tables.CONSTRUCTOR,
        tables.FINDER,
        lambda name: f'"{name}"',
        tables.render_effects,
        tables.render_result,
        write_schema,
        settle_state,
    ),
}
