"""The lake: writing, publishing, the journal, and what a question costs over settled and over fresh
runs."""

# pyright: reportMissingTypeStubs=false

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from envmill.base.settings import ROOT
from envmill.lake.arrow import Stamp, to_arrow
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.journal import Journal
from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from envmill.lake.views import VIEWS, open_views
from schemas.ledger import Attrition, ModelCall

BATCH, ROUNDS = 5_000, 7
RUNS, RUN_ROWS = (
    4,
    100_000,
)  # `settled(place, 100)` is the ten million of the target and takes ten minutes to write
FRESH_FILES, IN_FLIGHT = 400, 64


def rows() -> Iterator[dict[str, Any]]:
    """Every row in one process, on one disk, as it is measured."""
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        place = Path(folder)
        yield from _writing()
        yield from _publishing(place)
        yield from _journal(place)
        yield from settled(place / "settled", RUNS)
        yield from _fresh(place / "fresh")


def _writing() -> list[dict[str, Any]]:
    """Records to Parquet bytes, beside pyarrow alone writing the table they make."""
    records = [_gate_row(number) for number in range(BATCH)]
    table = to_arrow(Attrition, records, _stamp("r"))
    ours = _median(lambda: encode(to_arrow(Attrition, records, _stamp("r"))))
    bare = _median(lambda: pq.write_table(table, pa.BufferOutputStream(), compression="zstd"))
    size, call_size = (
        len(encode(table)) / BATCH,
        len(encode(to_arrow(ModelCall, [_call(n) for n in range(BATCH)], _stamp("r")))) / BATCH,
    )
    return [
        _row(
            "write",
            "attrition rows to Parquet, batches of 5,000, beside pyarrow's write_table",
            BATCH / ours,
            BATCH / bare,
            "rows/s",
        ),
        _row("attrition_bytes", "bytes of an attrition row on disk", size, None, "B"),
        _row(
            "call_bytes",
            "bytes of a model call on disk, its reply of 600 characters included",
            call_size,
            None,
            "B",
        ),
    ]


def _publishing(place: Path) -> list[dict[str, Any]]:
    """One file published, beside a bare write and fsync of the same bytes."""
    store, content = (
        Lake(place / "publish").store,
        encode(to_arrow(Attrition, [_gate_row(n) for n in range(64)], _stamp("r"))),
    )
    numbers = iter(range(10_000))
    (place / "bare").mkdir()

    def write_bare() -> None:
        with (place / "bare" / str(next(numbers))).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    ours = _median(lambda: store.put_if_absent(f"t/run=r/{next(numbers)}.parquet", content), 50)
    return [
        _row(
            "publish",
            "a file published, beside a bare write and fsync",
            ours * 1e3,
            _median(write_bare, 50) * 1e3,
            "ms",
        )
    ]


