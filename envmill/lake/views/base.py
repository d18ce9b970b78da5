"""A view: a daily question to the lake, with a stable name."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """SQL over one lake, run by run: each of its rows belongs to one run, so that rows of finished
    runs can be kept as files."""

    name: str
    sql: str
    """One SELECT over tables and over views that stand before it in the table; it has a column
    `run`."""
    about: str
    """What it says, for people."""
    columns: Mapping[str, str]
    """Column → meaning, in the order of the SELECT."""
    questions: tuple[tuple[str, str], ...]
    """Worked queries: what is asked, and how."""
    order: str = ""
    """What its rows are sorted by, over all runs."""


STAGES = "['mine', 'generate', 'build', 'verify', 'filter', 'collect', 'export']"
"""Stages as an SQL list: their place in it sorts them."""

LINE_ORDER = f"run, lap, list_position({STAGES}, stage)"


def sum_cost(cost: str = "cost") -> str:
    """SQL for money: null as soon as one price is unknown. A sum over the known part would look
    like the whole."""
    return f"case when count({cost}) = count(*) then sum({cost}) end"
