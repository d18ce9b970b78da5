"""Export: what a trainer loads.

Load ──licence, provisional, split──► Cargo ──exporters──► parcels ──► folders and bundles
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from envmill.exporters import EXPORTERS, Cargo, write_parcel
from envmill.gates.base import Finding, drop, keep
from envmill.mill import Load, Mill, Result, Subject
from envmill.models.door import Account
from schemas.base import Json
from schemas.rollout import Bundle

_UNKNOWN = ("", "unknown")

Stays: TypeAlias = Callable[[str, str], bool]
"""Of a scenario's id and its environment's: whether it stays at home."""


async def export_bundles(subject: Subject[Load], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """Every exporter's bundles; what is of unknown licence stays at home, and what is provisional unless it was asked for."""
    cargo, findings = choose_cargo(subject.record, provisional=mill.config.provisional)
    if findings[-1].outcome == "dropped":
        return Result(findings=tuple(findings))
    bundles = write_cargo(cargo, mill.config.exporters, mill.settings.bundles / mill.run, mill.run)
    return Result(tuple(bundles), tuple(findings))


def write_cargo(cargo: Cargo, exporters: Iterable[str], folder: Path, home: str) -> list[Bundle]:
    """The folders of the named exporters; those that have nothing to say of this cargo make none."""
    wanted = [name for name in EXPORTERS if name in set(exporters)]
    return [write_parcel(parcel, folder, home) for name in wanted for parcel in EXPORTERS[name](cargo)]


def choose_cargo(load: Load, *, provisional: bool) -> tuple[Cargo, list[Finding]]:
    """What may leave, and why the rest stays; the last finding drops where nothing is left."""
    licensed = {one.id for one in load.cargo.environments if one.licence not in _UNKNOWN}
    findings: list[Finding] = []
    cargo, words = load.cargo, "everything collected is of unknown licence"
    reasons: tuple[tuple[str, Stays, bool], ...] = (
        ("licence", lambda _, home: home not in licensed, False),
        ("provisional", lambda scenario, home: bool(load.provisional & {scenario, home}), provisional),
    )
    for name, stays, asked in reasons:
        left = list_staying(cargo, stays)
        cargo = cargo if asked else leave_out(cargo, stays)
        if not cargo.trajectories:
            return cargo, [*findings, drop(name, "nothing_to_export", words, {"left_at_home": left})]
        if left or name == "licence":
            findings.append(keep(name, _tell_left(left, asked)))
        words = "all that is left is provisional: a required gate was not measured; set `provisional` to export it anyway"
    return cargo, findings


def list_staying(cargo: Cargo, stays: Stays) -> list[str]:
    """Scenarios that stay at home."""
    return sorted(one.id for one in cargo.scenarios if stays(one.id, one.environment))


def leave_out(cargo: Cargo, stays: Stays) -> Cargo:
    """The cargo without scenarios that stay, without what was made of them, and without environments that have none left."""
    scenarios = tuple(one for one in cargo.scenarios if not stays(one.id, one.environment))
    homes = {one.environment for one in scenarios}
    return replace(
        cargo,
        environments=tuple(one for one in cargo.environments if one.id in homes),
        tests=tuple(one for one in cargo.tests if one.environment in homes),
        scenarios=scenarios,
        trajectories=tuple(one for one in cargo.trajectories if not stays(one.scenario, one.environment)),
        pairs=tuple(one for one in cargo.pairs if not stays(one.scenario, one.environment)),
    )


def _tell_left(left: list[str], asked: bool) -> Json:
    return {"exported" if asked else "left_at_home": left} if left else None
