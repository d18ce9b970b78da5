"""A model as the policy, over both vendors' wire formats: what it is told, what it calls, how it
ends, and what is paid for once."""

from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.limits import RolloutLimits
from envmill.agents.replay import replay_rollout
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.base.errors import BadRequest, KeyRefused
from envmill.lake.journal import Journal
from envmill.models.gateway import Gateway
from envmill.models.replay import Replay
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from tests.agents.talks import CARD, LEND, LIST, SHED, TALK, fault, turn
from tests.models.calling import list_calls, open_door
from tests.models.vendors.launch import Loopback

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = find_policy("model")


async def play(
    vendor: str, vendors: Loopback, folder: Path, sandbox: Sandbox, attempt: int = 0, **more: Any
) -> Rollout:
    """One attempt by a process of its own that goes on from what the folder's journals hold."""
    async with open_door(vendor, vendors.root, folder) as door:
        models = door.open_session("scenarios-filter", TALK.id)
        return await play_scenario(
            MODEL, TALK, SHED, sandbox, "probe", attempt, models=models, **more
        )


def roles(rollout: Rollout) -> list[str]:
    return [
        f"{entry['role']}{len(entry['tool_calls'])}" if "tool_calls" in entry else entry["role"]
        for entry in rollout.transcript
    ]


