"""How users talk, measured: on conversations and texts whose numbers are known."""

import json
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.report.talk import (
    measure_scenarios,
    measure_talk,
    measure_tasks,
    render_talk,
    render_texts,
)
from schemas.rollout import Rollout
from tests.agents.talks import SHED, TALK
from tests.specimens import make_scenario

TASKS: list[dict[str, Any]] = [
    {
        "user_scenario": {
            "persona": persona,
            "instructions": {
                "reason_for_call": "Your phone is dead.",
                "known_info": known,
                "task_instructions": None,
            },
        },
        "evaluation_criteria": {"actions": actions},
    }
    for persona, known, actions in (
        (None, "You are Ada. You live in Oslo.", [{"requestor": "user"}, {"requestor": "assistant"}]),
        ("Patient.", "You are Ada. You live in Oslo.", None),
        ("Hasty.", "You are Bo.", [{"requestor": "user"}, {"requestor": "user"}]),
    )
]  # fmt: skip


def talk(*lines: tuple[str, str], manner: str = "", form: Any = "conversation") -> Rollout:
    entries: list[Any] = [{"role": role, "content": text} for role, text in lines]
    entries.append({"role": "user", "content": "", "tool_calls": [{"name": "lend"}]})
    return Rollout(
        scenario=TALK.id, environment=SHED.id, policy="x", rollout_group="probe", attempt=0, seed=0, outcome="pass", reward=1.0,
        components={}, reason="", steps=1, termination="done", final_state_hash="", transcript=entries, form=form, manner=manner,
    )  # fmt: skip


def test_texts_of_tau2_are_counted(tmp_path: Path) -> None:
    (tmp_path / "phones").mkdir()
    file = tmp_path / "phones" / "tasks.json"
    file.write_text(json.dumps(TASKS))
    found = measure_tasks(file)
    assert (found.name, found.scenarios, found.texts, found.personas) == ("τ² phones", 3, 2, 2)
    assert (found.known, found.calls, found.users) == (
        pytest.approx(5 / 3),
        pytest.approx(4 / 3),
        0.75,
    )
    assert "| τ² phones | 3 | 2 |" in render_texts([found])


@pytest.mark.parametrize("text", ["", "[1]", "[]", '{"a": 1}', '[{"user_scenario": {}}]'])
def test_what_is_no_file_of_tasks_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text(text)
    with pytest.raises(SettingsError, match="no tasks of"):
        measure_tasks(tmp_path / "tasks.json")


def test_our_texts_are_counted() -> None:
    found = measure_scenarios("shed", [TALK, make_scenario(SHED)])
    assert (found.scenarios, found.texts, found.hidden) == (2, 1, 1.0)


def test_conversations_are_measured_by_manner() -> None:
    late = talk(
        ("user", "Hello."),
        ("assistant", "What is it? When?"),
        ("user", "Why do you ask?"),
        ("assistant", "Which tool?"),
        ("user", "The drill, I am Ada."),
        manner="terse",
    )
    early = talk(("user", "Hello."), ("assistant", "Which tool?"), ("user", "The drill."))
    single = talk(("user", "Lend me the drill."), form="single")
    plain, terse = measure_talk([late, early, single], {TALK.id: TALK})
    assert (plain.manner, plain.conversations, plain.turns, plain.told) == ("", 1, 1, 0)
    assert (terse.turns, terse.words, terse.asked, terse.asks) == (2, 4.5, 1.5, 0.5)
    assert (terse.told, terse.at_once, terse.deeds) == (1, 2, 1)
    assert "| terse | 1 | 2.0 |" in render_talk([plain, terse])
