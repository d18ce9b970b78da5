"""What became of the machine, judged where no agent was: 0 is a pass, 1 a fail, anything else is no
verdict.

archive of the agent's machine ─► its files compared with its own record ─► what was broken is put into a machine that nobody touched
─► services started ─► health

It reads what lies beside it: check.py and probing.py, or a file of tests and examining.py, what
health means; round.json, which files are compared, and where something was broken; verifier.json,
what must be so; services, which starts what the machine runs.
"""

import io
import json
import os
import re
import secrets
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD, APART = "/var/lib/begun/record.json", Path("/var/lib/begun/apart")
ARCHIVE = Path("/logs/artifacts/machine.tar")
REPORT = Path("/logs/verifier/report.json")
PASSED, FAILED, UNKNOWN = 0, 1, 3
PATIENCE = 240
SPARES = (".bak", ".orig", ".old", ".save", ".dpkg-old", "~")

sys.path.insert(0, str(HERE))

from archive import Archive, find_changed  # pyright: ignore  # noqa: E402
from own import is_below  # pyright: ignore  # noqa: E402
from probing import ENVIRONMENT  # pyright: ignore  # noqa: E402

CLEAN: dict[str, str] = {**ENVIRONMENT, "LANG": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def main() -> int:
    given = read(HERE / "round.json")
    if not APART.exists():
        return report_unknown(
            "this is no container of tests/Dockerfile: tests lie where the agent worked, who may "
            "have read or changed them"
        )
    if not ARCHIVE.is_file():
        return report_unknown(
            f"there is no {ARCHIVE}: the command in [[verifier.collect]] of task.toml was not "
            "run, or the file not brought here"
        )
    try:
        with Archive(ARCHIVE) as archive:
            state, unread = examine(given, archive), ""
    except ValueError as error:
        state, unread = {}, f"{ARCHIVE.name} is no archive of a machine: {error}"
    failed = judge(read(HERE / "verifier.json"), state)
    told = {"passed": not failed, "failed": failed, "state": state, "unread": unread}
    REPORT.write_text(json.dumps(told, indent=1), encoding="utf-8")
    return FAILED if failed else PASSED


def examine(given: dict[str, Any], archive: Any) -> dict[str, Any]:
    """The state that checks speak of. What comes after the first fault is not asked: it would say
    nothing."""
    probes, places = given["probes"], given["begun"]["places"]
    recorded = (archive.read_record(RECORD) or read(Path(RECORD)))["own"]
    changed: list[str] = find_changed(recorded, archive.list_own(given["own"], given["volatile"]))
    state: dict[str, Any] = {**given["begun"], "room": True, "replaced": {}}
    state["inside"] = {
        place: True for place in places if any(is_below(path, [place]) for path in changed)
    }
    state["outside"] = {path: True for path in changed if not may_change(path, places, recorded)}
    state["health"] = state["lasting"] = dict.fromkeys(probes, "unasked")
    if not state["outside"]:
        archive.put(places)
        restart()
        state["health"] = state["lasting"] = describe(probes, ask_health(given))
    return state


def ask_health(given: dict[str, Any]) -> dict[str, str]:
    """Probe → what is wrong, empty where nothing is; no report is no verdict."""
    marker, exam = secrets.token_hex(16), given["begun"].get("exam", "")
    folder = f"/run/judge-{secrets.token_hex(8)}"
    told = (
        {"source": (HERE / exam).read_text(), "folder": folder}
        if exam
        else {"values": given["values"], "services": given["services"]}
    )
    names = ("probing.py", "examining.py" if exam else "check.py")
    archive = pack(
        {
            **{name: (HERE / name).read_text() for name in names},
            "given.json": json.dumps({**told, "marker": marker, "held": False}),
        }
    )
    words = [
        "/usr/bin/python3",
        "-I",
        "-S",
        "-B",
        "-X",
        f"pycache_prefix={CLEAN['HOME']}",
        "-c",
        (HERE / "asking.py").read_text(),
    ]
    done = ask([*words, "examining" if exam else "check"], archive)
    found = re.findall(
        rf"^{marker}(.*)$", (done.stdout + done.stderr).decode("utf-8", "replace"), re.MULTILINE
    )
    if len(found) != 1:
        raise SystemExit(
            report_unknown(
                f"the health check gave no report: {done.stdout[-200:]!r} {done.stderr[-400:]!r}"
            )
        )
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
        return subprocess.run(
            words,
            cwd="/",
            env=CLEAN,
            stdin=given,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )


def describe(probes: list[str], said: dict[str, str]) -> dict[str, str]:
    return {
        probe: "unasked" if probe not in said else "ill" if said[probe] else "well"
        for probe in probes
    }


def may_change(path: str, places: list[str], before: dict[str, str]) -> bool:
    """Where something was broken, and new copies beside it; and what Python compiles when it
    imports."""
    if is_below(path, places) or "__pycache__" in path.split("/"):
        return True
    return path not in before and any(
        is_below(path[: -len(each)], places) for each in SPARES if path.endswith(each)
    )


def restart() -> None:
    subprocess.run(
        ["/bin/bash", str(HERE / "services"), "restart"],
        cwd="/",
        env=CLEAN,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def judge(verifier: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """Names of the checks that do not hold."""
    return [
        each["name"]
        for each in verifier["goals"] + verifier["guards"]
        if find_value(state, each["path"]) != each["value"]
    ]


def find_value(state: Any, path: list[str]) -> Any:
    for key in path:
        try:
            state = state[key]
        except (KeyError, TypeError):
            return None
    return state


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def report_unknown(why: str) -> int:
    sys.stderr.write(f"No verdict: {why}\n")
    return UNKNOWN


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        sys.exit(report_unknown(f"{type(error).__name__}: {error}"))
