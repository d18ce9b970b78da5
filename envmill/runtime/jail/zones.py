"""Time zones for jailed programs: the rules of the usual ones are read while files can still be
opened, and found in memory afterwards."""

import zoneinfo
from io import BytesIO
from typing import Any
from zoneinfo import _common  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

USUAL: tuple[str, ...] = (
    "UTC", "GMT", "Etc/UTC", "US/Eastern", "US/Central", "US/Mountain", "US/Pacific",
    "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
    "America/Anchorage", "America/Argentina/Buenos_Aires", "America/Bogota", "America/Chicago", "America/Denver", "America/Halifax",
    "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Phoenix", "America/Sao_Paulo", "America/Toronto",
    "Asia/Bangkok", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Seoul",
    "Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tokyo", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
    "Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Dublin", "Europe/Istanbul", "Europe/Lisbon",
    "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Paris", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna",
    "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu",
)  # fmt: skip
"""A tenth of all: every file read here delays the start of a zygote."""

_rules: dict[str, bytes] = {}


def load() -> None:
    """Read the rules; a machine without them offers no zone but those that need none."""
    common: Any = _common  # pyright: ignore[reportUnknownVariableType]
    for name in USUAL:
        try:
            _rules[name] = _read(common, name)
        except (OSError, zoneinfo.ZoneInfoNotFoundError):
            continue
    # Without a path every zone is asked of `load_tzdata`.
    zoneinfo.reset_tzpath([])
    common.load_tzdata = _find


def _read(common: Any, name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        try:
            with open(f"{folder}/{name}", "rb") as stream:  # noqa: PTH123
                return stream.read()
        except OSError:
            continue
    with common.load_tzdata(name) as stream:
        return stream.read()


def _find(key: str) -> BytesIO:
    if key not in _rules:
        raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
    return BytesIO(_rules[key])
