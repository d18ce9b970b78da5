"""Words that tell one row from another, and near misses that do not."""

from typing import Any

import pytest

from envmill.gates.reading.distinguishing import distinguish

LYNX: dict[str, Any] = {
    "name": "Lynx",
    "category": "car",
    "mileage": 41200,
    "locked": 0,
    "since": "2024-03-01",
    "status": "free",
}
LEOPARD = {**LYNX, "name": "Leopard", "mileage": 56700, "since": "2025-01-01"}
LION = {**LYNX, "name": "Lion", "mileage": 38900, "locked": 1}
LENT = {**LYNX, "name": "Lupo", "status": "lent"}
LINES: dict[str, Any] = {"subject": "Label printer skips lines", "customer": "Vantage"}
PAGES = {**LINES, "subject": "Label printer skips pages"}


@pytest.mark.parametrize(
    ("target", "rival", "fitting", "text", "apart"),
    [
        (LYNX, LEOPARD, [LEOPARD], "the car with the lowest mileage", True),
        (LYNX, LEOPARD, [LEOPARD], "the car with the highest mileage", False),
        (LYNX, LEOPARD, [LEOPARD], "the car at the lake", False),
        (LYNX, LEOPARD, [LEOPARD], "the oldest car", True),
        (LYNX, LEOPARD, [LEOPARD], "the newest car", False),
        (LYNX, LION, [LION], "the car with the lowest mileage", False),
        (LYNX, LION, [LION], "the car that is not locked", True),
        (LYNX, LION, [LION], "the locked car", False),
        (LION, LYNX, [LYNX], "the locked car", True),
        (
            LYNX,
            LEOPARD,
            [LEOPARD, LION],
            "the car with the lowest mileage among those that are not locked",
            True,
        ),
        (
            LYNX,
            LION,
            [LEOPARD, LION],
            "the car with the lowest mileage among those that are not locked",
            True,
        ),
        (LYNX, LENT, [LENT], "a car that is not lent", True),
        (LYNX, LENT, [LENT], "a car that is lent", False),
        (LINES, PAGES, [PAGES], "the label printer that skips lines", True),
        (LINES, PAGES, [PAGES], "the label printer that skips", False),
        (LINES, PAGES, [PAGES], "the label printer that skips lines and pages", False),
        (LINES, PAGES, [PAGES], "the label printer that skips pages", False),
    ],
)
def test_rows_are_told_apart(target: Any, rival: Any, fitting: Any, text: str, apart: bool) -> None:
    assert distinguish(target, rival, fitting, text) is apart
