"""Task `quality`: what a step has written, or a whole run, is held to the promises of its tables.

survey ─► broken invariant: the step fails
   ▲  └─► broken rows ─► set aside ─┐
   └───────── look again ───────────┘
"""

# pyright: reportUnknownMemberType=false
# (duckdb and Prefect ship loose types)

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence

from prefect import task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE

from envmill.base.errors import StepFailed
from envmill.lake.coordination import hold
from envmill.pipeline.line import STEP
from envmill.pipeline.quarantine import GATE, set_aside
from envmill.pipeline.runner import Runner
from quality.gate import judge
from quality.promise import BrokenPromise
from quality.report import Report
from quality.survey import Survey, survey
from schemas.ledger import Evidence
from schemas.quality import Quarantine
from tasks.breaches import fail, find_losses, group_rows
from tasks.rows import open_rows
from tasks.walking import WALK

_ROUNDS = 8
"""What is set aside can leave others without what they refer to; a lineage is six records long."""


@task(name="quality", task_run_name="quality-{step}", cache_policy=NO_CACHE, persist_result=False)
async def check_step(step: str) -> int:
    """Breaches set aside at the end of a step. A broken invariant fails it, and the suites say so
    on its page."""
    walk = WALK.get()
    found, aside = await hold_to_promises(
        walk, [step], {"attrition", "gate_evidence", *STEP[step].makes}
    )
    if found.invariants:
        await _publish(walk, found)
        raise fail(step, found.invariants)
    return aside


@task(name="quality", task_run_name="quality-of-run", cache_policy=NO_CACHE, persist_result=False)
async def check_run(last: str) -> int:
    """The whole run up to a step, through every suite; the report goes to the run's page and into
    its dossiers."""
    walk = WALK.get()
    names = [step.name for step in walk.line]
    found, aside = await hold_to_promises(walk, names[: names.index(last) + 1], None)
    report = await _publish(walk, found)
    if found.invariants or not report.holds:
        raise fail(last, found.invariants or found.breaches)
    return aside


async def hold_to_promises(
    walk: Runner, steps: Sequence[str], tables: set[str] | None
) -> tuple[Survey, int]:
    """Set aside what can be set aside until nothing is broken or an invariant is; the last survey,
    and how many breaches that took."""
    aside, found = 0, Survey((), ())
    async with hold(walk.coordinator, f"{walk.context.run}/{GATE}"):
        for _ in range(_ROUNDS):
            found = await asyncio.to_thread(_check, walk, steps, tables)
            if found.invariants or not found.breaches:
                return found, aside
            await _set_all_aside(walk, found.breaches)
            aside += len(found.breaches)
    raise StepFailed(
        f"{fail(steps[-1], found.breaches).message} {_ROUNDS} rounds of setting rows aside did "
        "not help."
    )


def _check(walk: Runner, steps: Sequence[str], tables: set[str] | None) -> Survey:
    with open_rows(walk.lake, walk.context.run) as connection:
        return survey(
            connection, {name: mark.fingerprint for name, mark in walk.marks.items()}, steps, tables
        )


async def _set_all_aside(walk: Runner, breaches: Sequence[BrokenPromise]) -> None:
    by_step: dict[str, list[BrokenPromise]] = defaultdict(list)
    for breach in breaches:
        by_step[breach.step].append(breach)
    for step, found in by_step.items():
        await set_aside(walk, step, group_rows(found), find_losses(found))


async def _publish(walk: Runner, found: Survey) -> Report:
    run, rows = walk.context.run, walk.lake.read(Quarantine, walk.context.run)
    aside = Counter((row.table_name, row.promise) for row in rows)
    report = await asyncio.to_thread(judge, found.tallies, aside)
    dossier = Evidence(gate=GATE, subject=f"run:{run}", finding=report.to_json())
    walk.lake.put(Evidence, [dossier], f"{GATE}-{dossier.id}", walk.stamp(GATE, "", 0, 1))
    await acreate_markdown_artifact(
        report.to_markdown(), key=GATE, description=f"Promises of run {run}, table by table."
    )
    return report
