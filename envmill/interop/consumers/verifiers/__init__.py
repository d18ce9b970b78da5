"""verifiers v1 (PrimeIntellect): a taskset with tools over MCP, whose rewards can be computed again
offline."""

from pathlib import Path

from envmill.interop.consumers.base import Consumer, write_distribution

PACKAGE = "envmill_verifiers"
VERSIONS = {"verifiers": "0.4.0"}
_HERE = Path(__file__).parent


CONSUMER = Consumer(
    name="verifiers",
    package=PACKAGE,
    adapter=_HERE / "adapter",
    versions=VERSIONS,
    papers=write_distribution(_HERE, VERSIONS),
    about=(_HERE / "about.md").read_text(encoding="utf-8"),
)
