"""What processes of a run share besides the lake: leases, budgets and shares of rates.

folder of the home   processes of one machine and home; the default
PostgreSQL           processes anywhere, where ENVMILL_DATABASE is set
object store         processes anywhere, beside a lake on S3 without a database
"""

from envmill.lake.coordination.base import Coordinator, Document, ask
from envmill.lake.coordination.folder import FolderCoordinator
from envmill.lake.coordination.lease import Lease, hold
from envmill.lake.coordination.objects import ObjectDocuments
from envmill.lake.coordination.postgres import PostgresDocuments
from envmill.lake.coordination.remote import RemoteCoordinator
from envmill.lake.stores import pick_store
from envmill.settings import Settings

__all__ = [
    "Coordinator",
    "Document",
    "FolderCoordinator",
    "Lease",
    "RemoteCoordinator",
    "ask",
    "hold",
    "open_coordinator",
]


def open_coordinator(settings: Settings) -> Coordinator:
    """The one that these settings call for. Whoever opens it closes it."""
    folder = settings.home / "coordination"
    if settings.database:
        return RemoteCoordinator(PostgresDocuments(settings.database), folder)
    if "://" in settings.lake and not settings.lake.startswith("file://"):
        return RemoteCoordinator(ObjectDocuments(pick_store(settings.lake)), folder)
    return FolderCoordinator(folder)
