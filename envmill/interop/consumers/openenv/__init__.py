"""OpenEnv (Hugging Face): one environment that plays any exported scenario, with its server, client
and container."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from envmill.interop.consumers.base import Consumer, fill_needs
from envmill.interop.consumers.sessions import ScenarioRow

PACKAGE = "envmill_openenv"
VERSIONS = {"openenv": "0.10.0"}
_HERE = Path(__file__).parent


def _write_papers(rows: Sequence[ScenarioRow]) -> dict[str, str]:
    counts = ", ".join(
        f"{split}: {count}" for split, count in sorted(Counter(row.split for row in rows).items())
    )
    return {
        "openenv.yaml": _read("openenv.yaml").replace("COUNTS", f"{{{counts}}}"),
        "pyproject.toml": fill_needs(_read("distribution.toml"), VERSIONS),
        "server/__init__.py": "",
        "server/app.py": _read("server.py"),
        "server/Dockerfile": _read("Dockerfile"),
    }


def _read(name: str) -> str:
    return (_HERE / "papers" / name).read_text(encoding="utf-8")


CONSUMER = Consumer(
    name="openenv",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=_write_papers,
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
)
