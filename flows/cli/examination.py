"""The examination behind `doctor`: each check looks at one thing and says how to mend it."""

import asyncio
import importlib.metadata
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envmill.base.errors import EnvMillError
from envmill.base.settings import ROOT
from flows.local.home import Home

_ROOM = 2 * 2**30  # bytes: a demo takes 0.1 GB, a nightly run about one


@dataclass(frozen=True)
class CheckResult:
    """What one check saw."""

    what: str
    ok: bool
    seen: str
    mend: str = ""


def examine(home: Home) -> Iterator[CheckResult]:
    """All checks, in order; one that breaks is a finding too."""
    for what, check in CHECKS.items():
        try:
            yield check(home)
        except EnvMillError as error:
            yield CheckResult(what, False, error.message)
        except (
            Exception  # noqa: BLE001
        ) as error:  # a broken machine breaks in ways nobody listed; the other checks still tell
            yield CheckResult(
                what,
                False,
                f"{type(error).__name__}: {error}",
                "Mend what the message names, then ask again.",
            )


def _check_python(_: Home) -> CheckResult:
    seen = f"{sys.version.split()[0]} at {sys.executable}"
    return CheckResult(
        "python",
        sys.version_info >= (3, 11),
        seen,
        "" if sys.version_info >= (3, 11) else "Use Python 3.11 or newer.",
    )


def _check_packages(_: Home) -> CheckResult:
    wanted = dict(
        re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    )
    found = {name: _version(name) for name in wanted}
    wrong = [
        f"{name} {found[name] or 'missing'} (locked {version})"
        for name, version in wanted.items()
        if found[name] not in (version, "")
    ]
    missing = [name for name in _required() if not found.get(name, _version(name))]
    if missing:
        return CheckResult("packages", False, f"missing: {', '.join(missing)}", "Run `make setup`.")
    told = f", other than locked: {'; '.join(wrong[:5])}" if wrong else ", as locked"
    return CheckResult("packages", True, f"{sum(map(bool, found.values()))} installed{told}")


def _check_home(home: Home) -> CheckResult:
    home.folder.mkdir(parents=True, exist_ok=True)
    ok = os.access(home.folder, os.W_OK)
    return CheckResult(
        "home",
        ok,
        str(home.folder),
        "" if ok else "Give this user the right to write there, or set ENVMILL_HOME.",
    )


def _check_lake(home: Home) -> CheckResult:
    from envmill.lake.lake import Lake
    from envmill.lake.stores import open_store

    store = open_store(home.settings.lake)
    return CheckResult(
        "lake", True, f"{store.url}, put-if-absent holds, {len(Lake(store).runs())} runs"
    )


def _check_rollups(home: Home) -> CheckResult:
    """A release that changes a view's SQL leaves every rollup behind: answers stay right, and take
    longer."""
    from envmill.lake.lake import Lake
    from envmill.lake.rollup import find_stale
    from envmill.lake.views import VIEWS

    stale = find_stale(Lake(home.settings.lake), {name: view.sql for name, view in VIEWS.items()})
    told = f" ({', '.join(stale[-3:])})" if stale else ""
    mend = (
        "Their views are asked live, which takes longer; `envmill compact` renews those of "
        "finished runs."
        if stale
        else ""
    )
    return CheckResult("rollups", True, f"of {len(stale)} runs no longer hold{told}", mend)


def _check_files(home: Home) -> CheckResult:
    """By listings alone: what is inside the files is seen when they are read."""
    from envmill.lake.lake import Lake
    from envmill.lake.reading import find_mend

    lake = Lake(home.settings.lake)
    snapshots = [lake.snapshot(run) for run in lake.runs()]
    gone = [name for snapshot in snapshots for name in snapshot.missing]
    if not gone:
        return CheckResult(
            "files",
            True,
            f"{sum(map(len, (found for one in snapshots for found in one.files.values())))}, all "
            "that counts is there",
        )
    mend = find_mend(lake.store, lake.store.locate(gone[0])).replace("Restore it", "Restore them")
    return CheckResult(
        "files",
        False,
        f"{len(gone)} gone, {', '.join(gone[:3])} among them",
        f"{mend}; without, questions to them are refused.",
    )


def _check_space(home: Home) -> CheckResult:
    places = {
        home.folder,
        home.settings.bundles,
        *([] if "://" in home.settings.lake else [Path(home.settings.lake)]),
    }
    free = {place: shutil.disk_usage(_existing(place)).free for place in places}
    least = min(free, key=lambda place: free[place])
    mend = (
        ""
        if free[least] >= _ROOM
        else "Free space there; `envmill compact` also removes files that were replaced."
    )
    return CheckResult("space", not mend, f"{free[least] / 2**30:.1f} GB free at {least}", mend)


