"""Archives of the repository, unpacked the same by every Python."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Debian 12's Python 3.11.2 knows no filter; Python 3.12 warns of none."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extractall(folder, filter="data")
        else:
            packed.extractall(folder)
