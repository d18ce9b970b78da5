"""Final states of a scenario as its gates reached them, by mutants, attackers and detours, each
with the verifier's verdict."""

from collections.abc import Iterator

from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.trials import Trials
from envmill.gates.s4 import list_mutants
from envmill.gates.s6 import play_detours
from envmill.kinds.trial import Trial
from envmill.verifiers.ending import Ending
from schemas.base import canonical_json


async def list_ends(posed: ScenarioCase, means: GateContext) -> list[tuple[Ending, bool]]:
    """Each sequence of calls once, with whether the verifier accepts it. Errors are left out."""
    trials = Trials.of(posed, means)
    oracle = await trials.oracle()
    played = [*oracle, *(mutant.trial for mutant in await list_mutants(posed, means))]
    played += [trial for _, trial in await play_detours(trials, oracle[0], means)]
    played += [trial for found in (await trials.attacks(means.probes)).values() for trial in found]
    return list(_list_distinct(played))


def _list_distinct(played: list[Trial]) -> Iterator[tuple[Ending, bool]]:
    seen: set[str] = set()
    for trial in played:
        if trial.ending is None or trial.verdict.outcome == "error":
            continue
        key = canonical_json([[deed.call.name, deed.call.arguments] for deed in trial.ending.deeds])
        if key not in seen:
            seen.add(key)
            yield trial.ending, trial.verdict.outcome == "pass"
