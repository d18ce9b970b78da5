"""Two hand-written environments of kind `sql` as bundle folders. Their programs run only in the jail.

What a scenario's reference path changes makes its verifier: `python -m tests.samples.sql` writes it anew into each folder.
"""

from functools import cache
from pathlib import Path

from envmill.interop.bundles import Folder, read_folder
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.verifiers.compose import OracleRun, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from schemas.scenario import Draft, Scenario, Verifier

HERE = Path(__file__).parent
NAMES = ("hotel", "workshop")


@cache
def load(name: str) -> Folder:
    """One of them."""
    return read_folder(HERE / name)


async def derive(sandbox: Sandbox, folder: Folder, scenario: Scenario) -> Verifier:
    """The verifier of a scenario from its reference path and the facts it has to tell, as building does it."""
    draft = _take_back(scenario)
    later = draft.model_copy(update={"clock": "2026-03-02T09:07:00+00:00", "seed": draft.seed + 1})
    run, elsewhere = [await play_oracle(sandbox, folder, one) for one in (draft, later)]
    composed = compose_verifier(
        draft,
        folder.environment,
        *(OracleRun(diff_states(one.initial, one.final), one.deeds) for one in (run, elsewhere)),
        masks=True,
    )
    assert not composed.refused, composed.refused
    return composed.verifier


async def play_oracle(sandbox: Sandbox, folder: Folder, draft: Draft | Scenario) -> Ending:
    """Where the reference path ends."""
    seen = await sandbox.play(
        Program.of(folder.environment), [start(draft), *map(Invoke, draft.oracle), Look()]
    )
    assert all(one.outcome == "ok" for one in seen), [(one.code, one.message) for one in seen]
    deeds = [
        CompletedCall.of(call, one) for call, one in zip(draft.oracle, seen[1:-1], strict=True)
    ]
    return Ending(draft.initial_state, seen[-1].state, deeds, [draft.say] if draft.say else ())


def _take_back(scenario: Scenario) -> Draft:
    kept = {
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
        "origin",
    }
    tell = [fact.model_copy(update={"rivals": []}) for fact in scenario.verifier.facts]
    return Draft.model_validate(
        scenario.model_dump(include=kept) | {"changes": [], "gold_hash": "", "tell": tell}
    )
