"""W11: a change that answers ok and changes nothing, because all that it asks for stands in one
record already."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.gates.w11 import _asks_for_what_stands  # pyright: ignore[reportPrivateUsage]
from schemas.environment import Call

MAP = {"id": "app_6", "name": "map-view", "block_id": "blk_4", "description": "Maps of taxes"}
OTHER = {"id": "app_7", "name": "map-edit", "block_id": "blk_4", "description": None}


@pytest.mark.parametrize(
    ("arguments", "stands"),
    [
        pytest.param(
            {"name": "map-view", "description": "Maps of taxes", "block_id": "blk_4"},
            True,
            id="all of it",
        ),
        pytest.param(
            {"name": "map-view", "description": " maps of taxes", "delete": ["DIRECTORY"]},
            True,
            id="as it may be stored",
        ),
        pytest.param(
            {"name": "map-view", "description": "Maps of roads"}, False, id="another text"
        ),
        pytest.param(
            {"name": "map-edit", "description": "Maps of taxes"}, False, id="in another record"
        ),
        pytest.param({"description": "Maps of taxes"}, False, id="one alone"),
        pytest.param(
            {"app_id": "app_6", "description": "Maps of taxes"}, False, id="called by another name"
        ),
    ],
)
def test_what_a_record_holds_already_is_no_silent_success(
    arguments: dict[str, Any], stands: bool
) -> None:
    rows = [SimpleNamespace(key=row["id"], value=row) for row in (MAP, OTHER)]
    exploration, observed = (
        SimpleNamespace(rows=lambda _: rows),
        SimpleNamespace(before="h", call=Call(name="update_application", arguments=arguments)),
    )
    assert _asks_for_what_stands(cast(Any, observed), cast(Any, exploration)) is stands
