"""The kind `sql` as one object."""

from collections.abc import Iterator, Mapping, Sequence

from envmill.kinds import sql
from envmill.kinds.base import Policies
from envmill.kinds.jailed import JailedKind
from envmill.kinds.sql.database import find_database_faults
from envmill.sandbox import Sandbox
from schemas.database import Policy, Table
from schemas.environment import Blueprint, Effect, Environment, Tool
from schemas.folder import Touch


class SqlKind(JailedKind):
    """State in the tables of a database."""

    name = "sql"
    tabled = True

    async def try_plan(self, plan: Blueprint, sandbox: Sandbox) -> list[str]:
        return await find_database_faults(plan, sandbox)

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        return sql.derive_tools(source, class_name, effects)

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        return sql.derive_tables(files, policies)

    def add_touches(
        self, tools: Sequence[Tool], touches: Mapping[str, Touch], tables: Sequence[Table]
    ) -> list[Tool]:
        return sql.add_touches(tools, touches, tables) if tables else list(tools)

    def list_policies(self, tables: Sequence[Table]) -> dict[str, Policy | float] | None:
        return sql.list_policies(tables) if tables else None

    def describe(self, environment: Environment) -> Iterator[str]:
        yield from super().describe(environment)
        for table in environment.tables:
            yield f"{table.name}: {', '.join(column.name for column in table.columns)}."
