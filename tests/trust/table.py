"""The confusion table at full count, in processes of its own, to be cut off and gone on with.

    python -m tests.trust.table [FOLDER] [KIND…]    `page` for a kind only writes the page
    python -m tests.trust.table [FOLDER] recipe=awm [KIND…]    the same for a recipe over tables, less of everything

jobs ─┬─► process ─► lines of JSON ─┐
      └─► process ─► lines of JSON ─┴─► docs/audit/confusion.md, or confusion-RECIPE.md

FOLDER (data/trust) keeps a line for every job that is done; a second call does the others, and
those done by other code.
"""

import asyncio
import random
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from envmill.base.settings import ROOT, Settings
from envmill.sandbox import Sandbox
from offline.faults import KINDS
from schemas.run import RecipeName
from tests.trust import desks
from tests.trust.desk_page import write_desk_page
from tests.trust.fingerprints import ROOTS, Part, take_fingerprint
from tests.trust.jobs import CLEAN, MUTANT, REVIEWED, SCENARIO_PROMPTS, Job, Outcome, do
from tests.trust.page import ENVIRONMENTS, FAULTS, MUTANTS, SCENARIOS, write_page
from tests.trust.posing import ANYTHING, choose_polarities
from tests.trust.recipe_page import SIZES, write_recipe_page
from tests.trust.tabled import LINES, list_kinds, list_themes

PAGE = ROOT / "docs/audit/confusion.md"
PATIENCE = 8
"""Places tried per fault that is wanted, and every theme at least, before a kind is called rare."""
VARIATIONS = 10
"""Environments of a theme that scenarios are drawn from."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    environments: int = ENVIRONMENTS
    scenarios: int = SCENARIOS
    faults: int = FAULTS
    """Of each kind, planted and with a witness."""
    mutants: int = MUTANTS
    kinds: tuple[str, ...] = ()
    """Kinds that are looked at; all when empty."""
    seed: int = 0
    """Which places come first."""
    recipe: RecipeName = "envscaler"
    """Whose functions make it."""

    @classmethod
    def of(cls, recipe: RecipeName, kinds: tuple[str, ...] = ()) -> "Plan":
        if recipe == desks.NAME:
            return cls(faults=desks.EACH, kinds=kinds, recipe=recipe)
        return (
            cls(kinds=kinds) if recipe == "envscaler" else cls(*SIZES, kinds=kinds, recipe=recipe)
        )


@dataclass(frozen=True)
class Series:
    """Jobs of one kind, until so many were made."""

    wanted: int
    jobs: Sequence[Job]
    split: bool = False
    """Whether all processes work at it; else it is one's alone."""


def list_series(plan: Plan) -> Iterator[Series]:
    """Everything, faults first: they are many small series. Where kinds are named, these alone."""
    if plan.recipe == "tau2":
        for wanted, jobs in desks.list_series():
            if _is_wanted(jobs[0].kind, plan):
                asked = {CLEAN: plan.environments, "achieve": plan.scenarios}
                most = min(wanted, asked.get(jobs[0].kind, plan.faults))
                yield Series(most, jobs, split=True)
        return
    for prompt, kind in _list_faults(plan.recipe):
        if _is_wanted(kind, plan):
            yield Series(
                plan.faults,
                _list_jobs(
                    prompt, kind, max(plan.faults * PATIENCE, len(list_themes(plan.recipe))), plan
                ),
            )
    for prompt, kind, wanted in (
        ("program", MUTANT, plan.mutants),
        ("program", CLEAN, plan.environments),
        ("program", REVIEWED, plan.faults),
        ("checks", "checks", plan.faults),
    ):
        if _is_wanted(kind, plan):
            yield Series(wanted, _list_jobs(prompt, kind, wanted * 2, plan), split=True)
    for polarity in ANYTHING:
        if _is_wanted(polarity, plan):
            wanted = plan.scenarios // len(ANYTHING)
            yield Series(wanted, _list_jobs("scenario", polarity, wanted * 2, plan), split=True)


def _list_faults(recipe: RecipeName) -> list[tuple[str, str]]:
    if recipe != "envscaler":
        return list_kinds(recipe)
    return [
        (prompt, kind)
        for prompt in ("program", "tests", "scenario", "checks")
        for kind in KINDS[prompt]
    ]


def _is_wanted(kind: str, plan: Plan) -> bool:
    return not plan.kinds or kind in plan.kinds


