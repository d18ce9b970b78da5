"""F4: which of two scenarios is a repeat of the other."""

import random
from typing import Any

import pytest

from envmill.gates.f4 import NEAR, RUN, SAME, describe_way, find_repeats, name_targets
from envmill.language.similarity import list_runs, share, split_words
from schemas.base import canonical_json
from schemas.environment import Call, Environment
from schemas.scenario import Check, Fact, Scenario, Verifier
from tests.gates.specimens.filtering import BARN, LONG, REPEATS, SHED, ask
from tests.specimens import make_scenario


@pytest.mark.parametrize("name", REPEATS)
def test_of_two_alike_the_first_in_id_order_is_kept(name: str) -> None:
    one, other, reason = REPEATS[name]
    findings = find_repeats([one, other])
    assert find_repeats([other, one]) == findings
    first, second = sorted([one.id, other.id])
    assert findings[first].outcome == "kept"
    assert (findings[second].outcome, findings[second].reason) == (
        "dropped" if reason else "kept",
        reason,
    )
    if reason:
        assert findings[second].evidence["twin"] == first


def test_among_hundreds_each_repeat_is_found_in_any_order() -> None:
    """The index of candidates is drawn by chance, its outcome is not."""
    dice = random.Random(7)
    words = LONG.split()
    requests = [" ".join(dice.sample(words, len(words))) for _ in range(150)]
    some = [ask(request) for request in requests] + [
        ask(f"{request} Thanks.") for request in requests
    ]
    findings = find_repeats(some)
    assert sum(finding.reason == "near_repeat" for finding in findings.values()) == 150
    dice.shuffle(some)
    assert find_repeats(some) == findings


ROWS: dict[str, Any] = {
    "tools": {"T1": {"name": "drill", "free": True}, "T2": {"name": "saw", "free": True}},
    "members": {"M1": {"name": "Ada"}, "M2": {"name": "Bo"}},
    "loans": {"L1": {"tool": "T2", "member": "M2"}},
}
"""A state; `rename` gives it other ids."""


def rename(state: Any, by: str) -> Any:
    """The same records under other ids, whoever names them."""
    keys = {key: by + key for rows in ROWS.values() for key in rows}
    if isinstance(state, dict):
        return {keys.get(name, name): rename(value, by) for name, value in state.items()}
    return keys.get(state, state) if isinstance(state, str) else state


def lend(
    tool: str,
    member: str,
    state: Any = ROWS,
    request: str = "",
    home: Environment = BARN,
    **changes: Any,
) -> Scenario:
    """A loan of a tool to a member, achieved."""
    made = {"tool": tool, "member": member, "since": {"$any": "str"}}
    goals = [
        Check(name="out", op="equals", path=["tools", tool, "free"], value=False),
        Check(name="lent", op="present", path=["loans"], value=made),
    ]
    verifier = Verifier(goals=goals, guards=[], frame=[["tools", tool, "free"], ["loans"]])
    calls = [Call(name="lend", arguments={"tool_id": tool, "member_id": member})]
    words = request or f"Wish {tool} {member} {len(str(state))}."
    return make_scenario(
        home,
        **{"request": words, "initial_state": state, "oracle": calls, "verifier": verifier}
        | changes,
    )


def ask_about(member: str, value: int, state: Any = ROWS, **changes: Any) -> Scenario:
    """A question about a member."""
    verifier = Verifier(
        goals=[], guards=[], frame=[], facts=[Fact(name="how many", kind="number", value=value)]
    )
    calls = [Call(name="get_member", arguments={"member_id": member})]
    told = {
        "request": f"How many has {member} ({value}, {len(str(state))})?",
        "initial_state": state,
        "oracle": calls,
    }
    return make_scenario(BARN, **told | {"polarity": "answer", "verifier": verifier} | changes)


