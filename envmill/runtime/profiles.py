"""Weather profiles: lists of trouble as data, by name."""

from typing import Any, TypeAlias

Trouble: TypeAlias = dict[str, Any]
Profile: TypeAlias = list[Trouble]

KINDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "delay": {"rate": (int, float), "seconds": list},
    "rate_limit": {"rate": (int, float)},
    "server_error": {"rate": (int, float), "statuses": list},
    "expired_auth": {"rate": (int, float), "calls": int},
    "quota": {"calls": int, "seconds": (int, float)},
    "stale_read": {"rate": (int, float)},
    "partial_read": {"rate": (int, float), "share": (int, float)},
    "truncation": {"rate": (int, float), "characters": int},
    "renamed_tools": {"rate": (int, float), "suffix": str},
    "extra_tools": {"names": list},
}
"""Every kind of trouble and what it is told. `rate` is the share of calls (or of tools) it
strikes."""

PROFILES: dict[str, Profile] = {
    "clear": [],
    "rough": [
        {"kind": "delay", "rate": 0.25, "seconds": [0.1, 5.0]},
        {"kind": "quota", "calls": 20, "seconds": 60},
        {"kind": "expired_auth", "rate": 0.02, "calls": 2},
        {"kind": "rate_limit", "rate": 0.06},
        {
            "kind": "server_error",
            "rate": 0.05,
            "statuses": ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable"],
        },
        {"kind": "stale_read", "rate": 0.05},
        {"kind": "partial_read", "rate": 0.05, "share": 0.5},
        {"kind": "truncation", "rate": 0.05, "characters": 400},
        {"kind": "renamed_tools", "rate": 0.15, "suffix": "_v2"},
        {"kind": "extra_tools", "names": ["renew_access", "ping"]},
    ],
}
"""`clear` is the null profile; `rough` has trouble of every kind."""


def find_profile(profile: Any) -> Any:
    """A profile by name, or one that is given as it is."""
    if isinstance(profile, str) and profile not in PROFILES:
        raise ValueError(f"There is no weather profile {profile!r}; known: {', '.join(PROFILES)}.")
    return PROFILES[profile] if isinstance(profile, str) else profile


def check_profile(profile: Any) -> None:
    """Raise ValueError on a profile that would be misunderstood."""
    if not isinstance(profile, list):
        raise ValueError("A weather profile is a list of troubles.")
    for trouble in profile:  # pyright: ignore[reportUnknownVariableType]
        kind = trouble.get("kind") if isinstance(trouble, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if kind not in KINDS:
            raise ValueError(f"There is no trouble of kind {kind!r}; known: {', '.join(KINDS)}.")
        wanted = KINDS[kind]  # pyright: ignore[reportUnknownArgumentType]
        given = {name: value for name, value in trouble.items() if name != "kind"}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if given.keys() != wanted.keys() or not all(
            isinstance(given[name], wanted[name]) for name in wanted
        ):
            raise ValueError(
                f"Trouble of kind {kind!r} takes exactly {', '.join(wanted)}, in their types."
            )
