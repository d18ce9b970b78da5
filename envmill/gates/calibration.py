"""The calibration of a judge on one scenario: how it rules on ends that are known to be right or
wrong.

reference path, detours ─► right ends ─┐
nothing, mutants, attacks ► wrong ends ┴─► judge ─► false accepts, false rejects ─► a weight, or none and why
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

from envmill.base.errors import Outage
from envmill.gates.base import Finding, GateContext, ScenarioCase, keep
from envmill.gates.exploring.trials import Trials
from envmill.gates.s4 import list_mutants
from envmill.gates.s6 import play_detours
from envmill.kinds import kind_of
from envmill.models.session import ModelSession
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.ruling import CAP, PROMPT, CalibratedJudge, ask_judge
from schemas.base import canonical_json
from schemas.rollout import Calibration
from schemas.scenario import Change

GATE = "judge"
"""Name in the ledger. The calibration is no gate and stops no scenario."""
MOST_FALSE = 0.25
"""Share of wrong ends it may accept, and of right ends it may not, before it has no say."""
_MOST_WRONG, _MOST_RIGHT = 8, 4
"""Ends it is shown: each is a call to a model."""
_LEAST_WRONG, _LEAST_RIGHT = 4, 2

T = TypeVar("T")


async def open_bench(
    posed: ScenarioCase, means: GateContext, models: ModelSession
) -> CalibratedJudge:
    """A judge with the weight that it earns on this scenario; Outage where it cannot be reached."""
    if not kind_of(posed.environment).knows_near_misses or not posed.scenario.oracle:
        nothing = Calibration(
            wrong=0,
            false_accepts=0,
            right=0,
            false_rejects=0,
            told="near misses of this scenario are not known",
        )
        return CalibratedJudge(models, (), nothing)
    right, wrong = await list_known(posed, means)
    reference = (await Trials.of(posed, means).oracle())[0].ending
    expected = diff_states(reference.initial, reference.final) if reference else []
    accepted, missed = (
        await _rule(posed, wrong, expected, models),
        await _rule(posed, right, expected, models),
    )
    counted = Calibration(
        wrong=len(wrong),
        false_accepts=sum(accepted),
        right=len(right),
        false_rejects=len(missed) - sum(missed),
    )
    return CalibratedJudge(
        models, expected, counted.model_copy(update={"told": find_objection(counted)})
    )


async def list_known(posed: ScenarioCase, means: GateContext) -> tuple[list[Ending], list[Ending]]:
    """Right ends and wrong ends, as the gates distinguish them. Wrong ends are taken in turn from
    each sort of mutant, and then from attacks if there are too few."""
    trials = Trials.of(posed, means)
    right = (await trials.oracle())[0]
    played = [trial for _, trial in await play_detours(trials, right, means)] + [right]
    sorts: dict[str, list[Ending]] = {}
    for mutant in await list_mutants(posed, means):
        if mutant.fate == "killed" and mutant.trial.ending:
            sorts.setdefault(mutant.attempt.label, []).append(mutant.trial.ending)
    nothing = await trials.nothing()
    idle = [nothing.ending] if nothing.ending and nothing.verdict.outcome == "fail" else []
    passed = [trial.ending for trial in played if trial.ending and trial.verdict.outcome == "pass"]
    wrong = _pick([*idle, *_take_in_turn(sorts.values())], _MOST_WRONG)
    if len(wrong) < _MOST_WRONG:
        attacks = [
            [each.ending for each in made if each.verdict.outcome == "fail"]
            for made in (await trials.attacks()).values()
        ]
        wrong = _pick([*wrong, *_take_in_turn(attacks)], _MOST_WRONG)
    return _pick(passed, _MOST_RIGHT), wrong


def find_objection(counted: Calibration) -> str:
    """Why a judge with these counts gets no weight; empty if it gets one."""
    if counted.wrong < _LEAST_WRONG or counted.right < _LEAST_RIGHT:
        least = f"{_LEAST_WRONG} and {_LEAST_RIGHT} are the fewest that say anything"
        return f"{counted.wrong} wrong and {counted.right} right ends could be made; {least}"
    if counted.false_accepts > MOST_FALSE * counted.wrong:
        return f"it calls {counted.false_accepts} of {counted.wrong} wrong ends complete"
    if counted.false_rejects > MOST_FALSE * counted.right:
        return f"it does not call {counted.false_rejects} of {counted.right} right ends complete"
    return ""


def describe(bench: CalibratedJudge) -> Finding:
    """The calibration as the ledger stores it."""
    models = bench.models
    model = {
        "model": models.name_model(GATE) or models.name_provider(GATE),
        "prompt_hash": PROMPT.hash,
    }
    return keep(
        GATE,
        {
            **model,
            **bench.calibration.model_dump(),
            "weight": bench.weight,
            "cap": CAP,
            "most_false": MOST_FALSE,
        },
    )


async def _rule(
    posed: ScenarioCase, endings: Sequence[Ending], expected: Sequence[Change], models: ModelSession
) -> list[bool]:
    """Whether the judge calls each end complete. An unreadable reply accepts nothing."""
    scenario, environment = posed.scenario, posed.environment
    ruled = await asyncio.gather(
        *(ask_judge(scenario, environment, ending, expected, models) for ending in endings)
    )
    if lost := next((reason for outcome, reason in ruled if outcome == "unreached"), ""):
        raise Outage(f"The judge could not be calibrated on {scenario.id}: {lost}")
    return [outcome == "complete" for outcome, _ in ruled]


def _take_in_turn(sorts: Iterable[Sequence[T | None]]) -> list[T]:
    return [one for one in chain.from_iterable(zip_longest(*sorts)) if one is not None]


def _pick(endings: Sequence[Ending], most: int) -> list[Ending]:
    """Those that were come to by other calls or with other words, the first of them."""
    return list({canonical_json(ending.describe()): ending for ending in endings}.values())[:most]