MANY = {
    **ROWS,
    "tools": ROWS["tools"]
    | {f"T{number}": {"name": f"tool {number}", "free": True} for number in range(3, 40)},
}
"""A state of many records, with one of them altered, and with half of them others."""
ALTERED = {**MANY, "members": {"M1": {"name": "Ada Bell"}, "M2": {"name": "Bo"}}}
HALVED = {
    **MANY,
    "tools": {
        key: row | {"name": row["name"] + " II" * (int(key[1:]) % 2)}
        for key, row in MANY["tools"].items()
    },
}
OTHER = {**ROWS, "members": {**ROWS["members"], "M3": {"name": "Cy"}}}
ERRANDS: dict[str, tuple[Scenario, Scenario, str]] = {
    "in other words": (lend("T1", "M1"), lend("T1", "M1", OTHER, "Ada waits for the drill."), "same_errand"),
    "under other ids": (lend("T1", "M1"), lend("xT1", "xM1", rename(OTHER, "x")), "same_errand"),
    "the same tool to another member": (lend("T1", "M1"), lend("T1", "M2", OTHER), ""),
    "another tool to the same member": (lend("T1", "M1"), lend("T2", "M1", OTHER), ""),
    "a member of that name in another state, otherwise": (
        lend("T1", "M1"), lend("T1", "M1", {**OTHER, "members": {"M1": {"name": "Ada Bell"}}}), "",
    ),
    "asked, and asked to be refused": (lend("T1", "M1"), lend("T1", "M1", OTHER, polarity="refuse"), ""),
    "the same question": (ask_about("M1", 2), ask_about("M1", 2, OTHER), "same_errand"),
    "another question about the same": (ask_about("M1", 2), ask_about("M1", 3, OTHER), ""),
    "the same question about another": (ask_about("M1", 2), ask_about("M2", 2, OTHER), ""),
    "the same state": (lend("T1", "M1"), lend("T2", "M2"), "same_state"),
    "nearly the same state, under other ids": (lend("T1", "M1", MANY), lend("xT2", "xM2", rename(ALTERED, "x")), "same_state"),
    "half of the same state": (lend("T1", "M1", MANY), lend("T2", "M2", HALVED), ""),
    "the same state elsewhere": (lend("T1", "M1"), lend("T2", "M2", home=SHED), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRANDS)
def test_what_was_planned_together_differs_in_records_and_first_states(name: str) -> None:
    one, other, reason = ERRANDS[name]
    findings = find_repeats([one, other], planned=True)
    first, second = sorted([one.id, other.id])
    assert (findings[first].outcome, findings[second].reason) == ("kept", reason)
    assert find_repeats([other, one], planned=True) == findings
    assert {one.outcome for one in find_repeats([one, other]).values()} == {"kept"}, (
        "and nothing else has to"
    )


def test_what_keeps_no_records_is_not_compared_by_them() -> None:
    """Machines keep their state elsewhere."""
    nothing = Verifier(goals=[], guards=[], frame=[])
    some = [
        ask(f"Please mend thing {number}.", initial_state={}, verifier=nothing)
        for number in range(3)
    ]
    assert {one.outcome for one in find_repeats(some, planned=True).values()} == {"kept"}


def compare_all(scenarios: list[Scenario], planned: bool) -> dict[str, tuple[str, str, str]]:
    """The decision as it reads: every scenario beside every one that was kept, all in memory, no index."""
    kept: list[Scenario] = []
    found: dict[str, tuple[str, str, str]] = {}
    for one in sorted(scenarios, key=lambda scenario: scenario.id):
        found[one.id] = find_plain(one, kept, planned)
        kept += [one] if found[one.id][0] == "kept" else []
    return found


def find_plain(one: Scenario, kept: list[Scenario], planned: bool) -> tuple[str, str, str]:
    words, near = split_words(one.request), list[tuple[float, str]]()
    near_by = [other for other in kept if other.environment == one.environment]
    for other in near_by:
        if other.polarity == one.polarity and split_words(other.request) == words:
            return "dropped", "repeat", other.id
    for other in kept:
        alike = share(list_runs(words, RUN), list_runs(split_words(other.request), RUN))
        near += (
            [(-alike, other.id)]
            if alike >= NEAR and describe_way(other) == describe_way(one)
            else []
        )
    if near:
        return "dropped", "near_repeat", min(near)[1]
    targets = name_targets(one)
    for other in reversed(near_by) if planned and targets else ():
        if other.polarity == one.polarity and name_targets(other) == targets:
            return "dropped", "same_errand", other.id
    for other in near_by if planned else ():
        records = [
            {
                canonical_json([table, row])
                for table, rows in which.initial_state.items()
                for row in rows.values()
            }
            for which in (one, other)
        ]
        if records[0] and share(frozenset(records[0]), frozenset(records[1])) >= SAME:
            return "dropped", "same_state", other.id
    return "kept", "", ""


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_decides_on_disk_what_a_comparison_of_all_decides(seed: int, planned: bool) -> None:
    dice, words, homes = random.Random(seed), LONG.split(), [BARN, SHED]
    requests = [" ".join(dice.sample(words, len(words))) for _ in range(40)]
    states = [
        {"tools": {f"T{number}": {"name": f"tool {number}", "row": row} for row in range(6)}}
        for number in range(60)
    ]
    some = [
        ask(
            f"{dice.choice(requests)}{dice.choice(['', '', ' Thanks.', ' Please do.'])}",
            dice.choice(homes),
            initial_state=dice.choice(states),
            seed=number,
        )
        for number in range(120)
    ]
    found = find_repeats(some, planned=planned)
    told = {
        name: (one.outcome, one.reason, (one.evidence or {}).get("twin", ""))
        for name, one in found.items()
    }
    assert told == compare_all(some, planned)
    assert len({reason for _, reason, _ in told.values()}) >= 3
