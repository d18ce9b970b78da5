"""Every admission check: one literal table a lap, in the order in which production asks, and the decisions over whole sets."""

from typing import Any

from envmill.gates import s1, s2, w1, w2, w3
from envmill.gates.base import Built, Gate, Posed

ENVIRONMENT_GATES: tuple[Gate[Built], ...] = (
    Gate("W1", "environments", "Can agents and every consumer use the interface?", w1.look),
    Gate("W2", "environments", "Does the program import, construct, and give a state back as it was put in?", w2.look),
    Gate("W3", "environments", "Does every stored test give what it expects: success or an anticipated rejection?", w3.look),
)
"""Cheapest first, after the two that everything else needs."""

SCENARIO_GATES: tuple[Gate[Posed], ...] = (
    Gate("S1", "scenarios", "Does the reference path replay without a rejection, and pass, twice?", s1.look),
    Gate("S2", "scenarios", "Does doing nothing earn 0, and acting without reading the request stay low?", s2.look),
)
"""Cheapest first, after the one that everything else needs."""

GATES: dict[str, Gate[Any]] = {gate.name: gate for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)}
"""By name."""

DECISIONS: dict[str, str] = {
    "W10": "Is the program new, once names and literals are erased?",
    "F4": "Does the scenario ask something its siblings do not?",
    "F1": "Does a probe ever pass?",
}
"""Gates of the filters, which look at a set or at rollouts: name and what they ask."""
