"""Questions that ask for a hidden fact: those written with the scenario, and where these are few,
ones made of its name."""

from envmill.agents.users.missteps import states_value
from envmill.agents.users.naming import render_name
from schemas.scenario import UserContract

FEWEST = 5
"""Questions that each hidden fact is asked for with."""
_MADE = (
    "What is {fact}?",
    "Could you tell me {fact}?",
    "Please give me {fact}.",
    "Before I go on: may I ask for {fact}?",
    "I need to know {fact}.",
)


def list_written(contract: UserContract, name: str) -> list[str]:
    """The author's questions, each once. One that names the value shows nothing: its answer may be
    a yes."""
    return [
        *dict.fromkeys(
            one
            for one in contract.wordings.get(name, ())
            if one.strip() and not states_value(contract.facts[name], one)
        )
    ]


def list_wordings(contract: UserContract, name: str) -> list[str]:
    """Written ones first, and as many made ones as are missing."""
    written = list_written(contract, name)
    made = [one.format(fact=render_name(name, contract.facts)) for one in _MADE]
    missing = max(0, FEWEST - len(written))
    return [*dict.fromkeys([*written, *made[:missing]])]
