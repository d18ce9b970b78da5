"""Export: what a trainer loads."""

from envmill.exporters import EXPORTERS
from envmill.gates.base import drop, keep
from envmill.mill import Load, Mill, Result, Subject
from envmill.models.door import Account

_UNKNOWN = ("", "unknown")


async def export_bundles(subject: Subject[Load], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """One bundle per exporter; trajectories of unknown licence stay at home."""
    load = subject.record
    licensed = [one for one in load.trajectories if one.licence not in _UNKNOWN]
    if not licensed:
        return Result(findings=(drop("licence", "nothing_to_export", "no trajectory with a known licence was collected"),))
    folder = mill.settings.bundles / mill.run
    unlicensed = [one.id for one in load.trajectories if one.licence in _UNKNOWN]
    finding = keep("licence", {"left_at_home": unlicensed} if unlicensed else None)
    return Result(tuple(exporter(licensed, load.splits, folder) for exporter in EXPORTERS.values()), (finding,))
