"""The page of multiplied items: caught, missed and wrongly refused, by recipe and operator."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from envmill.base.settings import ROOT
from tests.recipes.multiplied.multiplying import Result

PAGE = ROOT / "docs/audit/multiplied.md"
CAUGHT = 0.92
"""Share of the faults of a recipe that are to be caught: as much as of those planted in programs of
`tests/real_authors`."""
_INTRODUCTION = """
Items that real authors wrote are changed, once each, by operators over plans, schemas, programs, tests, states, reference paths,
verifiers and texts (`tests/recipes/multiplied`). The items are those of `tests/real_authors` and
`tests/authors/kept/again/worlds.tar.xz`. For `perturb` the factory's fourteen systems stand in for those that a real author wrote
since, as an author would send them, and are held to what is read before a machine runs. Those of `tau2` are six environments and 23
scenarios of two runs (`tests/recipes/multiplied/desks.json.xz`): all that the gates kept of what two real authors wrote.

A **fault** is wrong by construction. It is **caught** where a check says something that it does not say of the item as it was. A
change of a program that no check and no call of 200 random ones shows is **idle**; it is no fault. An **honest** change leaves
all as right as it was; it is **refused** where a check says more than before. Checks are those of plans and databases, and the
gates W1 to W13 and S1 to S17 that ask no model and look at one item; S13 is left out. Of `tau2` they are also those of the program's
marks, the proofs of its atoms, and those of the user's words. A suspicion counts as caught, although
without a judge it drops nothing. This page is generated: `python -m tests.recipes.multiplied`.
"""

_MISSES = """
- `fact_left_out`: of several facts that an answer must tell, the verifier asks for one less. The others still tell an answer from
  none, so no gate that executes notices. Verifiers take every fact of the draft by code, so that no author can leave one out there;
  whether each wish is demanded is read by S16, which asks a model.
- Programs: most are of items whose tests were recorded when tests named parts of a change (`exact` is off for them).
- `hidden_unknown`, `hidden_told`: of what the user says or knows, S17 looks for codes, dates and numbers of four digits. "marble" and 12
  may stand in a request for something else; the check of the user's words looks for them. Where a reply shows the date of birth before it
  has to be known, the user need not know it.
- `signs`, `numbers` in `tau2`: the number in the id of a second case, which no rule is about.
- `file_differs`: the file is the one that the machine's service writes anew when it starts.
"""


def write_page(found: Mapping[str, Sequence[Result]]) -> str:
    return "\n".join(_list_lines(found)) + "\n"


def list_faults(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if not one.honest and not one.idle]


def list_refused(results: Sequence[Result]) -> list[Result]:
    return [one for one in results if one.honest and one.said]


def _list_lines(found: Mapping[str, Sequence[Result]]) -> Iterator[str]:
    yield "# Real authors' items, multiplied"
    yield ""
    yield from _INTRODUCTION.strip().splitlines()
    yield ""
    yield "| recipe | items | cases | faults | caught | idle | honest | refused |"
    yield "|---|---|---|---|---|---|---|---|"
    for recipe, results in sorted(found.items()):
        faults, honest = list_faults(results), [one for one in results if one.honest]
        caught, idle = sum(bool(one.said) for one in faults), sum(one.idle for one in results)
        share = f"{caught} ({caught / len(faults):.1%})"
        items = len({one.item for one in results})
        yield (
            f"| `{recipe}` | {items} | {len(results)} | {len(faults)} | {share} | {idle} | "
            f"{len(honest)} | {len(list_refused(results))} |"
        )
    yield ""
    yield "## By operator"
    yield ""
    yield "| part | operator | must be | cases | idle | as it must be | said by |"
    yield "|---|---|---|---|---|---|---|"
    every = [one for results in found.values() for one in results]
    for part, operator, honest in dict.fromkeys(
        (one.part, one.operator, one.honest) for one in every
    ):
        own = [
            one for one in every if (one.part, one.operator, one.honest) == (part, operator, honest)
        ]
        counted = [one for one in own if not one.idle]
        right = sum(bool(one.said) is not honest for one in counted)
        gates = Counter(one.said.split()[0] for one in own if one.said)
        told = ", ".join(f"{gate} {times}" for gate, times in gates.most_common(5))
        must = "kept" if honest else "caught"
        yield (
            f"| {part} | {operator} | {must} | {len(own)} | {len(own) - len(counted)} | {right} "
            f"of {len(counted)} | {told} |"
        )
    yield ""
    yield "## Otherwise than it must be"
    yield ""
    wrong = [
        f"- {recipe}: {one.item}, {one.part}/{one.operator}: "
        f"{'refused by ' + one.said if one.honest else 'missed'}"
        for recipe, results in sorted(found.items())
        for one in (
            *(fault for fault in list_faults(results) if not fault.said),
            *list_refused(results),
        )
    ]
    yield from wrong or ["Nothing."]
    yield ""
    yield from _MISSES.strip().splitlines()
