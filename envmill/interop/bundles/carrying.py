"""What an exported folder carries so that it runs where nothing is installed: the jail, the judge,
and the few files that open both.

envrun/*.py              opens the folder
envrun/jail.py           the jail's client; envrun/briefing.py, what an agent is told first
envrun/runtime/          the runtime, whole: standard library only
envrun/judge/            our verifiers and the scripted user as they are, the records they read, stand-ins for three libraries
envrun/environment.json  program and interface
"""

from functools import cache
from pathlib import Path

import orjson

from envmill.base.settings import ROOT
from envmill.interop.bundles.envrun.judge.__main__ import HOLLOW
from envmill.interop.bundles.envrun.layout import CARRIED
from envmill.sandbox.plan import Program
from envmill.sandbox.vendor import CLIENT, list_runtime
from envmill.verifiers.version import follow_imports

_HERE = Path(__file__).parent / CARRIED
_ROOTS = (
    "envmill.verifiers.judge",
    "envmill.verifiers.progress",
    *(f"envmill.agents.users.{name}" for name in ("manners", "missteps", "requests")),
)


def list_carried(program: Program) -> dict[str, bytes]:
    """Path in the bundle folder → content."""
    own = {
        f"{CARRIED}/environment.json": orjson.dumps(
            program.message, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2
        )
    }
    return {**list_same(), **own}


@cache
def list_same() -> dict[str, bytes]:
    """Files that are the same in every folder, read once."""
    runtime = list_runtime()
    found = {
        f"{CARRIED}/{path.relative_to(_HERE)}": path.read_bytes()
        for path in sorted(_HERE.rglob("*.py"))
    }
    found |= {f"{CARRIED}/runtime/{name}": content for name, content in runtime.items()}
    found |= {
        f"{CARRIED}/judge/{path.relative_to(ROOT)}": path.read_bytes() for path in list_judge()
    }
    alone = {
        f"{CARRIED}/jail.py": runtime[CLIENT],
        f"{CARRIED}/briefing.py": runtime["briefing.py"],
    }
    return found | alone | {f"{CARRIED}/LICENSE": (ROOT / "LICENSE").read_bytes()}


def list_judge() -> list[Path]:
    """Our files that the judge and the scripted user need, found by following imports; the runtime
    lies beside them already."""
    return follow_imports(_ROOTS, HOLLOW)
