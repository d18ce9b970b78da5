"""The truth about ends: where the reference path leads in the model of the domain, which shares no
code with programs and verifiers."""

from copy import deepcopy

from envmill.gates.exploring.equivalence import is_same_end
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox.results import settle_one
from envmill.verifiers.bounds import Truth
from offline.compose import compose_domain
from offline.domain import TODAY, Domain
from offline.world import DomainWorld
from schemas.base import Json, is_object
from schemas.environment import Environment
from schemas.scenario import Scenario


def find_truth(scenario: Scenario, environment: Environment, seed: int) -> Truth | str:
    """What says so of this scenario's ends, or why nothing can."""
    if environment.origin.provider != "offline":
        return "no model of the domain is known: the environment is not the offline author's"
    if (
        scenario.polarity != "achieve"
        or scenario.verifier.facts
        or scenario.verifier.procedure
        or scenario.verifier.harm
    ):
        return (
            "the model of the domain says which states are right, not what must be said or done "
            "on the way"
        )
    if environment.brief.outline is None and environment.brief.theme not in dict(read_themes()):
        return f"no model of the domain {environment.brief.theme} is known"
    domain = compose_domain(environment.brief, seed)
    if not _is_of(scenario.initial_state, domain):
        return "the model of the domain was composed with the run's seed, and this is another"
    world = DomainWorld(domain, deepcopy(scenario.initial_state), TODAY, "truth")
    results: dict[int, Json] = {}
    for stored in scenario.oracle:
        operation, call = domain.operations.get(stored.name), settle_one(stored, results)[0]
        if operation is None:
            return f"the model of the domain has no operation {call.name}"
        if operation.effect == "change" or stored.label:
            if set(call.arguments) != {each.name for each in operation.takes} or not world.allows(
                operation, call.arguments
            ):
                return f"the model of the domain refuses {call.name} on the reference path"
            results[stored.label] = deepcopy(world.answer(operation, call.arguments))
    # Of tables by their policies: a column of real numbers gives back 0 as 0.0.
    return lambda final: is_same_end(scenario.initial_state, world.state, final, environment.tables)


def _is_of(state: Json, domain: Domain) -> bool:
    """Whether a state has the domain's collections and their rows its attributes, besides their
    keys."""
    if state.keys() != domain.collections.keys() or not all(map(is_object, state.values())):
        return False
    known = {name: collection.attributes.keys() for name, collection in domain.collections.items()}
    return all(
        is_object(row) and row.keys() - {"id"} == known[name]
        for name, rows in state.items()
        for row in rows.values()
    )
