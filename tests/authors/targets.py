"""The targets of the page: each claim with its number, its bound, and whether the sample bears it
out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.agents import is_scripted
from tests.authors.counts import bound_above, bound_below
from tests.authors.evidence import Evidence
from tests.authors.items import Item, pick
from tests.authors.ladder import list_between, rate
from tests.authors.settling import judge_readings, settle_ends

CAREFUL = "careful"
"""Writer whose share kept is a target."""
ENVIRONMENTS, SCENARIOS, READ = 30, 120, 124
"""How much has to be measured before a share counts."""
CAUGHT, BUGS = 0.9, 30
NO_BUG = ("wrong", "ours")
"""How the notes of complaints begin that the author was not to blame for."""
WRONG = 0.01
WORDS = "/words"
"""Behind a scenario's id: what a person decided about last words that were paid."""


@dataclass(frozen=True)
class Target:
    """One claim."""

    what: str
    measured: str
    bound: str
    target: str
    says: str
    """`met`, `missed`, or `open` where the sample cannot tell."""


def list_targets(kept: Evidence) -> list[Target]:
    scenarios = [one for one in pick(kept.items, "scenarios", writer=CAREFUL) if one.built]
    return [
        *_judge_yield(scenarios),
        *_judge_reading(kept),
        *_judge_ladder(kept),
        *_judge_attacks(kept),
        *_judge_ends(kept),
        *_judge_flaws(kept),
    ]


def _judge_yield(scenarios: Sequence[Item]) -> Iterator[Target]:
    homes = {one.environment for one in scenarios}
    clean = sum(one.fate == "clean" for one in scenarios)
    share, low = (
        clean / max(len(scenarios), 1),
        bound_below((one.environment, one.fate == "clean") for one in scenarios),
    )
    enough = len(homes) >= 30 and len(scenarios) >= 120
    says = ("met" if share >= 0.7 and low >= 0.6 else "missed") if enough else "open"
    yield Target(
        "built scenarios of careful writers kept `clean`",
        f"{clean} of {len(scenarios)} ({share:.0%}) in {len(homes)} environments",
        f"at least {low:.0%}",
        "≥ 70 %, bound ≥ 60 %, ≥ 120 in ≥ 30",
        says,
    )
    for recipe in sorted({one.recipe for one in scenarios}):
        own = [one for one in scenarios if one.recipe == recipe]
        kept = sum(one.fate == "clean" for one in own)
        yield Target(
            f"of these, {recipe}",
            f"{kept} of {len(own)} ({kept / len(own):.0%})",
            "",
            "≥ 50 %",
            "met" if kept / len(own) >= 0.5 else "missed",
        )


def _judge_reading(kept: Evidence) -> Iterator[Target]:
    read = judge_readings(kept)
    wrong = [one for one, good in read if one.sort == "drop" and good]
    right = [one for one, good in read if one.sort == "keep" and good]
    unfair = [
        one for one, good in read if one.sort == "keep" and not good and one.about == "scenario"
    ]
    honest = len(wrong) + len(right)
    above = bound_above(len(wrong), honest)
    yield Target(
        "honest items dropped wrongly, of honest items read",
        f"{len(wrong)} of {honest}",
        f"at most {above:.1%}",
        "≤ 5 %",
        "met" if above <= 0.05 else "missed" if honest and len(wrong) / honest > 0.05 else "open",
    )
    keeps = [one for one, _ in read if one.sort == "keep" and one.about == "scenario"]
    above = bound_above(len(unfair), len(keeps))
    yield Target(
        "kept scenarios that are unfair or ambiguous",
        f"{len(unfair)} of {len(keeps)} read",
        f"at most {above:.1%}",
        "≤ 5 %, ≥ 124 read",
        "met"
        if above <= 0.05 and len(keeps) >= 124
        else "missed"
        if keeps and len(unfair) / len(keeps) > 0.05
        else "open",
    )


def _judge_ladder(kept: Evidence) -> Iterator[Target]:
    rates = rate(kept.ladder)
    valid = {scenario for scenario, _ in rates}
    between = list_between(rates)
    share = len(between) / len(valid) if valid else 0.0
    models = list_between({key: told for key, told in rates.items() if not is_scripted(key[1])})
    yield Target(
        "scenarios with 0.1 ≤ p ≤ 0.9 for some policy of the ladder",
        f"{len(between)} of {len(valid)} ({share:.0%}); by models alone {len(models)}",
        "",
        "≥ 40 %",
        "open" if not valid else "met" if share >= 0.4 else "missed",
    )


def _judge_attacks(kept: Evidence) -> Iterator[Target]:
    for by, what in (
        ("search", "blind search at ten times its budget"),
        ("model", "a model attacker with 32 tries"),
    ):
        tried = [one for one in kept.attacks if one.by == by]
        paid = sum(one.wrong > 0 for one in tried)
        above = bound_above(paid, len(tried))
        says = "met" if above <= WRONG else "missed" if paid else "open"
        yield Target(
            f"scenarios for which a wrong state is paid: {what}",
            f"{paid} of {len(tried)}",
            f"at most {above:.1%}",
            "≤ 1 %",
            says,
        )
    asked = [one for one in kept.attacks if one.by == "model"]
    misled = {one.subject for one in kept.decided if one.subject.endswith(WORDS) and not one.good}
    paid = sum(f"{one.scenario}{WORDS}" in misled for one in asked)
    share = f"{paid} of {len(asked)}"
    yield Target(
        "the same attacker: misleading last words are paid once the work is done",
        share,
        "",
        "reported",
        "–" if asked else "open",
    )


def _judge_ends(kept: Evidence) -> Iterator[Target]:
    truths = settle_ends(kept)
    wrong = [first for first, right in truths if not right]
    right = [first for first, good in truths if good]
    for what, bad, whole, most in (
        ("ρ0, wrong ends accepted", sum(wrong), len(wrong), 0.01),
        ("ρ1, right ends refused", len(right) - sum(right), len(right), 0.05),
    ):
        above = bound_above(bad, whole)
        yield Target(
            what,
            f"{bad} of {whole}",
            f"at most {above:.1%}",
            f"≤ {most:.0%}",
            "met" if above <= most else "missed" if whole and bad / whole > most else "open",
        )


def _judge_flaws(kept: Evidence) -> Iterator[Target]:
    for what, flaws in (
        ("omissions of the hasty writer caught", kept.omissions),
        ("of programs in other worlds, with today's code", kept.later),
    ):
        found = sum(bool(one.found) for one in flaws)
        share = found / len(flaws) if flaws else 0.0
        low = bound_below((str(place), bool(one.found)) for place, one in enumerate(flaws))
        says = "met" if share >= CAUGHT else "open" if not flaws else "missed"
        if flaws or flaws is kept.omissions:
            yield Target(
                what,
                f"{found} of {len(flaws)} ({share:.0%})",
                f"at least {low:.0%}",
                "≥ 90 %",
                says,
            )
    bugs = sum(not one.note.startswith(NO_BUG) for one in kept.bugs)
    yield Target(
        "natural bugs of first drafts, listed with what found them",
        str(bugs),
        "",
        "≥ 30",
        "met" if bugs >= BUGS else "open",
    )
