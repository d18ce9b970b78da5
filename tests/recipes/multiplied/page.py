"""The page of multiplied items: caught, missed and wrongly refused, by recipe and operator."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from envmill.base.settings import ROOT
from tests.recipes.multiplied.multiplying import Result

PAGE = ROOT / "docs/audit/multiplied.md"
CAUGHT = 0.92
"""Share of the faults of a recipe that must be caught: the same as for faults planted in programs
of `tests/real_authors`."""
_INTRODUCTION = """
Each case is one change of an item that a real author wrote. Operators change plans, schemas, programs, tests, states, reference paths,
verifiers and texts (`tests/recipes/multiplied`). The items are those of `tests/real_authors` and
`tests/authors/kept/again/worlds.tar.xz`. For `perturb` the items are the factory's fourteen systems, in the form that an author sends,
and not those that a real author wrote later; only the checks before a machine starts run on them. For `tau2` they are six environments
and 23 scenarios of two runs (`tests/recipes/multiplied/desks.json.xz`): all work of two real authors that the gates kept.

A **fault** is wrong by construction. It is **caught** if a check finds something that it does not find in the unchanged item. A
change of a program that no check and none of 200 random calls shows is **idle**, and not a fault. An **honest** change leaves the
item correct; it is **refused** if a check finds more than before. The checks are those of plans and databases, and the
gates W1 to W13 and S1 to S17 that ask no model and check one item; S13 is left out. For `tau2` they are also those of the program's
marks, the proofs of its atoms, and those of the user's words. A suspicion counts as caught, although
without a judge it drops nothing. `python -m tests.recipes.multiplied` generates this page.
"""

_MISSES = """
- `fact_left_out`: of several facts that an answer must contain, the verifier requires one less. The others still distinguish an answer
  from none, so no gate that executes finds it. Code copies every fact of the draft into the verifier, so no author can leave one out
  there. S16, which asks a model, reads whether the verifier requires each wish.
- Programs: most are of items whose tests were recorded when tests named parts of a change (`exact` is off for them).
- `hidden_unknown`, `hidden_told`: in what the user says or knows, S17 looks for codes, dates and numbers of four digits. "marble" and 12
  may be in a request for something else; the check of the user's words looks for them. If a reply shows the date of birth before the
  agent needs it, the user need not know it.
- `signs`, `numbers` in `tau2`: the number in the id of a second case, which no rule mentions.
- `file_differs`: the machine's service writes this file again when it starts.
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
    yield "| part | operator | must be | cases | idle | right | found by |"
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
    yield "## Wrong results"
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
