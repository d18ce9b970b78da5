"""Under which names a reply tells values of the rows that it points to."""

import pytest

from envmill.gates.exploring.quotes import list_pointed
from envmill.gates.exploring.rows import StateRow


@pytest.mark.parametrize(
    ("collection", "name", "stems"),
    [
        pytest.param("hives", "hive_id", {"hive"}, id="one-word"),
        pytest.param("members", "from_member_id", {"from_member", "from", "member"}, id="a-role"),
        pytest.param(
            "credit_entries", "credit_entry_id", {"credit_entry"}, id="a-name-of-two-words"
        ),
    ],
)
def test_only_a_role_may_be_told_by_a_part_of_its_name(
    collection: str, name: str, stems: set[str]
) -> None:
    row = StateRow(collection, "x_1", {"id": "x_1", "litres": 150})
    assert {stem for stem, _ in list_pointed({name: "x_1", "litres": 150}, {"x_1": [row]})} == stems
