"""The page with the picture is what the code is, and the structure keeps within its bounds."""

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES
from tests.architecture.imports import read_imports
from tests.architecture.picture import PAGE, count_floors, read_arrows, reduce_arrows, render_page

MOST_ROOMS, MOST_ARROWS = 25, 160


def test_the_page_shows_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(ROOT), (
        "renew it: python -m tests.architecture.picture"
    )


def test_every_package_says_what_it_holds() -> None:
    assert "|  |" not in PAGE.read_text(encoding="utf-8")


def test_the_structure_keeps_within_its_bounds() -> None:
    arrows = read_arrows(read_imports(ROOT, PACKAGES))
    assert len(arrows) <= MOST_ROOMS
    assert sum(map(len, arrows.values())) <= MOST_ARROWS


def test_rooms_and_arrows_are_those_of_the_imports() -> None:
    imports = {
        "envmill": frozenset[str](),
        "flows.cli.run": frozenset({"envmill.stages.build", "envmill.lake", "typer"}),
        "envmill.stages.build": frozenset({"envmill.lake.sql", "envmill.stages.context"}),
        "envmill.stages.context": frozenset[str](),
        "envmill.lake.sql": frozenset({"schemas.base"}),
        "schemas.base": frozenset[str](),
    }
    arrows = read_arrows(imports)
    assert arrows == {
        "envmill.lake": {"schemas"},
        "envmill.stages": {"envmill.lake"},
        "flows": {"envmill.stages", "envmill.lake"},
        "schemas": set(),
    }
    assert count_floors(arrows) == {
        "schemas": 1,
        "envmill.lake": 2,
        "envmill.stages": 3,
        "flows": 4,
    }
    assert reduce_arrows(arrows)["flows"] == {"envmill.stages"}
