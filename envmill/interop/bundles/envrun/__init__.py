"""An exported environment, opened where EnvMill is not installed: its scenarios played in the jail
that lies beside this file, and judged.

with envrun.open() as bundle:
    episode = bundle.begin("000")
    episode.messages, bundle.tools()      what a policy is shown
    episode.call("lend", {"tool_id": "T1"})
    episode.say("Done.")
    episode.score()                       outcome, reward, components, reason, evidence
"""

from .bundle import Bundle, RunEngine
from .bundle import open_bundle as open
from .court import JudgeError
from .episode import Episode
from .files import FolderError
from .jail import JailError

__all__ = ["Bundle", "Episode", "FolderError", "JailError", "JudgeError", "RunEngine", "open"]
