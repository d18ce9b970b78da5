"""Long scenarios of the embedded author: as many calls as asked for, and each of them is needed."""

import pytest

from offline.compose import compose_domain
from offline.scenario import write_scenario
from offline.world import play_oracle
from schemas.prompts import ScenarioReply
from schemas.seed import Brief


def write(theme: str, calls: int | None, key: str = "k") -> ScenarioReply:
    return write_scenario(
        compose_domain(Brief(theme=theme, text="x", number=0, calls=calls), 3), key
    )


@pytest.mark.parametrize(
    ("theme", "calls"), [("tool_lending", 30), ("payroll", 30), ("tool_lending", 60)]
)
def test_a_path_has_the_calls_that_were_asked_for(theme: str, calls: int) -> None:
    reply = write(theme, calls)
    assert calls <= len(reply.oracle) <= calls * 1.25
    assert write(theme, calls) == reply, "the same key gives the same scenario"
    domain = compose_domain(Brief(theme=theme, text="x", number=0, calls=calls), 3)
    assert play_oracle(domain, reply.initial_state, reply.oracle, 0, "end") != reply.initial_state


def test_no_change_of_a_long_path_is_superfluous() -> None:
    domain, reply = (
        compose_domain(Brief(theme="tool_lending", text="x", number=0, calls=30), 3),
        write("tool_lending", 30),
    )
    changes = [
        place
        for place, call in enumerate(reply.oracle)
        if domain.operations[call.name].effect == "change"
    ]
    assert len(changes) >= 10
    whole = play_oracle(domain, reply.initial_state, reply.oracle, 0, "end")
    for place in changes:
        fewer = [call for other, call in enumerate(reply.oracle) if other != place]
        assert play_oracle(domain, reply.initial_state, fewer, 0, "end") != whole


def test_a_short_wish_changes_nothing() -> None:
    assert write("tool_lending", 5) == write("tool_lending", None)
