"""Composing: n faults of one system, drawn so that whoever mends them can find out how, and asked
for by what is noticed.

Difficulty is how many there are and of which sorts. What cannot be derived, or would be told by its
request, is refused with a reason.
"""

import random
import re

from envmill.base.errors import SettingsError
from envmill.kinds.terminal.breaking import list_faults
from envmill.kinds.terminal.breaking.base import read_lines
from envmill.sandbox.machines.healthy import Healthy
from schemas.system import BrokenSystem, Fault, Proof

LONG = 4
"""Letters from which on a value is looked for in a request; shorter ones stand in every other
word."""


def compose(healthy: Healthy, count: int, dice: random.Random) -> BrokenSystem:
    """So many faults in places of their own, in the order in which they are made."""
    faults = list(list_faults(healthy, dice))
    dice.shuffle(faults)
    chosen: list[Fault] = []
    for fault in faults:
        if len(chosen) < count and not any(find_shared(fault, each) for each in chosen):
            chosen.append(fault)
    if len(chosen) < count:
        raise SettingsError(
            f"{healthy.system.name} has no {count} places apart: ask for {len(chosen)} faults at "
            "most.",
            count=count,
        )
    return BrokenSystem(system=healthy.system.name, variation=healthy.variation, faults=chosen)


def find_underivable(healthy: Healthy, broken: BrokenSystem) -> list[str]:
    """What somebody would have to know and cannot read anywhere: each with the operator that asks
    for it."""
    page = "\n".join(read_lines(healthy, healthy.system.page))
    handles = {each.name: each for each in healthy.system.handles}
    lacking: list[str] = []
    for fault in broken.faults:
        told = handles[fault.handle].told if fault.handle in handles else ""
        text = page + ("\n".join(read_lines(healthy, told)) if told else "")
        lacking += [
            f"{fault.operator} at {fault.handle}: {each}"
            for each in fault.right
            if each not in text
        ]
    return lacking


def write_request(healthy: Healthy, proof: Proof, dice: random.Random) -> str:
    """What is asked, from what is noticed: the words belong to probes, so no fault can speak
    through them."""
    complaints = [healthy.system.complaints[probe] for probe in choose_probes(healthy, proof)]
    dice.shuffle(complaints)
    opening = dice.choice(OPENINGS)
    return (
        f"{opening} {'; '.join(complaints)}. "
        f"{dice.choice(CLOSINGS).format(page=healthy.system.page)}"
    )


OPENINGS = (
    "Since this morning something is wrong here:",
    "Could you have a look at this machine? One hears this:",
    "People complain about this machine:",
    "Something broke after yesterday's changes, and nobody knows what:",
)
CLOSINGS = (
    "Please bring it back to how {page} describes it, so that it stays so after a restart. Leave "
    "everything else as it is.",
    "What it should be like is in {page}. Put it right for good, restarts included, and change "
    "nothing that is not broken.",
)


def choose_probes(healthy: Healthy, proof: Proof) -> list[str]:
    """Of probes that fail over the very same thing only the first: of the others nobody could say
    whether they would fail."""
    ends: dict[str, str] = {}
    for probe in healthy.system.complaints:
        if said := proof.symptoms.get(probe):
            ends.setdefault(said.rpartition("` ends with ")[2], probe)
    return list(ends.values())


def find_leaks(request: str, healthy: Healthy, broken: BrokenSystem) -> list[str]:
    """What a request gives away: the name of an operator, a wrong value, a place, or a right value
    that no complaint may name."""
    allowed = " ".join([*healthy.values.values(), healthy.system.page])
    leaks: list[str] = []
    for fault in broken.faults:
        words = [
            fault.operator.replace("_", " "),
            *(place for place in fault.places),
            fault.wrong,
            *fault.right,
        ]
        leaks += [
            each
            for each in words
            if len(each) >= LONG and each not in allowed and _holds(request, each)
        ]
    return sorted(set(leaks))


def find_shared(one: Fault, other: Fault) -> str:
    """A place that both change, where one could undo or cover the other; empty for none."""
    if one.shares and other.shares and one.handle != other.handle:
        return ""
    pairs = [(a, b) for a in one.places for b in other.places]
    return next(
        (a for a, b in pairs if a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")), ""
    )


def rate(broken: BrokenSystem) -> dict[str, int]:
    """Difficulty as far as it is known before anybody tried: how many faults, and of how many
    sorts."""
    return {"faults": len(broken.faults), "sorts": len({fault.operator for fault in broken.faults})}


def write_oracle(broken: BrokenSystem, restart: str) -> list[str]:
    """The steps that mend it, last fault first, then a restart."""
    return [*(fault.mend_script for fault in broken.faults[::-1]), restart]


def _holds(request: str, word: str) -> bool:
    return (
        re.search(rf"(?<![\w/.-]){re.escape(word)}(?![\w/-])", request, re.IGNORECASE) is not None
    )
