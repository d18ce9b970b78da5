"""World `shell_scripts`: a folder of scripts, of which some are wrong and some are not there
yet."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json

_TOTAL = """#!/bin/sh
# total FILE: the sum of column COLUMN
sum=0
cut -d' ' -fCOLUMN $1 | while read each; do
    sum=$((sum + each))
done
echo $sum
"""
_SIZES = """#!/bin/bash
# sizes FOLDER: size and name of each file in it, by name
for each in $(ls $1); do
    echo $(stat -c %s $1/$each) $each
done
"""


def make(spot: WorldSite) -> ErrandWorld:
    home, things = f"{spot.home}/bin", spot.pick("things", 4)
    column, suffix = spot.dice.choice([2, 3]), spot.dice.choice(["bak", "old", "keep"])
    files = {
        f"{home}/total": _TOTAL.replace("COLUMN", str(column)),
        f"{home}/sizes": _SIZES,
        f"{home}/README": f"Scripts for {things[0]} and {things[1]}.\n",
    }
    rows = "".join(
        f"{thing} {2 * number} {3 * number + 1}\n" for number, thing in enumerate(things, 1)
    )
    values: dict[str, Json] = {
        "home": home,
        "column": column,
        "suffix": suffix,
        "total": f"{home}/total",
        "sizes": f"{home}/sizes",
        "lines": f"{home}/lines",
        "keep": f"{home}/keep",
        "greet": f"{home}/ask",
        "rows": rows,
        "sum": sum((2 * n, 3 * n + 1)[column - 2] for n in range(1, 5)),
    }
    return ErrandWorld(
        values,
        files,
        (f"chmod 755 {home}/total {home}/sizes",),
        "total and sizes are executable.",
        _INITIAL,
    )


_INITIAL = """
def test_scripts_are_executable():
    assert all(Path(each).stat().st_mode & 0o111 for each in (@total@, @sizes@)), "a script does not run"
"""