def _journal(place: Path) -> list[dict[str, Any]]:
    """Durable appends with 64 in flight, beside one fsync after another of the same bytes."""
    calls = [_call(number) for number in range(3_000)]
    ours = len(calls) / asyncio.run(_append_all(place / "journal", calls))
    handle = os.open(place / "bare.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    line = calls[0].model_dump_json().encode()

    def append_bare() -> None:
        os.write(handle, line)
        os.fsync(handle)

    bare = _median(append_bare, 200)
    os.close(handle)
    return [
        _row(
            "journal",
            "durable appends, 64 in flight, beside bare write and fsync",
            ours,
            1 / bare,
            "/s",
        )
    ]


async def _append_all(folder: Path, calls: Sequence[ModelCall]) -> float:
    journal, waiting = Journal(folder), list(calls)

    async def append() -> None:
        while waiting:
            await journal.append(waiting.pop())

    began = time.perf_counter()
    await asyncio.gather(*(append() for _ in range(IN_FLIGHT)))
    seconds = time.perf_counter() - began
    await journal.close()
    return seconds


def settled(place: Path, runs: int) -> list[dict[str, Any]]:
    """Every view over compacted, finished runs, beside a count of the same attrition rows; and a
    process's first answer."""
    lake = Lake(place)
    for number in range(runs):
        fill_run(lake, f"r{number:04d}", RUN_ROWS)
        compact(lake, f"r{number:04d}")
    opened = _median(lambda: open_views(lake, question="from funnel").close(), 3)
    with open_views(lake) as connection:
        seconds = {
            view: _median(lambda view=view: connection.execute(_ask(view)).fetchall(), 3)
            for view in VIEWS
        }
        counted = _median(
            lambda: connection.execute("select count(*), sum(cost) from attrition").fetchall(), 3
        )
    slowest = max(seconds, key=lambda view: seconds[view])
    rows = f"{runs * RUN_ROWS:,} attrition rows of {runs} settled runs"
    return [
        _row(
            "settled",
            f"slowest view ({slowest}) over {rows}, beside a sum over the table",
            seconds[slowest],
            counted,
            "s",
        ),
        _row("settled_open", f"opening for one view over {rows}", opened, None, "s"),
        _row(
            "cold",
            f"a new process to its first answer over {rows}, beside a bare interpreter",
            *_first_answer(place),
            "s",
        ),
    ]


def _fresh(place: Path) -> list[dict[str, Any]]:
    """One run's 400 files: opened for a question and answered, as `envmill sql` does, and the same
    question put again."""
    lake = Lake(place)
    note(lake, "r0", "started", {})
    for number in range(FRESH_FILES):
        attrition = [_gate_row(number * 16 + place) for place in range(16)]
        lake.publish([], attrition, _stamp("r0", number % 40, number // 40 + 1))
    seconds = {view: _ask_afresh(lake, "r0", _ask(view)) for view in VIEWS}
    slowest = max(seconds, key=lambda view: sum(seconds[view][:2]))
    opened, first, again = seconds[slowest]
    files = ", ".join(f"'{file}'" for file in lake.files("attrition", "r0"))

    def sum_bare() -> None:
        with duckdb.connect() as connection:
            connection.execute(
                f"select sum(cost) from read_parquet([{files}], hive_partitioning = false)"
            ).fetchall()

    bare = _median(sum_bare)
    what = f"slowest view ({slowest}) over a fresh run of 400 files"
    return [
        _row(
            "fresh",
            f"{what}, asked again, beside one sum in bare DuckDB, opening included",
            again,
            bare,
            "s",
        ),
        _row("fresh_open", f"opening for {slowest}", opened, bare, "s"),
        _row("fresh_first", f"{what}, from opening to first answer", opened + first, bare, "s"),
    ]


def _ask_afresh(lake: Lake, run: str, question: str) -> tuple[float, float, float]:
    """Medians of opening, first answer and second answer. The first round warms caches and is not
    counted."""
    rounds: list[tuple[float, float, float]] = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        with open_views(lake, [run], question=question) as connection:
            opened = time.perf_counter()
            connection.execute(question).fetchall()
            answered = time.perf_counter()
            connection.execute(question).fetchall()
            rounds.append((opened - began, answered - opened, time.perf_counter() - answered))
    opening, first, again = (
        statistics.median(seconds) for seconds in zip(*rounds[1:], strict=True)
    )
    return opening, first, again


def fill_run(lake: Lake, run: str, rows: int) -> None:
    """A finished run with so many attrition rows in 40 buckets."""
    note(lake, run, "started", {})
    size = rows // 40
    for bucket in range(40):
        lake.publish(
            [], [_gate_row(bucket * size + number) for number in range(size)], _stamp(run, bucket)
        )
    note(lake, run, "finished", {})


def _ask(view: str) -> str:
    """All of a view; of `exits`, which has a row per subject, what one asks of it."""
    return (
        "select run, outcome, count(*) from exits group by all"
        if view == "exits"
        else f'select * from "{view}"'
    )


def _first_answer(place: Path) -> tuple[float, float]:
    ask = (
        "import sys; from envmill.lake.lake import Lake; from envmill.lake.sql import fetch; "
        "fetch(Lake(sys.argv[1]), 'select * from funnel')"
    )
    run = lambda *arguments: subprocess.run(  # noqa: E731
        [sys.executable, "-c", *arguments], cwd=ROOT, check=True
    )
    return _median(lambda: run(ask, str(place)), 3), _median(lambda: run("pass"), 3)


def _median(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The first round warms caches and is not counted."""
    seconds: list[float] = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def _row(id: str, what: str, measured: float, baseline: float | None, unit: str) -> dict[str, Any]:
    return {"id": id, "what": what, "measured": measured, "baseline": baseline, "unit": unit}


def _stamp(run: str, bucket: int = 0, attempt: int = 1) -> Stamp:
    return Stamp(
        run, "scenarios-verify", "f" * 20, bucket, attempt, "0.1.0", "2026-01-01T00:00:00+00:00"
    )


def _gate_row(number: int) -> Attrition:
    """Seven gates and the exit for each subject."""
    subject, place = divmod(number, 8)
    kept = subject % 3 != 0
    return Attrition(
        lap="scenarios", stage="verify", gate="exit" if place == 7 else f"S{place + 1}", subject=f"scn_{subject:020x}",
        parent=f"env_{subject // 16:020x}", try_number=1, outcome="kept" if kept else "dropped",
        reason="" if kept else f"reason_{subject % 7}", detail="" if kept else "the oracle replays otherwise", evidence="",
        children=1, recipe="envscaler", theme=f"theme_{subject % 40}", seconds=number % 97 / 10, tokens=number % 5_000,
        cost=number % 13 / 100,
    )  # fmt: skip


def _call(number: int) -> ModelCall:
    return ModelCall(
        request=f"{number:020x}", sample=0, ordinal=f"{'a' * 32}:{number}", step="scenarios-generate", subject=f"scn_{number:020x}",
        prompt="envscaler/scenario", prompt_hash="b" * 20, provider="offline", model="offline", outcome="reply", reused=False, retries=0,
        tokens_in=900, tokens_out=150, cost=0.0, latency=0.2, asked_at="2026-01-01T00:00:00+00:00",
        reply=" ".join(f"{(number * 7919 + place * 104729) % 99991:05d}" for place in range(100)),
    )  # fmt: skip
