"""What goes wrong in a database: for the tools that asked, and for whoever opens it."""

from envmill.runtime.program import ProgramFault


class DbError(Exception):
    """A statement that failed, in SQLite's words; nothing of it remains."""


class BrokenConstraint(DbError):
    """A statement that would have broken a constraint of the schema."""


class SchemaFault(ProgramFault):
    """A schema or initial rows that cannot be opened."""
