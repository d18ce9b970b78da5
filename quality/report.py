"""What the suites found, and how it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quality.promise import PromiseTally


@dataclass(frozen=True)
class TableReport:
    """One table after its suite ran."""

    table: str
    rows: int
    promises: tuple[str, ...]
    broken: Mapping[str, int]
    """Promise → how many break it."""
    aside: Mapping[str, int]
    """Promise → rows that broke it and were set aside."""


@dataclass(frozen=True)
class Report:
    """A run held to its promises."""

    findings: tuple[TableReport, ...]

    @property
    def holds(self) -> bool:
        return not any(finding.broken for finding in self.findings)

    def to_json(self) -> list[dict[str, object]]:
        """For the dossier in gate_evidence."""
        return [
            {
                "table": one.table,
                "rows": one.rows,
                "promises": list(one.promises),
                "broken": dict(one.broken),
                "set_aside": dict(one.aside),
            }
            for one in self.findings
        ]

    def to_markdown(self) -> str:
        """A table for the run's page; tables without rows are left out unless something is wrong
        with them."""
        shown = [one for one in self.findings if one.rows or one.broken or one.aside]
        head = "| table | rows | promises | broken | set aside |\n|---|---:|---:|---|---|"
        lines = [
            f"| {one.table} | {one.rows} | {len(one.promises)} | {_count(one.broken)} | "
            f"{_count(one.aside)} |"
            for one in shown
        ]
        verdict = "Every promise holds." if self.holds else "**Promises are broken.**"
        return "\n".join((verdict, "", head, *lines))


def group_tallies(tallies: Sequence[PromiseTally]) -> dict[str, list[PromiseTally]]:
    """By table, in the order they were judged."""
    grouped: dict[str, list[PromiseTally]] = {}
    for tally in tallies:
        grouped.setdefault(tally.table, []).append(tally)
    return grouped


def _count(found: Mapping[str, int]) -> str:
    return ", ".join(f"`{promise}` {number}" for promise, number in sorted(found.items()))
