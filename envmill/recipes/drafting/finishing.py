"""From a draft to a scenario: its reference path is played twice, a verifier is derived from the
ends, and rewards are measured.

draft ─► prepare ─► verifier ─► finish ─► scenario        BuildError with the reason code, where one of them cannot be had
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.kinds import kind_of
from envmill.kinds.endings import play_twice
from envmill.sandbox import Sandbox
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.base import Json, is_object
from schemas.environment import Environment
from schemas.run import Reward
from schemas.scenario import Draft, Scenario, Split, Verifier


@dataclass(frozen=True)
class Prepared:
    """A draft whose reference path has been played, with what its verifier is derived from."""

    draft: Draft
    environment: Environment
    endings: tuple[Ending, Ending]
    """As it was drafted, and under another seed and clock."""
    composed: ComposedVerifier


async def prepare(draft: Draft, environment: Environment, sandbox: Sandbox) -> Prepared:
    """Its kind says where the verifier comes from."""
    endings = await play_twice(draft, environment, sandbox)
    if isinstance(endings, str):
        raise BuildError(endings, reason="oracle_unstable")
    return Prepared(
        draft,
        environment,
        endings,
        await kind_of(environment).derive_verifier(draft, environment, endings, sandbox),
    )


async def finish(
    prepared: Prepared, reward: Reward, sandbox: Sandbox, split: Split = "train"
) -> Scenario:
    """The scenario, with the rewards of its reference path and of doing nothing."""
    composed = replace(
        prepared.composed,
        verifier=_pay(
            prepared.composed.verifier, kind_of(prepared.environment).choose_reward(reward)
        ),
    )
    return _make_scenario(
        prepared, composed, await _measure(prepared, composed.verifier, sandbox), split
    )


def _pay(verifier: Verifier, reward: Reward) -> Verifier:
    """In part only what has to be done: words are said without doing anything, and would pay an
    agent that did nothing."""
    in_part = reward == "partial" and len(verifier.goals) > 1 and not verifier.facts
    return verifier.model_copy(update={"partial": True}) if in_part else verifier


async def _measure(prepared: Prepared, verifier: Verifier, sandbox: Sandbox) -> list[float]:
    """Rewards of the reference path, of doing nothing and of the right words alone."""
    draft, ending = prepared.draft, prepared.endings[0]
    nothing = Ending(draft.initial_state, draft.initial_state)
    rewards: list[float] = []
    for name, one in (
        ("oracle", ending),
        ("do_nothing", nothing),
        ("words_alone", replace(nothing, said=ending.said)),
    ):
        verdict = await decide(sandbox, verifier, one, draft.clock)
        if (name == "oracle") is not (verdict.outcome == "pass") or (
            name != "oracle" and verdict.reward != 0.0
        ):
            detail = (
                f"{name} ends in {verdict.outcome} with reward {verdict.reward}: "
                f"{verdict.reason or 'nothing failed'}"
            )
            raise BuildError(
                detail, reason=f"{name}_misjudged", verdict=verdict.model_dump(mode="json")
            )
        rewards.append(verdict.reward or 0.0)
    return rewards


def _make_scenario(
    prepared: Prepared, composed: ComposedVerifier, rewards: Sequence[float], split: Split
) -> Scenario:
    draft = prepared.draft
    kept = draft.model_dump(
        include={
            "environment",
            "number",
            "initial_state",
            "request",
            "user",
            "oracle",
            "polarity",
            "clock",
            "seed",
            "say",
            "parts",
        }
    )
    return Scenario.model_validate(
        kept
        | {
            "draft": draft.id,
            "origin": draft.origin,
            "verifier": composed.verifier,
            "features": find_features(draft, prepared.environment, composed),
            "split": split,
            "oracle_reward": rewards[0],
            "do_nothing_reward": rewards[1],
        }
    )


def find_features(
    draft: Draft, environment: Environment, composed: ComposedVerifier
) -> dict[str, Json]:
    """What may make a scenario hard, counted."""
    effects = {tool.name: tool.effect for tool in environment.tools}
    touched = sorted({change.path[0] for change in draft.changes})
    changed = {tuple(change.path[:2]) for change in draft.changes if change.op != "add"}
    rows = {
        name: len(draft.initial_state.get(name) or ())
        for name in touched
        if is_object(draft.initial_state.get(name))
    }
    return {
        "oracle_calls": len(draft.oracle),
        "writes": sum(effects.get(call.name) == "change" for call in draft.oracle),
        "reads": sum(effects.get(call.name) == "query" for call in draft.oracle),
        "changes": len(draft.changes),
        "collections": touched,
        "distractors": sum(rows.values()) - sum(place[0] in rows for place in changed),
        "facts": len(composed.verifier.facts),
        "facts_refused": list(composed.refused),
        **({"free": composed.verifier.free} if composed.verifier.free else {}),
        **({"worded": composed.verifier.worded} if composed.verifier.worded else {}),
        "polarity": draft.polarity,
        **({"requests": len(draft.parts)} if draft.parts else {}),
        "request_length": len(draft.request),
    }
