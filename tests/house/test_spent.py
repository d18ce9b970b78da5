"""Tests are sorted by the age of their functions."""

import pytest

from tests.house.spent import find_age


@pytest.mark.parametrize(
    ("node", "age"),
    [
        ("tests/a/test_b.py::test_old", "at the start"),
        ("tests/a/test_b.py::test_old[x::y-1]", "at the start"),
        ("tests/a/test_b.py::test_moved", "during the house"),
        ("tests/a/test_b.py::test_old_and_more[test_old]", "later"),
    ],
)
def test_a_test_is_as_old_as_the_name_of_its_function(node: str, age: str) -> None:
    assert find_age(node, {"test_old"}, {"test_old", "test_moved"}) == age
