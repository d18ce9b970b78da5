"""The brief of one scenario: what the hook `pose` of a recipe is given to write it from."""

from dataclasses import dataclass

from envmill.recipes.drafting.errands import UNPLANNED, ErrandBrief
from envmill.recipes.drafting.offered import OfferedChain
from schemas.environment import Environment
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity


@dataclass(frozen=True)
class ScenarioBrief:
    """The scenario of a number: its environment and polarity, the errand that was planned for it,
    and the chain that is offered."""

    environment: Environment
    number: int
    polarity: Polarity
    errand: ErrandBrief = UNPLANNED
    offered: OfferedChain | None = None
    """None where the author chooses the path."""
    results: bool = True
    """Whether its path may use results of earlier calls."""
    composed: ScenarioReply | None = None
    """A scenario that its kind composed, whose words are wanted; None where the author thinks it up."""
    requests: int = 1
    """How many requests it is to make, where its recipe knows how."""
