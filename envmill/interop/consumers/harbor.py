"""Harbor for environments of tools: a folder of tasks, each with a server of its tools, and a judge
in a container of its own.

Machines leave by exporter `harbor`. Each task carries a jail and a judge, so these are written when
they are asked for alone.
"""

from collections.abc import Iterator

from envmill.agents.users.doing import needs_user
from envmill.base.settings import ROOT
from envmill.interop.bundles.digests import render_digests
from envmill.interop.bundles.envrun.digests import DIGESTS
from envmill.interop.bundles.portable import find_unjudged
from envmill.interop.exporters.base import (
    TRANSFER,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
)
from envmill.interop.exporters.bundle import NAME as BUNDLE
from envmill.interop.exporters.bundle import pack_environment
from envmill.interop.exporters.pages import fill
from envmill.interop.harbor.worlds import write_world
from envmill.kinds import kind_of
from schemas.environment import Environment
from schemas.scenario import Scenario, UserContract

NAME, FOLDER, TASKS = "harbor", "harbor-worlds", "tasks"
VERSION = "0.24.0"
_LEFT = ("README.md", "tests.json", DIGESTS)
"""What of a bundle no container needs."""


def export_worlds(export_set: ExportSet) -> Iterator[OutputFolder]:
    """One folder of folders; none where there is nothing of the kind."""
    homes = {one.id: one for one in export_set.environments}
    left = find_unposed(export_set)
    kept = [
        (homes[one.environment], one)
        for one in sorted(export_set.scenarios, key=lambda one: one.id)
        if one.id not in left
    ]
    if not kept:
        return
    ids = tuple(one.id for _, one in kept)
    files: dict[str, bytes] = {}
    for home, one in kept:
        task = write_world(
            home, one, _pack(home, one), export_set.limits, make_canary([home.id, one.id])
        )
        files |= {f"{TASKS}/{one.id}/{path}": content for path, content in task.items()}
    files["manifest.json"] = render_json({
        "exporter": FOLDER,
        "versions": {NAME: VERSION},
        "tasks": {f"{TASKS}/{one.id}": {"environment": home.id, "split": one.split, "licence": home.licence} for home, one in kept},
        "left_out": left,
        "tiers": export_set.describe_tiers(ids),
        "contamination": export_set.describe_contamination(ids),
        "transfer": TRANSFER,
        "canary": make_canary(ids),
    })  # fmt: skip
    licences = ", ".join(sorted({home.licence for home, _ in kept}))
    files["NOTICE"] = fill("notice", licence=licences, canary=make_canary(ids)).encode()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[DIGESTS] = render_digests(files)
    yield OutputFolder(
        FOLDER,
        FOLDER,
        dict(sorted(files.items())),
        len(kept),
        tuple(sorted({home.id for home, _ in kept})),
        ids,
    )


def find_unposed(export_set: ExportSet) -> dict[str, str]:
    """Scenarios that have no place there, and why."""
    homes = {one.id: one for one in export_set.environments}
    found = {one.id: _find_reason(homes[one.environment], one) for one in export_set.scenarios}
    return {name: why for name, why in sorted(found.items()) if why}


def _find_reason(environment: Environment, scenario: Scenario) -> str:
    kind = kind_of(environment)
    if why := kind.find_formless(BUNDLE, scenario):
        return (
            f"{why}; `--exporter harbor` exports it as a Harbor folder"
            if not kind.find_formless(NAME, scenario)
            else why
        )
    if needs_user(scenario):
        return "Harbor has no place for a user who answers or acts"
    return find_unjudged(scenario.verifier)


def _pack(environment: Environment, scenario: Scenario) -> dict[str, bytes]:
    """Its bundle folder, without the reference path and what a user knows."""
    user = UserContract(opening=scenario.request)
    bare = scenario.model_copy(update={"oracle": [], "say": "", "features": {}, "user": user})
    files = pack_environment(environment, [bare]).files
    kept = {path: content for path, content in files.items() if path not in _LEFT}
    return kept | {DIGESTS: render_digests(kept)}
