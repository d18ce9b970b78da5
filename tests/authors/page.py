"""Writes the page about the results of a real model's work, from stored files."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import mean

from envmill.agents import is_scripted
from tests.authors.counts import measure_agreement
from tests.authors.evidence import Evidence, Flaw
from tests.authors.items import Item, pick
from tests.authors.ladder import pair_rates, tabulate_ladder
from tests.authors.readings import GOOD
from tests.authors.settling import judge_readings, pair_readings
from tests.authors.targets import list_targets

_MOST = 2
"""Items with this many repairs or more share a row."""


def write_page(kept: Evidence) -> Iterator[str]:
    yield "# What becomes of a real model's work\n"
    yield from (f"{line}\n" for line in kept.about.get("lines", ()))
    yield from _write_targets(kept)
    yield from _write_yield(kept)
    yield from _write_gates(kept)
    yield from _write_readings(kept)
    yield from _write_ladder(kept)
    yield from _write_attacks(kept)
    yield from _write_ends(kept)
    yield from _write_flaws("What the hasty writer left out on purpose", kept.omissions)
    if kept.later:
        yield from _write_flaws(
            "What a hasty writer left out of programs and tests in other worlds, with today's code",
            kept.later,
        )
    yield from _write_flaws("Why first drafts were sent back", kept.bugs)
    yield from _write_drops(kept)
    if kept.again:
        yield from _write_again(kept.again)


def _write_again(kept: Evidence) -> Iterator[str]:
    """A later measurement: its worlds, its ladder, and scenarios that were made harder."""
    yield "# Measured again, in other worlds\n"
    yield from (f"{line}\n" for line in kept.about.get("lines", ()))
    yield from _write_yield(kept)
    yield from _write_gates(kept)
    yield from _write_ladder(kept)
    if any(one.parent for one in kept.items):
        yield from _write_harder(kept)


def summarise(kept: Evidence) -> Iterator[str]:
    """Only the targets, for a place where the whole page is too long."""
    yield _head("what", "measured", "bound", "target", "")
    yield from (
        _row(one.what, one.measured, one.bound, one.target, one.says) for one in list_targets(kept)
    )


def _head(*names: str) -> str:
    return f"{_row(*names)}\n|{'---|' * len(names)}"


def _row(*cells: object) -> str:
    return f"| {' | '.join(' '.join(str(cell).replace('|', '&#124;').split()) for cell in cells)} |"


def _write_targets(kept: Evidence) -> Iterator[str]:
    yield "## Targets\n"
    yield from summarise(kept)
    yield (
        "\n**open**: the sample is too small or too narrow to decide. The bound of a share of "
        "scenarios comes from resampling environments "
        "(lower 90 %), that of rare faults is the exact one-sided 95 % bound (Clopper and "
        "Pearson).\n"
    )


# Yield.


def _write_yield(kept: Evidence) -> Iterator[str]:
    yield "## Yield\n"
    yield (
        "**lost**: the author gave up or had no repairs left. **built**: gates could check it. "
        "**would drop**: a gate failed it "
        "or its environment (these runs only observe, so it was played all the same). **share**: "
        "clean of built.\n"
    )
    yield _head(
        *(
            "writer",
            "recipe",
            "environments",
            "lost",
            "clean",
            "scenarios",
            "lost",
            "built",
            "would drop",
            "suspected",
            "clean",
            "share",
        ),
        *("repairs", "tokens per clean scenario"),
    )
    groups = sorted({(one.writer, one.recipe) for one in kept.items})
    for writer, recipe in groups:
        yield _write_group(kept, writer, recipe)
    yield ""


def _write_group(kept: Evidence, writer: str, recipe: str) -> str:
    own = [one for one in kept.items if (one.writer, one.recipe) == (writer, recipe)]
    homes, scenarios = pick(own, "environments"), pick(own, "scenarios")
    fates, places = Counter(one.fate for one in scenarios), Counter(one.fate for one in homes)
    built = [one for one in scenarios if one.built]
    spent = sum(
        one.read + one.written
        for one in kept.tokens
        if (one.writer, one.recipe) == (writer, recipe) and one.role != "policy"
    )
    clean = fates["clean"]
    cells = [
        writer, recipe, len(homes), places["lost"] + places["error"], places["clean"], len(scenarios), fates["lost"] + fates["error"],
        len(built), fates["observed"] + fates["dropped"], fates["suspected"], clean, f"{clean / len(built):.0%}" if built else "–",
        sum(one.repairs for one in own), f"{spent / clean:,.0f}" if clean else "–",
    ]  # fmt: skip
    return _row(*cells)


def count_findings(kept: Evidence) -> dict[tuple[str, str], Counter[str]]:
    """(gate, reason code) → outcome → items with such a finding."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item in kept.items:
        for gate, reason, outcome in {
            (found.gate, found.reason, found.outcome) for found in item.found
        }:
            counts[gate, reason][outcome] += 1
    return counts


