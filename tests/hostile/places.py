"""Where the corpus is played: as root, as nobody, in a locked-down container, and through an
exported folder's own jail."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from envmill.base.settings import ROOT
from envmill.runtime.jail.layers import LAYERS
from tests.hostile.assault import Seen
from tests.hostile.engine import LOCKED, Engine
from tests.hostile.outside import SECRET

_MODULE = "tests.hostile.scene"


class Lacking(Exception):
    """This machine does not have the place; the message says what it would take."""


@dataclass(frozen=True)
class Place:
    """Somewhere to play the corpus."""

    play: Callable[[str], str]
    """The scene's lines, for `all` or `brief`."""
    lacks: frozenset[str]
    """Layers that cannot hold there."""
    may_lack: frozenset[str] = frozenset()
    """Layers that hold there on some machines."""


@dataclass(frozen=True)
class Scene:
    """What was seen in a place."""

    layers: dict[str, bool]
    seen: dict[str, Seen]


@cache
def play(name: str, extent: str) -> Scene:
    """The whole scene, played once."""
    head, *lines = map(json.loads, PLACES[name].play(extent).splitlines())
    return Scene(head["layers"], {line["name"]: Seen(**line["seen"]) for line in lines})


def check_layers(place: Place, layers: Iterable[str]) -> list[str]:
    """Layers that should hold in a place and do not, or the other way about: then something else is
    tested than is said."""
    return sorted(set(layers).symmetric_difference(set(LAYERS) - place.lacks) - place.may_lack)


@cache
def start_engine() -> Engine:
    """One for all tests of a process."""
    return Engine()


def _play_here(through: str, extent: str) -> str:
    return _run([sys.executable, "-B", "-m", _MODULE, through, extent])


def _play_as_root(extent: str) -> str:
    if os.geteuid() != 0:
        raise Lacking("only root can run the jail as root")
    return _play_here("sandbox", extent)


def _play_unprivileged(extent: str) -> str:
    if os.geteuid() != 0:
        return _play_here("sandbox", extent)
    folders = [str(Path(sys.base_prefix).resolve()), sys.prefix, str(ROOT)]
    return _run(
        [
            sys.executable,
            "-m",
            "tests.hostile.demoted",
            *folders,
            "--",
            sys.executable,
            "-B",
            "-m",
            _MODULE,
            "sandbox",
            extent,
        ]
    )


def _play_in_container(extent: str) -> str:
    return start_engine().run(LOCKED, [_MODULE, "sandbox", extent])


def _run(words: list[str]) -> str:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", **SECRET}
    done = subprocess.run(
        words,
        cwd="/",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stderr[-2000:]}")
    return done.stdout


_NOT_ROOT = frozenset() if os.geteuid() == 0 else frozenset(("uid",))
PLACES: dict[str, Place] = {
    "root": Place(_play_as_root, frozenset()),
    "unprivileged": Place(
        _play_unprivileged, frozenset(("uid",)), frozenset(("cgroups", "namespaces"))
    ),
    "container": Place(_play_in_container, frozenset(("uid", "namespaces", "cgroups"))),
    "vendored": Place(
        lambda extent: _play_here("vendored", extent),
        _NOT_ROOT,
        frozenset(("cgroups", "namespaces")) if _NOT_ROOT else frozenset(),
    ),
}
