"""Exporter `harbor`: scenarios of kind `terminal` as Harbor folders, each with its image,
instruction, tests and solution.

README.md       what these are                     manifest.json     which folder is what, and what was left out, and why
tasks/SCENARIO/ one folder for each
"""

from collections.abc import Iterator

from envmill.interop.exporters.base import (
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
)
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.pages import describe_bounds, describe_contamination, fill
from envmill.interop.harbor.writing import write_task
from envmill.kinds import kind_of
from schemas.base import Json
from schemas.stored import choose, find_by_id, list_ids, order

NAME = "harbor"
TASKS = "tasks"


def export_harbor(export_set: ExportSet) -> Iterator[OutputFolder]:
    """One folder with all Harbor folders; none without environments of kind `terminal`."""
    find, left = find_by_id(export_set.environments), dict[str, str]()
    for one in export_set.scenarios:
        if why := kind_of(find(one.environment)).find_formless(NAME, one):
            left[one.id] = why
    kept = order(choose(export_set.scenarios, lambda one: one.id not in left))
    if not kept:
        return
    ids = tuple(list_ids(kept))
    canary, contents = make_canary(ids), Contents()
    tasks, rows, environments = dict[str, Json](), list[str](), set[str]()
    for one in kept:
        home = find(one.environment)
        written = write_task(home, one, export_set.limits, make_canary([home.id, one.id]))
        for path, content in written.items():
            contents.add(f"{TASKS}/{one.id}/{path}", content)
        told = {"environment": home.id, "split": one.split, "licence": home.licence}
        tasks[f"{TASKS}/{one.id}"] = told
        summary = " ".join(home.summary.split()).replace("|", "/")
        rows.append(f"| `{TASKS}/{one.id}` | {one.split} | {summary} |")
        environments.add(home.id)
    contamination = export_set.describe_contamination(ids)
    manifest = {
        "exporter": NAME,
        "tasks": tasks,
        "left_out": left,
        "transfer": TRANSFER,
        "canary": canary,
        "tiers": export_set.describe_tiers(ids),
        "contamination": contamination,
    }
    page = fill(
        "harbor",
        tasks="\n".join(rows),
        bounds=describe_bounds(kept),
        contamination=describe_contamination(contamination),
        transfer=TRANSFER,
        canary=canary,
    )
    contents.files |= {"manifest.json": render_json(manifest), "README.md": page.encode()}
    files, homes = dict(sorted(contents.files.items())), tuple(sorted(environments))
    yield OutputFolder(NAME, NAME, files, len(kept), homes, ids, contents.staged)


EXPORTER = Exporter(NAME, export_harbor)
