"""A hand-written environment of kind `dialogue` as a bundle folder: the support line of a card reader. Its program runs only in the jail.

`python -m tests.samples.dialogue` composes its scenarios anew out of faults and writes them into the folder.
"""

from functools import cache
from pathlib import Path

from envmill.interop.bundles import Folder, read_folder

HERE = Path(__file__).parent


@cache
def load() -> Folder:
    """The environment with its scenarios."""
    return read_folder(HERE / "reader")