@pytest.mark.parametrize("vendor", ["openai", "responses", "anthropic", "anthropic-stream"])
async def test_calls_side_by_side_are_answered_by_their_ids(
    vendor: str, vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(
        turn("Let me see.", LIST, CARD, reasoning="Who is Ada?"),
        turn("", LEND),
        turn("Lent.", output=30),
    )
    rollout = await play(vendor, vendors, tmp_path, sandbox)
    assert (rollout.outcome, rollout.termination, rollout.steps, rollout.turns) == (
        "pass",
        "done",
        3,
        3,
    )
    assert (rollout.policy, rollout.checkpoint, rollout.usage["output"] >= 30) == (
        "model",
        "loopback-large",
        True,
    )
    assert roles(rollout) == [
        "system",
        "user",
        "assistant2",
        "tool",
        "tool",
        "assistant1",
        "tool",
        "assistant",
    ]
    assert rollout.transcript[0]["content"] == "It is Monday, 2026-03-02, 09:00."
    assert rollout.transcript[2]["reasoning"] == "Who is Ada?"
    assert "drill" in str(rollout.transcript[3]["content"])
    assert "Ada" in str(rollout.transcript[4]["content"])
    assert await replay_rollout(rollout, TALK, SHED, sandbox) is None
    assert not (await rescore(rollout, TALK, SHED, sandbox)).changed
    sent = vendors.requests()[1]["body"]
    assert _pair_ids(vendor, sent)
    if vendor.startswith("anthropic"):
        thinking, text, *_ = sent["messages"][1]["content"]
        assert (thinking["type"], bool(thinking["signature"]), text["text"]) == (
            "thinking",
            True,
            "Let me see.",
        )


def _pair_ids(vendor: str, body: Any) -> bool:
    """Whether every call of the first turn is answered under its own id, with what that call
    brought."""
    if vendor == "responses":
        asked = [one["call_id"] for one in body["input"] if one.get("type") == "function_call"]
        given = {
            one["call_id"]: one["output"]
            for one in body["input"]
            if one.get("type") == "function_call_output"
        }
    elif vendor == "openai":
        asked = [call["id"] for one in body["messages"] for call in one.get("tool_calls") or ()]
        given = {
            one["tool_call_id"]: one["content"] for one in body["messages"] if one["role"] == "tool"
        }
    else:
        blocks = [block for one in body["messages"] for block in one["content"]]
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        given = {
            block["tool_use_id"]: block["content"]
            for block in blocks
            if block["type"] == "tool_result"
        }
    return len(set(asked)) == 2 and "drill" in given[asked[0]] and "Ada" in given[asked[1]]


async def test_a_call_that_cannot_be_read_is_told_so_and_counted(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(turn("", ("lend", '{"tool_id": "T1"'), LIST), turn("", LEND), turn("Lent."))
    rollout = await play("openai", vendors, tmp_path, sandbox)
    assert (rollout.outcome, rollout.agent_errors, rollout.steps) == ("pass", 1, 2)
    assert rollout.transcript[2]["tool_calls"][0]["raw"] == '{"tool_id": "T1"'
    assert rollout.transcript[3]["content"]["error"]["code"] == "malformed_call"
    assert rollout.transcript[3]["state_hash"] == rollout.transcript[4]["state_hash"]
    told = [
        one["content"] for one in vendors.requests()[1]["body"]["messages"] if one["role"] == "tool"
    ]
    assert ["malformed_call" in one for one in told] == [True, False]
    assert await replay_rollout(rollout, TALK, SHED, sandbox) is None
    assert not (await rescore(rollout, TALK, SHED, sandbox)).changed


NONSENSE = ("lend", "T1 to Ada")


@pytest.mark.parametrize(
    ("script", "limits", "termination", "steps"),
    [
        pytest.param([turn("I cannot help with that.", stop="refusal")], RolloutLimits(), "done", 0, id="refusal"),
        pytest.param([turn("", NONSENSE)] * 3, RolloutLimits(), "agent_error", 0, id="unreadable calls in a row"),
        pytest.param([turn("", LIST)] * 9, RolloutLimits(steps=4), "step_limit", 4, id="one call too many"),
        pytest.param([turn("", LIST, LIST, LIST)], RolloutLimits(steps=2), "step_limit", 2, id="a turn of too many calls"),
        pytest.param([turn("", LIST, output=70)] * 9, RolloutLimits(tokens=200), "token_limit", 3, id="tokens"),
        pytest.param([turn("I have th", stop="length")], RolloutLimits(), "token_limit", 0, id="cut off"),
        pytest.param(
            [turn("", LIST), fault("axe", status=400, code="context_length_exceeded", message="maximum context length is 8192 tokens")],
            RolloutLimits(), "token_limit", 1, id="no room left",
        ),
    ],
)  # fmt: skip
async def test_ends_of_the_policys_own_making_are_judged(
    vendors: Loopback,
    tmp_path: Path,
    sandbox: Sandbox,
    script: Any,
    limits: RolloutLimits,
    termination: str,
    steps: int,
) -> None:
    vendors.script(*script)
    rollout = await play("openai", vendors, tmp_path, sandbox, limits=limits)
    assert (rollout.termination, rollout.steps, rollout.outcome, rollout.reward) == (
        termination,
        steps,
        "fail",
        0.0,
    )
    assert rollout.limits == limits.describe()
    assert await replay_rollout(rollout, TALK, SHED, sandbox) is None


async def test_an_outage_is_no_verdict_and_going_on_pays_for_no_reply_twice(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(turn("", LIST), turn("", CARD), fault('"Ada"', 9, status=503))
    broken = await play("anthropic", vendors, tmp_path, sandbox)
    assert (broken.outcome, broken.reward, broken.termination, broken.steps) == (
        "error",
        None,
        "outage",
        2,
    )
    assert "503" in broken.detail
    assert (await rescore(broken, TALK, SHED, sandbox)).verdict.outcome == "error"
    vendors.script(turn("", LEND), turn("Lent."))
    asked = vendors.counts()["answered"]
    whole = await play("anthropic", vendors, tmp_path, sandbox)
    assert (whole.outcome, whole.steps, whole.id) == ("pass", 3, broken.id)
    answered = vendors.counts()["answered"]
    assert sum(answered.values()) - sum(asked.values()) == 2
    assert set(answered.values()) == {1}
    again = await play("anthropic", vendors, tmp_path, sandbox)
    assert again == whole
    assert vendors.counts()["answered"] == answered
    assert sum(call.reused for call in list_calls(tmp_path)) == 2 + 4


async def test_a_recording_played_back_is_the_same_rollout(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    """Its limits too: tokens are counted as they were when the replies were paid for."""
    vendors.script(
        turn("", LIST, output=70, reasoning="Hm."),
        turn("", CARD, output=70),
        turn("", LEND, output=70),
    )
    first = await play(
        "anthropic", vendors, tmp_path / "first", sandbox, limits=RolloutLimits(tokens=200)
    )
    assert first.termination == "token_limit"
    journal = Journal(tmp_path / "again")
    player = Replay(list_calls(tmp_path / "first"), "policy")
    door = Gateway(player, journal, {}, 1)
    models = door.open_session("scenarios-filter", TALK.id)
    again = await play_scenario(
        MODEL, TALK, SHED, sandbox, "probe", 0, models=models, limits=RolloutLimits(tokens=200)
    )
    await journal.close()
    assert again == first
    assert models.spent.tokens == 0


async def test_another_attempt_is_another_sample(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(turn("No."), turn("", LIST), turn("Neither."))
    first, second = [
        await play("openai", vendors, tmp_path, sandbox, attempt) for attempt in range(2)
    ]
    assert ([first.steps, second.steps], first.id == second.id) == ([0, 1], False)
    assert {call.sample for call in list_calls(tmp_path)} == {0, 1}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(401, KeyRefused, id="key refused"),
        pytest.param(400, BadRequest, id="request refused"),
    ],
)
async def test_what_says_nothing_about_the_attempt_escapes(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox, status: int, error: type[Exception]
) -> None:
    vendors.script(fault("", status=status, message="no"))
    with pytest.raises(error):
        await play("openai", vendors, tmp_path, sandbox)
