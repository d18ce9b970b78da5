"""`views.sql`: the same tables and views for a DuckDB shell without EnvMill, over a lake on local disk.

glob ─► files whose batch is committed, merge records applied ─► one variable per table ─► the views, word for word
"""

from collections.abc import Iterator, Mapping

from envmill.lake.views.base import View
from envmill.lake.views.source import quote, select_none, select_rows
from schemas.base import Record
from schemas.tables import TABLES

_HEAD = """-- Tables and views of an EnvMill lake, for DuckDB 1.4 or newer:  duckdb -init views.sql
-- It lists the lake when it is read; read it again (.read views.sql) to see what came later.
-- A batch counts once its attrition file is there; a merged file counts once a merge record names it, and what it replaces no longer does.
"""

_FILES = r"""
create or replace temp table envmill_merges as
select regexp_extract(filename, 'run=([^/]+)/(\d+)\.json$', ['run', 'number']) as key,
       from_json(content, '{{"replaces": "MAP(VARCHAR, VARCHAR[])", "adds": "MAP(VARCHAR, VARCHAR[])"}}') as record
from read_text({root} || '/_compact/run=*/*.json');

select error('A merge record of run ' || key.run || ' is missing: rows would count twice.')
from envmill_merges group by key.run having count(*) <> max(key.number::int);

create or replace temp table envmill_merged as
select what, run, entry.key as tab, unnest(entry.value) as stem
from (select 'replaced' as what, key.run as run, unnest(map_entries(record.replaces)) as entry from envmill_merges
      union all
      select 'added', key.run, unnest(map_entries(record.adds)) from envmill_merges);

create or replace temp table envmill_files as
with found as (
    select regexp_extract(file, '/([a-z]\w*)/run=([^/]+)/([^/]+)\.parquet$', ['tab', 'run', 'stem']) as key
    from glob({root} || '/*/run=*/*.parquet')),
listed as (select key.tab as tab, key.run as run, key.stem as stem from found where key.tab <> ''),
committed as (
    select run, stem from listed where tab = 'attrition'
    union select run, stem from envmill_merged where what = 'replaced' and tab = 'attrition'),
counting as (
    select tab, run, stem from listed
    where not regexp_full_match(stem, 'merged-\d{{6}}-[0-9a-f]{{8}}-\d+')
      and (not regexp_full_match(stem, '[a-z]+-[a-z]+-\d{{2}}-[0-9a-f]{{8}}-a\d+') or (run, stem) in (select (run, stem) from committed))
    union select tab, run, stem from envmill_merged where what = 'added')
select tab, {root} || '/' || tab || '/run=' || run || '/' || stem || '.parquet' as file
from counting anti join (from envmill_merged where what = 'replaced') using (tab, run, stem);
"""


def write_sql(root: str, views: Mapping[str, View]) -> str:
    """The whole file. Paths in it are those of this machine."""
    parts = [_HEAD, _FILES.format(root=quote(root)), *map(_write_table, TABLES.values()), *_write_views(views)]
    return "\n".join(parts)


def _write_table(record: type[Record]) -> str:
    """DuckDB cannot read no files: a table without any is spelled out."""
    table, variable = record.table, f"envmill_{record.table}"
    read = f"from read_parquet(getvariable('{variable}'), hive_partitioning = false)"
    source = f"query(if(getvariable('{variable}') is null, {quote(select_none(record))}, {quote(read)}))"
    listed = f"set variable {variable} = (select list(file order by file) from envmill_files where tab = '{table}');"
    return f'{listed}\ncreate or replace view "{table}" as {select_rows(record, [source])};'


def _write_views(views: Mapping[str, View]) -> Iterator[str]:
    for view in views.values():
        order = f"\norder by {view.order}" if view.order else ""
        yield f'create or replace view "{view.name}" as\nselect * from ({view.sql}){order};'
