"""The process's environment, read in one place."""

import os
from pathlib import Path

from envmill.base.settings import Settings
from flows.local.private import read_keys


def read_settings() -> Settings:
    """Settings of this process. A flow run of a home takes the keys of models from the home's file;
    no process between them had them."""
    if home := os.environ.get("ENVMILL_HOME"):
        os.environ.update(read_keys(Path(home)))
    return Settings.read(os.environ)
