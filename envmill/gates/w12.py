"""W12: relations between calls that hold whatever the program is about."""

from collections.abc import Callable, Iterator, Mapping

from envmill.gates import amounts, bystanders, relations, vocabulary
from envmill.gates.base import Built, Finding, Means, drop, keep, skip
from envmill.gates.stops import Tour
from envmill.gates.tour import take_tour
from schemas.ledger import ReasonClass

GATE = "W12"
CODES: Mapping[str, ReasonClass] = {}


async def look(built: Built, means: Means) -> Finding:
    """The first relation that is broken."""
    tour = await take_tour(built, means)
    if not tour.stops:
        return skip(GATE, "no_state", "no state is known to start from: give tests or examples")
    for relation in RELATIONS:
        breaches = (drop(GATE, breach.reason, breach.words, breach.evidence) for breach in relation(built, tour))
        for finding in tour.heed(breaches, means):
            return finding
    return keep(GATE, {"echoes": len(tour.echoes), "twins": len(tour.twins), "writes": sum(1 for _ in tour.writes())})


RELATIONS: tuple[Callable[[Built, Tour], Iterator[relations.Breach]], ...] = (
    relations.reads_change_nothing,
    relations.order_of_rows_is_nothing,
    relations.writes_are_visible,
    relations.list_agrees_with_get,
    relations.filters_are_subsets,
    relations.searches_find_all,
    relations.searches_find_parts,
    relations.states_stand_alone,
    relations.rows_are_not_overwritten,
    bystanders.others_are_left_alone,
    vocabulary.attributes_are_spelt_alike,
    vocabulary.values_are_known,
    vocabulary.transitions_are_made,
    amounts.totals_are_added_to,
    amounts.amounts_are_booked_once,
)
"""In the order in which they are asked: the plainest word for a fault first."""
