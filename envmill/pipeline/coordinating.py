"""Which coordinator the processes of a run share: that of the database, of the object store, or of the home."""

from envmill.lake.coordination import (
    Coordinator,
    FolderCoordinator,
    ObjectDocuments,
    PostgresDocuments,
    RemoteCoordinator,
)
from envmill.lake.stores import pick_store
from envmill.settings import Settings


def open_coordinator(settings: Settings) -> Coordinator:
    """The one that these settings call for. Whoever opens it closes it."""
    folder = settings.home / "coordination"
    if settings.database:
        return RemoteCoordinator(PostgresDocuments(settings.database.reveal()), folder)
    if "://" in settings.lake and not settings.lake.startswith("file://"):
        return RemoteCoordinator(ObjectDocuments(pick_store(settings.lake)), folder)
    return FolderCoordinator(folder)
