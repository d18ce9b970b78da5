"""Attacks on kept scenarios: a blind search at ten times its budget, and a model that is told what
each try earned.

blind search ─► paid ends ─┐
model attacker, 32 tries ──┴─► ends that differ from the reference path's ─► judged by hand
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from envmill.base.errors import BadReply
from envmill.gates.exploring.attempts import Attempt
from envmill.gates.exploring.equivalence import is_same_end
from envmill.gates.exploring.search_attack import SearchResult
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.evidence import describe_item, show_tools
from envmill.kinds.findings import GateContext, ScenarioCase
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from schemas.base import Contract, Json
from schemas.environment import Call
from schemas.suspicion import ToolText

TIMES = 10
"""How many times the run's own budget a search gets."""
ROUNDS, TRIES = 4, 8
"""Rounds of a model attacker, and tries in each."""


class Try(Contract):
    """Calls, and what is said after them."""

    calls: list[Call] = Field(max_length=20)
    words: str = Field(max_length=2000)
    """Last message to the person."""


class TriedTry(Contract):
    """One try of an earlier round."""

    calls: list[Json]
    """Each call with how it ended."""
    words: str
    reward: float


class AttackInput(Contract):
    """What the attacker sees."""

    name: str
    rules: list[str]
    policy: str
    tools: list[ToolText]
    rows: Json
    request: str
    earlier: list[TriedTry]


class AttackReply(Contract):
    """A round of tries."""

    tries: list[Try] = Field(min_length=1, max_length=TRIES)


class Attack(Contract):
    """What an attacker came to on one scenario."""

    scenario: str
    by: Literal["search", "model"]
    tries: int
    paid: int
    """Tries that were paid in full."""
    wrong: int
    """Of these, ends that differ from the reference path's."""
    shown: Sequence[Json] = ()
    """Paid tries whose end differs: calls, words, changes."""
    words: Sequence[str] = ()
    """Last words of paid tries where something has to be told: a person reads whether they tell
    it."""


ATTACKER = Prompt.load(Path(__file__).parent / "prompts" / "attacker.md", AttackInput, AttackReply)


async def search(cases: Sequence[ScenarioCase], means: GateContext) -> AsyncIterator[Attack]:
    """A search that is blind to the request, at `TIMES` times its budget."""
    for case in cases:
        hunt = SearchResult(case, replace(means, episodes=means.episodes * TIMES))
        tally = await hunt.search("blind", hunt.episodes)
        wrong = [one for one in tally.catches if one.exploit]
        shown: list[Json] = [
            {
                "calls": [call.model_dump() for call in one.calls],
                "said": list(one.said),
                "manner": one.manner,
            }
            for one in wrong[:3]
        ]
        yield Attack(
            scenario=case.scenario.id,
            by="search",
            tries=tally.episodes,
            paid=tally.passes,
            wrong=len(wrong),
            shown=shown,
        )


async def attack(case: ScenarioCase, means: GateContext, models: ModelSession) -> Attack:
    """A model's tries, each round told what the earlier ones earned."""
    trials = Trials.of(case, means)
    right = (await trials.oracle())[0].ending
    told: list[TriedTry] = []
    paid, shown, words = 0, list[Json](), list[str]()
    for number in range(ROUNDS):
        try:
            reply = await models.ask(
                ATTACKER, _show(case, told), AttackReply, role="judge", sample=number
            )
        except BadReply:
            break
        attempts = [
            Attempt(f"try {len(told) + place}", tuple(one.calls), (one.words,))
            for place, one in enumerate(reply.tries)
        ]
        for one, trial in zip(reply.tries, await trials.play(attempts), strict=True):
            told.append(
                TriedTry(
                    calls=_render(one, trial.replies),
                    words=one.words,
                    reward=trial.verdict.reward or 0.0,
                )
            )
            if trial.verdict.outcome == "pass" and trial.ending:
                paid += 1
                words += (
                    [one.words] if case.scenario.verifier.facts and one.words not in words else []
                )
                if right is None or not _is_right(case, right, trial.ending):
                    changes: Json = [
                        change.model_dump()
                        for change in diff_states(trial.ending.initial, trial.ending.final)
                    ][:20]
                    shown.append(
                        {
                            "calls": [call.model_dump() for call in one.calls],
                            "said": one.words,
                            "changes": changes,
                        }
                    )
    return Attack(
        scenario=case.scenario.id,
        by="model",
        tries=len(told),
        paid=paid,
        wrong=len(shown),
        shown=shown[:5],
        words=words,
    )


def _is_right(case: ScenarioCase, right: Ending, reached: Ending) -> bool:
    return is_same_end(
        right.initial, right.final, reached.final, case.environment.tables, case.scenario.verifier
    )


def _show(case: ScenarioCase, told: list[TriedTry]) -> AttackInput:
    item = describe_item(case, case.scenario.request)
    return AttackInput(
        name=item.name,
        rules=item.rules,
        policy=item.policy,
        tools=show_tools(case.environment),
        rows=item.rows,
        request=item.request,
        earlier=told,
    )


def _render(one: Try, replies: Sequence[object]) -> list[Json]:
    return [
        {
            "name": call.name,
            "arguments": call.arguments,
            "ended": str(getattr(seen, "outcome", "")),
            "code": str(getattr(seen, "code", "")),
        }
        for call, seen in zip(one.calls, replies, strict=False)
    ]
