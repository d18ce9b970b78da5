"""What became of a broken system: healthy as it was left and after a restart, by real services, and
nothing else changed."""

from envmill.base.errors import SandboxError
from envmill.kinds.terminal.breaking.proving import list_places
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.baseline import Baseline, Examination, examine
from envmill.sandbox.machines.healthy import Healthy
from schemas.system import BrokenSystem, Judgement


async def judge(
    container: Container, healthy: Healthy, broken: BrokenSystem, reference: Baseline
) -> Judgement:
    """An error says that nothing is known about the agent."""
    try:
        return decide(await examine(container, healthy, list_places(broken), reference))
    except SandboxError as error:
        return Judgement(verdict="error", reason="no_report", detail=str(error))


def decide(found: Examination) -> Judgement:
    """The first thing that is wrong."""
    left, lasting = (
        {probe: words for probe, words in said.items() if words}
        for said in (found.left, found.lasting)
    )
    faults = {
        "no_room": found.detail,
        "replaced_program": ", ".join(found.replaced),
        "collateral": ", ".join(found.outside[:5]),
        "still_broken": str(left or ""),
        "not_lasting": str(lasting or ""),
    }
    reason = next((name for name, detail in faults.items() if detail), "")
    return Judgement(
        verdict="fail" if reason else "pass", reason=reason, detail=faults.get(reason, "")
    )
