"""Attackers by name. Doing nothing needs no plan: the gate tries it first."""

from envmill.agents.attackers.base import Attacker
from envmill.agents.attackers.over_doer import OverDoer
from envmill.agents.attackers.random_valid import RandomValid
from envmill.agents.attackers.read_everything import ReadEverything

ATTACKERS: dict[str, Attacker] = {attacker.name: attacker for attacker in (ReadEverything(), OverDoer(), RandomValid())}
