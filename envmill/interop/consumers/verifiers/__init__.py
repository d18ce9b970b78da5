"""verifiers v1 (PrimeIntellect): a taskset with tools over MCP, whose rewards can be computed again offline."""

from collections.abc import Sequence
from pathlib import Path

from envmill.interop.consumers.base import Consumer, fill_needs
from envmill.interop.consumers.sessions import ScenarioRow

PACKAGE = "envmill_verifiers"
VERSIONS = {"verifiers": "0.4.0"}
_HERE = Path(__file__).parent


def _write_papers(rows: Sequence[ScenarioRow]) -> dict[str, str]:  # noqa: ARG001  the same for all rows
    return {"pyproject.toml": fill_needs((_HERE / "distribution.toml").read_text(encoding="utf-8"), VERSIONS)}


CONSUMER = Consumer(
    name="verifiers",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=_write_papers,
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
)
