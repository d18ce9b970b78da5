"""Programs whose state is a database, and who reach through it for files, for time without end, or
for the next session."""

from dataclasses import replace

from tests.hostile.corpus.base import KERNEL, Attack

_ATTACKS: dict[str, Attack] = {
    "attach a file": Attack(
        'db.execute("attach ? as out", (path,))\ndb.execute("create table out.t '
'(a)")\nreturn True', ("crash",), "true"
    ),
    "attach a file by its address": Attack(
        'db.execute(f"attach \'file:{path}?mode=rwc\' as out")\nreturn True', ("crash",), "true"
    ),
    "write the database to a file": Attack('db.execute("vacuum into ?", (path,))\nreturn True', ("crash",), "true"),
    "make the schema writable": Attack(
        'db.execute("pragma writable_schema = on")\nreturn db.execute("delete from '
'sqlite_schema") >= 0', ("crash",), "true"
    ),
    "a statement behind another": Attack(
        'db.execute("update counts set count = 1; update counts set count = 7")\n'
'return True', ("crash",), "poisons", own=True
    ),
    "a statement without end": Attack(
        'db.query("with recursive n (i) as (select 1 union all select i + 1 from n) select '
'count(*) as n from n")\nreturn True',
        ("crash",), "hangs",
    ),
    "a file through the connection below": Attack(
        'unguarded().execute("attach ? as out", (path,))\nconnection().execute("create table '
'out.t (a)")\nreturn True',
        ("crash",), "true", (*KERNEL, "rlimits"),
    ),
    "a connection of its own": Attack(
        """
        kind = type(connection())
        own = kind(path)
        own.execute("create table t (a)")
        return True
        """,
        ("crash",), "true", (*KERNEL, "rlimits"),
    ),
    "the library by its name": Attack("import sqlite3\nreturn True", ("crash",), "true"),
    "a row that outlives a reset": Attack(
        'db.execute("update counts set count = 7")\ndb.commit()\nreturn False', (), "poisons", own=True
    ),
    "a trigger left behind": Attack(
        """
        con = unguarded()
        con.execute("create trigger later after update of count on counts when new.count < 90 begin update counts set count = 99; end")
        return False
        """,
        (), "poisons", own=True,
    ),
    "a table in front of another": Attack(
        """
        con = unguarded()
        con.execute("create temp table counts (id, count)")
        con.execute("insert into temp.counts values (1, 7)")
        return False
        """,
        (), "poisons", own=True,
    ),
    "the database closed": Attack("connection().close()\nreturn False", (), "poisons", own=True),
}  # fmt: skip

STORING = {name: replace(attack, tables=True) for name, attack in _ATTACKS.items()}