def _check_journals(home: Home) -> CheckResult:
    """A journal whose process is gone holds calls that the run's next start takes over."""
    found = sorted((home.folder / "journal").glob("*/*.jsonl"))
    runs = sorted({path.parent.name for path in found})
    mend = (
        f"If no process works on them, `envmill run --resume {runs[-1]}` takes their calls over."
        if found
        else ""
    )
    return CheckResult(
        "journals",
        True,
        f"{len(found)} unsealed" + (f", of runs {', '.join(runs[-3:])}" if runs else ""),
        mend,
    )


def _check_jail(home: Home) -> CheckResult:
    """What confines generated code here, what it costs to call it, and what the machine could give
    besides."""
    from envmill.runtime.jail.layers import KERNEL_LAYERS, LAYERS

    layers, seconds = asyncio.run(_try_jail(home))
    lacking = [name for name, held in layers.items() if not held]
    told = f"layers: {', '.join(name for name, held in layers.items() if held) or 'none'}"
    told += f"; without {', '.join(lacking)}" if lacking else ""
    mend = " ".join(f"{name}: {LAYERS[name].mend}" for name in lacking)
    return CheckResult(
        "jail",
        any(layers.get(name) for name in KERNEL_LAYERS),
        f"{told}; a call takes {seconds * 1e6:.0f} µs",
        mend,
    )


def _check_containers(home: Home) -> CheckResult:
    """Which engines can hold terminal environments here, and what each one lacks. Nothing else
    needs them."""
    from envmill.sandbox.containers import examine as examine_engines

    found = asyncio.run(examine_engines(home.settings))
    told = [
        f"{name}: {', '.join(one.strong)}" if one.works else f"{name}: not here"
        for name, one in found.items()
    ]
    lacking = [
        f"{name}: {one.why or '; '.join(one.weak)}"
        for name, one in found.items()
        if one.why or one.weak
    ]
    mends = dict.fromkeys(one.mend for one in found.values() if one.mend)
    return CheckResult("containers", True, "; ".join(told), " ".join([*lacking, *mends]))


def _check_base(home: Home) -> CheckResult:
    from envmill.sandbox.containers import find_base

    try:
        image = find_base(home.settings.images)
    except EnvMillError as error:
        return CheckResult("base", True, "no image for terminal environments yet", error.message)
    return CheckResult(
        "base", True, f"sha256:{image.digest[:16]}, {len(image.packages)} packages, {image.folder}"
    )


async def _try_jail(home: Home) -> tuple[dict[str, bool], float]:
    from envmill.kinds import open_sandbox
    from envmill.sandbox import Invoke, Program, Reset
    from schemas.environment import Call, Tool

    tool = Tool(
        name="look",
        description="Look.",
        parameters={"type": "object", "properties": {}},
        effect="query",
    )
    program = Program({"mirror.py": _MIRROR}, "mirror:Mirror", [tool])
    look = Invoke(Call(name="look"))
    async with (
        open_sandbox(home.settings, drivers=1) as sandbox,
        sandbox.session(program) as session,
    ):
        await session.play([Reset({"face": "calm"}, "2026-03-01T09:00:00Z", 0), *[look] * 50])
        took: list[float] = []
        for _ in range(200):
            start = time.perf_counter()
            await session.step(look)
            took.append(time.perf_counter() - start)
        return sandbox.layers(), statistics.median(took)


_MIRROR = """
class Mirror:
    def __init__(self, state):
        self.face = state["face"]

    def look(self):
        return self.face
"""


CHECKS: dict[str, Callable[[Home], CheckResult]] = {
    "python": _check_python,
    "packages": _check_packages,
    "home": _check_home,
    "lake": _check_lake,
    "rollups": _check_rollups,
    "files": _check_files,
    "space": _check_space,
    "journals": _check_journals,
    "jail": _check_jail,
    "containers": _check_containers,
    "base": _check_base,
}


def _required() -> list[str]:
    """Names in pyproject's `dependencies`."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        re.split(r"[<>=\[!~ ]", line, maxsplit=1)[0].lower() for line in project["dependencies"]
    ]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _existing(place: Path) -> Path:
    return next(folder for folder in (place, *place.parents) if folder.exists())
