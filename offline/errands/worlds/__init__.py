"""Worlds by category."""

from collections.abc import Callable

from offline.errands.base import ErrandWorld, WorldSite
from offline.errands.worlds import (
    archives,
    c_builds,
    config_formats,
    cron_jobs,
    data_cleaning,
    disk_cleanup,
    git_repositories,
    log_analysis,
    loopback_networking,
    permissions,
    python_packages,
    services,
    shell_scripts,
    sqlite_databases,
    text_files,
)

WORLDS: dict[str, Callable[[WorldSite], ErrandWorld]] = {
    "archives": archives.make,
    "c_builds": c_builds.make,
    "config_formats": config_formats.make,
    "cron_jobs": cron_jobs.make,
    "data_cleaning": data_cleaning.make,
    "disk_cleanup": disk_cleanup.make,
    "git_repositories": git_repositories.make,
    "log_analysis": log_analysis.make,
    "loopback_networking": loopback_networking.make,
    "permissions": permissions.make,
    "python_packages": python_packages.make,
    "services": services.make,
    "shell_scripts": shell_scripts.make,
    "sqlite_databases": sqlite_databases.make,
    "text_files": text_files.make,
}
"""Category → how its world is composed."""
