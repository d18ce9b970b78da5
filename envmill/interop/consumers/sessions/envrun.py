"""What opens a bundle. In an exported folder the package `envrun` itself lies here in place of this
file."""

from envmill.interop.bundles.envrun import (
    Bundle,
    Episode,
    FolderError,
    JailError,
    JudgeError,
    RunEngine,
)

__all__ = ["Bundle", "Episode", "FolderError", "JailError", "JudgeError", "RunEngine"]
