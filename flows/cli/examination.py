"""The examination behind `doctor`: each check looks at one thing and says how to mend it."""

import asyncio
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envmill.errors import EnvMillError
from envmill.settings import ROOT
from flows.local.home import Home

_ROOM = 2 * 2**30  # bytes: a demo takes 0.1 GB, a nightly run about one


@dataclass(frozen=True)
class Finding:
    """What one check saw."""

    what: str
    ok: bool
    seen: str
    mend: str = ""


def examine(home: Home) -> Iterator[Finding]:
    """All checks, in order; one that breaks is a finding too."""
    for what, check in CHECKS.items():
        try:
            yield check(home)
        except EnvMillError as error:
            yield Finding(what, False, error.message)
        except Exception as error:  # a broken machine breaks in ways nobody listed; the other checks still tell  # noqa: BLE001
            yield Finding(what, False, f"{type(error).__name__}: {error}", "Mend what the message names, then ask again.")


def _check_python(_: Home) -> Finding:
    seen = f"{sys.version.split()[0]} at {sys.executable}"
    return Finding("python", sys.version_info >= (3, 11), seen, "" if sys.version_info >= (3, 11) else "Use Python 3.11 or newer.")


def _check_packages(_: Home) -> Finding:
    wanted = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    found = {name: _version(name) for name in wanted}
    wrong = [
        f"{name} {found[name] or 'missing'} (locked {version})" for name, version in wanted.items() if found[name] not in (version, "")
    ]
    missing = [name for name in _required() if not found.get(name, _version(name))]
    if missing:
        return Finding("packages", False, f"missing: {', '.join(missing)}", "Run `make setup`.")
    told = f", other than locked: {'; '.join(wrong[:5])}" if wrong else ", as locked"
    return Finding("packages", True, f"{sum(map(bool, found.values()))} installed{told}")


def _check_home(home: Home) -> Finding:
    home.folder.mkdir(parents=True, exist_ok=True)
    ok = os.access(home.folder, os.W_OK)
    return Finding("home", ok, str(home.folder), "" if ok else "Give this user the right to write there, or set ENVMILL_HOME.")


def _check_lake(home: Home) -> Finding:
    from envmill.lake.lake import Lake
    from envmill.lake.stores import open_store

    store = open_store(home.settings.lake)
    return Finding("lake", True, f"{store.url}, put-if-absent holds, {len(Lake(store).runs())} runs")


def _check_space(home: Home) -> Finding:
    places = {home.folder, home.settings.bundles, *([] if "://" in home.settings.lake else [Path(home.settings.lake)])}
    free = {place: shutil.disk_usage(_existing(place)).free for place in places}
    least = min(free, key=lambda place: free[place])
    mend = "" if free[least] >= _ROOM else "Free space there; `envmill compact` also removes files that were replaced."
    return Finding("space", not mend, f"{free[least] / 2**30:.1f} GB free at {least}", mend)


def _check_journals(home: Home) -> Finding:
    """A journal whose process is gone holds calls that the run's next start takes over."""
    found = sorted((home.folder / "journal").glob("*/*.jsonl"))
    runs = sorted({path.parent.name for path in found})
    mend = f"If no process works on them, `envmill run --resume {runs[-1]}` takes their calls over." if found else ""
    return Finding("journals", True, f"{len(found)} unsealed" + (f", of runs {', '.join(runs[-3:])}" if runs else ""), mend)


def _check_jail(home: Home) -> Finding:
    from envmill.runtime.jail.layers import KERNEL_LAYERS
    from envmill.sandbox import Sandbox

    async def probe() -> dict[str, bool]:
        async with Sandbox.open(home.settings) as sandbox:
            return sandbox.layers()

    layers = asyncio.run(probe())
    held = ", ".join(name for name, holds in layers.items() if holds) or "none"
    lacking = [name for name in KERNEL_LAYERS if not layers.get(name)]
    mend = f"This kernel lacks {', '.join(lacking)}; the jail holds without, with fewer layers." if lacking else ""
    return Finding("jail", any(layers.get(name) for name in KERNEL_LAYERS), f"layers: {held}", mend)


CHECKS: dict[str, Callable[[Home], Finding]] = {
    "python": _check_python,
    "packages": _check_packages,
    "home": _check_home,
    "lake": _check_lake,
    "space": _check_space,
    "journals": _check_journals,
    "jail": _check_jail,
}


def _required() -> list[str]:
    """Names in pyproject's `dependencies`."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [re.split(r"[<>=\[!~ ]", line, maxsplit=1)[0].lower() for line in project["dependencies"]]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _existing(place: Path) -> Path:
    return next(folder for folder in (place, *place.parents) if folder.exists())
