"""How a session starts for a scenario, a test or an oracle."""

from datetime import datetime, timedelta

from envmill.sandbox import Reset
from schemas.environment import Test
from schemas.scenario import Draft, Scenario

CLOCK = "2026-03-02T09:00:00+00:00"
"""A Monday morning: where a test does not care, and every scenario of the first recipe begins."""


def start(scenario: Scenario | Draft) -> Reset:
    """The scenario's own state, clock and seed."""
    return Reset(state=scenario.initial_state, clock=scenario.clock, seed=scenario.seed)


def start_elsewhere(draft: Draft) -> Reset:
    """The draft's state a little later, with another seed: what differs then is left to chance."""
    later = datetime.fromisoformat(draft.clock) + timedelta(minutes=7)
    return Reset(state=draft.initial_state, clock=later.isoformat(), seed=draft.seed + 1)


def start_test(test: Test) -> Reset:
    """A test's state at a fixed time with a fixed seed."""
    return Reset(state=test.initial_state, clock=CLOCK, seed=0)