def _write_gates(kept: Evidence) -> Iterator[str]:
    yield "## What gates found\n"
    yield _head(
        "gate", "reason", "would drop", "undecided suspicion", "cleared by the judge", "corrected"
    )
    for (gate, reason), told in sorted(count_findings(kept).items()):
        yield _row(
            gate,
            f"`{reason}`",
            told["observed"] + told["dropped"],
            told["suspected"],
            told["cleared"],
            told["corrected"],
        )
    yield ""


# Reading.


def _write_readings(kept: Evidence) -> Iterator[str]:
    yield "## Blind reading\n"
    both = [(packet, said) for packet, said in pair_readings(kept) if len(said) == 2]
    kappa = measure_agreement(
        [(said[0].verdict in GOOD, said[1].verdict in GOOD) for _, said in both]
    )
    yield (
        f"Two readers read {len(both)} packets: drops, keeps and decoys in one order. They did "
        "not know the gate, the author or the sort. "
        f"Their agreement on good or not good: κ = {kappa:.2f}. Where they differ, and where a "
        "drop rests on executed code, "
        f"a third reader who knew the evidence decided ({len(kept.decided)} items).\n"
    )
    yield _head("sort", "read", "both good", "both not", "they differ")
    for sort, truth, name in (
        ("decoy", "good", "decoys known to be fair"),
        ("decoy", "bad", "decoys known to be unfair, ambiguous or faulty"),
        ("drop", "", "what gates would drop"),
        ("keep", "", "what was kept"),
    ):
        own = [
            said
            for packet, said in both
            if packet.sort == sort and truth in ("", "good" if packet.truth in GOOD else "bad")
        ]
        goods = [sum(one.verdict in GOOD for one in said) for said in own]
        yield _row(name, len(own), goods.count(2), goods.count(0), goods.count(1))
    yield ""
    yield from _write_repaired(kept)
    yield from (f"{line}\n" for line in kept.about.get("readings", ()))


def _write_repaired(kept: Evidence) -> Iterator[str]:
    """The readers' verdicts on kept scenarios, by how often these were sent back."""
    items, counts = {one.id: one for one in kept.items}, Counter[tuple[int, bool]]()
    for packet, good in judge_readings(kept):
        if packet.sort == "keep" and packet.about == "scenario" and packet.subject in items:
            counts[min(items[packet.subject].repairs, _MOST), good] += 1
    yield _head("kept scenarios by repairs", "read", "good")
    for repairs in range(_MOST + 1):
        yield _row(
            repairs if repairs < _MOST else f"{_MOST} and more",
            counts[repairs, True] + counts[repairs, False],
            counts[repairs, True],
        )
    yield ""


def _write_drops(kept: Evidence) -> Iterator[str]:
    yield "## Each drop, and each keep that is not good\n"
    yield _head("item", "gates", "readers", "")
    items, decided = {one.id: one for one in kept.items}, {one.subject: one for one in kept.decided}
    verdicts = {packet.subject: good for packet, good in judge_readings(kept)}
    for packet, said in pair_readings(kept):
        item, good = items.get(packet.subject), verdicts.get(packet.subject)
        if item is None or packet.sort == "decoy" or (packet.sort == "keep" and good is not False):
            continue
        gates = "; ".join(
            f"{one.gate} `{one.reason}`: {one.detail[:160]}"
            for one in item.found
            if packet.sort == "keep" or one.outcome in ("observed", "dropped")
        )
        words = "; ".join(f"{one.verdict}: {one.why[:200]}" for one in said)
        ruled = decided.get(packet.subject)
        says = (
            f"{'wrong' if good else 'right'} {packet.sort}"
            if packet.sort == "drop"
            else "kept wrongly"
        )
        says = "undecided" if good is None else says
        yield _row(
            f"{item.recipe} {item.lap[:-1]} {item.id[:10]}: {item.name[:90]}",
            gates,
            words,
            f"{says}{f': {ruled.why}' if ruled else ''}",
        )
    yield ""


# Ladder.


def _write_ladder(kept: Evidence) -> Iterator[str]:
    yield "## Ladder\n"
    if not kept.ladder:
        yield "Not played.\n"
        return
    yield (
        "The last five columns count scenarios by pass rate, from never to always. Scripted "
        "policies know the reference path: their "
        "rates only show that the pipeline works.\n"
    )
    scenarios = [one for one in kept.items if one.lap == "scenarios"]
    for title, key in (
        ("recipe", lambda one: one.recipe),
        ("calls of the reference path", _name_length),
    ):
        yield _head(
            title, "policy", "scenarios", "attempts", "mean", "0–0.2", "–0.4", "–0.6", "–0.8", "–1"
        )
        for group, policy, count, attempts, rated, histogram in tabulate_ladder(
            scenarios, kept.ladder, key
        ):
            yield _row(group, policy, count, attempts, f"{rated:.2f}", *histogram)
        yield ""
    yield from _write_failures(kept)


