"""A database as an environment's state: what generated tools see of it, and what is read off it
from outside.

    schema.sql + rows ─► Database ─► reset · changes · state · snapshot     (the session's side)
                             └─► Db ─► execute · query · commit · rollback  (the tools' side)

Two backends stand behind it, and tests hold them to equal change sets: apsw's sessions where
`adopt_sessions` named that package, the standard library's sqlite3 with triggers where nobody did,
as in exports.
"""

from envmill.runtime.db.database import Database
from envmill.runtime.db.facade import Db
from envmill.runtime.db.faults import BrokenConstraint, DbError, SchemaFault
from envmill.runtime.db.sessions import adopt_sessions

__all__ = ["BrokenConstraint", "Database", "Db", "DbError", "SchemaFault", "adopt_sessions"]
