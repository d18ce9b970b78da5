"""Settings of a program that names none: the variables `ENVMILL_*`, as the command line reads
them."""

import os

from envmill.base.settings import Settings


def settle(settings: Settings | None) -> Settings:
    """The settings given, or those of the process's environment."""
    return Settings.read(os.environ) if settings is None else settings
