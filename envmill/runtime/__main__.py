"""The runtime as a folder of its own: `python __main__.py FD CONFIG` runs a driver, with no package
installed."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType


def adopt() -> None:
    """Make the folder this file lies in `envmill.runtime`, whatever else goes by that name."""
    house = ModuleType("envmill")
    house.__path__ = [str(Path(__file__).resolve().parents[1])]
    sys.modules["envmill"] = house


if __name__ == "__main__":
    adopt()
    import_module("envmill.runtime.jail.driver").main()
