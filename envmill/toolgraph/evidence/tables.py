"""Evidence `tables`: a tool that writes a table, and tools that read or write it later."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond

WRITTEN, READ = 0.6, 0.3
"""Strengths: the later tool finds what the first one wrote; both only read the table."""
MOST = 40
"""Maximal number of tools that are bound over one table: a table that every tool touches tells
nothing."""


class TableEvidence:
    """Needs the tables that each tool reads and writes, which environments of kind `sql`
    declare."""

    name = "tables"

    async def find(self, scene: EvidenceInput) -> Iterable[ToolBond]:
        return self._find(scene)

    def _find(self, scene: EvidenceInput) -> Iterator[ToolBond]:
        touching, writing = defaultdict[str, list[int]](list), defaultdict[str, set[int]](set)
        for index, tool in enumerate(scene.tools):
            for table in dict.fromkeys((*tool.reads, *tool.writes)):
                touching[table].append(index)
            for table in tool.writes:
                writing[table].add(index)
        for table, tools in touching.items():
            for first in tools if len(tools) <= MOST else ():
                for then in tools:
                    if first != then:
                        yield ToolBond(
                            first,
                            then,
                            WRITTEN if first in writing[table] else READ,
                            f"{self.name} ({table})",
                        )
