"""Which tests `make test` leaves to `make long`.

all tests ──mark `long`──► run by `make long` ──`cases=N`──► N cases of the function run by `make test` instead, others with every commit

A function is marked where its cases together take a worker more than five seconds. CI runs both.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable

import pytest


def choose_cases(items: Iterable[pytest.Item]) -> None:
    """Take the mark from the cases of a function that `make test` runs."""
    functions = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        mark = item.get_closest_marker("long")
        if mark and mark.kwargs.get("cases"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for name, cases in functions.items():
        (mark,) = cases[0].iter_markers("long")
        dice = random.Random(f"{os.environ.get('ENVMILL_SEED', '')}/{name}")
        for item in dice.sample(cases, min(mark.kwargs["cases"], len(cases))):
            item.own_markers = [one for one in item.own_markers if one.name != "long"]
