"""The tables as documentation: `python -m schemas.reference > docs/tables.md`."""

import sys
from collections.abc import Iterator

from schemas.base import Record
from schemas.shapes import shape_of, version_of
from schemas.tables import TABLES

_HEAD = """# Tables

Written from `schemas/`; `make docs` renews it. Every table also has the stamp columns `run`, `step`, `fingerprint`, `bucket`,
`try_number`, `code_version` and `written_at`, unless it has one of that name itself. The key of every table is (`run`, `id`).
A `json` column holds a JSON value as text: `column ->> 'key'` reads from it.
"""


def render() -> str:
    """One section per table."""
    sections = ("\n".join(_section(record)) for record in TABLES.values())
    return _HEAD + "".join(f"\n{section}\n" for section in sections)


def _section(record: type[Record]) -> Iterator[str]:
    yield f"## `{record.table}`"
    yield ""
    yield f"{' '.join((record.__doc__ or '').split())} Version {version_of(record)}."
    yield (
        f"Its id starts with `{record.prefix}_` and hashes "
        f"{', '.join(f'`{name}`' for name in record.identity)}."
    )
    yield ""
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for column in shape_of(record):
        yield (
            f"| `{column.name}` | {column.type}{', may be null' if column.nullable else ''} | "
            f"{column.description} |"
        )


if __name__ == "__main__":
    sys.stdout.write(render())
