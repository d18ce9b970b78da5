"""Bundle folders: an environment with its tests, scenarios and verifiers as plain files, read from anywhere and written for anyone."""

from envmill.bundles.folder import Folder
from envmill.bundles.reading import read_folder
from envmill.bundles.writing import write_folder

__all__ = ["Folder", "read_folder", "write_folder"]
