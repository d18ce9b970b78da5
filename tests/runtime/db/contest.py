"""Random statements over a schema that has all of SQLite's ways to change a row behind one's
back."""

from collections.abc import Iterator
from random import Random
from typing import Any

SCHEMA = """
create table plain (id text primary key, n integer, x real, b blob, t text default current_timestamp);
create table counted (
    id integer primary key autoincrement, plain text references plain (id) on delete cascade on update cascade, n integer
);
create table pairs (p text, q integer, v, primary key (p, q)) without rowid;
create table made (
    id integer primary key, n integer, double integer generated always as (n * 2) stored, half generated always as (n / 2)
);
create table heirs (id integer primary key, counted integer references counted (id) on delete set null, unique_n integer unique);
create table log (id integer primary key, what text, plain text);
create index plain_n on plain (n);
create view sums as select plain, sum(n) as total from counted group by plain;
create trigger raise_n after insert on plain when new.n is null begin update plain set n = 0 where id = new.id; end;
create trigger keep_log after update of n on plain begin insert into log (what, plain) values ('n', new.id); end;
create trigger clear_log before delete on plain begin delete from log where plain = old.id; end;
create trigger into_sums instead of insert on sums begin insert into counted (plain, n) values (new.plain, new.total); end;
"""

ROWS = {
    "plain": [{"id": name, "n": number, "x": number / 2} for number, name in enumerate("abcdef")],
    "counted": [{"plain": name, "n": 1} for name in "abcabc"],
    "pairs": {"one": {"p": "a", "q": 1, "v": 1}, "two": {"p": "a", "q": 2, "v": None}},
    "made": [{"id": 1, "n": 4}],
    "heirs": [{"id": 1, "counted": 2, "unique_n": 5}, {"id": 2, "counted": 3, "unique_n": 6}],
}

Statement = tuple[str, tuple[Any, ...]]

_FORMS: tuple[tuple[str, str], ...] = (
    ("insert into plain (id, n, x, b) values (?, ?, ?, ?)", "kvvv"),
    ("insert into plain (id) values (?)", "k"),
    ("insert or replace into plain (id, n) values (?, ?)", "ki"),
    ("insert or ignore into plain (id, n) values (?, ?)", "ki"),
    ("insert into plain (id, n) values (?, ?) on conflict (id) do update set n = excluded.n + "
"1", "ki"),
    ("update plain set n = n + ?", "i"),
    ("update plain set x = ?, b = ? where id = ?", "vvk"),
    ("update plain set id = ? where id = ?", "kk"),
    ("update or replace plain set id = ? where id = ?", "kk"),
    ("update plain set n = null, t = t where n > ?", "i"),
    ("delete from plain where id = ?", "k"),
    ("delete from plain", ""),
    ("insert into counted (plain, n) values (?, ?)", "ki"),
    ("insert into counted (id, plain, n) values (?, ?, ?)", "iki"),
    ("update counted set id = id + ? where n = ?", "ii"),
    ("replace into counted (id, plain, n) values (?, ?, ?)", "iki"),
    ("delete from counted where id % 3 = ?", "i"),
    ("insert into sums (plain, total) values (?, ?)", "ki"),
    ("insert into pairs values (?, ?, ?)", "kiv"),
    ("replace into pairs values (?, ?, ?)", "kiv"),
    ("update pairs set q = q + 1", ""),
    ("update pairs set q = q - 1 where p = ?", "k"),
    ("update pairs set v = ? where q = ?", "vi"),
    ("delete from pairs where p = ?", "k"),
    ("insert into made (id, n) values (?, ?)", "ii"),
    ("update made set n = ? where id = ?", "vi"),
    ("insert into heirs values (?, ?, ?)", "iii"),
    ("insert or replace into heirs values (?, ?, ?)", "iii"),
    ("update or replace heirs set unique_n = ?", "i"),
    ("update or ignore heirs set unique_n = unique_n + 1", ""),
    ("with w (i) as (select ?) insert into log (what, plain) select 'w', i from w", "k"),
    ("insert into log (what) values (?) returning id, what", "v"),
    ("select id, n, typeof(x), x from plain order by id", ""),
    ("select * from sums order by plain", ""),
    ("savepoint s", ""), ("rollback to s", ""), ("release s", ""), ("rollback", ""), ("commit", ""),
    ("update nothing set n = 1", ""), ("select 1; delete from plain", ""),
)  # fmt: skip


def draw_statements(random: Random, number: int) -> Iterator[Statement]:
    """Statements with arguments; many break a constraint, and some are none at all."""
    for _ in range(number):
        sql, kinds = random.choice(_FORMS)
        yield sql, tuple(_draw(random, kind) for kind in kinds)


def _draw(random: Random, kind: str) -> Any:
    if kind == "k":
        return random.choice(["a", "b", "c", "d", "x", "y", "é\U0001f600", None])
    if kind == "i":
        return random.choice([0, 1, 2, 3, 4, 7, None])
    return random.choice(
        [None, 0, 1, 1.0, 2.5, -3, 2**62, "", "text", "1", b"", b"\x00\xff", 1e300]
    )
