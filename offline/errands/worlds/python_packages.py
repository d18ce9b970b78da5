"""World `python_packages`: a small package with a version in two places, a function that is wrong,
and no way to run it yet."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json

_CORE = '''"""What it does."""

import sys


def main() -> None:
    """Print each argument FACTOR times over."""
    for each in sys.argv[1:]:
        print(int(each) * FACTOR)
'''
_STATS = '''"""Numbers of numbers."""


def mean(values: list[float]) -> float:
    """The mean; 0.0 of no values at all."""
    return sum(values) / (len(values) - 1)


def spread(values: list[float]) -> float:
    """Largest less smallest."""
    return max(values) - min(values)
'''


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, f"{spot.home}/tool"
    package, (minor, micro, factor) = (
        f"{spot.folder}_tool",
        (dice.randint(1, 8), dice.randint(1, 8), dice.randint(3, 9)),
    )
    old, new = f"0.{minor}.{micro}", f"0.{minor + 1}.0"
    init, project = f"{home}/src/{package}/__init__.py", f"{home}/pyproject.toml"
    values: dict[str, Json] = {
        "home": home,
        "package": package,
        "old": old,
        "new": new,
        "init": init,
        "project": project,
        "src": f"{home}/src",
        "factor": factor,
        "stats": f"{home}/src/{package}/stats.py",
        "main": f"{home}/src/{package}/__main__.py",
        "pyz": f"{spot.home}/tool.pyz",
        "call": f"{package}.core:main",
        "core": f"{home}/src/{package}/core.py",
        "results": [str(factor * each) for each in (3, 5, 12)],
    }
    files = {
        project: f'[project]\nname = "{package}"\nversion = "{old}"\nrequires-python = ">=3.11"\n\n'
        f"[tool.{package}]\nfactor = {factor}\n",
        init: f'"""A small tool."""\n\n__version__ = "{old}"\n',
        f"{home}/src/{package}/core.py": _CORE.replace("FACTOR", str(factor)),
        f"{home}/src/{package}/stats.py": _STATS,
    }
    return ErrandWorld(values, files)
