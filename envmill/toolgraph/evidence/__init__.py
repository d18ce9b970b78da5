"""Sources of evidence by name. Each reads the same tools and finds other links."""

from envmill.toolgraph.evidence.base import EvidenceSource
from envmill.toolgraph.evidence.label import LabelEvidence
from envmill.toolgraph.evidence.likeness import LikenessEvidence
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.sharing import SharingEvidence
from envmill.toolgraph.evidence.tables import TableEvidence

EVIDENCE: dict[str, type[EvidenceSource]] = {
    "naming": NameEvidence,
    "likeness": LikenessEvidence,
    "label": LabelEvidence,
    "tables": TableEvidence,
    "sharing": SharingEvidence,
}
