"""The process's environment, read in one place."""

import os

from envmill.settings import Settings


def read_settings() -> Settings:
    """Settings of this process."""
    return Settings.read(os.environ)
