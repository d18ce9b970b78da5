"""Scenarios by polarity: what success means, from getting things done to knowing when to leave them
alone.

state ──pose──► twins: a reply in which nothing may change, and one that differs in one fact and is to be carried out
"""

from dataclasses import replace

from offline.crowd import settle
from offline.dice import make_dice
from offline.domain import Domain
from offline.polarities.answer import pose_answer
from offline.polarities.base import Pose, Twins
from offline.polarities.clarify import pose_clarify
from offline.polarities.escalate import pose_escalate
from offline.polarities.refuse import pose_refuse
from offline.scenario import write_scenario
from offline.serving import write_served
from offline.user import introduce_user
from offline.world import play_oracle
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity

__all__ = ["POSES", "Twins", "make_twins", "write_polar"]

POSES: dict[Polarity, Pose] = {
    "answer": pose_answer,
    "refuse": pose_refuse,
    "escalate": pose_escalate,
    "clarify": pose_clarify,
}
"""Polarity → how its scenarios come about; `achieve` is what `write_scenario` makes."""
STATES = 8
"""States in which a polarity is looked for before the scenario becomes one of doing."""


def make_twins(domain: Domain, polarity: Polarity, key: str) -> Twins | None:
    """A scenario in which nothing may change and its achieving twin; none when the domain gave no
    occasion for it."""
    for again in range(STATES):
        twins = POSES[polarity](
            settle(domain, f"{polarity}/{key}/{again}"),
            make_dice(polarity, domain.theme, key, again),
        )
        if twins and (twins.achieving is None or _changes(twins.achieving, domain)):
            return replace(twins, negative=introduce_user(twins.negative))
    return None


def _changes(reply: ScenarioReply, domain: Domain) -> bool:
    """Whether something is otherwise in the end: to note what stands there already achieves
    nothing."""
    return play_oracle(domain, reply.initial_state, reply.oracle, 0, "twin") != reply.initial_state


def write_polar(
    domain: Domain, polarity: Polarity, key: str, number: int = 0, *, results: bool = False
) -> ScenarioReply:
    """A scenario of this polarity. Where the domain gives no occasion for it, one of doing: the
    reply says what it is."""
    twins = make_twins(domain, polarity, key) if polarity != "achieve" else None
    if twins:
        return twins.negative
    return (
        write_served(domain, key, number)
        if domain.servers
        else write_scenario(domain, key, number, results=results)
    )
