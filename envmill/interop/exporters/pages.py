"""Texts of exported pages: templates with named slots, and paragraphs that several of them
share."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from schemas.base import Json
from schemas.scenario import Scenario

_PAPERS = Path(__file__).parent / "papers"


def fill(page: str, /, **slots: str) -> str:
    """A page with its slots filled; a slot that is missing is an error."""
    return _read(page).substitute(slots)


def describe_bounds(scenarios: Sequence[Scenario]) -> str:
    """Error bounds of the verifiers, the worst of them, and how many were measured."""
    measured = [one.bounds for one in scenarios if one.bounds]
    if not measured:
        return "Error bounds of the verifiers: not measured."
    accept, reject = (
        max(one.false_accept for one in measured),
        max(one.false_reject for one in measured),
    )
    trials = (
        sum(one.false_accept_n for one in measured),
        sum(one.false_reject_n for one in measured),
    )
    return (
        f"Upper 95 % bounds of the verifiers' errors, measured on {len(measured)} of "
        f"{len(scenarios)} scenarios: at worst {accept:.1%} of "
        f"wrong ends accepted and {reject:.1%} of right ends rejected in one scenario. "
        f"Tried in all: {trials[0]} wrong and {trials[1]} right ends."
    )


def describe_tiers(tiers: Json) -> str:
    """How many scenarios are clean, and how many suspected."""
    if not tiers:
        return "Tiers: unknown."
    return (
        f"Tiers: {tiers['clean']} clean, {len(tiers['suspected'])} suspected. "
        "An item is suspected where a gate that reads language raised a suspicion about it or its "
        "environment, and no judge decided it. "
        "`provenance.json` lists these scenarios."
        f"{_describe_band(tiers.get('selected'))}"
    )


def describe_contamination(told: Json) -> str:
    """Benchmarks of the comparison, and the share of planted copies that it finds."""
    if not told:
        return "Contamination: not measured. None of it was compared with a benchmark."
    sets = ", ".join(f"{name} ({count} texts)" for name, count in told["compared_with"].items())
    power = (
        ", ".join(f"{kind} {share:.0%}" for kind, share in sorted(told["power"].items()))
        or "not measured"
    )
    near = "; ".join(
        f"`{one}` is near {', '.join(domains)}" for one, domains in told["near_domains"].items()
    )
    return (
        f"Contamination: environments and scenarios were compared with {sets}; what repeats a "
        "text or a task of them was dropped. "
        f"Of planted copies the check finds: {power}. It may miss free paraphrases whose solution "
        "goes another way. "
        "Near-domain environments, whose names or policy are in part those of a benchmark's "
        f"domain: {near or 'none'}."
    )


def describe_sources(told: Json) -> str:
    """Sources of the rows, the terms that apply, and what these terms kept out of the export."""
    if not told["counted"]:
        return "Sources: not known."
    rows = [
        f"| {one['role']} | {one.get('name') or one.get('licence', '')} | {one['rows']} | "
        f"{one.get('terms') or 'not known'} |"
        for one in told["counted"]
    ]
    table = "\n".join(
        ["| role | source, of seeds the licence | rows | terms |", "|---|---|---|---|", *rows]
    )
    if told["terms"] is None:
        return (
            f"{table}\n\nNobody said what the terms of these models allow: read them before you "
            "train on this."
        )
    left = (
        ", ".join(
            f"{why.replace('_', ' ')} {number}" for why, number in sorted(told["held_back"].items())
        )
        or "nothing"
    )
    return (
        f"{table}\n\nHeld to a file of terms (hash `{told['terms']}`). What it kept at home: "
        f"{left}."
    )


def _describe_band(selected: Json) -> str:
    """Pass rates by which scenarios were selected; empty if they were not."""
    if not selected:
        return ""
    least, most = selected["pass_rate"]
    return (
        f" Only scenarios were selected of which policy `{selected['policy']}` passed "
        f"{least:.0%} to {most:.0%} of its attempts."
    )


@cache
def _read(name: str) -> Template:
    return Template((_PAPERS / f"{name}.md").read_text(encoding="utf-8"))
