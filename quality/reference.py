"""The promises as documentation: `python -m quality.reference > docs/quality.md`."""

import sys
from collections.abc import Iterator

from quality.nights.drift import DOUBT, LEAST_NIGHTS, LEAST_ROWS, NIGHTS
from quality.nights.frames import FRAMES, RowFrame
from quality.nights.suites import list_rules
from quality.promise import TablePromises
from quality.promises import PROMISES

_HEAD = """# Quality: what guards the tables

Written from `quality/promises/`; `python -m quality.reference > docs/quality.md` renews it.

Two things guard the tables. **Promises** are SQL about single rows and sums: they find what is wrong with a row and set it aside.
**Nights** are suites of Great Expectations over frames of all rows of a run: they find what no single row shows, and hold the export back.

**When a night is blocked**: `envmill report RUN` shows what broke and what was expected ([nights](#nights)). Accept it with
`envmill review RUN --accept --note WHY` and press *Retry* on the run's page in the UI (or `envmill run --resume RUN`). Or leave it:
nothing of it is exported, its rows stay in the lake for a look, and no later night is compared with it.

## Promises

At the end of each step SQL finds what breaks a promise among the rows the step has written. At the end of a run every promise of
every table is asked once more. What happens depends on the promise:

- **row**: the row goes to the table `quarantine` as it was found, with the promise and what was wrong. No later step reads it. A
  subject that is left without a child, or without the row it was kept for, gets a new exit: `dropped`, reason `quality`. The step
  goes on.
- **claim**: an exit tells of a child that no row stands for, because another subject made the same. The subject loses that child
  in the same way.
- **invariant**: the ledger does not add up. The step fails and names promise and rows; nothing is set aside. Retry judges again.

The outcome is the artifact `quality` on the run's page, and a row of `gate_evidence` with gate `quality`.
The engine walked bare (`envmill.pipeline.runner`) judges nothing.

```sql
select table_name, promise, count(*) as "rows", any_value(detail) as example from quarantine where run = '…' group by all;
```
"""


_NIGHTS = """
## Nights

Before a run exports, its rows become pandas frames, one for each table below, and a suite of Great Expectations runs over each frame.
A suite says what every row keeps (filled, unique, within a range, one of some words, refers to a row that is there) and where the mean of
a column should lie. The bounds of a mean come from the last {nights} nights of the same settings: runs that differ only in seed, size and
budget. They are the centre of those nights, plus and minus Student's quantile times the wider of two spreads: how the nights
differ from each other, and what chance does to a night of this size. A quiet night's mean lies outside with probability {doubt:g}. With
fewer than {least} nights, or fewer than {rows} rows, a mean is not compared.

An expectation that is not met fails the run before `scenarios-export`, with the column, what was expected and what is there. Nothing of the
night is exported, by `envmill export` neither, until somebody accepts it as it is:

```sh
envmill report RUN                                        # its page links the Data Docs: every expectation and what was found
envmill review RUN --accept --note "the new prompt asks for longer requests"
```

Then Retry goes on with the export. The review is a row of `reviews` with subject `run:RUN`. A night that was accepted is one of the
nights that later ones are compared with; one that was not is none. What a night measured and broke is a row of `gate_evidence` with gate
`night`, and the artifact `night` on the run's page. Great Expectations and pandas take about five seconds of a processor,
once a run: 1.6 % of what a night of twenty environments with six scenarios takes with the embedded author (`make bench`, at most 5 %).

```sql
select run, finding ->> 'broken' as broken from gate_evidence where gate = 'night' order by written_at desc;
```

How well this works is tested on drawn nights (`tests/quality/nights.py`: twenty environments with six scenarios each, whose scenarios
share their environment's luck): each of eleven kinds of drift is found in every draw, and fifty quiet nights raise at most one alarm.
Drawn nights are plumbing; how nights of a model differ from each other has not been measured. A reader who
knew nothing of EnvMill was given the list of expectations without their descriptions, and asked of ten planted changes which of them would
fail: ten right answers, six of them with a guess at what a column means. Three columns got names that say it since then.

Data Docs of such a night, with a drift of your choice, are shown by

```sh
python -m tests.quality.drifted night longer requests      # night/index.html; the other drifts: tests/quality/nights.py
```
"""


def render() -> str:
    """One section per table."""
    promises = "".join(
        f"\n{section}\n" for section in ("\n".join(_section(found)) for found in PROMISES.values())
    )
    nights = _NIGHTS.format(nights=NIGHTS, doubt=DOUBT, least=LEAST_NIGHTS, rows=LEAST_ROWS)
    return (
        _HEAD
        + promises
        + nights
        + "".join(f"\n{section}\n" for section in ("\n".join(_describe(frame)) for frame in FRAMES))
    )


def _describe(frame: RowFrame) -> Iterator[str]:
    yield f"## Frame `{frame.name}`"
    yield ""
    yield f"{frame.about}."
    yield ""
    yield "| column | what it is | every row | mean |"
    yield "|---|---|---|---|"
    for one in frame.columns:
        kept = ", ".join(list_rules(one))
        yield f"| `{one.name}` | {one.about} | {kept} | {'compared' if one.drifts else ''} |"


def _section(found: TablePromises) -> Iterator[str]:
    yield f"## `{found.table}`"
    yield ""
    yield "| promise | severity | what is promised |"
    yield "|---|---|---|"
    for promise in found.promises:
        yield f"| `{promise.name}` | {promise.severity} | {promise.about} |"


if __name__ == "__main__":
    sys.stdout.write(render())
