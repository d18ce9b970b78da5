"""What an agent is told before the first message, in every form that an attempt takes."""

from envmill.kinds import kind_of
from envmill.runtime.briefing import brief
from schemas.environment import Environment


def knows_time(environment: Environment) -> bool:
    """Whether an agent is told the session's day and time.

    A machine has a clock of its own. What others released names its own day, where it names one:
    ours would contradict it.
    """
    return kind_of(environment).keeps_clock and environment.origin.provider != "released"


def brief_agent(environment: Environment, clock: str) -> str:
    """The policy document, and the day and time of a session that begins at `clock`. A request may
    say `today`."""
    return brief(environment.policy_document, clock if knows_time(environment) else "")
