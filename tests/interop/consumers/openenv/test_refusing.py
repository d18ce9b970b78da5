"""A withdrawn scenario is refused by the OpenEnv adapter at its next reset: no episode, and no
reward."""

import json
import subprocess
import sys
from pathlib import Path

from envmill.interop.consumers.openenv import CONSUMER, VERSIONS
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.specimens import make_environment, make_scenario


def test_a_withdrawn_scenario_gives_no_reward_at_its_next_reset(tmp_path: Path) -> None:
    environment = make_environment()
    folder = write_consumer(
        CONSUMER, make_export_set([(make_scenario(environment), environment)]), tmp_path
    )
    feed = tmp_path / "feed.json"
    feed.write_text('{"form": 1, "seq": 0, "withdrawn": []}')
    words = [
        sys.executable,
        "-B",
        str(Path(__file__).with_name("refusing.py")),
        str(folder),
        str(feed),
        VERSIONS["openenv"],
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    began, refused, told = json.loads(done.stdout)
    assert (began["done"], bool(began["messages"])) == (False, True)
    assert (refused["done"], refused["reward"], refused["messages"]) == (True, None, [])
    assert refused["metadata"]["refused"] == "WithdrawnError"
    assert "was withdrawn: S8: bad" in refused["metadata"]["reason"]
    assert "The recall feed cannot be read" in told["about"]
    assert began["health"] == {
        "status": "healthy",
        "recalls": {"feed": True, "seq": 0, "withdrawn": 0, "unreadable": False},
    }
    assert told["health"]["status"] == "degraded"
    assert told["health"]["recalls"] == {
        "feed": True,
        "seq": 1,
        "withdrawn": 1,
        "unreadable": True,
    }
