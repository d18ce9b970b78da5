"""Waiving: a look-up that was derived from the reference path, and that a judge finds nobody needs,
is not demanded.

confirmed `unasked` ─► which derived look-up is it? ─► the draft without it; the last one stays, since words alone must earn nothing
"""

from collections.abc import Sequence

from envmill.gates import s16
from envmill.gates.base import Finding
from envmill.verifiers.demands import render_step
from schemas.scenario import Draft, Scenario

UNASKED = "unasked"


def list_waivable(scenario: Scenario, findings: Sequence[Finding]) -> list[str]:
    """Names of the derived look-ups that the judge confirms to be unneeded; none where no other
    look-up would be left."""
    blamed = [
        one.detail
        for one in findings
        if (one.gate, one.reason, one.outcome) == (s16.GATE, UNASKED, "dropped")
    ]
    steps = scenario.verifier.procedure
    found = [
        step.name
        for step in steps
        if any(render_step(step, scenario.initial_state) in detail for detail in blamed)
    ]
    return found if len(found) < len(steps) else []


def waive(draft: Draft, names: Sequence[str]) -> Draft:
    """The draft whose verifier leaves these look-ups out."""
    return Draft.model_validate(
        draft.model_dump(exclude={"id"}) | {"waived": sorted({*draft.waived, *names})}
    )
