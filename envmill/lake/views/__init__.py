"""Views: a few questions people ask daily, with stable names. A view may read the tables, and views
that stand before it here."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from envmill.lake.lake import Lake
from envmill.lake.views.base import View
from envmill.lake.views.bounds import BOUNDS
from envmill.lake.views.chains import CHAINS
from envmill.lake.views.conversations import CONVERSATIONS
from envmill.lake.views.cost_per_kept import COST_PER_KEPT
from envmill.lake.views.defects import DEFECTS
from envmill.lake.views.exits import EXITS
from envmill.lake.views.failures import FAILURES
from envmill.lake.views.funnel import FUNNEL
from envmill.lake.views.novelty import NOVELTY, RAREFACTION
from envmill.lake.views.opening import connect
from envmill.lake.views.pass_rate import PASS_RATE
from envmill.lake.views.repairs import REPAIRS
from envmill.lake.views.runs import RUNS
from envmill.lake.views.sealed import SEALED
from envmill.lake.views.spending import SPENDING
from envmill.lake.views.tiers import TIERS
from envmill.lake.views.trainability import TRAINABILITY
from envmill.lake.views.user_faults import USER_FAULTS
from envmill.lake.views.versions import VERSIONS
from envmill.lake.views.yields import YIELD

__all__ = ["VIEWS", "View", "open_views"]

_ALL = (
    *(RUNS, EXITS, FUNNEL, YIELD, PASS_RATE, CONVERSATIONS, USER_FAULTS, COST_PER_KEPT),
    *(
        SPENDING,
        VERSIONS,
        REPAIRS,
        SEALED,
        DEFECTS,
        TRAINABILITY,
        FAILURES,
        BOUNDS,
        TIERS,
        CHAINS,
        NOVELTY,
        RAREFACTION,
    ),
)
VIEWS: dict[str, View] = {view.name: view for view in _ALL}


def open_views(
    lake: Lake, runs: Sequence[str] | None = None, memory: str = "", question: str = ""
) -> DuckDBPyConnection:
    """Every table and view of these runs (of all, when none is named) in a database that reads
    their files and nothing else.

    `memory` bounds what a question may hold, for example `1GB`. With `question` only what that one names is there, in a third of the time.
    """
    return connect(lake, VIEWS, lake.runs() if runs is None else runs, memory, question)
