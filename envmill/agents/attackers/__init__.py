"""Attackers by name, those that do least first."""

from envmill.agents.attackers.base import Attacker, AttackerView
from envmill.agents.attackers.do_nothing import DoNothing
from envmill.agents.attackers.empty_argument import EmptyArgument
from envmill.agents.attackers.error_collector import ErrorCollector
from envmill.agents.attackers.hand_over import HandOver
from envmill.agents.attackers.over_doer import OverDoer
from envmill.agents.attackers.overwriter import Overwriter
from envmill.agents.attackers.random_valid import RandomValid
from envmill.agents.attackers.read_everything import ReadEverything
from envmill.agents.attackers.refuse import Refuse
from envmill.agents.attackers.repeat_one import RepeatOne

__all__ = ["ATTACKERS", "FOLLOWING", "Attacker", "AttackerView"]

FOLLOWING = ("random_valid", "over_doer")
"""Those that go on with what they made: ids that replies tell are arguments, too."""

ATTACKERS: dict[str, Attacker] = {
    attacker.name: attacker
    for attacker in (
        DoNothing(),
        Refuse(),
        HandOver(),
        EmptyArgument(),
        ErrorCollector(),
        ReadEverything(),
        RepeatOne(),
        RandomValid(),
        OverDoer(),
        Overwriter(),
    )
}
