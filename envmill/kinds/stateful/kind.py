"""The kind `stateful` as one object."""

from collections.abc import Mapping

from envmill.kinds import stateful
from envmill.kinds.base import Policies
from envmill.kinds.jailed import JailedKind
from schemas.database import Table
from schemas.environment import Effect, Tool


class StatefulKind(JailedKind):
    """JSON state behind a Python class."""

    name = "stateful"

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        return stateful.derive_tools(source, class_name, effects)

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        return stateful.derive_tables(files, policies)
