"""Exporter `harbor`: scenarios of machines as Harbor folders, each with its image, instruction,
tests and solution.

README.md       what these are                     manifest.json     which folder is what, and what was left out, and why
tasks/SCENARIO/ one folder for each
"""

from collections.abc import Iterator
from typing import Any

from envmill.interop.exporters.base import (
    TRANSFER,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
)
from envmill.interop.exporters.pages import describe_bounds, describe_contamination, fill
from envmill.interop.harbor.writing import write_task
from envmill.kinds import kind_of
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

NAME = "harbor"
TASKS = "tasks"


def export_harbor(cargo: ExportSet) -> Iterator[OutputFolder]:
    """One folder of folders; none where nothing of the cargo is a machine's."""
    homes = {one.id: one for one in cargo.environments}
    posed = [
        (homes[one.environment], one) for one in sorted(cargo.scenarios, key=lambda one: one.id)
    ]
    left = {one.id: why for home, one in posed if (why := kind_of(home).find_formless(NAME, one))}
    kept = [(home, one) for home, one in posed if one.id not in left]
    if not kept:
        return
    ids = tuple(one.id for _, one in kept)
    canary = make_canary(ids)
    files = {
        f"{TASKS}/{one.id}/{path}": content
        for home, one in kept
        for path, content in write_task(
            home, one, cargo.limits, make_canary([home.id, one.id])
        ).items()
    }
    told = {"tiers": cargo.describe_tiers(ids), "contamination": cargo.describe_contamination(ids)}
    files["manifest.json"] = render_json({**_describe_manifest(kept, left, canary), **told})
    files["README.md"] = _write_page(kept, canary, told["contamination"]).encode()
    yield OutputFolder(
        NAME,
        NAME,
        dict(sorted(files.items())),
        len(kept),
        tuple(sorted({home.id for home, _ in kept})),
        ids,
    )


def _describe_manifest(
    kept: list[tuple[Environment, Scenario]], left: dict[str, str], canary: str
) -> dict[str, Any]:
    return {
        "exporter": NAME,
        "tasks": {
            f"{TASKS}/{one.id}": {
                "environment": home.id,
                "split": one.split,
                "licence": home.licence,
            }
            for home, one in kept
        },
        "left_out": left,
        "transfer": TRANSFER,
        "canary": canary,
    }


def _write_page(kept: list[tuple[Environment, Scenario]], canary: str, contamination: Json) -> str:
    rows = [
        f"| `{TASKS}/{one.id}` | {one.split} | {' '.join(home.summary.split()).replace('|', '/')} |"
        for home, one in kept
    ]
    return fill(
        "harbor",
        tasks="\n".join(rows),
        bounds=describe_bounds([one for _, one in kept]),
        contamination=describe_contamination(contamination),
        transfer=TRANSFER,
        canary=canary,
    )
