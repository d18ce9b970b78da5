"""A stored rollout judged again: its calls and words from the transcript, its end from the changes
that were stored, nothing run.

initial state + changes ─► state, held to the recorded hash ─┐
transcript ─► deeds, words ──────────────────────────────────┴─► ending ─► verdict, beside the one of that time
"""

from dataclasses import dataclass
from typing import Literal

from envmill.agents.log import StoredCall, count_said, read_answers, read_moves, read_words
from envmill.agents.loop import MASKED
from envmill.agents.replay import play_again
from envmill.base.errors import BuildError
from envmill.runtime.canonical import NotJson, fingerprint, plain, render
from envmill.sandbox import Sandbox
from envmill.verifiers.court import decide
from envmill.verifiers.diff import apply_changes
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import make_error
from envmill.verifiers.ruling import weigh
from schemas.base import Json
from schemas.environment import Environment
from schemas.rollout import Rollout, Verdict
from schemas.scenario import Change, Scenario

Basis = Literal["changes", "replay", "none"]


@dataclass(frozen=True)
class Rescored:
    """A verdict of today on a rollout of then."""

    rollout: Rollout
    verdict: Verdict
    basis: Basis
    """Where the final state came from: the stored changes, or a replay in the jail where none were
    stored."""

    @property
    def changed(self) -> bool:
        """Whether it is paid or counted otherwise than it was."""
        return (self.verdict.outcome, self.verdict.reward) != (
            self.rollout.outcome,
            self.rollout.reward,
        )


async def rescore(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Rescored:
    """Judge it by the scenario's verifier. What said nothing about the policy then is no verdict on
    it now; a ruling holds."""
    if rollout.termination in MASKED:
        return Rescored(rollout, make_error(MASKED[rollout.termination]), "none")
    basis: Basis = "replay" if rollout.changes is None else "changes"
    try:
        ending = await read_ending(rollout, scenario, environment, sandbox)
    except BuildError as error:
        return Rescored(rollout, make_error(error.message), basis)
    return Rescored(
        rollout,
        weigh(await decide(sandbox, scenario.verifier, ending, scenario.clock), rollout.ruling),
        basis,
    )


async def read_ending(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Ending:
    """What a verifier looks at; BuildError when the final state cannot be had again."""
    final = await _find_end(rollout, scenario, environment, sandbox)
    deeds = [move.deed for move in read_moves(rollout.transcript) if isinstance(move, StoredCall)]
    ended = count_said(rollout.transcript, scenario.user.later)
    said, answers = read_words(rollout.transcript), read_answers(rollout.transcript)
    return Ending(scenario.initial_state, final, deeds, said, ended=ended, answers=answers)


async def _find_end(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Json:
    """The final state that was recorded; BuildError when it cannot be had again."""
    if rollout.changes is None:
        end = (await play_again(rollout, scenario, environment, sandbox))[-1]
        if end.state is None or end.state_hash != rollout.final_state_hash:
            raise BuildError(
                "Played again it ends in another state than was recorded, and no changes were "
                "stored. See `envmill replay`."
            )
        return end.state
    try:
        final = apply_changes(
            scenario.initial_state, [Change.model_validate(change) for change in rollout.changes]
        )
        reached = fingerprint(render(plain(final)))
    except (KeyError, TypeError, ValueError, NotJson) as error:
        raise BuildError(
            f"The stored changes do not fit the scenario's initial state ({type(error).__name__}: "
            f"{error})."
        ) from None
    if reached != rollout.final_state_hash:
        raise BuildError(
            f"The stored changes lead to state {reached}, and "
            f"{rollout.final_state_hash or 'none'} was recorded."
        )
    return final
