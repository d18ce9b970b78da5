"""How simulated users talk: what their texts hold, beside those of τ²-bench, and what they say in
conversations, by manner.

scenarios, τ²'s tasks ─► texts, words, facts, whose calls ──┐
rollouts ─► turns, words, questions, order of disclosure ───┴─► two tables
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from envmill.agents.users.missteps import states_value
from envmill.base.errors import SettingsError
from schemas.base import Json
from schemas.rollout import Rollout
from schemas.scenario import Scenario

_FACTS = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class UserTexts:
    """What the users of a set of scenarios are given."""

    name: str
    scenarios: int
    texts: int
    """Distinct ones."""
    words: float
    """Of a text, the median."""
    known: float
    """Facts of a user: those of a contract, or sentences of `known_info`."""
    hidden: float | None
    """Of them, told only when asked; None where the format does not say it."""
    personas: int
    calls: float
    """Of a reference path."""
    users: float
    """Share of these calls that are the user's."""


@dataclass(frozen=True)
class UserTalk:
    """What users of one manner said in conversations."""

    manner: str
    conversations: int
    turns: float
    """Answers of the user."""
    words: float
    """Of an answer."""
    asked: float
    """Questions in a message of the agent."""
    asks: float
    """Questions in an answer of the user."""
    deeds: float
    """Calls of the user's own."""
    told: float | None
    """Where in the conversation a hidden fact is told, 0 to 1; None where nothing was."""
    at_once: float | None
    """Hidden facts told in an answer that tells any."""


def measure_scenarios(name: str, scenarios: Sequence[Scenario]) -> UserTexts:
    """Of ours: the request is the text."""
    calls = [call for one in scenarios for call in one.oracle]
    return UserTexts(
        name,
        len(scenarios),
        len({one.request for one in scenarios}),
        median(len(one.request.split()) for one in scenarios),
        fmean(len(one.user.facts) for one in scenarios),
        fmean(len(one.user.hidden) for one in scenarios),
        len({one.user.persona for one in scenarios if one.user.persona}),
        len(calls) / len(scenarios),
        sum(call.actor == "user" for call in calls) / max(1, len(calls)),
    )


def measure_tasks(file: Path) -> UserTexts:
    """Of a `tasks.json` of τ²-bench: what the user simulator is told is the text."""
    try:
        tasks: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        users = [task["user_scenario"] for task in tasks]
        told = [_join_instructions(user["instructions"]) for user in users]
        known = [_list_known(user["instructions"]) for user in users]
        judged: list[dict[str, Any]] = [task.get("evaluation_criteria") or {} for task in tasks]
        paths: list[list[dict[str, Any]]] = [one.get("actions") or [] for one in judged]
        calls = [call for path in paths for call in path]
        return UserTexts(
            f"τ² {file.parent.name}",
            len(tasks),
            len(set(told)),
            median(len(text.split()) for text in told),
            fmean(map(len, known)),
            None,
            len({user["persona"] for user in users if user.get("persona")}),
            len(calls) / len(tasks),
            sum(call.get("requestor") == "user" for call in calls) / max(1, len(calls)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{file} holds no tasks of τ²-bench ({type(error).__name__}: {error}). Name a domain's "
            "folder with its tasks.json."
        ) from None


def measure_talk(rollouts: Sequence[Rollout], scenarios: Mapping[str, Scenario]) -> list[UserTalk]:
    """By manner; conversations alone."""
    groups: dict[str, list[Rollout]] = defaultdict(list)
    for rollout in rollouts:
        if rollout.form == "conversation" and rollout.scenario in scenarios:
            groups[rollout.manner].append(rollout)
    return [_measure_group(name, group, scenarios) for name, group in sorted(groups.items())]


def render_texts(found: Sequence[UserTexts]) -> str:
    """As a table."""
    head = "| users of | scenarios | texts | words | facts | hidden | personas | calls | user's |"
    rows = [
        f"| {one.name} | {one.scenarios} | {one.texts} | {one.words:g} | {one.known:.1f} "
        f"| {_show(one.hidden)} | {one.personas} | {one.calls:.1f} | {one.users:.0%} |"
        for one in found
    ]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|---|", *rows])


def render_talk(found: Sequence[UserTalk]) -> str:
    """As a table."""
    head = "| manner | conversations | turns | words | asked | asks | deeds | told at | at once |"
    rows = [
        f"| {one.manner or '(contract)'} | {one.conversations} | {one.turns:.1f} | {one.words:.1f} "
        f"| {one.asked:.2f} | {one.asks:.2f} | {one.deeds:.1f} | {_show(one.told)} "
        f"| {_show(one.at_once)} |"
        for one in found
    ]
    return "\n".join([head, "|---|---|---|---|---|---|---|---|---|", *rows])


def _measure_group(
    manner: str, group: Sequence[Rollout], scenarios: Mapping[str, Scenario]
) -> UserTalk:
    answers = [_list_said(rollout, "user")[1:] for rollout in group]
    agents = [_list_said(rollout, "assistant") for rollout in group]
    said = [text for texts in answers for text in texts]
    asked = [text for texts in agents for text in texts]
    deeds = [
        sum(len(entry.get("tool_calls", ())) for entry in rollout.transcript if _is(entry, "user"))
        for rollout in group
    ]
    places, batches = list[float](), list[int]()
    for rollout, texts in zip(group, answers, strict=True):
        told = _list_disclosed(texts, scenarios[rollout.scenario])
        places += [place / max(1, len(texts) - 1) for place in told]
        batches += [told.count(place) for place in dict.fromkeys(told)]
    return UserTalk(
        manner,
        len(group),
        fmean(map(len, answers)),
        fmean(len(text.split()) for text in said) if said else 0.0,
        fmean(text.count("?") for text in asked) if asked else 0.0,
        fmean(text.count("?") for text in said) if said else 0.0,
        fmean(deeds),
        fmean(places) if places else None,
        fmean(batches) if batches else None,
    )


def _list_disclosed(texts: Sequence[str], scenario: Scenario) -> list[int]:
    """The answer in which each hidden fact is first told."""
    facts = [scenario.user.facts[name] for name in scenario.user.hidden]
    places = (
        next((place for place, text in enumerate(texts) if states_value(fact, text)), None)
        for fact in facts
    )
    return sorted(place for place in places if place is not None)


def _list_said(rollout: Rollout, role: str) -> list[str]:
    return [
        entry["content"]
        for entry in rollout.transcript
        if _is(entry, role) and entry["content"] and not entry.get("tool_calls")
    ]


def _is(entry: Json, role: str) -> bool:
    return entry["role"] == role


def _join_instructions(told: Json) -> str:
    if isinstance(told, str):
        return told
    parts = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
    return "\n".join(filter(None, (told.get(part) for part in parts)))


def _list_known(told: Json) -> list[str]:
    text = "" if isinstance(told, str) else told.get("known_info") or ""
    return [one for one in _FACTS.split(text) if one.strip()]


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
