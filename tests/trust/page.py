"""The page of the confusion table: shares of candidates that gates kept, caught and named, each
with its bound."""

from collections import Counter
from collections.abc import Iterator, Sequence

from envmill.verifiers.bounds import limit_share
from offline.faults import KINDS
from tests.trust.jobs import CLEAN, MUTANT, READERS, REVIEWED, Outcome
from tests.trust.posing import ANYTHING

ENVIRONMENTS, SCENARIOS, FAULTS, MUTANTS = 300, 1500, 60, 300
"""Candidates of each sort in a full table."""
FAULTY = (
    ("program", "programs"),
    ("tests", "stored tests"),
    ("scenario", "scenarios"),
    ("checks", "written checks"),
)
"""Prompts whose replies are spoilt, and what they produce."""
COUNTED = (
    "- **n** counts real faults: planted where there was a place, and visible in a witness run or "
    "in a text. *Silent* ones are "
    "visible nowhere and are not counted."
)
REPORTED = (
    "- **no judge**: a step or gate dropped it because of executed code. **reported**: dropped, or "
    "suspected by a gate, which "
    "drops nothing until a judge confirms it, or corrected where only derived metadata is wrong "
    "(undeclared_read), which drops nothing. "
    "**embedded judge**: dropped, or suspected and confirmed by the offline author as "
    "judge, "
    "which only shows that the pipeline works; [planted in real work](planted-in-real-work.md) has "
    "what a real judge confirms."
)
BOUNDED = "- **at least**: lower end of the exact one-sided 95 % interval (Clopper and Pearson)."
"""The meaning of the columns, on every page."""
KEPT, CAUGHT, MUTANTS_CAUGHT = 0.97, 0.95, 0.85
_MOST = 4
"""Names listed for one kind, the most frequent first."""


def write_page(outcomes: Sequence[Outcome]) -> Iterator[str]:
    counted = [one for one in outcomes if one.made and not one.outage]
    yield from _write_head(outcomes)
    yield from write_honest(counted)
    yield from write_outsiders([one for one in counted if one.attacks])
    yield from write_truth(counted)
    for prompt, what in FAULTY:
        yield from _write_faults(prompt, what, outcomes)
    yield from write_mutants(outcomes)
    yield from _write_shortfalls(counted)


def _write_head(outcomes: Sequence[Outcome]) -> Iterator[str]:
    outages, again = (
        sum(bool(one.outage) for one in outcomes),
        sum(one.again > 0 for one in outcomes),
    )
    yield "# Confusion table\n"
    yield (
        "The gates check work of the offline author: they must keep honest work, and catch planted "
        "faults under a right name. "
        "`python -m tests.trust.table` generates this page (two processes; a stopped run can be "
        "continued).\n"
    )
    yield COUNTED
    yield (
        f"{REPORTED} *Caught* elsewhere on this page means reported. "
        "W4 asks models: it runs only where a row says so, and here the offline author "
        f"answers; it also runs for {', '.join(READERS)}. S13 checks a tenth of the honest "
        "scenarios."
    )
    yield (
        "- **named**: the first drop, in the order of production, has a right name: one that "
        "`tests/trust/expected.toml` lists "
        "for the kind, with a reason. **by any**: if it has not, the other gates run as well, as "
        "in `envmill audit`, "
        "and their names count, too. Promises are about this share."
    )
    yield f"{BOUNDED}\n"
    yield (
        f"{len(outcomes)} candidates; {again} were tried again after an outage, {outages} ended "
        "in one and are not counted.\n"
    )


