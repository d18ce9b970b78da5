"""The judge of suspicions: two blind readings, quotes that occur in the item, and no say without a
calibration."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from envmill.base.errors import Outage, SettingsError
from envmill.base.settings import ROOT
from envmill.gates.base import EnvironmentCase, Finding, drop
from envmill.gates.reading.calibrations import calibrate, read_calibrations, write_calibrations
from envmill.gates.reading.evidence import describe, holds_quote
from envmill.gates.reading.suspicions import (
    LEAST_CASES,
    PROMPT,
    asks_judge,
    find_calibration,
    find_objection,
    rule_on_suspicions,
)
from envmill.models.base import Completion, Request, Spent
from envmill.models.lint import lint
from envmill.models.parse import ParsedCompletion, parse_completion
from envmill.models.session import ModelSession
from envmill.models.showing import show_request
from envmill.sandbox import Observation
from offline.opinions import answer_suspicion
from schemas.suspicion import JudgeCalibration, SuspicionCase, SuspicionInput, SuspicionReply
from tests.gates.specimens import pose

STUDIO = pose()
BUILT = EnvironmentCase(STUDIO.environment)
CODE = {"gate": "S15", "reason": "ambiguous_referent"}
GOOD = JudgeCalibration(
    **CODE, model="judge-1", prompt_hash=PROMPT.hash, planted=30, caught=25, honest=30, kept=29
)
SUSPICION = Finding(
    "S15",
    "suspected",
    "ambiguous_referent",
    "another row fits the words as well",
    question="Is a second row meant?",
)
HELD = STUDIO.scenario.request.split(".")[0]


class Judge:
    """A door behind which one judge sits; its answer depends on what it is shown."""

    seed = 1

    def __init__(
        self,
        answer: Callable[[SuspicionInput, Request], str],
        name: str = "scripted",
        model: str = "judge-1",
    ) -> None:
        self._answer, self._seat, self.asked = (
            answer,
            SimpleNamespace(name=name, model=model),
            list[Request](),
        )

    def provider_of(self, role: str) -> Any:
        return self._seat

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        self.asked.append(request)
        return parse_completion(
            Completion(self._answer(SuspicionInput.model_validate(request.inputs), request)),
            SuspicionReply,
        )

    def models(self) -> ModelSession:
        return ModelSession(self, "scenarios-verify", STUDIO.scenario.id)


def say(answer: str, quote: str = HELD) -> Callable[[SuspicionInput, Request], str]:
    return lambda *_: json.dumps({"answer": answer, "quotes": [quote], "reason": "so it reads"})


def side_with_doubt(asked: SuspicionInput, _: Request) -> str:
    return json.dumps({"answer": asked.doubt, "quotes": [HELD], "reason": "it is open"})


def misquote_once(_: SuspicionInput, request: Request) -> str:
    return say("yes", "never said anywhere" if request.sample == 0 else HELD)(_, request)


def vanish(*_: Any) -> str:
    raise Outage("nobody is there")


async def rule(
    judge: Judge, finding: Finding = SUSPICION, calibrations: Sequence[JudgeCalibration] = (GOOD,)
) -> Finding:
    (ruled,) = await rule_on_suspicions([finding], STUDIO, judge.models(), calibrations)
    return ruled


def test_the_prompt_uses_what_it_is_given_and_its_example_is_answered() -> None:
    assert lint(PROMPT.text, SuspicionInput, SuspicionReply) == []
    assert "{{" not in show_request(PROMPT).messages[0].text
    example = PROMPT.exemplify()
    assert isinstance(example, SuspicionInput)
    reply = answer_suspicion(example)
    assert (reply.answer, all(holds_quote(example, quote) for quote in reply.quotes)) == (
        "yes",
        True,
    )
    honest = example.model_copy(
        update={
            "question": example.question.replace("the label printer", "the printer at the till")
        }
    )
    assert answer_suspicion(honest).answer == "no"


@pytest.mark.parametrize(
    ("answer", "outcome", "calls", "answers"),
    [
        pytest.param(say("yes"), "dropped", 2, ["yes", "yes"], id="both confirm"),
        pytest.param(say("no"), "cleared", 2, ["no", "no"], id="neither confirms"),
        pytest.param(
            side_with_doubt,
            "cleared",
            2,
            ["no", "yes"],
            id="only the reading that leans that way confirms",
        ),
        pytest.param(
            say("yes", "never said anywhere"),
            "suspected",
            4,
            ["void", "void"],
            id="invented quotes decide nothing",
        ),
        pytest.param(
            say("no", "never said anywhere"),
            "suspected",
            4,
            ["void", "void"],
            id="nor do they clear",
        ),
        pytest.param(
            misquote_once, "dropped", 4, ["yes", "yes"], id="a void reading is asked for once more"
        ),
        pytest.param(lambda *_: "Hm.", "suspected", 6, ["unread", "unread"], id="unreadable"),
    ],
)
async def test_two_readings_decide(
    answer: Any, outcome: str, calls: int, answers: list[str]
) -> None:
    judge = Judge(answer)
    ruled = await rule(judge)
    assert (ruled.outcome, len(judge.asked)) == (outcome, calls)
    told = ruled.evidence["judge"]
    assert [one["answer"] for one in told["readings"]] == answers
    assert (told["model"], told["prompt_hash"]) == ("judge-1", PROMPT.hash)
    assert {request.role for request in judge.asked} == {"judge"}
    assert {request.inputs["doubt"] for request in judge.asked} == {"yes", "no"}


async def test_an_outage_is_no_verdict() -> None:
    ruled = await rule(Judge(vanish))
    assert (ruled.outcome, ruled.evidence["judge"]["why"]) == ("suspected", "nobody is there")


@pytest.mark.parametrize(
    "finding",
    [
        drop("S15", "ambiguous_referent", "shown by a run"),
        Finding("S15", "kept"),
        Finding("S15", "suspected", "x", "no question"),
    ],
)
async def test_only_a_suspicion_with_a_question_is_judged(finding: Finding) -> None:
    judge = Judge(say("yes"))
    assert (await rule(judge, finding), judge.asked) == (finding, [])


async def test_without_an_account_everything_stays() -> None:
    assert await rule_on_suspicions([SUSPICION], STUDIO, None, [GOOD]) == [SUSPICION]


@pytest.mark.parametrize("subject", [STUDIO, BUILT], ids=["scenario", "environment"])
async def test_the_judge_is_not_told_what_the_gate_says(subject: Any) -> None:
    judge = Judge(say("no", STUDIO.environment.tools[0].name))
    evidence = {
        "reason": "ambiguous_referent",
        "gate": "S15",
        "calls": [{"name": "book"}],
        "detail": SUSPICION.detail,
    }
    finding = Finding(**{**vars(SUSPICION), "evidence": evidence})
    (ruled,) = await rule_on_suspicions([finding], subject, judge.models(), [GOOD])
    assert ruled.outcome == "cleared"
    for request in judge.asked:
        text = request.messages[0].text
        assert [
            word for word in ("S15", "ambiguous_referent", SUSPICION.detail) if word in text
        ] == []
        assert SUSPICION.question in text
    assert ('"book"' in judge.asked[0].messages[0].text) is (subject is BUILT)


def test_a_quote_may_come_from_any_part_of_the_item() -> None:
    item = describe(STUDIO, SUSPICION)
    table, rows = next(iter(item.rows.items()))
    key = next(iter(rows))
    for quote in (
        HELD,
        HELD.upper(),
        item.tools[0].description[:30],
        json.dumps(rows[key], indent=1, sort_keys=True),
    ):
        assert holds_quote(item, quote), quote
    for quote in ("", "-", "words that nobody wrote", SUSPICION.question):
        assert not holds_quote(item, quote), quote
    assert table in STUDIO.scenario.initial_state


def test_calls_of_the_path_are_shown_with_what_they_answered() -> None:
    row = {"id": "M1", "name": "Ada Kern"}
    found = Observation("ok", [{"type": "json", "value": [row]}], "", "", "", None)
    long = Observation("ok", [{"type": "text", "text": "x" * 5000}], "", "", "", None)
    refused = Observation("rejection", [], "class_full", "It is full.", "", None)
    calls = describe(STUDIO, SUSPICION, [found, long, refused]).path["calls"]
    assert calls[0]["reply"] == '[{"id":"M1","name":"Ada Kern"}]'
    assert len(calls[1]["reply"]) < 1000
    assert calls[2]["reply"] == "rejection: class_full: It is full."
    assert "reply" not in calls[3]
    assert all("reply" not in call for call in describe(STUDIO, SUSPICION).path["calls"])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        pytest.param({}, "", id="good enough"),
        pytest.param({"kept": 27}, "", id="nine of ten honest cases"),
        pytest.param({"kept": 26}, "keeps 26 of 30", id="too harsh"),
        pytest.param({"planted": 29}, "30 of each", id="too few planted"),
        pytest.param({"honest": 29, "kept": 29}, "30 of each", id="too few honest"),
        pytest.param({"caught": 14}, "catches 14 of 30", id="says no to everything"),
        pytest.param({"model": "judge-2"}, "not calibrated", id="another judge"),
        pytest.param({"reason": "wrong_referent"}, "not calibrated", id="another code"),
        pytest.param({"prompt_hash": "other"}, "not calibrated", id="another prompt"),
        pytest.param(
            {"gate": "*", "reason": "*"},
            "not calibrated",
            id="a wildcard is the test double's alone",
        ),
    ],
)
async def test_who_has_a_say(changed: dict[str, Any], why: str) -> None:
    calibration = GOOD.model_copy(update=changed)
    found = find_objection(find_calibration([calibration], CODE["gate"], CODE["reason"], "judge-1"))
    assert why in found
    assert bool(why) is bool(found)
    judge = Judge(say("yes"))
    ruled = await rule(judge, calibrations=[calibration])
    assert (ruled.outcome, len(judge.asked)) == (("suspected", 0) if why else ("dropped", 2))


@pytest.mark.parametrize(
    ("wish", "seat", "asked"),
    [
        ("auto", ("openai", "judge-1"), True),
        ("auto", ("offline", "author/0.2"), False),
        ("auto", ("replay", "author/0.2"), False),
        ("auto", ("replay", "judge-1"), True),
        ("judge", ("offline", "author/0.2"), True),
        ("keep", ("openai", "judge-1"), False),
    ],
)
def test_who_is_asked(wish: str, seat: tuple[str, str], asked: bool) -> None:
    assert asks_judge(wish, Judge(vanish, *seat).models()) is asked


def make_case(number: int, planted: bool) -> SuspicionCase:
    item = describe(STUDIO, SUSPICION).model_copy(update={"name": f"Studio {number}"})
    return SuspicionCase(
        **CODE,
        planted=planted,
        item=item,
        question="Is it planted?" if planted else "Is it honest?",
    )


async def test_a_calibration_counts_and_is_read_again(tmp_path: Path) -> None:
    """A judge that finds what is planted and three honest cases of thirty, then one that finds
    four."""
    cases = [
        make_case(number, planted) for number in range(LEAST_CASES) for planted in (True, False)
    ]
    for alarms in (3, 4):

        def judge_well(asked: SuspicionInput, _: Request, alarms: int = alarms) -> str:
            found = "planted" in asked.question or int(asked.name.split()[1]) < alarms
            return say("yes" if found else "no")(asked, _)

        found = await calibrate(cases, Judge(judge_well).models())
        assert found == [GOOD.model_copy(update={"caught": 30, "kept": 30 - alarms})]
        write_calibrations(found, tmp_path)
        assert list(read_calibrations(tmp_path)) == found
        assert (find_objection(found[0]) == "") is (alarms == 3)


async def test_an_outage_ends_a_calibration() -> None:
    with pytest.raises(Outage):
        await calibrate([make_case(0, True)], Judge(vanish).models())


def test_what_is_shipped_lets_the_embedded_judge_alone_have_a_say(tmp_path: Path) -> None:
    shipped = list(read_calibrations(ROOT / "data/calibration"))
    assert find_objection(find_calibration(shipped, "S8", "any_code", "offline")) == ""
    assert find_objection(find_calibration(shipped, "S8", "any_code", "some-model"))
    forged = shipped[0].model_copy(update={"model": "some-model"})
    (tmp_path / "forged.jsonl").write_text(forged.model_dump_json())
    with pytest.raises(SettingsError, match="test double"):
        list(read_calibrations(tmp_path))
    assert list(read_calibrations(tmp_path / "nowhere")) == []
