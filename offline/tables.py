"""The rendering over tables: what differs in a program that keeps its state in a database, effects
above all.

loan.status = 'returned'                                     a row in hand is changed, then written where it stands
for row in each(holds, row.tool_id == tool.id): row.…        one statement on all rows of a condition
loan = new(loans, member_id=member.id, …)                    a row is made, then inserted
"""

import ast
from collections.abc import Iterator, Sequence

from offline.columns import list_rows
from offline.domain import Domain, Operation, WriteStep
from offline.formula import OPERATORS, new_row, parse_expression, parse_statement, render
from offline.query import COMPARED, Clause, bind, name, quote, render_condition

Lines = list[str]

CONSTRUCTOR: Lines = ["def __init__(self, db: Any) -> None:", "    self._db = db"]
FINDER: Lines = [
    "def _find(self, table: str, row_id: str, noun: str) -> dict[str, Any]:",
    "    rows = self._db.query(f'SELECT * FROM \"{table}\" WHERE id = ?', (row_id,))",
    "    if not rows:",
    '        raise Rejection(f"unknown_{noun}", f"There is no {noun} with the id {row_id!r}; '
    'look the id up first.")',
    "    return rows[0]",
]


def render_effects(operation: Operation, steps: Sequence[WriteStep], domain: Domain) -> Lines:
    """Statements of an operation as lines of its method."""
    return _Effects(operation, domain).write([parse_statement(step.do) for step in steps])


def render_result(operation: Operation, domain: Domain) -> str:
    """What a method returns; after a change, the row as it stands in its table."""
    rows = list_rows(operation)
    if operation.effect == "change" and operation.gives in rows:
        collection = rows[operation.gives]
        return (
            f'self._find("{collection}", {operation.gives}["id"], '
            f'"{domain.collections[collection].noun}")'
        )
    return render(parse_expression(operation.gives), domain)


class _Effects:
    """Effects of one operation; attributes of one row that are set one after the other are written
    together."""

    def __init__(self, operation: Operation, domain: Domain) -> None:
        self._rows, self._domain = list_rows(operation), domain

    def write(self, nodes: Sequence[ast.stmt]) -> Lines:
        lines: Lines = []
        for owner, group in _gather(nodes):
            lines += self._save(owner, group) if owner else self._write(group[0])
        return lines

    def _write(self, node: ast.stmt) -> Lines:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Call(func=ast.Name(id="new")) as call
            ):
                return self._insert(local, call)
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                return [f"{local} = {render(value, self._domain)}"]
            case ast.For(
                target=ast.Name(id=local),
                iter=ast.Call(args=[ast.Name(id=table), where]) as rows,
                body=body,
            ):
                return self._update(table, local, where, body) or [
                    f"for {local} in {render(rows, self._domain)}:",
                    *self._indent(body),
                ]
            case ast.If(test=test, body=body):
                return [f"if {render(test, self._domain)}:", *self._indent(body)]
            case _:
                raise ValueError(f"formula cannot hold {ast.dump(node)}")

    def _indent(self, body: list[ast.stmt]) -> Lines:
        return ["    " + line for line in self.write(body)]

    def _save(self, owner: str, group: Sequence[ast.stmt]) -> Lines:
        """Set attributes of a row in hand, then write them."""
        names, lines = list[str](), Lines()
        for node in group:
            attribute, operator, value = _read_setting(node)
            names += [attribute] if attribute not in names else []
            lines.append(f'{owner}["{attribute}"] {operator} {render(value, self._domain)}')
        settings = ", ".join(f"{name(each)} = ?" for each in names)
        values = [f'{owner}["{each}"]' for each in (*names, "id")]
        sql = f"UPDATE {name(self._rows[owner])} SET {settings} WHERE id = ?"
        return [*lines, f"self._db.execute({quote(sql)}{bind(values)})"]

    def _insert(self, local: str, call: ast.Call) -> Lines:
        collection, values = new_row(call, self._domain)
        pairs = [
            f'    "{attribute}": {render(value, self._domain)},'
            for attribute, value in values.items()
        ]
        columns = ", ".join(name(each) for each in ("id", *values))
        marks = ", ".join("?" * (len(values) + 1))
        prefix = self._domain.collections[collection].prefixes[0]
        insert = quote(f"INSERT INTO {name(collection)} ({columns}) VALUES ({marks})")
        return [
            f"{local} = {{",
            f'    "id": new_id("{prefix}"),',
            *pairs,
            "}",
            f"self._db.execute({insert}, tuple({local}.values()))",
        ]

    def _update(self, table: str, local: str, where: ast.expr, body: list[ast.stmt]) -> Lines:
        """One statement for all rows; none where a loop has to look at each."""
        if len(body) != 1 or not isinstance(body[0], ast.Assign | ast.AugAssign):
            return []
        attribute, _, value = _read_setting(body[0])
        if _owner(body[0]) != local or any(
            isinstance(each, ast.Call | ast.IfExp) for each in ast.walk(value)
        ):
            return []
        clause = Clause(table, lambda each: render(each, self._domain))
        setting = clause.render(_Renamed(local).visit(value) if local != "row" else value)
        if isinstance(body[0], ast.AugAssign):
            setting = f"{name(attribute)} {COMPARED[type(body[0].op)]} {setting}"
        condition, values = render_condition(table, where, clause.bind)
        sql = f"UPDATE {name(table)} SET {name(attribute)} = {setting} WHERE {condition}"
        return [f"self._db.execute({quote(sql)}{bind([*clause.values, *values])})"]


class _Renamed(ast.NodeTransformer):
    """A loop's row called as a fold's row is."""

    def __init__(self, local: str) -> None:
        self._local = local

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("row") if node.id == self._local else node


def _gather(nodes: Sequence[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Settings of one row in a run, each other statement alone."""
    group: list[ast.stmt] = []
    for node in nodes:
        if group and (_owner(node) != _owner(group[0]) or _asks(node)):
            yield _owner(group[0]), group
            group = []
        if _owner(node):
            group.append(node)
        else:
            yield "", [node]
    if group:
        yield _owner(group[0]), group


def _owner(node: ast.stmt) -> str:
    """Name of the row a statement sets an attribute of."""
    match node:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner))])
            | ast.AugAssign(target=ast.Attribute(value=ast.Name(id=owner)))
        ):
            return owner
        case _:
            return ""


def _asks(node: ast.stmt) -> bool:
    """Whether its value is read from tables, which must hold by then what came before."""
    words = {
        each.func.id
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return bool(words & {"get", "count", "total", "highest", "some", "rows", "each"})


def _read_setting(node: ast.stmt) -> tuple[str, str, ast.expr]:
    """(attribute, operator, value)."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=attribute)], value=value):
            return attribute, "=", value
        case ast.AugAssign(target=ast.Attribute(attr=attribute), op=operator, value=value):
            return attribute, f"{OPERATORS[type(operator)]}=", value
        case _:
            raise ValueError(f"formula cannot hold {ast.dump(node)}")
