"""The promises as documentation: `python -m quality.reference > docs/quality.md`."""

import sys
from collections.abc import Iterator

from quality.promise import TablePromises
from quality.promises import PROMISES

_HEAD = """# Quality: what every table promises

Written from `quality/promises/`; `python -m quality.reference > docs/quality.md` renews it.

At the end of each step SQL finds what breaks a promise among the rows the step has written. At the end of a run every promise of
every table is asked once more, and one Great Expectations suite per table states the outcome. What happens depends on the promise:

- **row**: the row goes to the table `quarantine` as it was found, with the promise and what was wrong. No later step reads it. A
  subject that is left without a child, or without the row it was kept for, gets a new exit: `dropped`, reason `quality`. The step
  goes on.
- **claim**: an exit tells of a child that no row stands for, because another subject made the same. The subject loses that child
  in the same way.
- **invariant**: the ledger does not add up. The step fails and names promise and rows; nothing is set aside. Retry judges again.

The outcome is the artifact `quality` on the run's page, and a row of `gate_evidence` with gate `quality`. Importing Great
Expectations takes several seconds; a run pays them once, at its end or when an invariant breaks. A step's own check is SQL alone.
The engine walked bare (`envmill.pipeline.runner`) judges nothing.

```sql
select table_name, promise, count(*) as "rows", any_value(detail) as example from quarantine where run = '…' group by all;
```
"""


def render() -> str:
    """One section per table."""
    return _HEAD + "".join(f"\n{section}\n" for section in ("\n".join(_section(found)) for found in PROMISES.values()))


def _section(found: TablePromises) -> Iterator[str]:
    yield f"## `{found.table}`"
    yield ""
    yield "| promise | severity | what is promised |"
    yield "|---|---|---|"
    for promise in found.promises:
        yield f"| `{promise.name}` | {promise.severity} | {promise.about} |"


if __name__ == "__main__":
    sys.stdout.write(render())
