"""Tokens as the server sampled them: kept beside each message, and exported only if encoding the
transcript again gives the same."""

from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.attempts import make_player
from envmill.agents.transcript import list_messages, list_sampled
from envmill.interop.tokens.refusal import TokenRefusal
from envmill.interop.tokens.sheet import encode_trajectory
from envmill.interop.tokens.tokenizer import ChatTokenizer, read_tokenizer
from envmill.sandbox import Sandbox
from envmill.stages.collect import make_trajectory
from schemas.rollout import Rollout, Trajectory
from schemas.run import RunConfig
from tests.agents.talks import LEND, SHED, TALK, turn
from tests.interop.tokens.families import FAMILIES, write_folder
from tests.models.calling import list_calls, open_door
from tests.models.vendors.launch import Loopback

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALLED = (
    '<tool_call>\n{"name": "lend", "arguments": {"tool_id": "T1", "member_id": "M1"}}\n'
    "</tool_call><|im_end|>"
)
TOLD = "The drill is lent.<|im_end|>"


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> ChatTokenizer:
    return read_tokenizer(
        write_folder(FAMILIES["chatml"], tmp_path_factory.mktemp("chatml") / "chatml")
    )


async def play(
    vendors: Loopback,
    folder: Path,
    sandbox: Sandbox,
    told: list[tuple[Any, list[int]]],
    vendor: str = "openai",
) -> Rollout:
    vendors.script(*({**said, "turn": {**said["turn"], "tokens": ids}} for said, ids in told))
    async with open_door(vendor, vendors.root, folder) as door:
        models = door.open_session("scenarios-collect", TALK.id)
        config = RunConfig(token_ids=True)
        return await make_player(
            find_policy("model"), TALK, SHED, sandbox, "teacher", models, config
        )(0)


def sample(chat: ChatTokenizer, text: str) -> list[int]:
    """What a server sampled whose model says exactly this."""
    return chat.encode(text).ids


async def play_well(
    chat: ChatTokenizer, vendors: Loopback, folder: Path, sandbox: Sandbox
) -> Trajectory:
    said = [
        (turn("", LEND), sample(chat, CALLED)),
        (turn("The drill is lent."), sample(chat, TOLD)),
    ]
    return make_trajectory(await play(vendors, folder, sandbox, said), TALK, SHED)


async def test_they_are_kept_beside_each_message_and_exported_with_their_log_probabilities(
    chat: ChatTokenizer, vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    trajectory = await play_well(chat, vendors, tmp_path, sandbox)
    asked = vendors.requests()[0]["body"]
    assert (asked["logprobs"], asked["return_token_ids"]) == (True, True)
    assert [bool(one) for one in trajectory.sampled] == [
        message["role"] == "assistant" for message in trajectory.messages
    ]
    assert "sampled" not in str(trajectory.messages)
    (row,) = encode_trajectory(chat, trajectory)
    assert row.sampled == 2
    assert row.logprobs == [-0.5 if said else None for said in row.said]
    assert (
        chat.decode([token for token, said in zip(row.ids, row.said, strict=True) if said])
        == CALLED + TOLD
    )


async def test_a_reply_that_was_known_brings_its_tokens_again(
    chat: ChatTokenizer, vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    first = await play_well(chat, vendors, tmp_path, sandbox)
    again = await play_well(chat, vendors, tmp_path, sandbox)
    assert again.sampled == first.sampled
    assert len(vendors.requests()) == 2, list_calls(tmp_path)


async def test_other_ids_for_the_same_words_fail_the_row(
    chat: ChatTokenizer, vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    """The model wrote a blank as a token of its own: decoded it is the same text, and no trainer
    may take it for what was sampled."""
    trajectory = await play_well(chat, vendors, tmp_path, sandbox)
    place = len(trajectory.messages) - 1
    apart = [
        token
        for piece in ("The drill", " ", "is lent.", "<|im_end|>")
        for token in sample(chat, piece)
    ]
    assert chat.decode(apart) == TOLD
    assert apart != trajectory.sampled[place]["ids"]
    drifted = [*trajectory.sampled[:place], {"ids": apart, "logprobs": None}]
    with pytest.raises(TokenRefusal, match=rf"tokens_differ: message {place}, token \d"):
        encode_trajectory(chat, trajectory.model_copy(update={"sampled": drifted}))


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        pytest.param(lambda ids: ids[:-1], True, id="the end token may be missing"),
        pytest.param(lambda ids: ids[:-2], False, id="a word may not"),
        pytest.param(lambda ids: [*ids, ids[-1]], False, id="nor may there be more"),
        pytest.param(lambda ids: [*ids[:-2], ids[-2] + 1, ids[-1]], False, id="another token"),
    ],
)
async def test_the_ids_of_a_turn_have_to_be_the_same(
    chat: ChatTokenizer,
    vendors: Loopback,
    tmp_path: Path,
    sandbox: Sandbox,
    change: Any,
    kept: bool,
) -> None:
    trajectory = await play_well(chat, vendors, tmp_path, sandbox)
    one = trajectory.sampled[-1]
    changed = [*trajectory.sampled[:-1], {"ids": change(one["ids"]), "logprobs": None}]
    other = trajectory.model_copy(update={"sampled": changed})
    if kept:
        assert encode_trajectory(chat, other)[0].sampled == 2
    else:
        with pytest.raises(TokenRefusal, match="tokens_differ"):
            encode_trajectory(chat, other)


@pytest.mark.parametrize("vendor", ["responses", "anthropic"])
async def test_a_vendor_that_gives_no_ids_leaves_nothing_behind(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox, vendor: str
) -> None:
    rollout = await play(
        vendors, tmp_path, sandbox, [(turn("", LEND), []), (turn("Lent."), [])], vendor
    )
    assert rollout.outcome == "pass"
    assert list_sampled(rollout.transcript) == []


async def test_without_being_asked_for_nothing_is_kept(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(turn("", LEND), turn("Lent."))
    async with open_door("openai", vendors.root, tmp_path) as door:
        models = door.open_session("scenarios-collect", TALK.id)
        rollout = await make_player(
            find_policy("model"), TALK, SHED, sandbox, "teacher", models, RunConfig()
        )(0)
    assert "logprobs" not in vendors.requests()[0]["body"]
    assert make_trajectory(rollout, TALK, SHED).sampled == []
    assert "sampled" not in str(list_messages(rollout))
