"""The folder of a report: written beside its place and put there whole.

.RUN.part/  data/overview.js  data/environments.js …  data/records-0.js …  index.html style.css *.js plotly.min.js ─► RUN/
"""

import importlib.util
import json
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from envmill.base.errors import SettingsError
from envmill.base.version import __version__
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.lake.lake import Lake
from envmill.lake.sql import QueryLimits, open_lake
from envmill.report.columns import pack_columns
from envmill.report.graphs import list_graphs
from envmill.report.moves import list_moves
from envmill.report.place import SAMPLE
from envmill.report.questions import BEFORE, HEADLINE, INDEXES, OVERVIEW
from envmill.report.rows import list_fragments
from envmill.report.shards import RecordShards, write_packed, write_plain
from envmill.report.terrain import draw_map
from envmill.sandbox import Sandbox
from schemas.base import Json

_PAGE = Path(__file__).with_name("page")
_MARK = "data/overview.js"
_PART_RECORDS = (
    150  # a part is some 100 KB packed and a megabyte unpacked, which a browser opens at once
)
_LIMITS = QueryLimits(seconds=3600, memory="2GB")

SET_GATES = {
    "choice": "Was this theme chosen among those that were mined?",
    "theme": "Is the text worth a theme?",
    "build": "Does it run, with its tests green, after the repairs that are allowed?",
    "W10": "Is it new: no near-duplicate in this run, and not seen before?",
    "F1": "Does at least one probe of the named policy pass?",
    "F2": "Is it too easy for the weak policy?",
    "F3": "Is it free of protected texts?",
    "F4": "Is it no repeat of another request?",
    "F5": "Would a group of attempts differ in reward, so that there is something to learn?",
    "bounds": "How often does the verifier err, measured against the model of the domain?",
    "quality": "Does the row keep the promises of its table?",
}
"""What is asked of candidates outside the two tables of gates."""


@dataclass(frozen=True)
class WrittenReport:
    """What a report holds."""

    folder: Path
    records: int
    """Things that can be opened."""
    attempts: int
    """Attempts listed."""
    shown: int
    """Of them, those with every turn."""


async def write_report(
    lake: Lake,
    run: str,
    folder: Path,
    attempts: int | None = SAMPLE,
    sandbox: Sandbox | None = None,
) -> WrittenReport:
    """The report of one run; a report that is there already is replaced. `attempts`: how many show
    every turn; None for all.

    With a sandbox those are played again, so that it can be said what each call changed.
    """
    with _replace(folder) as part:
        data = part / "data"
        data.mkdir()
        with open_lake(lake, _LIMITS) as connection:
            overview = _ask_overview(connection, run)
            counts, shown = _write_indexes(connection, run, data, attempts)
            aside = set(
                connection.execute(
                    'select table_name, "row" from quarantine where run = ?', [run]
                ).fetchall()
            )
            write_packed(data / "map.js", _draw(connection, run))
            things = sum(
                counts[name] for name in ("environments", "scenarios", "candidates")
            ) + len(shown)
            parts = RecordShards(data, max(1, things // _PART_RECORDS))
            for fragment in list_fragments(lake, run, shown, aside):
                parts.add(fragment)
            async for fragment in list_graphs(lake, connection, run, shown):
                parts.add(fragment)
            if sandbox:
                async for fragment in list_moves(lake, connection, run, shown, sandbox):
                    parts.add(fragment)
        records = parts.write()
        write_plain(
            data / "overview.js",
            "OVERVIEW",
            overview | _describe(run, counts, parts.count, len(shown), attempts),
        )
        _copy_page(part)
    return WrittenReport(folder, records, counts["attempts"], len(shown))


def _describe(
    run: str, counts: dict[str, int], parts: int, shown: int, attempts: int | None
) -> dict[str, Json]:
    gates = [*ENVIRONMENT_GATES, *SCENARIO_GATES]
    return {
        "id": run,
        "envmill": __version__,
        "counts": counts,
        "parts": parts,
        "shown": shown,
        "all": attempts is None or shown == counts["attempts"],
        "titles": SET_GATES | {gate.name: gate.title for gate in gates},
        "required": [gate.name for gate in gates if gate.required],
        "optional": [gate.name for gate in gates if not gate.required],
    }


def _ask_overview(connection: DuckDBPyConnection, run: str) -> dict[str, Json]:
    found = _ask_all(connection, run, tuple(OVERVIEW))
    for name in ("quality", "expected"):
        found[name] = json.loads(found[name][0]["finding"]) if found[name] else None
    before = connection.execute(BEFORE, {"run": run}).fetchone()
    return found | {"before": _ask_all(connection, before[0], HEADLINE) if before else None}


def _ask_all(connection: DuckDBPyConnection, run: str, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: ask_rows(connection, OVERVIEW[name], {"run": run}) for name in names}


def ask_rows(
    connection: DuckDBPyConnection, question: str, values: dict[str, Json]
) -> list[dict[str, Json]]:
    """A small answer as objects."""
    answer = connection.execute(question, values)
    names = [column[0] for column in answer.description or []]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def _write_indexes(
    connection: DuckDBPyConnection, run: str, data: Path, attempts: int | None
) -> tuple[dict[str, int], set[str]]:
    """Length of each list, and the attempts that are shown turn by turn."""
    counts: dict[str, int] = {}
    shown: set[str] = set()
    for name, question in INDEXES.items():
        values: dict[str, Json] = {"run": run} | (
            {"attempts": 2**62 if attempts is None else attempts} if name == "attempts" else {}
        )
        answer = connection.execute(question, values)
        names = [column[0] for column in answer.description or []]
        rows = _stream(answer)
        packed = pack_columns(names, _note_shown(rows, shown) if name == "attempts" else rows)
        counts[name] = packed["count"]
        write_packed(data / f"{name}.js", packed)
    return counts, shown


def _note_shown(rows: Iterator[tuple[Any, ...]], shown: set[str]) -> Iterator[tuple[Any, ...]]:
    """`id` is the first column of attempts and `shown` the last."""
    for row in rows:
        if row[-1]:
            shown.add(row[0])
        yield row


def _stream(answer: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := answer.fetchmany(1000):
        yield from batch


def _draw(connection: DuckDBPyConnection, run: str) -> Json:
    question = (
        "select id, name || ' ' || summary || ' ' || tools || ' ' || rules from environments "
        "where run = ? order by name, id"
    )
    rows = connection.execute(question, [run]).fetchall()
    return [
        {"id": key} | place
        for (key, _), place in zip(rows, draw_map(text for _, text in rows), strict=True)
    ]


@contextmanager
def _replace(folder: Path) -> Generator[Path]:
    """A new folder in the place of the old one, once it is whole; what is no report stays
    untouched."""
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).exists():
        raise SettingsError(
            f"{folder} holds files that are not a report. Name another folder with --out, or "
            "empty that one."
        )
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.replace(folder)
    except OSError as error:
        raise SettingsError(
            f"Cannot write the report to {folder}: {error}. Name another folder with --out."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy_page(folder: Path) -> None:
    for file in sorted(_PAGE.iterdir()):
        shutil.copyfile(file, folder / file.name)
    shutil.copyfile(find_charts(), folder / "plotly.min.js")


def find_charts() -> Path:
    """The charting library, as its package brings it; importing that package would take a second
    and is not needed."""
    found = importlib.util.find_spec("plotly")
    script = (
        Path(found.origin).parent / "package_data/plotly.min.js" if found and found.origin else None
    )
    if script is None or not script.exists():
        raise SettingsError(
            "The charting library is missing: plotly is not installed. Install it with `make "
            "setup`."
        )
    return script
