"""What processes of a run share besides the lake: leases, budgets and shares of rates.

folder of the home   processes of one machine and home; the default
PostgreSQL           processes anywhere, where ENVMILL_DATABASE is set
object store         processes anywhere, beside a lake on S3 without a database
"""

from envmill.lake.coordination.base import Coordinator, Document, ask
from envmill.lake.coordination.folder import FolderCoordinator
from envmill.lake.coordination.lease import HeldLease, hold
from envmill.lake.coordination.objects import ObjectDocuments
from envmill.lake.coordination.postgres import PostgresDocuments
from envmill.lake.coordination.remote import RemoteCoordinator

__all__ = [
    "Coordinator",
    "Document",
    "FolderCoordinator",
    "HeldLease",
    "ObjectDocuments",
    "PostgresDocuments",
    "RemoteCoordinator",
    "ask",
    "hold",
]
