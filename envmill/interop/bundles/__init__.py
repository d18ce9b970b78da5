"""Bundle folders: an environment with its tests, scenarios and verifiers as plain files, read from
anywhere and written for anyone."""

from envmill.interop.bundles.folder import Folder
from envmill.interop.bundles.reading import read_folder
from envmill.interop.bundles.writing import write_folder

__all__ = ["Folder", "read_folder", "write_folder"]