def _write_harder(kept: Evidence) -> Iterator[str]:
    """Pass rates of harder scenarios, and of the easy ones that they were planned from."""
    children = [one for one in kept.items if one.parent]
    built, fates = [one for one in children if one.built], Counter(one.fate for one in children)
    pairs = list(pair_rates(built, kept.ladder))
    yield "## Made harder\n"
    yield (
        f"{len(children)} scenarios were planned to be harder than one that a policy passes "
        "nearly always, in the same environment: "
        f"{len(built)} were built, {fates['clean']} are clean. The pass rates of both, where a "
        "policy played both:\n"
    )
    yield _head(
        "policy",
        "pairs",
        "mean of the easy ones",
        "mean of the harder ones",
        "harder ones with a lower rate",
        "with 0.1 ≤ p ≤ 0.9",
    )
    for policy in sorted({one.policy for one in pairs}):
        own = [one for one in pairs if one.policy == policy]
        lower, between = (
            sum(one.harder_rate < one.easy_rate for one in own),
            sum(0.1 <= one.harder_rate <= 0.9 for one in own),
        )
        means = (
            f"{mean(one.easy_rate for one in own):.2f}",
            f"{mean(one.harder_rate for one in own):.2f}",
        )
        yield _row(policy, len(own), *means, lower, between)
    yield ""
    calls, policies = (
        {one.id: one.calls for one in kept.items},
        sorted({one.policy for one in pairs if not is_scripted(one.policy)}),
    )
    yield _head(
        "harder scenario",
        "levers",
        "calls of both paths",
        "fate",
        *(f"{policy}, easy and harder" for policy in policies),
    )
    for child in built:
        rates = {
            one.policy: f"{one.easy_rate:.2f}, {one.harder_rate:.2f}"
            for one in pairs
            if one.harder is child
        }
        paths = f"{calls.get(child.parent, '?')}, {child.calls}"
        told = (
            f"{child.recipe} {child.id[:10]}: {child.name[:90]}",
            ", ".join(child.levers),
            paths,
            child.fate,
        )
        yield _row(*told, *(rates.get(policy, "–") for policy in policies))
    yield ""


def _name_length(item: Item) -> str:
    return (
        "1 to 3"
        if item.calls < 4
        else "4 to 6"
        if item.calls < 7
        else "7 to 9"
        if item.calls < 10
        else "10 and more"
    )


def _write_failures(kept: Evidence) -> Iterator[str]:
    fates = {one.id: one.fate for one in kept.items}
    for name, wanted in (
        ("clean", {"clean"}),
        ("suspected or observed", {"suspected", "observed"}),
    ):
        own = [
            one
            for one in kept.ladder
            if not is_scripted(one.policy)
            and fates.get(one.scenario) in wanted
            and one.outcome != "error"
        ]
        if own:
            yield (
                f"Attempts of models at {name} scenarios: {len(own)}, passed "
                f"{mean(one.outcome == 'pass' for one in own):.0%}."
            )
    blamed = Counter(kept.about.get("blame", {}))
    if blamed:
        yield (
            "Failed attempts of models, read one by one: "
            f"{', '.join(f'{name} {count}' for name, count in blamed.items())}."
        )
    yield ""


# Attacks and ends.


def _write_attacks(kept: Evidence) -> Iterator[str]:
    yield "## Attacks\n"
    yield _head(
        "by",
        "scenarios",
        "tries",
        "paid tries",
        "scenarios with a paid end that differs from the reference path's",
    )
    for by in ("search", "model"):
        own = [one for one in kept.attacks if one.by == by]
        paid, wrong = sum(one.paid for one in own), sum(one.wrong > 0 for one in own)
        yield _row(by, len(own), sum(one.tries for one in own), paid, wrong)
    yield from (f"\n{line}" for line in kept.about.get("attacks", ()))
    yield ""


def _write_ends(kept: Evidence) -> Iterator[str]:
    yield "## Two verifiers\n"
    if not kept.ends:
        yield "Not measured.\n"
        return
    counts = Counter((one.first, one.second) for one in kept.ends)
    yield (
        "A reader saw request, policy and rules, but not the reference path or the verifier, and "
        "wrote a second verifier for each of "
        f"{len({one.scenario for one in kept.ends})} scenarios. The table counts each end that "
        "differs in state or words once:\n"
    )
    yield _head("", "the other accepts", "the other refuses", "the other broke")
    for first, name in ((True, "the scenario's verifier accepts"), (False, "it refuses")):
        yield _row(name, counts[first, True], counts[first, False], counts[first, None])
    yield ""
    yield from (f"{line}\n" for line in kept.about.get("ends", ()))


# Flaws.


def _write_flaws(title: str, flaws: Sequence[Flaw]) -> Iterator[str]:
    yield f"## {title}\n"
    if not flaws:
        yield "None listed.\n"
        return
    yield _head("where", "what", "found by", "")
    for one in flaws:
        yield _row(one.where, one.what, one.found or "**nothing**", one.note)
    yield ""
