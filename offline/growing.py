"""Records that tools of a scenario's world lack: those of a test on which the tool succeeds, as far
as they are new."""

from collections.abc import Iterator

from offline.casing import list_cases
from offline.columns import settle_state
from offline.domain import Domain, State
from schemas.base import Contract, Json
from schemas.growth_prompts import (
    GrowInput,
    GrowReply,
    NaturalInput,
    NaturalReply,
    NaturalVerdict,
    ToolPatch,
)
from schemas.tool_prompts import MatchedTest


def answer_grow(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    """One entry for each tool; what cannot succeed without touching a record that is there has no
    place."""
    asked = GrowInput.model_validate(inputs)
    state, patches = settle_state(domain, asked.initial_state), list[ToolPatch]()
    for one in asked.unreached:
        patch = next(_list_patches(asked, domain, one.tool.name, seed, state), None)
        if patch is None:
            patches.append(
                ToolPatch(tool=one.tool.name, left="No record of this place makes it possible.")
            )
            continue
        patches.append(patch)
        state = {table: {**rows, **patch.rows.get(table, {})} for table, rows in state.items()}
    return GrowReply(patches=patches)


def _list_patches(
    asked: GrowInput, domain: Domain, tool: str, seed: int, state: State
) -> Iterator[ToolPatch]:
    """Of tests on which the tool succeeds those with the fewest records first; none that says
    another thing of a record that is there."""
    tests = [one for one in list_cases(asked.brief, domain, tool, seed) if one.expect == "success"]
    for test in sorted(tests, key=_count_rows):
        same = all(
            state.get(table, {}).get(key, row) == row
            for table, rows in test.rows.items()
            for key, row in rows.items()
        )
        if same:
            new = {
                table: {key: row for key, row in rows.items() if key not in state.get(table, {})}
                for table, rows in test.rows.items()
            }
            yield ToolPatch(
                tool=tool, rows={table: rows for table, rows in new.items() if rows}, call=test.call
            )


def _count_rows(test: MatchedTest) -> int:
    return sum(map(len, test.rows.values()))


def answer_natural(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    """Nothing that it added looks made up to itself."""
    return NaturalReply(
        verdicts=[
            NaturalVerdict(tool=one.tool, natural=True)
            for one in NaturalInput.model_validate(inputs).added
        ]
    )
