"""Every admission check: one literal table a lap, in the order in which production asks, and the
decisions over whole sets."""

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
    _make_gate(w2, "Does the program import, construct, and give a state back as it was put in?"),
    _make_gate(
        w3, "Does every stored test give what it expects: success or an anticipated rejection?"
    ),
    _make_gate(w9, "Does the program keep within the jail?"),
    _make_gate(w6, "Are odd arguments rejected, without a crash, and told limits kept?"),
    _make_gate(w7, "Does a rejected call change nothing?"),
    _make_gate(w8, "Is every tool seen to succeed, and every declared write to change something?"),
    _make_gate(w11, "Do replies tell the truth about what was done?"),
    _make_gate(w12, "Do reads, writes, lists and filters agree with each other?"),
    _make_gate(w13, "Do valid calls off the beaten path give replies an agent can work with?"),
    _make_gate(
        w5, "Does the same seed give the same everywhere, and another one leave every test true?"
    ),
    _make_gate(
        w4,
        "Do two readers of the rules, one who tries and one who judges, find them kept?",
        required=False,
        asks=True,
    ),
)
"""Cheapest first, after the two that everything else needs."""

SCENARIO_GATES: tuple[Gate[ScenarioCase], ...] = (
    _make_gate(s1, "Does the reference path replay without a rejection, and pass, twice?"),
    _make_gate(s9, "Does the request keep tools, hidden ids and expected values to itself?"),
    _make_gate(s10, "Do text and structure agree on dates, amounts and references?"),
    _make_gate(
        s8,
        "Could every argument of the reference path be known before it is used, and does what is "
        "told follow?",
    ),
    _make_gate(s3, "Does leaving out any write, required read or fact lose?"),
    _make_gate(s14, "Do the reference paths of siblings fail here?", when="set"),
    _make_gate(s15, "Does the request select one row for each thing it speaks of?"),
    _make_gate(
        s17, "Does the user tell each hidden fact to an agent that asks for it, and to no other?"
    ),
    _make_gate(s6, "Does right work pass whatever way it was done?"),
    _make_gate(s4, "Is the reference path told from its near misses?"),
    _make_gate(s5, "Is a change that nobody asked for seen?"),
    _make_gate(s2, "Does doing nothing earn 0, and acting without reading the request stay low?"),
    _make_gate(s12, "Does each component have a criterion, and does each criterion count?"),
    _make_gate(s7, "Does every generated check say yes or no at every end?"),
    _make_gate(s11, "Is everything judged the same in another process?"),
    _make_gate(
        s13,
        "Does a search that sees nothing but what it earns find no way to be paid for something "
        "else?",
        when="late",
    ),
    _make_gate(
        s18,
        "Do calls off the reference path give replies an agent can work with, from its first "
        "state and its last?",
        when="late",
    ),
    _make_gate(
        s16,
        "Is the request understood as the reference path does it, and is all that is demanded "
        "asked for?",
        required=False,
        asks=True,
    ),
)
"""Cheapest first, after the one that everything else needs."""

GATES: dict[str, Gate[Any]] = {gate.name: gate for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)}
"""By name."""

DECISIONS: dict[str, str] = {
    "W10": "Is the program new, once names and literals are erased?",
    "F3": "Does it repeat nothing of the protected sets?",
    "F4": "Is the scenario no duplicate of another one?",
    "F1": "Does a probe ever pass?",
    "F2": "Does a weak policy ever fail?",
    "F5": "Would a group of attempts hold passes and failures?",
}
"""Gates of the filters, which look at a set or at rollouts: name and what they ask."""

WHEN: dict[str, When] = {
    **{name: gate.when for name, gate in GATES.items()},
    **dict.fromkeys(("W10", "F4"), "set"),
    **dict.fromkeys(("F1", "F2", "F3", "F5"), "late"),
}
"""When each gate is asked: in the repair loop and again in verify, over a whole set, or after the
loop. Only the loop sends back."""
