"""What the training loop is measured with: quantiles, process trees, and scripts between the
shortest and the longest rollout."""

import json
import os
import subprocess
import sys

import pytest

from schemas.environment import Call
from tests.bench.loop.curve import MEASURED, SVG, render
from tests.bench.loop.played import LONGEST, _lengthen
from tests.bench.loop.policy import find_quantile
from tests.bench.loop.server import list_children, list_tree, read_pss


@pytest.mark.parametrize(
    ("share", "found"),
    [
        pytest.param(0.5, 50.0, id="p50"),
        pytest.param(0.99, 99.0, id="p99"),
        pytest.param(1, 100.0, id="most"),
    ],
)
def test_a_quantile_is_the_nearest_rank(share: float, found: float) -> None:
    assert find_quantile([float(value) for value in range(100, 0, -1)], share) == found
    assert find_quantile([], share) == 0.0


def test_a_tree_holds_what_lives_and_not_what_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in list_tree(os.getpid())
        assert child.pid in list_children(os.getpid())
        assert read_pss(child.pid) > 0
        assert child.stdin
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid not in list_tree(os.getpid())


def test_scripts_keep_between_their_calls_and_the_longest() -> None:
    look, deed = Call(name="look"), Call(name="deed")
    assert [call.name for call in _lengthen([deed], look, 3)] == ["look", "look", "deed"]
    assert len(_lengthen([deed] * 50, look, 3)) == LONGEST - 1


def test_the_curve_of_the_page_is_the_one_that_was_measured() -> None:
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))
    assert SVG.read_text(encoding="utf-8") == render(rows)
    rows["memory_1024"]["measured"] += 0.1
    assert SVG.read_text(encoding="utf-8") != render(rows)
