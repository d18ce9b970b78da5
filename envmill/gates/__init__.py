"""Every admission check: one literal table a lap, in the order in which production asks, and the decisions over whole sets."""

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
from envmill.gates.base import Built, Gate, Posed
from envmill.gates.terminals import by_kind

ENVIRONMENT_GATES: tuple[Gate[Built], ...] = (
    Gate("W1", "environments", "Can agents and every consumer use the interface?", by_kind("W1", w1.look)),
    Gate("W2", "environments", "Does the program import, construct, and give a state back as it was put in?", by_kind("W2", w2.look)),
    Gate("W3", "environments", "Does every stored test give what it expects: success or an anticipated rejection?", by_kind("W3", w3.look)),
    Gate("W9", "environments", "Does the program keep within the jail?", by_kind("W9", w9.look)),
    Gate("W6", "environments", "Are odd arguments rejected, without a crash, and told limits kept?", by_kind("W6", w6.look)),
    Gate("W7", "environments", "Does a rejected call change nothing?", by_kind("W7", w7.look)),
    Gate("W8", "environments", "Is every tool seen to succeed, and every declared write to change something?", by_kind("W8", w8.look)),
    Gate("W11", "environments", "Do replies tell the truth about what was done?", by_kind("W11", w11.look)),
    Gate("W12", "environments", "Do reads, writes, lists and filters agree with each other?", by_kind("W12", w12.look)),
    Gate("W13", "environments", "Do valid calls off the beaten path give replies an agent can work with?", by_kind("W13", w13.look)),
    Gate(
        "W5", "environments", "Does the same seed give the same everywhere, and another one leave every test true?", by_kind("W5", w5.look)
    ),
    Gate(
        "W4",
        "environments",
        "Do two readers of the rules, one who tries and one who judges, find them kept?",
        by_kind("W4", w4.look),
        required=False,
        asks=True,
    ),
)
"""Cheapest first, after the two that everything else needs."""

SCENARIO_GATES: tuple[Gate[Posed], ...] = (
    Gate("S1", "scenarios", "Does the reference path replay without a rejection, and pass, twice?", by_kind("S1", s1.look)),
    Gate("S9", "scenarios", "Does the request keep tools, hidden ids and expected values to itself?", by_kind("S9", s9.look)),
    Gate("S10", "scenarios", "Do text and structure agree on dates, amounts and references?", by_kind("S10", s10.look)),
    Gate(
        "S8",
        "scenarios",
        "Could every argument of the reference path be known before it is used, and does what is told follow?",
        by_kind("S8", s8.look),
    ),
    Gate("S3", "scenarios", "Does leaving out any write, required read or fact lose?", by_kind("S3", s3.look)),
    Gate("S14", "scenarios", "Do the reference paths of siblings fail here?", by_kind("S14", s14.look)),
    Gate("S15", "scenarios", "Does the request select one row for each thing it speaks of?", by_kind("S15", s15.look)),
    Gate("S6", "scenarios", "Does right work pass whatever way it was done?", by_kind("S6", s6.look)),
    Gate("S4", "scenarios", "Is the reference path told from its near misses?", by_kind("S4", s4.look)),
    Gate("S5", "scenarios", "Is a change that nobody asked for seen?", by_kind("S5", s5.look)),
    Gate("S2", "scenarios", "Does doing nothing earn 0, and acting without reading the request stay low?", by_kind("S2", s2.look)),
    Gate("S12", "scenarios", "Does each component have a criterion, and does each criterion count?", by_kind("S12", s12.look)),
    Gate("S7", "scenarios", "Does every generated check say yes or no at every end?", by_kind("S7", s7.look)),
    Gate("S11", "scenarios", "Is everything judged the same in another process?", by_kind("S11", s11.look)),
    Gate(
        "S13",
        "scenarios",
        "Does a search that sees nothing but what it earns find no way to be paid for something else?",
        by_kind("S13", s13.look),
    ),
)
"""Cheapest first, after the one that everything else needs."""

GATES: dict[str, Gate[Any]] = {gate.name: gate for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)}
"""By name."""

DECISIONS: dict[str, str] = {
    "W10": "Is the program new, once names and literals are erased?",
    "F3": "Does it repeat nothing of the protected sets?",
    "F4": "Does the scenario ask something no other asks?",
    "F1": "Does a probe ever pass?",
    "F2": "Does a weak policy ever fail?",
    "F5": "Would a group of attempts hold passes and failures?",
}
"""Gates of the filters, which look at a set or at rollouts: name and what they ask."""
