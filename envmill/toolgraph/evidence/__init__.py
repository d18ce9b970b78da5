"""Evidence by name; each looks at the same tools and knows something else."""

from envmill.toolgraph.evidence.base import Evidence
from envmill.toolgraph.evidence.conditions import Conditions
from envmill.toolgraph.evidence.label import Labels
from envmill.toolgraph.evidence.likeness import Likeness
from envmill.toolgraph.evidence.naming import Naming
from envmill.toolgraph.evidence.sharing import Sharing
from envmill.toolgraph.evidence.tables import Tables

EVIDENCE: dict[str, type[Evidence]] = {
    "naming": Naming,
    "likeness": Likeness,
    "label": Labels,
    "tables": Tables,
    "conditions": Conditions,
    "sharing": Sharing,
}
