"""Chance is caught where it was planted and called by its name."""

from envmill.base.settings import Settings
from envmill.kinds.chance import Chance, find_chance
from envmill.sandbox import Invoke, Reset, Sandbox
from schemas.environment import Call
from tests.kinds.chance_program import NAMES, make_chance
from tests.samples import NAMES as SAMPLES
from tests.samples import load_sample
from tests.samples.journeys import draw_journey

RESET = Reset({"rows": {}}, "2026-03-02T09:00:00+00:00", 7)

PLANTED = {
    "set_order": {"hash_order"},
    "hash_value": {"hash_order"},
    "set_reply": {"hash_order"},
    "id_order": {"addresses"},
    "id_parity": {"addresses"},
    "address": {"addresses"},
    "wall_clock": {"wall_clock"},
    "wall_day": {"wall_clock"},
    "unseeded_uuid": {"entropy"},
    "virtual_clock": {"clock"},
    "virtual_uuid": {"randomness"},
    "virtual_id": {"ids"},
    "plain": set[str](),
    "two": {"hash_order", "wall_clock"},
}


async def test_each_source_is_named(settings: Settings) -> None:
    assert set(PLANTED) == set(NAMES)
    found: dict[str, list[Chance]] = {}
    async with Sandbox.open(settings, 0) as home, Sandbox.open(settings, 1) as away:
        for tool in PLANTED:
            found[tool] = await find_chance(
                make_chance(), [RESET, Invoke(Call(name=tool))], home, away
            )
    named = {tool: {one.source for one in sources} for tool, sources in found.items()}
    assert named == PLANTED, {tool: list(map(str, sources)) for tool, sources in found.items()}
    for tool, sources in found.items():
        assert all(one.controlled is tool.startswith("virtual") for one in sources)
        assert all(one.path[-1] != "state_hash" for one in sources), list(map(str, sources))


async def test_the_samples_have_no_chance_that_no_seed_governs(settings: Settings) -> None:
    governed: set[str] = set()
    async with Sandbox.open(settings, 0) as home, Sandbox.open(settings, 1) as away:
        for name in SAMPLES:
            sample = load_sample(name)
            found = await find_chance(
                sample.program, [sample.reset(), *draw_journey(sample, 1, 30)], home, away
            )
            assert [str(one) for one in found if not one.controlled] == [], name
            governed |= {one.source for one in found}
    assert {"clock", "ids"} <= governed
