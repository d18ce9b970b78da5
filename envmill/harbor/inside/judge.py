"""What became of the machine, judged where it stands: 0 is a pass, 1 a fail, anything else is no verdict.

health as left ─► programs compared ─► all else killed ─► files compared ─► temporary files removed ─► services started
from a copy of ours ─► health

It reads what lies beside it: check.py and probing.py, or a file of tests and examining.py, what health means; round.json, what is compared
with the record that the image was built with; verifier.json, what must be so; services, which starts what the machine runs.
"""

import io
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD = Path("/var/lib/begun/record.json")
REPORT = Path("/logs/verifier/report.json")
PASSED, FAILED, UNKNOWN = 0, 1, 3
PATIENCE = 240
PASSING = ("/tmp", "/var/tmp", "/run", "/dev/shm")
SPARES = (".bak", ".orig", ".old", ".save", ".dpkg-old", "~")

sys.path.insert(0, str(HERE))

from own import hash_file, is_below, list_own  # pyright: ignore  # noqa: E402
from probing import ENVIRONMENT  # pyright: ignore  # noqa: E402

CLEAN: dict[str, str] = {**ENVIRONMENT, "LANG": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def main() -> int:
    given = read(HERE / "round.json")
    if not RECORD.exists():
        return tell_unknown(f"{RECORD} is gone: this is no machine of the recipe in environment/, or somebody removed it")
    state = examine(given, read(RECORD))
    failed = [name for name in judge(read(HERE / "verifier.json"), state)]
    REPORT.write_text(json.dumps({"passed": not failed, "failed": failed, "state": state}, indent=1), encoding="utf-8")
    return FAILED if failed else PASSED


def examine(given: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """The state that checks speak of. What comes after the first fault is not asked: it would say nothing."""
    probes = given["probes"]
    state: dict[str, Any] = {**given["begun"], "room": has_room(), "replaced": {}, "inside": {}, "outside": {}}
    left = ask_health(given)
    state["health"] = spell(probes, left)
    state["lasting"] = dict.fromkeys(probes, "unasked")
    for path, digest in recorded["trusted"].items():
        if hash_file(path) != digest:
            state["replaced"][path] = True
    kill_others()
    places = state["places"]
    changed = find_changed(recorded["own"], list_own(given["own"], given["volatile"]))
    changed += [CLEAN["HOME"]] if os.path.lexists(CLEAN["HOME"]) else []
    state["inside"] = {place: True for place in places if any(is_below(path, [place]) for path in changed)}
    state["outside"] = {path: True for path in changed if not may_change(path, places, recorded["own"])}
    if not (state["outside"] or state["replaced"] or any(left.values())):
        empty(places)
        restart(changed)
        state["lasting"] = spell(probes, ask_health(given))
    return state


def ask_health(given: dict[str, Any]) -> dict[str, str]:
    """Probe → what is wrong, empty where nothing is; no report is no verdict."""
    marker, exam = secrets.token_hex(16), given["begun"].get("exam", "")
    folder = f"/run/judge-{secrets.token_hex(8)}"
    told = {"source": (HERE / exam).read_text(), "folder": folder} if exam else {"values": given["values"], "services": given["services"]}
    names = ("probing.py", "examining.py" if exam else "check.py")
    archive = pack(
        {**{name: (HERE / name).read_text() for name in names}, "given.json": json.dumps({**told, "marker": marker, "held": False})}
    )
    words = ["/usr/bin/python3", "-I", "-S", "-B", "-X", f"pycache_prefix={CLEAN['HOME']}", "-c", (HERE / "asking.py").read_text()]
    done = ask([*words, "examining" if exam else "check"], archive)
    found = re.findall(rf"^{marker}(.*)$", (done.stdout + done.stderr).decode("utf-8", "replace"), re.MULTILINE)
    if len(found) != 1:
        raise SystemExit(tell_unknown(f"the health check gave no report: {done.stdout[-200:]!r} {done.stderr[-400:]!r}"))
    return json.loads(found[0])


def pack(texts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return packed.getvalue()


def ask(words: list[str], archive: bytes) -> "subprocess.CompletedProcess[bytes]":
    with os.fdopen(os.memfd_create("given"), "wb") as given:
        given.write(archive)
        given.flush()
        given.seek(0)
        return subprocess.run(words, cwd="/", env=CLEAN, stdin=given, capture_output=True, timeout=PATIENCE, check=False)


def spell(probes: list[str], said: dict[str, str]) -> dict[str, str]:
    return {probe: "unasked" if probe not in said else "ill" if said[probe] else "well" for probe in probes}


def has_room() -> bool:
    try:
        with tempfile.TemporaryFile(dir="/var/tmp") as file:
            file.write(b"0" * (1 << 20))
            file.flush()
    except OSError:
        return False
    return True


def kill_others() -> None:
    """Every process but the container's first, this one and those that it was started by."""
    spared = {1, *list_elders()}
    for _ in range(3):
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit() and int(name) not in spared:
                try:
                    os.kill(int(name), signal.SIGKILL)
                except OSError:
                    continue
        time.sleep(0.05)


def list_elders() -> set[int]:
    elders, each = set[int](), os.getpid()
    while each > 1:
        elders.add(each)
        status = Path(f"/proc/{each}/status").read_text(encoding="utf-8", errors="replace")
        each = int(re.findall(r"^PPid:\s*(\d+)$", status, re.MULTILINE)[0])
    return elders


def find_changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def may_change(path: str, places: list[str], before: dict[str, str]) -> bool:
    """Where something was broken, and new copies beside it; and what Python compiles when it imports."""
    if is_below(path, places) or "__pycache__" in path.split("/"):
        return True
    return path not in before and any(is_below(path[: -len(each)], places) for each in SPARES if path.endswith(each))


def empty(places: list[str]) -> None:
    """What a restart of a machine takes away, but for what was broken there and what is mounted."""
    for folder in PASSING:
        for above, folders, files in os.walk(folder, topdown=False):
            for name in (*folders, *files):
                path = Path(above, name)
                if not is_below(str(path), places) and not path.is_mount():
                    with suppress(OSError):
                        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def restart(changed: list[str]) -> None:
    for path in changed:
        if path.endswith(".pyc"):
            Path(path).unlink(missing_ok=True)
    subprocess.run(
        ["/bin/bash", str(HERE / "services"), "restart"], cwd="/", env=CLEAN, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def judge(verifier: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """Names of the checks that do not hold."""
    return [each["name"] for each in verifier["goals"] + verifier["guards"] if look(state, each["path"]) != each["value"]]


def look(state: Any, path: list[str]) -> Any:
    for key in path:
        try:
            state = state[key]
        except (KeyError, TypeError):
            return None
    return state


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def tell_unknown(why: str) -> int:
    sys.stderr.write(f"No verdict: {why}\n")
    return UNKNOWN


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        sys.exit(tell_unknown(f"{type(error).__name__}: {error}"))
