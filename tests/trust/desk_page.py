"""The page of recipe `tau2`: shares of its work that were kept and caught."""

from collections.abc import Iterator, Sequence

from tests.trust.desks import EACH, list_kinds
from tests.trust.jobs import CLEAN, Outcome
from tests.trust.page import (
    BOUNDED,
    CAUGHT,
    COUNTED,
    KEPT,
    REPORTED,
    name_drops,
    render_caught,
    share,
)

_WHATS = {
    "desk": "plans", "document": "policy documents", "desk_program": "programs",
    "atoms": "atoms", "words": "a user's words", "verifier": "verifiers",
}  # fmt: skip


def write_desk_page(outcomes: Sequence[Outcome]) -> Iterator[str]:
    counted = [one for one in outcomes if one.made and not one.outage]
    yield "# Confusion table of recipe tau2\n"
    yield (
        "The work of the offline author is made by the recipe's own functions and goes through all "
        "checks: the plan's check, the program's marks and gates, the atoms' proof, the check of "
        "words, the gates of scenarios. They must keep honest work and catch planted faults. "
        "`python -m tests.trust.table data/trust/tau2 recipe=tau2` generates this page. A planted "
        "fault is never repaired. W4 does not run, and S13 checks a tenth of the honest scenarios. "
        "No author causes faults of verifiers, because clauses are compiled; their rows show what "
        "the gates would find if the compiler had a fault. Faults of plans are many and easy to "
        "plant, so the share over all says less than that of each part. `hidden_told_unasked` and "
        "`questions_for_something_else` passed until this table planted them; then their checks "
        "were written.\n"
    )
    yield f"{COUNTED}\n{REPORTED}\n{BOUNDED}\n"
    outages = sum(bool(one.outage) for one in outcomes)
    yield f"{len(outcomes)} candidates; {outages} ended in an outage and are not counted.\n"
    yield from _write_honest(counted)
    for prompt in _WHATS:
        yield from _write_faults(prompt, outcomes)
    yield "## All planted faults\n"
    yield "| n | no judge | at least | embedded judge | reported | at least |\n|---|---|---|---|---|---|"
    planted = [one for one in counted if (one.prompt, one.kind) in set(list_kinds())]
    authored = [one for one in planted if one.prompt != "verifier"]
    yield f"| {len(planted)} | {render_caught(planted)} |"
    yield f"| {len(authored)}, without verifiers | {render_caught(authored)} |\n"
    yield "## What falls short\n"
    yield from (f"- {line}" for line in list(_find_weak(counted)) or ["Nothing."])


def _write_honest(counted: Sequence[Outcome]) -> Iterator[str]:
    yield "## Honest work\n"
    yield "| what | n | kept | at least | dropped by |\n|---|---|---|---|---|"
    for what, kind in (("environments with their atoms", CLEAN), ("composed scenarios", "achieve")):
        found = [one for one in counted if one.kind == kind]
        kept = share(sum(not one.drops for one in found), len(found))
        yield f"| {what} | {len(found)} | {kept} | {name_drops(found)} |"
    yield ""


def _write_faults(prompt: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield f"## Faults in {_WHATS[prompt]}\n"
    head = "| kind | n | silent | no judge | at least | embedded judge | reported | at least |"
    yield f"{head} first drops |\n|---|---|---|---|---|---|---|---|---|"
    every: list[Outcome] = []
    for kind in (kind for asked, kind in list_kinds() if asked == prompt):
        found = [one for one in outcomes if (one.prompt, one.kind) == (prompt, kind)]
        found = [one for one in found if not one.outage]
        every += found
        yield f"| {kind} | {_render(found)} | {name_drops(found)} |"
    yield f"| *all* | {_render(every)} | |\n"


def _render(found: Sequence[Outcome]) -> str:
    made = [one for one in found if one.made]
    return f"{len(made)} | {len(found) - len(made)} | {render_caught(made)}"


def _find_weak(counted: Sequence[Outcome]) -> Iterator[str]:
    """Promises that are not kept, and rows with fewer candidates than `EACH`."""
    for kind in (CLEAN, "achieve"):
        found = [one for one in counted if one.kind == kind]
        if (kept := sum(not one.drops for one in found)) < KEPT * len(found):
            yield f"Honest work, {kind}: {kept} of {len(found)} kept, {KEPT:.0%} promised."
    short = list[str]()
    for prompt, kind in list_kinds():
        found = [one for one in counted if (one.prompt, one.kind) == (prompt, kind)]
        if len(found) < EACH:
            short.append(f"{kind} {len(found)}")
        missed = [one.key.removeprefix("tau2/") for one in found if not one.is_reported]
        if len(missed) > (1 - CAUGHT) * len(found):
            told = ", ".join(missed[:3])
            yield (
                f"{kind} ({prompt}): {len(found) - len(missed)} of {len(found)} caught, "
                f"{CAUGHT:.0%} promised; missed: {told}."
            )
    if short:
        yield f"Rows with fewer than {EACH}, whose bounds are wide: {', '.join(short)}."
