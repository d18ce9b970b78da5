"""Evidence `tables`: a tool that writes a table, and those that read or write it after."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond

WRITTEN, READ = 0.6, 0.3
"""A later tool meets what the first one wrote; both only read the same."""
MOST = 40
"""Tools of one table that are bound to each other: a table that everything touches tells
nothing."""


class TableEvidence:
    """Needs the tables that each tool reads and writes, as environments of kind `sql` declare
    them."""

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
