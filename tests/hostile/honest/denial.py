"""What a denial looks like from outside: a named system call, or the words of an error that only
the jail causes."""

import re

from envmill.sandbox import CheckReply, Observation

_WORDS = re.compile(
    r"PermissionError|Operation not permitted|ImportError|ModuleNotFoundError|No module named|"
    r"EPERM|session_lost"
)


def find_denials(seen: list[Observation]) -> list[str]:
    """Observations that bear one; a failure which is not the program's own mistake counts, too."""
    return [
        f"{one.code}: {one.denied} {one.message[-300:]}"
        for one in seen
        if one.denied or _is_jail(one.outcome, one.code, one.message)
    ]


def find_denied_checks(findings: list[CheckReply]) -> list[str]:
    """The same for checks."""
    return [
        f"{one.code}: {one.message[-300:]}"
        for one in findings
        if one.holds is None and _is_jail("failure", one.code, one.message)
    ]


def _is_jail(outcome: str, code: str, message: str) -> bool:
    return outcome == "failure" and (
        code not in ("crash", "bad_verdict", "mutates") or bool(_WORDS.search(message))
    )
