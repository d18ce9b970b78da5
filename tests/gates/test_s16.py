"""S16: what a blind reader understands, beside what the reference path does and the verifier wants,
on the studio's scenario."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from envmill.gates import GATES, s16
from envmill.gates.base import Finding, GateContext, ScenarioCase, doubt
from envmill.gates.reading.evidence import describe
from envmill.models.base import Request
from envmill.models.lint import lint
from envmill.models.session import ModelSession
from envmill.models.showing import show_request
from envmill.sandbox import Sandbox
from schemas.base import canonical_json
from schemas.reading import ReaderInput, ReaderReply
from schemas.scenario import Scenario, Verifier
from tests.gates.cases import ANY_BOOKING, FIND, LIST, SIXTY, answer, judge_cases, loose
from tests.gates.cases import Case as Judged
from tests.gates.doors import ReadersDoor
from tests.gates.specimens import pose
from tests.gates.specimens.studio import STATE

PROMPT = s16.PROMPT
STUDIO = pose()
"""Ada Kern's account gets 25 euros, and one seat of the wheel class on Tuesday is booked for
her."""


def change(
    tool: str, decision: str = "do", undetermined: tuple[str, ...] = (), **arguments: Any
) -> dict[str, Any]:
    return {
        "words": f"the words for {tool}",
        "decision": decision,
        "tool": tool,
        "arguments": arguments,
        "undetermined": list(undetermined),
    }


def reply(
    *changes: dict[str, Any], answers: tuple[str, ...] = (), readings: tuple[Any, ...] = ()
) -> ReaderReply:
    told = [{"question": "How much money has Bo Lind?", "answer": one} for one in answers]
    return ReaderReply.model_validate({"changes": changes, "answers": told, "readings": readings})


def pair(one: str, other: str) -> dict[str, Any]:
    return {
        "words": "wheel",
        "one": {"meaning": "C1", "decision": one},
        "other": {"meaning": "C3", "decision": other},
    }


def top_up(**other: Any) -> dict[str, Any]:
    return change("top_up", **{"member_id": "M1", "amount": 25, **other})


def book(decision: str = "do", **other: Any) -> dict[str, Any]:
    return change(
        "book_seats", decision, **{"member_id": "M1", "class_id": "C1", "seats": 1, **other}
    )


BOTH = (top_up(), book())
OPEN = change("book_seats", "ask", ("class_id",), member_id="M1", seats=1)
STILL = Verifier(goals=[], guards=[], frame=[], facts=[SIXTY])
IDLE = pose(
    oracle=[FIND, LIST], polarity="refuse", say="No: there are only 60 euros.", verifier=STILL
)
ASKING = pose(
    oracle=[FIND, LIST], polarity="clarify", say="Which class? There are 60 euros.", verifier=STILL
)
LENIENT = pose(verifier=loose(ANY_BOOKING))


@dataclass(frozen=True)
class Case:
    posed: ScenarioCase
    reply: ReaderReply
    reason: str = ""
    named: str = ""
    """What the question names."""


CASES = {
    "as the path": Case(STUDIO, reply(*BOTH)),
    "rows by their names": Case(
        STUDIO, reply(top_up(member_id="Ada Kern"), book(member_id="Ada Kern", class_id="Wheel"))
    ),
    "a number in another spelling": Case(STUDIO, reply(top_up(amount=25.0), book())),
    "two smaller steps": Case(STUDIO, reply(top_up(amount=20), top_up(amount=5), book())),
    "an argument left out": Case(STUDIO, reply(change("top_up", member_id="M1"), book())),
    "another member": Case(
        STUDIO, reply(top_up(member_id="M4"), book(member_id="M4")), "read_otherwise", "Ada Novak"
    ),
    "another amount": Case(STUDIO, reply(top_up(amount=52), book()), "read_otherwise", "52"),
    "an amount that the verifier takes as well": Case(LENIENT, reply(top_up(amount=52), book())),
    "a class that nothing determines": Case(
        STUDIO, reply(top_up(), OPEN), "two_readings", "class_id"
    ),
    "a class that is free to choose": Case(LENIENT, reply(top_up(), OPEN)),
    "a change that nothing asks for": Case(STUDIO, reply(book()), "read_otherwise", "top_up"),
    "a change more": Case(
        STUDIO, reply(*BOTH, change("cancel_booking", booking_id="B1")), "read_otherwise", "B1"
    ),
    "a change that is to be refused, and is": Case(IDLE, reply(book("refuse", class_id="C4"))),
    "a change that is to be made, and is not": Case(IDLE, reply(*BOTH), "read_otherwise", "top_up"),
    "a change that is to be refused, and is made": Case(
        STUDIO, reply(top_up(), book("refuse")), "read_otherwise", "refuse"
    ),
    "a change that the person has to agree to first": Case(
        STUDIO, reply(top_up(), book("ask")), "two_readings", "ask the person first"
    ),
    "two readings": Case(STUDIO, reply(*BOTH, readings=(pair("do", "do"),)), "two_readings", "C3"),
    "clear to the reader, and asked about": Case(
        ASKING, reply(*BOTH), "two_readings", "top_up(member_id"
    ),
    "two readings on purpose": Case(ASKING, reply(OPEN, readings=(pair("do", "do"),))),
    "done in one reading, asked about in the other": Case(
        ASKING, reply(OPEN, readings=(pair("do", "ask"),)), "two_readings", "C3"
    ),
    "the answer": Case(answer(), reply(answers=("Bo Lind has 60 euros.",))),
    "the answer in another spelling": Case(answer(), reply(answers=("60.00 euros.",))),
    "another answer": Case(
        answer(), reply(answers=("Bo Lind has 40 euros.",)), "read_otherwise", "40"
    ),
    "nothing": Case(answer(), reply(), "nothing_read"),
}


@cache
def find_all() -> dict[str, Finding]:
    found: dict[str, Finding] = {}

    async def look_at_all(_: ScenarioCase, means: GateContext) -> Finding:
        found.update(
            {name: await s16.compare(case.posed, means, case.reply) for name, case in CASES.items()}
        )
        return found["as the path"]

    judge_cases(look_at_all, {"all": Judged(STUDIO)})
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_difference_is_found_and_nothing_else(name: str) -> None:
    case, finding = CASES[name], find_all()[name]
    assert finding.reason == case.reason, finding
    assert case.named in finding.question
    assert (
        len(finding.others) == 0
        or name == "another member"
        or name == "a change that is to be made, and is not"
    )


def test_the_question_does_not_tell_which_candidate_is_ours() -> None:
    """The same two rows, used and understood the other way round, are named in the same order."""
    question = find_all()["another member"].question
    assert question.index("M1") < question.index("M4")
    assert s16.GATE not in question


async def look(said: str, sandbox: Sandbox) -> tuple[Finding, list[Request]]:
    door = ReadersDoor({"reader": (said, ReaderReply)} if said else {})
    means = GateContext(
        sandbox, ModelSession(door, "scenarios-verify", STUDIO.scenario.id), fairness=False
    )
    return await s16.check(STUDIO, means), door.asked


@pytest.mark.asyncio(loop_scope="module")
async def test_without_an_account_nobody_is_asked(sandbox: Sandbox) -> None:
    finding = await s16.check(STUDIO, GateContext(sandbox))
    assert (finding.outcome, finding.reason) == ("not_measured", "no_reader")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_reader_is_asked_once_as_the_judge(sandbox: Sandbox) -> None:
    finding, asked = await look(reply(*BOTH).model_dump_json(), sandbox)
    assert finding.outcome == "kept"
    assert [(request.role, request.prompt.name) for request in asked] == [("judge", "reader")]


@pytest.mark.parametrize(
    ("said", "calls"), [("", 1), ("Hm.", 3), ('{"changes": [], "answers": []}', 3)]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_outage_or_a_useless_reply_drops_nothing(
    said: str, calls: int, sandbox: Sandbox
) -> None:
    finding, asked = await look(said, sandbox)
    assert (finding.outcome, finding.reason, len(asked)) == ("not_measured", "not_read", calls)


def test_the_reader_sees_neither_path_nor_verifier() -> None:
    shown = show_request(PROMPT).messages[0].text
    assert lint(PROMPT.text, ReaderInput, ReaderReply) == []
    assert "{{" not in shown
    told = canonical_json(s16.show(pose(say="The last words.")).model_dump(mode="json"))
    assert "The last words." not in told
    assert (
        set(ReaderInput.model_fields) & {"oracle", "path", "verifier", "changes", "polarity", "say"}
        == set()
    )


def test_what_is_constant_comes_first() -> None:
    """Prompts of one environment differ only behind the tools."""
    texts = [
        PROMPT.render(s16.show(one), ReaderReply) for one in (STUDIO, pose(request="Cancel all."))
    ]
    shared = next(
        place for place, (one, other) in enumerate(zip(*texts, strict=False)) if one != other
    )
    assert shared > texts[0].index("- Rows by table and key")


@pytest.mark.parametrize("count", [40, 400])
def test_rows_of_a_large_table_hide_the_touched_ones_among_others(count: int) -> None:
    members = STATE["members"] | {
        f"X{number}": {**STATE["members"]["M2"], "id": f"X{number}"} for number in range(count - 4)
    }
    rows = s16.show(pose(initial_state={**STATE, "members": members})).rows["members"]
    assert "M1" in rows
    assert len(rows) == 40
    assert list(rows) == [key for key in members if key in rows]


def test_it_is_asked_last_and_never_required() -> None:
    gate = GATES[s16.GATE]
    assert (gate.asks, gate.required, gate.when) == (True, False, "loop")
    assert set(gate.codes.values()) == {"suspicion"}


def test_a_reader_is_shown_the_same_before_a_scenario_is_stored_and_after() -> None:
    """A stored record has its keys in another order. Questions in another order would be paid for
    twice."""
    facts = {"seats": 1, "class": "wheel", "member": "Ada Kern"}
    drafted = pose(user=STUDIO.scenario.user.model_copy(update={"facts": facts}))
    stored = replace(
        drafted,
        scenario=Scenario.model_validate_json(
            canonical_json(drafted.scenario.model_dump(mode="json"))
        ),
    )
    assert s16.show(stored) == s16.show(drafted)
    assert canonical_json(describe(stored, FOUND).model_dump(mode="json")) == canonical_json(
        describe(drafted, FOUND).model_dump(mode="json")
    )
    assert render(stored) == render(drafted)


FOUND = doubt("S16", "two_readings", "", "Is a wheel class meant?")


def render(posed: ScenarioCase) -> str:
    return PROMPT.render(s16.show(posed), ReaderReply)
