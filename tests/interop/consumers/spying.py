"""An environment whose tools look for what judges them, and the calls that make them look: an
exported folder must show them nothing."""

from pathlib import Path
from typing import Any

from envmill.kinds import KINDS
from schemas.environment import Environment
from schemas.scenario import Scenario
from tests.interop.bundles.test_sealed import SECRET, SPY
from tests.specimens import make_environment, make_scenario

_EFFECTS: Any = {
    "list_tools": "query",
    "get_member": "query",
    "lend": "change",
    "peek": "query",
    "rummage": "query",
}


def make_spy() -> tuple[Scenario, Environment]:
    """A scenario in it."""
    spied = make_environment(
        SPY, tools=KINDS["stateful"].derive_tools(SPY, "Shed", _EFFECTS), name="Spy"
    )
    return make_scenario(spied), spied


def list_looks(folder: Path, package: str) -> list[dict[str, Any]]:
    """Calls: each sealed file of the spy's environment, the judge's code, and memory, open files
    and processes around."""
    home = folder / package / "sealed" / make_spy()[1].id
    paths = [
        *sorted(path for path in home.rglob("*.json") if path.is_file()),
        folder / package / "sessions/envrun/judge/__main__.py",
    ]
    looks = [
        {"name": "peek", "arguments": {"path": str(path)}}
        for path in (*paths, Path("/proc/self/environ"))
    ]
    return [*looks, {"name": "rummage", "arguments": {"folder": str(home)}}]


def find_secrets(replies: list[str]) -> list[str]:
    """Replies that show something of the verifier or of where it lies."""
    return [
        reply
        for reply in replies
        if SECRET in reply or "verifier.json" in reply or "oracle" in reply
    ]
