"""`show`: records as people read them, whatever they hold."""

import pytest

from envmill.lake.lake import Lake
from flows.cli.telling import describe_turns, make_plain
from flows.local.home import Home
from schemas.rollout import Rollout
from schemas.scenario import Scenario
from schemas.seed import Seed
from tests.cli.test_lake import invoke
from tests.quality.specimen import make_line
from tests.report.hostile import ATTACK, write_hostile

CALL = {"id": "c1", "name": "lend", "arguments": {"tool_id": "T1"}}
GIVEN = {"ok": True, "parts": [{"type": "json", "value": {"loan": "L1"}}]}
REFUSED = {"ok": False, "error": {"code": "taken", "message": "It is lent."}}
TURNS = [
    {"role": "user", "content": "Lend it."},
    {"role": "assistant", "content": "", "tool_calls": [CALL, CALL | {"id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": GIVEN, "state_hash": "a"},
    {"role": "tool", "tool_call_id": "c2", "content": REFUSED, "state_hash": "b"},
    {"role": "assistant", "content": "Done."},
]


def test_turns_tell_calls_replies_changes_and_what_is_trained_on() -> None:
    assert list(describe_turns(TURNS, {"loss": [False, True, False, False, True]})) == [
        "user: Lend it.",
        "agent *:",
        '  > lend(tool_id="T1")',
        '  > lend(tool_id="T1")',
        '    = {"loan": "L1"}',
        '    = {"code": "taken", "message": "It is lent."} (state changed)',
        "agent *: Done.",
        "(* is trained on)",
    ]


def test_scenario_and_rollout_are_told_line_by_line(home: Home) -> None:
    line = make_line()
    change = {"op": "set", "path": ["tools", "T1", "free"], "before": True, "after": False}
    line.change(Rollout, transcript=TURNS, changes=[change])
    line.write(Lake(home.settings.lake), "r1")
    told = invoke(home, "show", line.all(Scenario)[0].id).stdout
    assert 'oracle:\n    1. list_tools()\n    2. lend(member_id="M1", tool_id="T1")\n' in told
    assert "\n    goals     the drill is lent\n" in told
    assert "\n    may change tools.T1.free\n" in told
    assert '\n    tools (3)\n      T1: {"free": true, "name": "drill"}\n' in told
    assert '\n# Evidence\nF1: {"attempts":2,"passed":1,"policy":"careless"}\n' in told
    played = invoke(home, "show", line.all(Rollout)[0].id).stdout
    assert "\nchanges:\n    ~ tools.T1.free true -> false\n" in played
    assert '\n      > lend(tool_id="T1")\n' in played


def test_what_every_step_took_is_told_of_whatever_id_the_candidate_has(home: Home) -> None:
    """A step gives what it makes a new id."""
    line = make_line()
    line.write(Lake(home.settings.lake), "r1")
    (scenario,), (seed,) = line.all(Scenario), line.all(Seed)
    place = f"{scenario.environment}:{scenario.number:03d}"
    for id, told in (
        (scenario.draft, [place, scenario.draft, *[scenario.id] * 3]),
        (scenario.id, [place, scenario.draft, *[scenario.id] * 3]),
        (scenario.environment, [seed.id, None, *[scenario.environment] * 2]),
        (place, [place]),
    ):
        steps = read_steps(invoke(home, "show", id).stdout)
        assert [each[2] for each in steps[: len(told)]] == [
            step[2] if one is None else one for one, step in zip(told, steps, strict=False)
        ]
        sums = [[float(each[at]) for each in steps if each[0] != "all"] for at in (7, 8)]
        if len(steps) > 1:
            assert steps[-1][0] == "all"
            assert [float(steps[-1][at]) for at in (7, 8)] == [sum(one) for one in sums]


def read_steps(told: str) -> list[list[str]]:
    table = told.partition("# Outcome of each step\n")[2].partition("\n\n")[0]
    return [line.split("\t") for line in table.splitlines()[1:]]


def test_no_text_of_a_model_reaches_the_terminal_as_a_command(home: Home) -> None:
    write_hostile(Lake(home.settings.lake), "r1")
    for prefix in ("env_", "scn_", "bp_", "qua_", "rev_", "wdr_"):
        told = invoke(home, "show", prefix).stdout
        assert not set("\x1b\x07\x00\u202e\u2066\u2028") & set(told), prefix
        assert "<U+001B>" in told


@pytest.mark.parametrize("text", ["ordinary – text\n\twith lines", "ünïcode, 日本語, עברית"])
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert make_plain(text) == text
    assert make_plain(ATTACK) != ATTACK
