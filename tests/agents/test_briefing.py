"""What an agent is told before the first message: its policy document, and the day and time that
its request may speak of."""

import pytest

from envmill.agents.briefing import brief_agent
from envmill.runtime.briefing import brief
from schemas.folder import NOWHERE
from tests.interop.harbor.machines import SHARE
from tests.specimens import make_environment

MONDAY = "2026-03-02T09:00:00+00:00"


@pytest.mark.parametrize(
    ("document", "clock", "told"),
    [
        ("Lend nothing.\n", MONDAY, "Lend nothing.\n\nIt is Monday, 2026-03-02, 09:00."),
        ("", MONDAY, "It is Monday, 2026-03-02, 09:00."),
        ("Lend nothing.", "", "Lend nothing."),
        ("", "", ""),
        ("Lend nothing.", "soon", "Lend nothing."),
        ("", "2024-02-29T23:59:30", "It is Thursday, 2024-02-29, 23:59."),
    ],
)
def test_the_time_comes_after_the_policy_document(document: str, clock: str, told: str) -> None:
    assert brief(document, clock) == told


def test_a_machine_has_a_clock_of_its_own_and_released_work_names_its_own_day() -> None:
    shed = make_environment(policy_document="Be brief.")
    released = make_environment(
        policy_document="Be brief.", origin=NOWHERE.model_copy(update={"provider": "released"})
    )
    assert brief_agent(shed, MONDAY) == "Be brief.\n\nIt is Monday, 2026-03-02, 09:00."
    assert brief_agent(released, MONDAY) == "Be brief."
    assert "2026" not in brief_agent(SHARE, MONDAY)
