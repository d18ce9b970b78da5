"""Planted faults show where it was foretold, when clean and faulty both run in the jail."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from envmill.gates.w3 import find_untested
from envmill.sandbox import Sandbox
from offline.faults import PlantedFault
from offline.witness import Witness, find_witness, observe
from schemas.prompts import TestsReply
from tests.offline.faults.cases import ENVIRONMENTS, EVERY, plant
from tests.offline.jail import JAIL
from tests.offline.questions import ask_program, read_tools
from tests.soak import count

SHOWN = count(1, 12)
"""Witnesses asked for per kind."""


def search(faults: list[PlantedFault]) -> list[Witness | None]:
    async def go(sandbox: Sandbox) -> list[Witness | None]:
        return [await find_witness(each.pairs, sandbox) for each in faults]

    return JAIL.enter(go)


def list_faults(prompt: str, kind: str) -> Iterator[PlantedFault]:
    planted = (plant(prompt, kind, theme, number) for theme, number in ENVIRONMENTS)
    return (each for each in planted if each)


async def show(prompt: str, kind: str, sandbox: Sandbox) -> list[bool]:
    """Whether each fault of this kind was seen, up to as many as are asked for."""
    shown = list[bool]()
    for fault in list_faults(prompt, kind):
        if fault.words or shown.count(True) >= SHOWN:
            break
        shown.append(await find_witness(fault.pairs, sandbox) is not None)
    return shown


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_every_kind_is_seen_in_the_jail_or_needs_no_run() -> None:
    async def show_all(sandbox: Sandbox) -> dict[tuple[str, str], list[bool]]:
        return {each: await show(*each, sandbox) for each in EVERY}

    seen = {each: shown for each, shown in JAIL.enter(show_all).items() if shown}
    assert [each for each, shown in seen.items() if not any(shown)] == []
    assert len(seen) >= 45
    silent = Counter({each: shown.count(False) for each, shown in seen.items()})
    assert silent.total() <= sum(map(len, seen.values())) * 0.2, silent.most_common(8)


def test_a_clean_version_is_no_witness_against_itself() -> None:
    fault = next(list_faults("program", "unenforced_rule"))
    same = [(clean, clean) for clean, _ in fault.pairs]
    assert search([PlantedFault("none", "", "", tuple(same))]) == [None]


def test_a_clock_that_was_read_too_early_shows_only_when_time_has_gone_by() -> None:
    fault = next(list_faults("program", "stale_clock"))
    at_once = tuple(
        (replace(one, trace=replace(one.trace, later=0.0)) for one in pair) for pair in fault.pairs
    )
    late, early = search(
        [fault, replace(fault, pairs=tuple((one, other) for one, other in at_once))]
    )
    assert late is not None
    assert early is None


def test_a_witness_says_what_was_expected_and_what_was_seen() -> None:
    (witness,) = search([next(list_faults("program", "silent_success"))])
    assert witness is not None
    assert json.loads(witness.expected)[0] == "rejection"
    assert json.loads(witness.seen)[0] in (
        "ok",
        "failure",
    )  # what should have been refused goes on, and may stumble then


def test_two_paths_to_one_end_are_no_witness_and_another_end_is() -> None:
    fault = next(list_faults("scenario", "unnecessary_step"))
    ((clean, _),) = fault.pairs
    looks = [call for call in clean.trace.calls if clean.version.tools[call.name] == "query"]
    longer = replace(clean, trace=replace(clean.trace, calls=(*looks, *clean.trace.calls)))
    one, other = search([PlantedFault("none", "", "", ((clean, longer),)), fault])
    assert looks
    assert one is None
    assert other is not None


def test_two_observations_of_one_play_agree() -> None:
    async def twice(sandbox: Sandbox) -> list[list[str]]:
        return [await observe(fault.pairs[0][1], sandbox) for _ in range(2)]

    fault = next(list_faults("program", "row_not_kept"))
    one, other = JAIL.enter(twice)
    assert one == other


@pytest.mark.parametrize("kind", ["untested_tool", "no_rejection_tested"])
def test_a_tool_that_is_not_tried_is_missed_by_the_gate(kind: str) -> None:
    theme, number = ENVIRONMENTS[0]
    fault = plant("tests", kind, theme, number)
    assert fault is not None
    tools = read_tools(theme, number, ask_program(theme, number))
    assert lack(fault.clean, tools) == []
    assert lack(fault.text, tools) != []


def lack(text: str, tools: list) -> list[str]:
    class Of:
        pass

    environment, reply = Of(), TestsReply.model_validate_json(text)
    environment.tools = tools  # type: ignore[attr-defined]
    stored = [
        SimpleNamespace(id=f"{number}", **dict(test)) for number, test in enumerate(reply.tests)
    ]
    return find_untested(environment, stored)  # type: ignore[arg-type]
