"""A run in which every text that a model or a person may have written tries to become more than a
text."""

from typing import Any

from envmill.lake.lake import Lake
from schemas.environment import Blueprint, Build, Environment
from schemas.ledger import Attrition, Evidence, ModelCall
from schemas.quality import Quarantine, Review, Withdrawal
from schemas.rollout import Rollout
from schemas.scenario import Scenario
from schemas.seed import Seed
from tests.quality.specimen import make_line

ATTACK = (
    '</script><script>window.taken=1</script><img src=x onerror="window.taken=1"><svg '
    "onload='window.taken=1'>"
    "<a "
    'href="javascript:window.taken=1">x</a>\'"`${window.taken=1}\u2028\u2029\u202eresrever\u2066\ufeff\x00\x1b]0;taken\x07 '
    "-->]]>"
)
"""Ends scripts and comments, closes quotes, breaks lines of scripts, turns the direction round, and
tells terminals what to do."""

CALLS = (
    {"id": "c1", "name": ATTACK, "arguments": {ATTACK: ATTACK}},
    {"id": "c2", "name": "lend", "arguments": {"__proto__": {"x": 1}}},
)
GIVEN = {"ok": True, "parts": [{"type": "json", "value": [{ATTACK: ATTACK}]}]}
REFUSED = {"ok": False, "error": {"code": ATTACK, "message": ATTACK}}
TURNS: list[dict[str, Any]] = [
    {"role": "system", "content": ATTACK},
    {"role": "user", "content": ATTACK},
    {"role": "assistant", "content": ATTACK, "reasoning": ATTACK, "tool_calls": [*CALLS]},
    {"role": "tool", "tool_call_id": "c1", "content": GIVEN, "state_hash": "a"},
    {"role": "tool", "tool_call_id": "c2", "content": REFUSED, "state_hash": "b"},
    {"role": "assistant", "content": ATTACK},
]
CHANGES = [
    {"op": "set", "path": [ATTACK, "__proto__"], "before": ATTACK, "after": {ATTACK: ATTACK}}
]


def write_hostile(lake: Lake, run: str) -> None:
    line = make_line()
    line.change(Seed, licence=ATTACK)
    line.change(Blueprint, name=ATTACK, summary=ATTACK, rules=[ATTACK])
    line.change(Build, failure=ATTACK, outcome="failed", fault="code")
    line.change(
        Environment, name=ATTACK, summary=ATTACK, rules=[ATTACK], policy_document=ATTACK, licence=ATTACK,
        files={"program.py": ATTACK, ATTACK: ATTACK},
    )  # fmt: skip
    line.change(
        Scenario,
        request=ATTACK,
        say=ATTACK,
        initial_state={ATTACK: {"K1": {ATTACK: ATTACK}}, "__proto__": {"x": {"y": 1}}},
    )
    line.change(
        Rollout,
        reason=ATTACK,
        policy=ATTACK,
        checkpoint=ATTACK,
        transcript=TURNS,
        changes=CHANGES,
        detail=ATTACK,
    )
    line.change(Attrition, lambda row: row.outcome != "kept", reason=ATTACK, detail=ATTACK)
    line.change(Attrition, theme=ATTACK)
    line.change(Evidence, finding={ATTACK: ATTACK})
    line.change(ModelCall, model=ATTACK, prompt=ATTACK)
    line.change(Quarantine, detail=ATTACK, content={ATTACK: ATTACK})
    line.change(Review, note=ATTACK, reviewer=ATTACK)
    line.change(Withdrawal, reason=ATTACK)
    line.write(lake, run)
