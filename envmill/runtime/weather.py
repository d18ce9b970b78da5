"""Weather: seeded trouble between an agent and its tools, replayable by (seed, number of the call).

call ─► renamed? extra tool? ─► validation ─► refused (429, 5xx, 401, quota)? ─► program ─► stale, partial, truncated, delayed? ─► reply

The program, its clock, its streams and its state never notice: a refused call is not dispatched,
everything else only changes what is said. Whoever judges looks at the state and never meets it.
After `PATIENCE` refusals in a row a call gets through.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from envmill.runtime.interface import ToolEntry
from envmill.runtime.profiles import Profile, Trouble, check_profile, find_profile
from envmill.runtime.world import MICRO

Reply: TypeAlias = dict[str, Any]

PATIENCE = 3
"""Refusals in a row, of whatever kind, after which a call gets through: a policy that tries four
times always arrives."""
MEMORY = 64
"""Replies kept for stale reads."""

_EXTRA: dict[str, tuple[str, str]] = {
    "renew_access": ("Renew expired access credentials.", "Access is renewed."),
    "ping": ("Ask whether the service is up.", "pong"),
}


class Weather:
    """The weather of one session."""

    def __init__(self, profile: str | Profile, seed: int, tools: Sequence[ToolEntry]) -> None:
        self._troubles: Profile = find_profile(profile)
        check_profile(self._troubles)
        self._seed = seed
        self._tools = {tool["name"]: tool for tool in tools}
        self._effects = {name: tool["effect"] for name, tool in self._tools.items()}
        self._renamed = self._choose_names()
        self._real = {new: old for old, new in self._renamed.items()}
        self._extra = [
            name
            for one in self._of("extra_tools")
            for name in one["names"]
            if name not in self._tools
        ]
        self._calls = 0
        self._refusals = 0
        self._expired = 0
        self._spent = 0
        self._renewed_at = 0
        self._memory: dict[str, list[Any]] = {}

    def tools(self) -> list[ToolEntry]:
        """The interface as the agent sees it."""
        shown: list[ToolEntry] = [
            {**tool, "name": self._renamed.get(name, name)} for name, tool in self._tools.items()
        ]
        nothing: dict[str, Any] = {
            "type": "object",
            "properties": {},
            "required": [],
            "additionalProperties": False,
        }
        return shown + [
            {"name": name, "description": _EXTRA[name][0], "parameters": nothing, "effect": "query"}
            for name in self._extra
        ]

    def meet(self, name: str) -> str | Reply:
        """Whom a name means here: a tool of the program, or an answer of the weather's own. Every
        call begins with this."""
        self._calls += 1
        if name in self._extra:
            self._expired = 0 if name == "renew_access" else self._expired
            return {
                "ok": True,
                "outcome": "ok",
                "parts": [{"type": "text", "text": _EXTRA[name][1]}],
                "weather": ["extra_tools"],
            }
        if name in self._renamed:
            return _refuse(
                "renamed_tools",
                "tool_renamed",
                f"301 Moved Permanently: {name} is called {self._renamed[name]} now.",
            )
        return self._real.get(name, name)

    def refuse(self, clock: int) -> Reply | None:
        """The trouble that keeps this call from the program, if there is one."""
        if self._refusals >= PATIENCE:
            self._expired = self._spent = 0
        else:
            for trouble in self._troubles:
                refuse = _REFUSALS.get(trouble["kind"])
                reply = refuse(self, trouble, clock) if refuse else None
                if reply:
                    self._refusals += 1
                    return reply
        self._refusals = 0
        self._spent += 1
        return None

    def change(self, name: str, arguments: dict[str, Any], reply: Reply) -> Reply:
        """What is left of the program's reply. Trouble of this kind says so in a part of its
        own."""
        met: list[str] = []
        if reply["ok"] and self._effects[name] == "query":
            reply = self._spoil(f"{name} {json.dumps(arguments, sort_keys=True)}", reply, met)
        for trouble in self._of("delay"):
            if self._strikes(trouble):
                low, high = trouble["seconds"]
                reply = {
                    **reply,
                    "delay": round(low + (high - low) * self._sample("delay/length"), 3),
                }
                met.append("delay")
        return {**reply, "weather": met} if met else reply

    def snapshot(self) -> list[Any]:
        return [
            self._calls,
            self._refusals,
            self._expired,
            self._spent,
            self._renewed_at,
            dict(self._memory),
        ]

    def restore(self, snapshot: list[Any]) -> None:
        self._calls, self._refusals, self._expired, self._spent, self._renewed_at, memory = snapshot
        self._memory = dict(memory)

    def _spoil(self, key: str, reply: Reply, met: list[str]) -> Reply:
        """At most one of stale, partial and truncated."""
        before = self._memory.pop(key, None)
        self._memory[key] = [self._calls, reply["parts"]]
        if len(self._memory) > MEMORY:
            del self._memory[next(iter(self._memory))]
        for trouble in self._troubles:
            spoil = _SPOILERS.get(trouble["kind"])
            if spoil and self._strikes(trouble):
                parts, words = spoil(
                    reply["parts"], trouble, before and [self._calls - before[0], before[1]]
                )
                if words:
                    met.append(trouble["kind"])
                    return {**reply, "parts": [*parts, {"type": "text", "text": words}]}
        return reply

    def _choose_names(self) -> dict[str, str]:
        """Real name → the name it bears in this session."""
        renamed: dict[str, str] = {}
        for trouble in self._of("renamed_tools"):
            for name in self._tools:
                new = name + trouble["suffix"]
                if (
                    new not in self._tools
                    and sample_share(self._seed, 0, f"renamed/{name}") < trouble["rate"]
                ):
                    renamed[name] = new
        return renamed

    def _of(self, kind: str) -> list[Trouble]:
        return [trouble for trouble in self._troubles if trouble["kind"] == kind]

    def _strikes(self, trouble: Trouble) -> bool:
        return self._sample(trouble["kind"]) < trouble["rate"]

    def _sample(self, what: str) -> float:
        return sample_share(self._seed, self._calls, what)

    def _limit_rate(self, trouble: Trouble, clock: int) -> Reply | None:  # noqa: ARG002
        if not self._strikes(trouble):
            return None
        return _refuse(
            "rate_limit",
            "rate_limited",
            f"429 Too Many Requests: try again in {1 + int(9 * self._sample('wait'))} s.",
        )

    def _break_server(self, trouble: Trouble, clock: int) -> Reply | None:  # noqa: ARG002
        if not self._strikes(trouble):
            return None
        status = trouble["statuses"][int(self._sample("status") * len(trouble["statuses"]))]
        return _refuse(
            "server_error",
            "unavailable",
            f"{status}: the service failed before it did anything. Try again.",
        )

    def _expire_auth(self, trouble: Trouble, clock: int) -> Reply | None:  # noqa: ARG002
        if not self._expired and self._strikes(trouble):
            self._expired = trouble["calls"]
        elif not self._expired:
            return None
        self._expired -= 1
        return _refuse(
            "expired_auth",
            "auth_expired",
            "401 Unauthorized: access has expired and is being renewed. Try again.",
        )

    def _spend_quota(self, trouble: Trouble, clock: int) -> Reply | None:
        if clock >= self._renewed_at:
            self._renewed_at, self._spent = clock + round(trouble["seconds"] * MICRO), 0
        if self._spent < trouble["calls"]:
            return None
        return _refuse(
            "quota",
            "quota_exhausted",
            f"429 Quota Exceeded: {trouble['calls']} calls in {trouble['seconds']} s. Try again "
            "later.",
        )


def sample_share(seed: int, call: int, what: str) -> float:
    """A number in [0, 1) that depends on nothing else; no random generator a program could
    reach."""
    return (
        int.from_bytes(hashlib.blake2b(f"{seed}/{call}/{what}".encode(), digest_size=6).digest())
        / 2**48
    )


def _refuse(kind: str, code: str, message: str) -> Reply:
    return {
        "ok": False,
        "outcome": "rejection",
        "error": {"code": code, "message": message},
        "weather": [kind],
    }


def _make_stale(
    parts: list[Any],
    trouble: Trouble,  # noqa: ARG001
    before: list[Any] | None,
) -> tuple[list[Any], str]:
    return (before[1], f"[cached: as of {before[0]} calls ago]") if before else (parts, "")


def _make_partial(
    parts: list[Any],
    trouble: Trouble,
    before: list[Any] | None,  # noqa: ARG001
) -> tuple[list[Any], str]:
    rows = parts[0].get("value") if parts else None
    if not isinstance(rows, list) or len(rows) < 2:  # pyright: ignore[reportUnknownArgumentType]
        return parts, ""
    shown = max(1, int(len(rows) * trouble["share"]))  # pyright: ignore[reportUnknownArgumentType]
    return [{"type": "json", "value": rows[:shown]}], f"[partial: {shown} of {len(rows)} entries]"  # pyright: ignore[reportUnknownArgumentType]


def _truncate(
    parts: list[Any],
    trouble: Trouble,
    before: list[Any] | None,  # noqa: ARG001
) -> tuple[list[Any], str]:
    if not parts or parts[0]["type"] == "blob":
        return parts, ""
    text = (
        parts[0]["text"]
        if parts[0]["type"] == "text"
        else json.dumps(parts[0]["value"], ensure_ascii=False)
    )
    if len(text) <= trouble["characters"]:
        return parts, ""
    return [
        {"type": "text", "text": text[: trouble["characters"]]}
    ], f"[truncated: {trouble['characters']} of {len(text)} characters]"


_REFUSALS: dict[str, Callable[[Weather, Trouble, int], Reply | None]] = {
    "quota": Weather._spend_quota,  # pyright: ignore[reportPrivateUsage]
    "expired_auth": Weather._expire_auth,  # pyright: ignore[reportPrivateUsage]
    "rate_limit": Weather._limit_rate,  # pyright: ignore[reportPrivateUsage]
    "server_error": Weather._break_server,  # pyright: ignore[reportPrivateUsage]
}
_SPOILERS: dict[str, Callable[[list[Any], Trouble, list[Any] | None], tuple[list[Any], str]]] = {
    "stale_read": _make_stale,
    "partial_read": _make_partial,
    "truncation": _truncate,
}
