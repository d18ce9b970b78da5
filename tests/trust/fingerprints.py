"""Fingerprints of what makes and judges a candidate: an outcome of other code is none; one that
other gates only could change stays."""

import hashlib
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from envmill.base.settings import ROOT
from tests.architecture.imports import Imports, read_imports

Part = Literal["environments", "review", "scenarios", "tables", "desks"]

_ENVIRONMENTS = (
    "tests.trust.making",
    *(f"envmill.gates.w{number}" for number in (1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13)),
)
_SCENARIOS = (
    "tests.trust.posing",
    "tests.trust.kept",
    "offline.truth",
    "envmill.gates.exploring.ends",
    *(f"envmill.gates.s{number}" for number in range(1, 16)),
)
ROOTS: dict[Part, tuple[str, ...]] = {
    "environments": _ENVIRONMENTS,
    "review": (*_ENVIRONMENTS, "tests.trust.readers", "envmill.gates.w4"),
    "scenarios": _SCENARIOS,
    "tables": (
        *_ENVIRONMENTS,
        *_SCENARIOS,
        "tests.trust.readers",
        "envmill.gates.w4",
        "tests.trust.tabled",
    ),
    "desks": (
        "tests.trust.desks",
        *(f"envmill.gates.w{number}" for number in (1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13)),
        *(f"envmill.gates.s{number}" for number in range(1, 19)),
    ),
}
"""Modules that a candidate goes through; what they import counts as well."""
_UNUSED: dict[Part, tuple[str, ...]] = {
    "environments": ("envmill.verifiers.facts",),
    "review": ("envmill.verifiers.facts",),
    "scenarios": (),
    "tables": (),
    "desks": (),
}
"""Reached only through what the author says of scenarios: no program and no stored test has a fact
to be told."""
_ORDER = ("tests.trust.jobs", "envmill.gates")
"""Who asks whom, and in which order: their own text alone, since they know every gate."""


@cache
def take_fingerprint(part: Part) -> str:
    told = hashlib.sha256()
    paths = [
        *map(_find_path, sorted({*_reach(part), *_ORDER})),
        *sorted((ROOT / "data/seeds").rglob("*.toml")),
    ]
    for path in paths:
        told.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return told.hexdigest()[:16]


def _reach(part: Part) -> set[str]:
    """Modules of ours that its roots import, and they themselves. A package's own text counts where
    something is taken from it."""
    imports, found, ahead = _read(), set[str](), set(ROOTS[part])
    while ahead:
        found |= ahead
        ahead = set(
            chain.from_iterable(imports.get(module, ()) for module in ahead)
        ) & imports.keys() - found - {*_ORDER, *_UNUSED[part]}
    return found


@cache
def _read() -> Imports:
    return read_imports(ROOT, ("envmill", "offline", "schemas", "tests"))


def _find_path(module: str) -> Path:
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
