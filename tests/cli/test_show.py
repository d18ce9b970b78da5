"""`show`: records as people read them, whatever they hold."""

import pytest

from envmill.lake.lake import Lake
from flows.cli.telling import describe_turns, make_plain
from flows.local.home import Home
from schemas.rollout import Rollout
from schemas.scenario import Scenario
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