def _list_jobs(prompt: str, kind: str, most: int, plan: Plan) -> list[Job]:
    """Themes in turn, all of them before any comes again, each time another variation; none
    twice."""
    dice, themes = random.Random(f"{prompt}/{kind}/{plan.seed}"), list_themes(plan.recipe)
    dice.shuffle(themes)
    scenarios = prompt in SCENARIO_PROMPTS
    polarities = (
        ((kind,) if kind in ANYTHING else choose_polarities(kind)) if scenarios else ("achieve",)
    )
    jobs: dict[str, Job] = {}
    for turn in range(most):
        number = dice.randrange(VARIATIONS) if scenarios else turn // len(themes)
        place = dice.randrange(4) if scenarios or kind == MUTANT else 0
        job = Job(
            prompt,
            kind,
            themes[turn % len(themes)],
            number,
            place,
            dice.choice(polarities),
            plan.recipe,
        )
        jobs.setdefault(job.key, job)
    return list(jobs.values())


async def work(plan: Plan, folder: Path, share: int, shares: int, sandbox: Sandbox) -> None:
    """One process's part: whole series of faults, and every so manieth job of the long ones."""
    codes: dict[Part, str] = {
        part: take_fingerprint(part) for part in ROOTS
    }  # before anything of it is changed on disk
    done = {outcome.key: outcome for outcome in read_outcomes(folder) if not outcome.outage}
    with (folder / f"outcomes-{share}.jsonl").open("a", encoding="utf-8") as lines:
        lines.write("\n")  # ends a line that was cut off
        for place, series in enumerate(list_series(plan)):
            jobs, wanted = (
                (series.jobs[share::shares], -(-series.wanted // shares))
                if series.split
                else (series.jobs, series.wanted)
            )
            left = iter(jobs if series.split or place % shares == share else ())
            while wanted > 0 and (job := next(left, None)):
                if job.key not in done:
                    made = desks.do if job.recipe == "tau2" else do
                    done[job.key] = (await made(job, sandbox)).model_copy(
                        update={"code": codes[job.part]}
                    )
                    lines.write(done[job.key].model_dump_json() + "\n")
                    lines.flush()
                wanted -= done[job.key].made and not done[job.key].outage


async def work_alone(plan: Plan, folder: Path, share: int, shares: int) -> None:
    """In a sandbox of its own."""
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        await work(plan, folder, share, shares, sandbox)


def read_outcomes(folder: Path) -> list[Outcome]:
    """What is done by the code as it is; a line that was cut off is as if it had never been. No
    folder, no outcomes."""
    lines = [
        line
        for path in sorted(folder.glob("outcomes-*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    found = [
        outcome
        for line in lines
        if (outcome := _read_outcome(line)) and outcome.code == take_fingerprint(outcome.part)
    ]
    return list(
        {outcome.key: outcome for outcome in sorted(found, key=lambda one: not one.outage)}.values()
    )


def _read_outcome(line: str) -> Outcome | None:
    try:
        return Outcome.model_validate_json(line)
    except ValidationError:
        return None


def run(
    folder: Path, kinds: Sequence[str] = (), shares: int = 2, recipe: RecipeName = "envscaler"
) -> list[Outcome]:
    """All shares at once, each in a process of its own; outcomes of another call in the same folder
    are taken over."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.trust.table", str(folder)]
    parts = [
        subprocess.Popen([*command, f"{share}/{shares}", f"recipe={recipe}", *kinds], cwd=ROOT)
        for share in range(shares)
    ]
    if failed := [part.returncode for part in parts if part.wait()]:
        raise RuntimeError(
            f"{len(failed)} of {shares} processes ended with {failed}: call it again, and it goes "
            "on where it stopped."
        )
    return read_outcomes(folder)


def main(arguments: Sequence[str]) -> None:
    folder, words = Path(arguments[0] if arguments else ROOT / "data/trust"), list(arguments[1:])
    named: list[RecipeName] = [one for one in (*LINES, desks.NAME) if f"recipe={one}" in words]
    recipe: RecipeName = named[0] if named else "envscaler"
    shares = next((word for word in words if "/" in word), "")
    kinds = [word for word in words if "/" not in word and "=" not in word]
    if shares:
        share, of = map(int, shares.split("/"))
        asyncio.run(work_alone(Plan.of(recipe, tuple(kinds)), folder, share, of))
        return
    outcomes = read_outcomes(folder) if kinds == ["page"] else run(folder, kinds, recipe=recipe)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(
        f"{len(outcomes)} candidates; {(used.ru_utime + used.ru_stime) / 60:.1f} minutes of CPU "
        "in this call\n"
    )
    page = PAGE if recipe == "envscaler" else PAGE.with_stem(f"confusion-{recipe}")
    others = (
        [one for name in LINES for one in read_outcomes(folder.parent / name)]
        if recipe in LINES
        else []
    )
    if recipe == desks.NAME:
        lines = write_desk_page(outcomes)
    elif recipe == "envscaler":
        lines = write_page(outcomes)
    else:
        lines = write_recipe_page(recipe, outcomes, others)
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
