"""What is settled of each item and end: two readings agree, or a third one, which knows the
evidence, decided."""

from collections import defaultdict
from collections.abc import Iterator

from tests.authors.evidence import Evidence, Shown
from tests.authors.readings import GOOD, Reading


def judge_readings(kept: Evidence) -> list[tuple[Shown, bool]]:
    """Each drop and keep that two readers read, and whether it is good: they agree, or a third
    reading decided."""
    decided = {one.subject: one.good for one in kept.decided}
    found: list[tuple[Shown, bool]] = []
    for packet, said in pair_readings(kept):
        if packet.sort == "decoy" or len(said) < 2:
            continue
        goods = {one.verdict in GOOD for one in said}
        if packet.subject in decided:
            found.append((packet, decided[packet.subject]))
        elif len(goods) == 1:
            found.append((packet, goods.pop()))
    return found


def pair_readings(kept: Evidence) -> Iterator[tuple[Shown, list[Reading]]]:
    by_packet: dict[str, dict[str, Reading]] = defaultdict(dict)
    for one in kept.readings:
        by_packet[one.packet][one.reader] = one
    for packet in kept.packets:
        yield packet, list(by_packet[packet.id].values())


def settle_ends(kept: Evidence) -> list[tuple[bool, bool]]:
    """(what the verifier says, what is right) of ends on which both verifiers agree, or that a
    third reading decided."""
    decided = {one.subject: one.good for one in kept.decided}
    settled: list[tuple[bool, bool]] = []
    for one in kept.ends:
        key = f"{one.scenario}/{one.end}/{one.words}"
        if key in decided:
            settled.append((one.first, decided[key]))
        elif one.second is not None and one.second == one.first:
            settled.append((one.first, one.first))
    return settled
