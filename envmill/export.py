"""Export: what a trainer loads."""

from envmill.exporters import EXPORTERS
from envmill.gates.base import drop, keep
from envmill.mill import Load, Mill, Result, Subject
from envmill.models.door import Account

_UNKNOWN = ("", "unknown")


async def export_bundles(subject: Subject[Load], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """One bundle per exporter; trajectories of unknown licence stay at home, and provisional ones unless they were asked for."""
    load = subject.record
    licensed = [one for one in load.trajectories if one.licence not in _UNKNOWN]
    if not licensed:
        return Result(findings=(drop("licence", "nothing_to_export", "no trajectory with a known licence was collected"),))
    unlicensed = [one.id for one in load.trajectories if one.licence in _UNKNOWN]
    findings = [keep("licence", {"left_at_home": unlicensed} if unlicensed else None)]
    open_ones = [one for one in licensed if load.provisional & {one.environment, one.scenario}]
    leaving = licensed if mill.config.provisional else [one for one in licensed if one not in open_ones]
    if not leaving:
        words = (
            f"all {len(licensed)} trajectories are provisional: a required gate was not measured; set `provisional` to export them anyway"
        )
        return Result(
            findings=(*findings, drop("provisional", "nothing_to_export", words, {"left_at_home": [one.id for one in open_ones]}))
        )
    if open_ones:
        findings.append(keep("provisional", {"exported" if mill.config.provisional else "left_at_home": [one.id for one in open_ones]}))
    folder = mill.settings.bundles / mill.run
    return Result(tuple(exporter(leaving, load.splits, folder) for exporter in EXPORTERS.values()), tuple(findings))
