"""Every admission check by its name, with what it asks, in the order of the laps."""

from collections.abc import Callable
from typing import Any

from envmill.gates import f1, f4, s1, s2, w1, w2, w3, w10

GATES: dict[str, Callable[..., Any]] = {
    w1.GATE: w1.lint_interface,
    w2.GATE: w2.construct,
    w3.GATE: w3.run_tests,
    w10.GATE: w10.find_duplicates,
    s1.GATE: s1.replay_oracle,
    s2.GATE: s2.attack,
    f1.GATE: f1.require_solved,
    f4.GATE: f4.find_repeats,
}
