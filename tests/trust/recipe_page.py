"""The page of a recipe over tables: shares of its work that were kept and caught, by the same gates
and with the same bounds as for classes."""

from collections.abc import Iterator, Sequence

from envmill.verifiers.bounds import limit_share
from schemas.run import RecipeName
from tests.trust.jobs import CLEAN, MUTANT, REVIEWED, TABLED_READERS, Outcome
from tests.trust.page import (
    BOUNDED,
    CAUGHT,
    COUNTED,
    KEPT,
    MUTANTS_CAUGHT,
    REPORTED,
    name_drops,
    render_caught,
    write_honest,
    write_mutants,
    write_outsiders,
    write_truth,
)
from tests.trust.posing import ANYTHING
from tests.trust.tabled import LINES, UNTOLD, list_kinds

SIZES = 30, 100, 4, 60
"""Honest environments and scenarios, faults of each kind, mutants."""
_WHATS = {
    "schema": "schemas", "rows": "rows", "interface": "planned tools", "toolset": "promised tools", "code": "code over tables",
    "trials": "stored tests", "cases": "tests with rows of their own", "chain": "chains", "scenario": "scenarios",
    "checks": "written checks", "state": "tables of sketches",
    "metadata": "typed tools", "topology": "sampled chains", "dag": "graphs of calls",
}  # fmt: skip


def write_recipe_page(
    recipe: RecipeName, outcomes: Sequence[Outcome], others: Sequence[Outcome] = ()
) -> Iterator[str]:
    """Verifiers of all recipes over tables are derived in the same way, so their errors are bounded
    together."""
    outcomes = [one for one in outcomes if one.recipe == recipe]
    counted = [one for one in outcomes if one.made and not one.outage]
    yield f"# Confusion table of recipe {recipe}\n"
    yield (
        "The gates check work of the offline author, made by the recipe's own functions: "
        "they must keep honest work and catch "
        "planted faults. `python -m tests.trust.table "
        f"data/trust/{recipe} recipe={recipe}` generates this page. "
        "A planted fault is never repaired, so only checks and gates "
        f"meet it. W4 runs for {', '.join(TABLED_READERS)}. The name of a fault "
        "is not judged here. Not planted, because no "
        "gate can find it wrong: "
        f"{', '.join(f'{kind} ({prompt})' for prompt, kind in sorted(UNTOLD) if prompt in LINES[recipe].prompts) or 'none'}.\n"
    )
    yield f"{COUNTED}\n{REPORTED}\n{BOUNDED}\n"
    outages = [one for one in outcomes if one.outage]
    yield f"{len(outcomes)} candidates; {len(outages)} ended in an outage and are not counted.\n"
    yield from write_honest(counted)
    yield from write_outsiders([one for one in counted if one.attacks])
    yield from write_truth(counted)
    pooled = [
        *counted,
        *(one for one in others if one.recipe != recipe and one.made and not one.outage),
    ]
    if len(pooled) > len(counted):
        yield from _pool_truth(pooled)
    for prompt in LINES[recipe].prompts:
        yield from _write_faults(recipe, prompt, outcomes)
    yield from write_mutants(outcomes)
    yield "\n## What falls short\n"
    yield from (f"- {line}" for line in list(_find_weak(recipe, counted, pooled)) or ["Nothing."])


def _write_faults(recipe: RecipeName, prompt: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield f"## Faults in {_WHATS[prompt]}\n"
    yield (
        "| kind | n | silent | no judge | at least | embedded judge | reported | at least | "
        "first drops |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    every: list[Outcome] = []
    for kind in (kind for asked, kind in list_kinds(recipe) if asked == prompt):
        of_kind = [
            one for one in outcomes if (one.prompt, one.kind) == (prompt, kind) and not one.outage
        ]
        every += of_kind
        yield f"| {kind} | {_render(of_kind)} | {name_drops(of_kind)} |"
    yield f"| *all* | {_render(every)} | |\n"


def _render(outcomes: Sequence[Outcome]) -> str:
    made = [one for one in outcomes if one.made]
    return f"{len(made)} | {len(outcomes) - len(made)} | {render_caught(made)}"


def _pool_truth(pooled: Sequence[Outcome]) -> Iterator[str]:
    found = [
        f"{what}: {n} errors in {ends} ends, at most {limit_share(n, ends):.3%}"
        for what, ends, n in _list_errors(pooled)
    ]
    yield (
        f"Together with {', '.join(sorted({one.recipe for one in pooled}))}, whose verifiers are "
        f"derived in the same way: {'; '.join(found)}.\n"
    )


def _list_errors(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, int, int]]:
    """Sort of error, number of judged ends, number of errors."""
    for what, errors in (
        ("ρ0", [one.wrong for one in outcomes]),
        ("ρ1", [one.right for one in outcomes]),
    ):
        yield what, sum(n for n, _ in errors), sum(n for _, n in errors)


def _find_weak(
    recipe: RecipeName, outcomes: Sequence[Outcome], pooled: Sequence[Outcome]
) -> Iterator[str]:
    """Promises that the checked candidates do not keep."""
    for kind in (CLEAN, REVIEWED, *ANYTHING, "checks"):
        found = [one for one in outcomes if one.kind == kind]
        if (kept := sum(not one.drops for one in found)) < KEPT * len(found):
            yield f"Honest work, {kind}: {kept} of {len(found)} kept, {KEPT:.0%} promised."
    few = [
        kind
        for prompt, kind in list_kinds(recipe)
        if not any((one.prompt, one.kind) == (prompt, kind) for one in outcomes)
    ]
    if few:
        yield f"Kinds of fault without a visible one: {', '.join(few)}."
    planted = [one for one in outcomes if (one.prompt, one.kind) in set(list_kinds(recipe))]
    yield from _find_missed("The catalogue of faults", planted, CAUGHT)
    for prompt, kind in list_kinds(recipe):
        yield from _find_missed(
            f"{kind} ({prompt})",
            [one for one in planted if (one.prompt, one.kind) == (prompt, kind)],
            CAUGHT,
        )
    yield from _find_missed(
        "Operators on the syntax tree",
        [one for one in outcomes if one.prompt == MUTANT],
        MUTANTS_CAUGHT,
    )
    for (what, tried, wrong), most in zip(_list_errors(pooled), (0.001, 0.02), strict=True):
        if limit_share(wrong, tried) > most:
            yield (
                f"{what}: {wrong} errors in {tried} ends give a bound of "
                f"{limit_share(wrong, tried):.2%}, {most:.1%} promised."
            )
    kept = [one for one in outcomes if one.attacks]
    if won := [one.key for one in kept if one.won or one.nothing]:
        yield (
            f"Outsiders passed, or were paid for nothing, in {len(won)} of {len(kept)}: "
            f"{', '.join(won[:5])}."
        )


def _find_missed(what: str, found: Sequence[Outcome], promised: float) -> Iterator[str]:
    missed = [one.key for one in found if not one.is_reported]
    if len(missed) > (1 - promised) * len(found):
        yield (
            f"{what}: {len(found) - len(missed)} of {len(found)} caught, {promised:.0%} "
            f"promised; missed: {', '.join(missed[:5])}."
        )
