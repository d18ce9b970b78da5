"""Several requests of one scenario: each has its part of the path, is of use, short, and can be
fulfilled without a later one."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.recipes.drafting.requests import list_part_complaints, share_calls
from envmill.sandbox import Observation
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.chain import Chain, ChainStep, Filling, FromUser, Node
from schemas.scenario import Fact, Verifier
from schemas.typed_prompts import TopologyReply

STEPS = ["s1", "s2", "s3"]
CARD = Fact(name="card number", kind="text", value="C-7712")


def write(
    *requests: tuple[str, str] | tuple[str, str, str, list[Fact]],
    said: dict[str, str] | None = None,
) -> TopologyReply:
    """Requests, each with the node that ends it, and perhaps its words and facts."""
    written = [
        dict(zip(("request", "until", "say", "tell"), one, strict=False)) for one in requests
    ]
    nodes: list[Node] = [
        ChainStep(id=step, tool="lend", arguments={"tool": FromUser()}) for step in STEPS
    ]
    told = {f"{step}.tool": "drill" for step in STEPS} | (said or {})
    given: dict[str, Any] = {
        "initial_state": {},
        "chain": Chain(sampler="author", nodes=nodes),
        "filling": Filling(said=told),
    }
    return TopologyReply.model_validate(given | {"requests": written})


def find_codes(reply: TopologyReply, hashes: str = "abcd", steps: list[str] = STEPS) -> list[str]:
    states = [Observation("ok", [], "", "", one, None) for one in hashes]
    return [one.code for one in list_part_complaints(reply, share_calls(reply, steps), states)]


FIRST = ("Please lend me the drill.", "s1")
REST = ("And the drill once more, twice.", "s3")


def test_what_the_requests_say_together_is_the_whole_scenario() -> None:
    reply = write((*FIRST, "Her card is C-7712.", [CARD]), (*REST, "Done.", []))
    assert reply.request == f"{FIRST[0]}\n\n{REST[0]}"
    assert reply.say == "Her card is C-7712. Done."
    assert [(fact.asked, fact.where) for fact in reply.tell] == [(1, "any")]
    assert [(part.calls, part.say) for part in share_calls(reply, STEPS)] == [
        (1, "Her card is C-7712."),
        (2, "Done."),
    ]
    assert TopologyReply.model_validate(reply.model_dump()) == reply


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(write(FIRST, ("And so on.", "s9")), "unknown_node", id="ends with no node"),
        pytest.param(
            write(("One.", "s2"), ("Two.", "s2"), ("Three.", "s3")),
            "no_call",
            id="a request without a call",
        ),
        pytest.param(
            write(("One.", "s2"), ("Two.", "s1"), ("Three.", "s3")), "no_call", id="out of order"
        ),
        pytest.param(
            write(FIRST, ("Two.", "s2")), "unasked_call", id="a step that no request asks for"
        ),
    ],
)
def test_requests_that_do_not_share_out_the_path_are_refused(
    reply: TopologyReply, reason: str
) -> None:
    with pytest.raises(BuildError) as refused:
        share_calls(reply, STEPS)
    assert refused.value.facts["reason"] == reason


LADDER = {"s1.tool": "ladder"}


@pytest.mark.parametrize(
    ("reply", "hashes", "codes"),
    [
        pytest.param(write(FIRST, REST), "abcd", [], id="both change something"),
        pytest.param(write(FIRST, REST), "aacd", ["request_idle"], id="the first changes nothing"),
        pytest.param(
            write((*FIRST, "It is C-7712.", [CARD]), REST), "aacd", [], id="the first is a question"
        ),
        pytest.param(
            write((*FIRST, "It is lent.", [CARD]), REST),
            "abcd",
            ["request_silent"],
            id="a question is not answered",
        ),
        pytest.param(
            write(FIRST, ("Now the ladder.", "s3"), said=LADDER),
            "abcd",
            ["request_ahead"],
            id="named too late",
        ),
        pytest.param(
            write(("The ladder.", "s1"), ("The ladder again.", "s3"), said=LADDER),
            "abcd",
            [],
            id="named in time, and again",
        ),
        pytest.param(
            write(("That long thing.", "s1"), ("Something else.", "s3"), said=LADDER),
            "abcd",
            [],
            id="never named: S8 asks",
        ),
        pytest.param(
            write(("Three.", "s1"), ("7 of those.", "s3"), said={"s1.tool": "7"}),
            "abcd",
            [],
            id="a short value says little",
        ),
    ],
)
def test_each_request_is_of_use_told_and_asked_for_in_time(
    reply: TopologyReply, hashes: str, codes: list[str]
) -> None:
    assert find_codes(reply, hashes) == codes


def test_a_request_takes_five_calls_at_most() -> None:
    nodes: list[Node] = [ChainStep(id=f"s{place}", tool="lend") for place in range(1, 8)]
    given: dict[str, Any] = {"initial_state": {}, "chain": Chain(sampler="author", nodes=nodes)}
    for until, codes in ((2, []), (1, ["request_too_long"])):
        asked = [{"request": "One.", "until": f"s{until}"}, {"request": "Two.", "until": "s7"}]
        reply = TopologyReply.model_validate(given | {"requests": asked})
        assert find_codes(reply, "abcdefgh", [node.id for node in nodes]) == codes


def test_several_requests_hide_nothing() -> None:
    given = write(FIRST, REST).model_dump()
    with pytest.raises(ValueError, match="hides no facts"):
        TopologyReply.model_validate(given | {"hidden": ["tool"], "facts": {"tool": "drill"}})
    with pytest.raises(ValueError, match="is empty"):
        TopologyReply.model_validate(given | {"requests": [], "request": " "})


SAID = ("Her card is C-7712.", "Both are lent.")


@pytest.mark.parametrize(
    ("said", "ended", "outcome"),
    [
        pytest.param(SAID, (1,), "pass", id="in reply to its request"),
        pytest.param(("One moment.", *SAID), (2,), "pass", id="in any message before the next"),
        pytest.param(SAID[::-1], (1,), "fail", id="only after the next request"),
        pytest.param(SAID[:1], (), "pass", id="all asked at once"),
        pytest.param(SAID[::-1], (), "pass", id="all asked at once, and told before the end"),
        pytest.param(SAID[1:], (1,), "fail", id="never"),
    ],
)
def test_a_fact_counts_in_reply_to_the_request_that_asks_for_it(
    said: tuple[str, ...], ended: tuple[int, ...], outcome: str
) -> None:
    fact = CARD.model_copy(update={"asked": 1, "where": "any"})
    verifier = Verifier(goals=[], guards=[], frame=[], facts=[fact])
    assert judge(verifier, Ending({}, {}, said=said, ended=ended)).outcome == outcome


def test_a_later_request_that_was_never_made_was_never_answered() -> None:
    fact = CARD.model_copy(update={"asked": 3, "where": "any"})
    verifier = Verifier(goals=[], guards=[], frame=[], facts=[fact])
    assert judge(verifier, Ending({}, {}, said=SAID, ended=(1,))).outcome == "fail"
