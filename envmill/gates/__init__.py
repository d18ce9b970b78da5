"""Every admission check: one table for each lap, in the order in which production runs the gates,
and the decisions over whole sets."""

from types import ModuleType
from typing import Any

from envmill.gates import (
    s1,
    s2,
    s3,
    s4,
    s5,
    s6,
    s7,
    s8,
    s9,
    s10,
    s11,
    s12,
    s13,
    s14,
    s15,
    s16,
    s17,
    s18,
    w1,
    w2,
    w3,
    w4,
    w5,
    w6,
    w7,
    w8,
    w9,
    w11,
    w12,
    w13,
)
from envmill.gates.base import EnvironmentCase, Gate, ScenarioCase, When
from envmill.gates.kinds import by_kind, find_codes
from schemas.ledger import Lap


def _make_gate(
    module: ModuleType,
    title: str,
    *,
    required: bool = True,
    asks: bool = False,
    when: When = "loop",
) -> Gate[Any]:
    """A gate from its module: `GATE` is its name, `CODES` the class of each reason code, `check`
    the function."""
    name = module.GATE
    lap: Lap = "environments" if name.startswith("W") else "scenarios"
    return Gate(
        name,
        lap,
        title,
        by_kind(name, module.check),
        required,
        asks,
        when,
        find_codes(name, module.CODES),
    )


ENVIRONMENT_GATES: tuple[Gate[EnvironmentCase], ...] = (
    _make_gate(w1, "Can agents and every consumer use the interface?"),
    _make_gate(
        w2, "Does the program import and construct, and does it give a state back unchanged?"
    ),
    _make_gate(
        w3, "Does every stored test end as it expects: in success or in an anticipated rejection?"
    ),
    _make_gate(w9, "Does the program stay within the jail?"),
    _make_gate(w6, "Are odd arguments rejected without a crash, and are the stated limits kept?"),
    _make_gate(w7, "Does a rejected call change nothing?"),
    _make_gate(
        w8, "Does every tool succeed at least once, and does every declared write change something?"
    ),
    _make_gate(w11, "Do replies report truthfully what was done?"),
    _make_gate(w12, "Do reads, writes, lists and filters agree with each other?"),
    _make_gate(w13, "Do unusual but valid calls give replies that an agent can work with?"),
    _make_gate(
        w5,
        "Does the same seed give the same results everywhere, and do all tests pass with "
        "another seed?",
    ),
    _make_gate(
        w4,
        "Do two models, one that tries calls and one that judges them, find that the rules are "
        "kept?",
        required=False,
        asks=True,
    ),
)
"""The cheapest gates come first, after the two that all others need."""

SCENARIO_GATES: tuple[Gate[ScenarioCase], ...] = (
    _make_gate(
        s1, "Does the reference path replay twice without a rejection, and pass both times?"
    ),
    _make_gate(s9, "Is the request free of tool names, hidden ids and expected values?"),
    _make_gate(
        s10, "Do the request and the scenario's data agree on dates, amounts and references?"
    ),
    _make_gate(
        s8,
        "Can an agent know every argument of the reference path before its call, and does the "
        "required answer follow?",
    ),
    _make_gate(s3, "Does the reference path lose if any write, required read or fact is left out?"),
    _make_gate(s14, "Do the reference paths of sibling scenarios fail here?", when="set"),
    _make_gate(s15, "Does the request select exactly one row for each thing that it mentions?"),
    _make_gate(
        s17,
        "Does the user tell each hidden fact to an agent that asks for it, and to no other agent?",
    ),
    _make_gate(s6, "Does correct work pass, whatever way the agent does it?"),
    _make_gate(s4, "Does the verifier distinguish the reference path from its near misses?"),
    _make_gate(s5, "Does the verifier reject a change that the request does not ask for?"),
    _make_gate(
        s2, "Does doing nothing earn 0, and does acting without reading the request earn little?"
    ),
    _make_gate(s12, "Does each component have a criterion, and can each criterion fail?"),
    _make_gate(s7, "Does every generated check say yes or no at every end?"),
    _make_gate(s11, "Do the same calls give the same end and the same verdict in another process?"),
    _make_gate(
        s13,
        "Does a search that sees only its reward find no way to be paid for something else?",
        when="late",
    ),
    _make_gate(
        s18,
        "Do valid calls off the reference path give replies that an agent can work with, in the "
        "first state and in the last?",
        when="late",
    ),
    _make_gate(
        s16,
        "Does a reader understand the request as the reference path does, and does the request "
        "ask for all that is demanded?",
        required=False,
        asks=True,
    ),
)
"""The cheapest gates come first, after the one that all others need."""

GATES: dict[str, Gate[Any]] = {gate.name: gate for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)}
"""By name."""

DECISIONS: dict[str, str] = {
    "W10": "Is the program new if names and literals are ignored?",
    "F3": "Does it repeat nothing from the protected sets?",
    "F4": "Is the scenario different from every other scenario?",
    "F1": "Does at least one probe pass?",
    "F2": "Does a weak policy fail at least once?",
    "F5": "Would a group of attempts contain passes and failures?",
}
"""Gates of the filters, which check a set or rollouts: name → question."""

WHEN: dict[str, When] = {
    **{name: gate.when for name, gate in GATES.items()},
    **dict.fromkeys(("W10", "F4"), "set"),
    **dict.fromkeys(("F1", "F2", "F3", "F5"), "late"),
}
"""When each gate runs: in the repair loop and again in verify, over a whole set, or after the loop.
Only a gate of the loop sends a candidate back."""