def write_honest(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "## Honest work\n"
    yield "| what | n | kept | at least | dropped by |\n|---|---|---|---|---|"
    whats = [
        ("environments, W1 to W13 without W4", "program", CLEAN),
        ("environments, W4 as well", "program", REVIEWED),
        *((f"scenarios to {one}, S1 to S15", "scenario", one) for one in ANYTHING),
    ]
    for what, prompt, kind in [*whats, ("scenarios with written checks", "checks", "checks")]:
        found = [one for one in outcomes if (one.prompt, one.kind) == (prompt, kind)]
        yield (
            f"| {what} | {len(found)} | {share(sum(not one.drops for one in found), len(found))} "
            f"| {name_drops(found)} |"
        )
    yield ""


def write_outsiders(kept: Sequence[Outcome]) -> Iterator[str]:
    yield "## What was kept, attacked from outside\n"
    yield "The attackers are two policies that no gate uses, and the gates' attackers with other seeds.\n"
    low, won = sum(one.best <= 0.25 for one in kept), [one for one in kept if one.won]
    attempts, searched = sum(one.attacks for one in kept), sum(one.searched for one in kept)
    yield (
        f"- {len(kept)} scenarios, {attempts} attempts; {searched} had passed the search attacker."
    )
    yield f"- Doing nothing earned exactly 0 in {sum(one.nothing == 0 for one in kept)}."
    by = ", ".join(
        f"{name} {times}"
        for name, times in Counter(name for one in won for name in one.won).most_common()
    )
    yield f"- Passed in {len(won)}{f' ({by})' if by else ''}."
    yield (
        f"- Best reward at most 0.25 in {low} of {len(kept)}: "
        f"{share(low, len(kept)).replace(' | ', ', at least ')}.\n"
    )


def write_truth(outcomes: Sequence[Outcome]) -> Iterator[str]:
    judged = [one for one in outcomes if one.wrong[0] or one.right[0]]
    wrong, accepted = (sum(one.wrong[place] for one in judged) for place in (0, 1))
    right, refused = (sum(one.right[place] for one in judged) for place in (0, 1))
    yield "## Verifiers against the domain's own truth\n"
    yield (
        f"The ends are those of attackers, mutants and detours in {len(judged)} kept scenarios to "
        "achieve, pooled over scenarios.\n"
    )
    yield "| | ends | errors | at most |\n|---|---|---|---|"
    yield (
        f"| ρ0, a wrong end accepted | {wrong} | {accepted} | {limit_share(accepted, wrong):.3%} |"
    )
    yield f"| ρ1, a right end refused | {right} | {refused} | {limit_share(refused, right):.3%} |\n"


def _write_faults(prompt: str, what: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield f"## Faults in {what}\n"
    yield (
        "| kind | n | silent | no judge | at least | embedded judge | reported | at least | "
        "named | at least | by any | first drops |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    every: list[Outcome] = []
    for kind in KINDS[prompt]:
        of_kind = [
            one for one in outcomes if (one.prompt, one.kind) == (prompt, kind) and not one.outage
        ]
        every += of_kind
        yield f"| {kind} | {_render_row(of_kind)} | {name_drops(of_kind)} |"
    yield f"| *all* | {_render_row(every)} | |\n"


def _render_row(outcomes: Sequence[Outcome]) -> str:
    made = [one for one in outcomes if one.made]
    n, named, later = (
        len(made),
        sum(one.is_named for one in made),
        sum(one.is_named_later for one in made),
    )
    return (
        f"{n} | {len(outcomes) - n} | {render_caught(made)} | {share(named, n)} | "
        f"{share(later, n).partition(' | ')[0]}"
    )


def render_caught(made: Sequence[Outcome]) -> str:
    """Shares dropped without a judge, dropped with the embedded one, and reported: five cells."""
    ruled = share(sum(one.is_ruled for one in made), len(made)).partition(" | ")[0]
    return (
        f"{share(sum(one.is_proved for one in made), len(made))} | {ruled} | "
        f"{share(sum(one.is_reported for one in made), len(made))}"
    )


def write_mutants(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "## Operators on the syntax tree\n"
    yield ("Any mutants of the code: most of them break no stated rule.\n")
    yield "| operator | n | silent | caught | at least | first drops |\n|---|---|---|---|---|---|"
    found = [
        one for one in outcomes if one.prompt == MUTANT and not one.outage and one.kind != MUTANT
    ]
    for operator in [*sorted({one.kind for one in found}), ""]:
        of_kind = [one for one in found if operator in (one.kind, "")]
        made = [one for one in of_kind if one.made]
        caught = share(sum(bool(one.drops) for one in made), len(made))
        yield (
            f"| {operator or '*all*'} | {len(made)} | {len(of_kind) - len(made)} | {caught} | "
            f"{name_drops(of_kind)} |"
        )


def _write_shortfalls(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """List every promise that the numbers of this page do not keep."""
    yield "\n## What falls short\n"
    lines = [*_find_few(outcomes), *_find_weak(outcomes)]
    yield from (f"- {line}" for line in lines or ["Nothing."])


def _find_few(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Fewer candidates than a full table needs."""
    clean = sum((one.prompt, one.kind) == ("program", CLEAN) for one in outcomes)
    posed = sum(one.kind in ANYTHING for one in outcomes)
    for found, wanted, what in (
        (clean, ENVIRONMENTS, "honest environments"),
        (posed, SCENARIOS, "honest scenarios"),
    ):
        if found < wanted:
            yield f"{found} {what} of {wanted} were checked."
    counts = Counter((one.prompt, one.kind) for one in outcomes)
    few = [
        f"{kind} {counts[prompt, kind]}"
        for prompt, _ in FAULTY
        for kind in KINDS[prompt]
        if counts[prompt, kind] < FAULTS
    ]
    if few:
        yield (
            f"Fewer than {FAULTS} faults are visible, so the lower bounds stay low: "
            f"{', '.join(few)}."
        )


def _find_weak(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Promises that the checked candidates do not keep."""
    for kind in (CLEAN, REVIEWED, *ANYTHING):
        found = [one for one in outcomes if one.kind == kind]
        if (kept := sum(not one.drops for one in found)) < KEPT * len(found):
            yield f"Honest work, {kind}: {kept} of {len(found)} kept, {KEPT:.0%} promised."
    for prompt, _ in FAULTY:
        for kind in KINDS[prompt]:
            found = [one for one in outcomes if (one.prompt, one.kind) == (prompt, kind)]
            for what, hits in (
                ("caught", sum(bool(one.drops) for one in found)),
                ("rightly named", sum(one.is_named_later for one in found)),
            ):
                if hits < CAUGHT * len(found):
                    yield (
                        f"{kind} ({prompt}): {hits} of {len(found)} {what}, {CAUGHT:.0%} promised."
                    )
    mutants = [one for one in outcomes if one.prompt == MUTANT]
    if (caught := sum(bool(one.drops) for one in mutants)) < MUTANTS_CAUGHT * len(mutants):
        yield (
            f"Operators on the syntax tree: {caught} of {len(mutants)} caught, "
            f"{MUTANTS_CAUGHT:.0%} promised."
        )


def share(hits: int, tried: int) -> str:
    """Share and its lower bound, as two cells."""
    return f"{hits / tried:.1%} | {1 - limit_share(tried - hits, tried):.1%}" if tried else "- | -"


def name_drops(outcomes: Sequence[Outcome]) -> str:
    """First drops, most frequent first; candidates that were only corrected are marked."""
    names = Counter(f"{one.drops[0][0]} {one.drops[0][1]}".strip() for one in outcomes if one.drops)
    names += Counter(
        f"{one.corrected[0][0]} {one.corrected[0][1]}, corrected"
        for one in outcomes
        if one.is_reported and not one.drops
    )
    more = len(names) - _MOST
    told = ", ".join(f"{name} {times}" for name, times in names.most_common(_MOST))
    return f"{told}{f', {more} more' if more > 0 else ''}"
