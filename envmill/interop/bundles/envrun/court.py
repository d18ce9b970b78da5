"""Who judges an ending: generated checks are heard in the jail's judge zygote, everything else is
decided by the judge's own process.

generated ──► jail ──► yes / no / neither ─┐
declarative ──────────────────────────────┴─► judge (a bare interpreter) ──► verdict
"""

import base64
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .jail import Jail, Message

Verdict: TypeAlias = dict[str, Any]
"""`outcome` (pass, fail, error), `reward` (None on error), `components`, `reason`, `evidence`."""

SILENCE = 300.0
"""Seconds after which a judge counts as hung; it ends itself long before by the processor time it
may take."""
_LARGE = 2 * 1024 * 1024
"""Characters of a state above which it travels packed."""


_ENDLESS = "the judge came to no end in the processor time that a verdict may take"


class JudgeError(Exception):
    """The judge itself failed: there is no verdict, and nothing may be concluded about a policy."""


def make_error(reason: str) -> Verdict:
    """No verdict on the policy: nothing was found out about it."""
    return {
        "outcome": "error",
        "reward": None,
        "components": {},
        "reason": reason[:2000],
        "evidence": [],
    }


class JudgeProcess:
    """Decides one ending after the other; the judge's process starts with the first."""

    def __init__(self, folder: Path, jail: Callable[[], Jail]) -> None:
        self._folder, self._jail = folder, jail
        self._judge: subprocess.Popen[bytes] | None = None

    def decide(self, verifier: Mapping[str, Any], ending: Mapping[str, Any], clock: str) -> Verdict:
        """The verdict on an ending: `initial` and `final` state, `deeds`, `said`."""
        said, silent = self._ask_checks(verifier, ending, clock)
        if silent:
            return make_error(silent)
        reply = self._ask({"verifier": verifier, "ending": ending, "heard": said})
        return make_error(_ENDLESS) if reply is None else reply["verdict"]

    def measure(
        self, verifier: Mapping[str, Any], ending: Mapping[str, Any], clock: str
    ) -> dict[str, list[int]] | None:
        """Numbers of the `goals` that hold and of the `guards` that are broken in the middle of an
        attempt; None where nothing can be said."""
        said, silent = self._ask_checks(verifier, ending, clock)
        if silent:
            return None
        reply = self._ask({"verifier": verifier, "ending": ending, "heard": said, "progress": True})
        return None if reply is None else reply["progress"]

    def answer(
        self, scenario: Mapping[str, Any], dialogue: Sequence[Message], manner: str = ""
    ) -> Message:
        """What the scripted user of a scenario says to the last line: `text`, `end` (empty,
        content, gave_up), `misstep`; and what they do
        with tools of their own before they say it: `does`, each with its call and the words for how
        it went."""
        asked = {
            "user": scenario["user"],
            "request": scenario["request"],
            "oracle": scenario.get("oracle", []),
            "manner": manner,
        }
        reply = self._ask(asked | {"dialogue": list(dialogue)})
        if reply is None:
            raise JudgeError(
                "The simulated user came to no end with this message. Nothing is known about the "
                "policy."
            )
        return reply["answer"]

    def close(self) -> int | None:
        """End the judge's process; what it ended with."""
        judge, self._judge = self._judge, None
        if judge:
            judge.kill()
            judge.communicate()
        return judge and judge.returncode

    def _ask_checks(
        self, verifier: Mapping[str, Any], ending: Mapping[str, Any], clock: str
    ) -> tuple[dict[str, bool | None], str]:
        """What each generated check says, by its source; and why one says neither yes nor no."""
        asked = [
            check
            for check in (*verifier["guards"], *verifier["goals"])
            if check["op"] == "generated"
        ]
        heard = self._run_checks([check["source"] for check in asked], ending, clock)
        for check, (holds, why) in zip(asked, heard, strict=True):
            if holds is None:
                return {}, f"check {check['name']} said neither yes nor no ({why})"
        return {check["source"]: holds for check, (holds, _) in zip(asked, heard, strict=True)}, ""

    def _run_checks(
        self, sources: Sequence[str], ending: Mapping[str, Any], clock: str
    ) -> list[tuple[bool | None, str]]:
        """What each generated check says, in a process that is forked for it and dies with it."""
        if not sources:
            return []
        program = _make_program(sources)
        rollout = {
            "calls": [
                {**one["call"], **{k: one[k] for k in ("outcome", "code", "parts")}}
                for one in ending["deeds"]
            ]
        }
        states = {
            "initial": ending["initial"],
            "final": ending["final"],
            "rollout": rollout | {"said": ending["said"]},
        }
        opening = {
            "op": "reset",
            "clock": clock,
            "seed": 0,
            **{name: _pack(value) for name, value in states.items()},
        }
        request = {"op": "play", "flavour": "judge", "program": program, "hashes": "none"}
        checks = [{"op": "check", "name": f"check_{place + 1}"} for place in range(len(sources))]
        heard = [self._jail().ask(request | {"steps": [opening, check]}) for check in checks]
        return [
            _read_statement(opened if opened["outcome"] != "ok" else said) for opened, said in heard
        ]

    def _ask(self, request: Mapping[str, Any]) -> Message | None:
        """The reply; None when the processor time for it was over."""
        judge = self._judge = self._judge or _start(self._folder)
        try:
            assert judge.stdin
            judge.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            judge.stdin.flush()
            reply: Message = json.loads(_read_line(judge))
        except EOFError:
            ended = self.close()
            if ended == -signal.SIGXCPU:
                return None
            raise JudgeError(
                f"The judge ended ({ended}). Ask again; the next question starts another."
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            self.close()
            raise JudgeError(
                f"The judge did not answer ({type(error).__name__}: {error}). Ask again; the next "
                "question starts another."
            ) from None
        if "broken" in reply:
            raise JudgeError(f"The judge broke: {reply['broken']}")
        return reply


def _start(folder: Path) -> subprocess.Popen[bytes]:
    # No site packages, no environment: what decides is what lies in the folder.
    words = [sys.executable, "-I", "-S", "-B", str(folder / "__main__.py")]
    return subprocess.Popen(
        words, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, cwd="/", start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _read_line(judge: subprocess.Popen[bytes]) -> bytes:
    assert judge.stdout
    line, last = bytearray(), time.monotonic() + SILENCE
    # Not select(): it knows no descriptor above 1,023, and a server of a thousand sessions has
    # them.
    watch = select.poll()
    watch.register(judge.stdout, select.POLLIN)
    while not line.endswith(b"\n"):
        if not watch.poll(1000 * max(0.0, last - time.monotonic())):
            raise OSError(f"silent for {SILENCE:g} s")
        if not (got := os.read(judge.stdout.fileno(), 1 << 16)):
            raise EOFError
        line += got
    return bytes(line)


def _make_program(sources: Sequence[str]) -> Message:
    files = {f"check_{place + 1}.py": text for place, text in enumerate(sources)}
    name = hashlib.blake2b(
        json.dumps(["judge", files], sort_keys=True).encode(), digest_size=10
    ).hexdigest()
    return {"hash": name, "files": files, "entry": "check_1:", "tools": []}


def _pack(value: Any) -> Message:
    """As states travel to the judge zygote: text, or packed where that would not fit into a
    frame."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= _LARGE:
        return {"form": "json", "text": text}
    return {"form": "json", "packed": base64.b64encode(zlib.compress(text.encode(), 1)).decode()}


def _read_statement(seen: Message) -> tuple[bool | None, str]:
    value = (
        seen["parts"][0].get("value")
        if seen["outcome"] == "ok" and len(seen["parts"]) == 1
        else None
    )
    return (
        (value, "")
        if isinstance(value, bool)
        else (None, f"{seen['code'] or 'bad_verdict'}: {seen['message']}")
    )
