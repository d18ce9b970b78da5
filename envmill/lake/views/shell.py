"""`views.sql`: the same tables and views for a DuckDB shell without EnvMill, over a lake on local
disk.

glob ─► files whose batch is committed, merge records applied ─► one variable per table ─► the views, word for word
"""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from envmill.lake.views.base import View
from envmill.lake.views.source import quote, select_none, select_rows
from schemas.base import Record
from schemas.tables import TABLES

_HEAD = """-- Tables and views of an EnvMill lake, for DuckDB 1.4 or newer:  duckdb -init views.sql
-- It lists the lake when it is read; read it again (.read views.sql) to see what came later.
-- A batch counts once its attrition file is there, whose name lists the tables it has files in.
-- A merged file counts once a merge record names it, and what it replaces no longer does.
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

set variable envmill_doubtful = (
    select list(replace(marker.file, '.void', '') || commit.rest)
    from glob({root} || '/attrition/run=*/*.void') marker
    join (select file, regexp_extract(file, '((-[a-z]+)*\.parquet)$', 1) as rest from glob({root} || '/attrition/run=*/*.parquet')) commit
      on commit.file = replace(marker.file, '.void', '') || commit.rest);

create or replace temp table envmill_void as
select regexp_extract(file, '/run=([^/]+)/([^/]+)\.parquet$', ['run', 'stem']) as key
from query(if(getvariable('envmill_doubtful') is null, 'select null::varchar as file where false',
    'select file_name as file from parquet_kv_metadata(getvariable(''envmill_doubtful'')) where key::varchar = ''void'''));

create or replace temp table envmill_files as
with found as (
    select regexp_extract(file, '/([a-z]\w*)/run=([^/]+)/([^/]+)\.parquet$', ['tab', 'run', 'stem']) as key
    from glob({root} || '/*/run=*/*.parquet')),
listed as (
    select key.tab as tab, key.run as run, key.stem as stem, regexp_replace(key.stem, '(-a\d+)(-[a-z]+)*$', '\1') as batch
    from found where key.tab <> '' and (key.run, key.stem) not in (select (key.run, key.stem) from envmill_void)),
committed as (
    select run, stem from listed where tab = 'attrition'
    union select run, stem from envmill_merged where what = 'replaced' and tab = 'attrition'),
told as (
    select run, regexp_replace(stem, '(-a\d+)(-[a-z]+)*$', '\1') as stem,
           unnest(string_split(regexp_extract(stem, '-a\d+-([a-z-]+)$', 1), '-')) as prefix
    from committed),
counting as (
    select tab, run, stem from listed
    where not regexp_full_match(stem, 'merged-\d{{6}}-[0-9a-f]{{8}}-\d+')
      and (not regexp_full_match(stem, '[a-z]+-[a-z]+-\d{{2}}-[0-9a-f]{{8}}-a\d+(-[a-z]+)*')
           or (run, batch) in (select (run, regexp_replace(stem, '(-a\d+)(-[a-z]+)*$', '\1')) from committed))
    union select prefixes.tab, run, stem from told join (values {prefixes}) prefixes(prefix, tab) using (prefix)
    union select tab, run, stem from envmill_merged where what = 'added')
select tab, {root} || '/' || tab || '/run=' || run || '/' || stem || '.parquet' as file
from counting anti join (from envmill_merged where what = 'replaced') using (tab, run, stem);
"""

_PREFIXES = ", ".join(f"('{record.prefix}', '{table}')" for table, record in TABLES.items())


def write_sql(root: str, views: Mapping[str, View]) -> str:
    """The whole file. Paths in it are those of this machine."""
    parts = [
        _HEAD,
        _FILES.format(root=quote(root), prefixes=_PREFIXES),
        *map(_write_table, sorted(TABLES.values(), key=_is_read_later)),
        *_write_views(views),
    ]
    return "\n".join(parts)


def keep_sql(root: str, views: Mapping[str, View]) -> Path:
    """The file, kept in the lake's own folder: `duckdb -init <lake>/views.sql`. It is replaced
    whole, for shells that read it meanwhile."""
    path, part = Path(root) / "views.sql", Path(root) / f".views-{uuid.uuid4().hex}"
    part.write_text(write_sql(root, views), encoding="utf-8")
    return part.replace(path)


def _is_read_later(record: type[Record]) -> bool:
    """Every table leaves out what quarantine names, so that one comes first."""
    return record.table != "quarantine"


def _write_table(record: type[Record]) -> str:
    """DuckDB cannot read no files: a table without any is written out."""
    table, variable = record.table, f"envmill_{record.table}"
    read = f"from read_parquet(getvariable('{variable}'), hive_partitioning = false)"
    source = (
        f"query(if(getvariable('{variable}') is null, {quote(select_none(record))}, {quote(read)}))"
    )
    listed = (
        f"set variable {variable} = (select list(file order by file) from envmill_files where "
        f"tab = '{table}');"
    )
    return (
        f'{listed}\ncreate or replace view "{table}" as '
        f"{select_rows(record, [source], 'quarantine')};"
    )


def _write_views(views: Mapping[str, View]) -> Iterator[str]:
    for view in views.values():
        order = f"\norder by {view.order}" if view.order else ""
        yield f'create or replace view "{view.name}" as\nselect * from ({view.sql}){order};'
