"""`names`: themes that models named, counted over the nights of a lake, and the curve of distinct
ones."""

import xml.etree.ElementTree as ET
from pathlib import Path

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.report.curve import render_curve
from flows.local.home import Home
from schemas.seed import Brief, Seed
from tests.cli.conftest import start_run
from tests.cli.test_query import invoke


def name(theme: str, source: str, field: str = "") -> Seed:
    return Seed(
        recipe="awm",
        brief=Brief(theme=theme, text=f"About {theme}.", number=0),
        licence="MIT",
        source=source,
        field=field,
    )


def fill(home: Home) -> None:
    """The second night repeats one of the first, and names one of its own twice."""
    nights = [
        [
            name("port", "t1", "sea"),
            name("bakery", "t1"),
            Seed(recipe="awm", brief=Brief(theme="own", text="Own.", number=0), licence="MIT"),
        ],
        [name("port", "t2", "sea"), name("mill", "t2"), name("mill", "t3", "food")],
    ]
    for run, seeds in zip(("first", "second"), nights, strict=True):
        start_run(home, run)
        Lake(home.settings.lake).publish(
            seeds, [], Stamp(run, "environments-mine", "m" * 20, 0, 1, "", "t")
        )


def test_names_are_counted_night_by_night_and_drawn(home: Home, tmp_path: Path) -> None:
    fill(home)
    told = invoke(
        home, "names", "--recipe", "awm", "--svg", str(tmp_path / "curve.svg")
    ).stdout.splitlines()
    assert told == [
        "recipe\trun\tnames\tnew\tso_far\tfields",
        "awm\tfirst\t2\t2\t2\t1",
        "awm\tsecond\t3\t1\t3\t2",
    ]
    assert "awm, 3 of 5" in (tmp_path / "curve.svg").read_text()
    assert len(invoke(home, "names").stdout.splitlines()) == 3
    assert len(invoke(home, "names", "--recipe", "envscaler").stdout.splitlines()) == 1


def test_a_curve_is_drawn_whatever_a_series_is_called() -> None:
    drawn = render_curve(
        {"</text><script>x</script>": [(1, 1), (2, 1)], "none": []}, "draws", "distinct & new"
    )
    root = ET.fromstring(drawn)
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    lines = [
        node.get("points", "").split() for node in root.iter() if node.tag.endswith("polyline")
    ]
    assert [len(line) for line in lines] == [3, 2, 3, 1]
    assert lines[2][1].split(",")[1] == lines[2][2].split(",")[1], (
        "a name that comes again adds nothing"
    )
    assert len(render_curve({"long": [(n, n) for n in range(1, 9000)]}, "a", "b")) < 20_000
