"""Which coordinator the processes of a run share: that of the database, of the object store, or of the home."""

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.lake.coordination import (
    Coordinator,
    FolderCoordinator,
    ObjectDocuments,
    PostgresDocuments,
    RemoteCoordinator,
)
from envmill.lake.lake import Lake
from envmill.lake.stores import pick_store

_FIXED = "coordinator"
_KINDS = {"": "the home it began in", "objects": "the object store"}


def open_coordinator(settings: Settings) -> Coordinator:
    """The one that these settings call for. Whoever opens it closes it."""
    folder = settings.home / "coordination"
    if settings.database:
        return RemoteCoordinator(PostgresDocuments(settings.database.reveal()), folder)
    if settings.lake.partition("://")[0] == "s3":
        return RemoteCoordinator(ObjectDocuments(pick_store(settings.lake)), folder)
    return FolderCoordinator(folder)


def agree_on_coordinator(run: str, lake: Lake, coordinator: Coordinator) -> None:
    """SettingsError for a process whose leases and budget the run's other processes do not see."""
    told = lake.fix(run, _FIXED, {"by": coordinator.identity})["by"]
    if told == coordinator.identity:
        return
    raise SettingsError(
        f"Run {run} keeps its leases and its budget in {_KINDS.get(told, 'a database')}, and this process in {coordinator.place}: "
        "they would do and pay the same work twice. Set ENVMILL_DATABASE as it is set where the run began. If no process of the "
        f"run is left there, delete {lake.store.locate(f'_fixed/run={run}/{_FIXED}.json')}, then run again."
    )
