"""Errand plans of the offline author: each line tells the scenario that it would write there, and a
scenario keeps to the line it is given.

places ─► the scenario of each ─► its tools, its facts ─► a line
line ─► the scenario of the place, if it keeps to the line ─► else another led by the line's changes ─► else one that says why not
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from envmill.base.errors import SettingsError
from envmill.recipes.drafting.errands import find_left
from offline.domain import Domain
from schemas.base import Json
from schemas.errand_plan import (
    ErrandLine,
    ErrandPlace,
    ErrandsInput,
    ErrandsReply,
    HarderInput,
    HarderLine,
    HarderReply,
)
from schemas.prompts import ScenarioInput, ScenarioReply

Write = Callable[[Json, Domain, int, int], ScenarioReply]
"""Inputs of a scenario prompt, domain, seed, sample → the scenario, whatever errand was planned for
it."""
_TRIES = 12
_APART = 50_000_000
"""Between the samples of scenarios that are tried for one line: far from those of other
variants."""
_LONGEST, _MOST_ABOUT = 240, 4
_IMPOSSIBLE = "No state that I tried allows every change of this errand."


def write_errands(
    write: Write, inputs: Json, domain: Domain, seed: int, sample: int, apart: int
) -> ErrandsReply:
    """A line for each place. The samples of one variant are as one: a plan that was asked for again
    foretells the same scenarios."""
    asked = ErrandsInput.model_validate(inputs)
    effects = {tool.name: tool.effect for tool in asked.tools}
    return ErrandsReply(
        errands=[
            _write_line(write, asked, place, domain, seed, sample // apart * apart, effects)
            for place in asked.places
        ]
    )


def _write_line(
    write: Write, asked: ErrandsInput, place: ErrandPlace, domain: Domain, seed: int, sample: int, effects: Mapping[str, str]
) -> ErrandLine:  # fmt: skip
    told = ScenarioInput(
        brief=asked.brief,
        name="",
        rules=[],
        tools=[],
        source="",
        number=place.number,
        polarity=place.polarity,
        results=asked.results,
    )
    try:
        reply = write(told.model_dump(mode="json"), domain, seed, sample)
    except SettingsError as error:
        # Domains of documents may allow no scenario: the line says so, and what is written there
        # achieves nothing either.
        return ErrandLine(
            number=place.number,
            who="somebody",
            what=str(error)[:_LONGEST],
            tools=[*effects][:1],
            about=[f"{place.number}"],
        )
    wish = [call.name for call in reply.oracle] + [
        pattern.name for pattern in reply.avoid if reply.polarity != "achieve"
    ]
    about = [f"{name}: {value}" for name, value in reply.facts.items()][:_MOST_ABOUT]
    return ErrandLine(
        number=place.number,
        who=reply.persona[:_LONGEST] or "somebody",
        what=(" ".join(reply.goals) or reply.request)[:_LONGEST],
        tools=[name for name in dict.fromkeys(wish) if name in effects],
        about=about or [reply.request[:_LONGEST]],
        state=", ".join(f"{len(rows)} {name}" for name, rows in reply.initial_state.items())[
            :_LONGEST
        ],
    )


def write_harder(
    write: Write, inputs: Json, domain: Domain, seed: int, sample: int, apart: int
) -> HarderReply:
    """A line for each place: of the scenarios that it would write, the first that takes a tool
    which the easy one does not take."""
    asked = HarderInput.model_validate(inputs)
    plain = ErrandsInput.model_validate(asked.model_dump() | {"places": []})
    effects = {tool.name: tool.effect for tool in asked.tools}
    lines = list[HarderLine]()
    for place in asked.places:
        known = {call.name for call in place.parent.path}
        samples = ((sample // apart + again) * apart for again in range(_TRIES))
        drawn = [_write_line(write, plain, place, domain, seed, one, effects) for one in samples]
        line = max(drawn, key=lambda one: (len({*one.tools} - known), -drawn.index(one)))
        lines.append(HarderLine(**line.model_dump(), levers=["dependency", "exception"]))
    return HarderReply(errands=lines)


def keep_to_line(
    write: Write, inputs: Json, domain: Domain, seed: int, sample: int
) -> ScenarioReply:
    """The scenario of a sample if it is what was planned, else the first of others that is."""
    asked, reply = ScenarioInput.model_validate(inputs), write(inputs, domain, seed, sample)
    line = asked.errand
    if line is None or not line.tools:
        return reply
    effects = {tool.name: tool.effect for tool in asked.tools}
    changes = [name for name in line.tools if effects.get(name) == "change"]
    tried = chain([reply], _try_others(write, inputs, domain, seed, sample, changes))
    return next(
        (one for one in tried if find_left(line, one, effects) is None),
        reply.model_copy(update={"left": _IMPOSSIBLE}),
    )


def _try_others(
    write: Write, inputs: Json, domain: Domain, seed: int, sample: int, changes: list[str]
) -> Iterator[ScenarioReply]:
    """Scenarios led by these changes."""
    for again in range(1, _TRIES + 1):
        yield write(inputs, replace(domain, walk=tuple(changes)), seed, sample + again * _APART)
