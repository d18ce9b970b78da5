"""Sessions on a set of exported scenarios, where EnvMill is not installed: what every consumer's
adapter is built on.

rows (public) ──find──► row ──begin──► session: call · say ──► judge ──► judgement (pass, fail, or error: nothing was found out)

    scenarios = open_set()                    the set that lies beside this package
    session = scenarios.begin(scenarios.rows[0].id)
    session.call("lend", {"tool_id": "T1"})   what a policy is answered
    session.say("Done.")
    session.judge()                           outcome, reward, hash of the state

Standard library only. The programs run in the jail that lies in `envrun`, and the verdicts are
those of its judge.
"""

from .calls import render_reply
from .envrun import JailError, JudgeError
from .lanes import Lane
from .recalls import FeedError, RecallFeed, WithdrawnError
from .rows import OutageError, ScenarioRow, SetError
from .scenario_set import ScenarioSet, open_set
from .session import ScenarioSession, SessionVerdict

__all__ = [
    "FeedError",
    "JailError",
    "JudgeError",
    "Lane",
    "OutageError",
    "RecallFeed",
    "ScenarioRow",
    "ScenarioSession",
    "ScenarioSet",
    "SessionVerdict",
    "SetError",
    "WithdrawnError",
    "open_set",
    "render_reply",
]
