"""W12: relations between calls hold. They do not depend on the program's subject."""

from collections.abc import Callable, Iterator, Mapping

from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, drop, gather, skip
from envmill.gates.exploring import amounts, bystanders, filters, numbering, relations, vocabulary
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun
from schemas.ledger import ReasonClass

GATE = "W12"
CODES: Mapping[str, ReasonClass] = {
    # One state, two answers, or a row that is gone: no description can say that this is meant.
    "query_changes": "proof",
    "stale_read": "proof",
    "row_missed": "proof",
    "hidden_link": "proof",
    "row_overwritten": "proof",
    # The statement that says of no row which one is meant stands in the program, and no other row
    # explains the value.
    "every_row_changed": "proof",
    # The call names a row and the value that it is to hold, and every other row comes to hold it.
    "value_set_elsewhere": "proof",
    # Several values that rows show, and the filter that is named like their field does the same
    # with each.
    "filter_inverted": "proof",
    "filter_ignored": "proof",
    "filter_finds_nothing": "proof",
    # Conventions of ours, or relations that are read from names and words: a program may be right
    # and do otherwise.
    **dict.fromkeys(relations.ASKED, "suspicion"),
}

_MOST = 12
"""Maximal number of findings reported for one version."""


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Every relation that is broken, each once for a tool."""
    exploration = await explore(built, means)
    if not exploration.calls:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    firsts: dict[tuple[str, str], Finding] = {}
    breaches = (breach for relation in RELATIONS for breach in relation(built, exploration))
    for finding in exploration.admit(map(_judge, breaches), means):
        firsts.setdefault((finding.reason, finding.detail.split()[0]), finding)
    found = sorted(firsts.values(), key=lambda one: CODES[one.reason] != "proof")
    return gather(
        GATE,
        found[:_MOST],
        {
            "echoes": len(exploration.read_pairs),
            "twins": len(exploration.write_pairs),
            "writes": sum(1 for _ in exploration.writes()),
        },
    )


def _judge(breach: relations.BrokenRelation) -> Finding:
    if CODES[breach.reason] == "proof":
        return drop(GATE, breach.reason, breach.words, breach.evidence)
    return doubt(
        GATE,
        breach.reason,
        breach.words,
        f"{breach.words}. {relations.ASKED[breach.reason]}",
        breach.evidence,
    )


RELATIONS: tuple[
    Callable[[EnvironmentCase, ExplorationRun], Iterator[relations.BrokenRelation]], ...
] = (
    relations.reads_change_nothing,
    relations.order_of_rows_is_nothing,
    relations.writes_are_visible,
    relations.list_agrees_with_get,
    relations.filters_are_subsets,
    filters.filters_choose_rows,
    relations.searches_find_all,
    relations.searches_find_parts,
    relations.states_stand_alone,
    relations.rows_are_not_overwritten,
    numbering.numbers_are_new,
    bystanders.others_are_left_alone,
    bystanders.others_are_not_changed_instead,
    vocabulary.attributes_are_spelt_alike,
    vocabulary.values_are_known,
    vocabulary.transitions_are_made,
    amounts.totals_are_added_to,
    amounts.amounts_are_booked_once,
    amounts.numbers_stay_above_zero,
)
"""In the order in which they are asked: the plainest word for a fault first."""
