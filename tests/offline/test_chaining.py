"""How the embedded author says which row of a list it means."""

from typing import Any, cast

from offline.chaining import ChainWriter
from offline.domain import Domain

LENT = {"id": "L1", "member_id": "M1", "lent_on": "2026-03-01", "due_on": "2026-03-09"}
BACK = {"id": "L2", "member_id": "M1", "lent_on": "2026-03-01", "due_on": "2026-03-08"}


def choose(items: list[dict[str, Any]]) -> str:
    writer = ChainWriter(cast(Domain, None), cast(Any, None), "")
    writer.choose("s1", "[]", items, "id", "L1")
    return "".join(pick.path for pick in writer.filling.picks.values())


def test_a_row_is_chosen_by_a_value_that_no_other_row_has() -> None:
    assert choose([LENT, BACK]) == choose([BACK, LENT]) == "[].due_on"


def test_without_such_a_value_the_first_row_is_chosen() -> None:
    assert choose([LENT, LENT | {"id": "L2"}]) == "[].lent_on"
    assert choose([LENT | {"id": "L2"}, LENT]) == ""
