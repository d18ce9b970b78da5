"""Weather strikes by seed and call alone, never touches the program, and lets whoever keeps trying
through."""

from typing import Any

import pytest

from envmill.runtime.profiles import KINDS, PROFILES, check_profile
from envmill.runtime.weather import PATIENCE, Weather, sample_share
from envmill.sandbox import Advance, Changes, Invoke, Look, Observation, Reset, Sandbox, Session
from schemas.environment import Call
from tests.samples import NAMES, load_sample
from tests.samples.journeys import draw_journey
from tests.soak import count

RETRY = {"rate_limited", "unavailable", "auth_expired", "quota_exhausted"}
READS = {
    "clinic": "list_practitioners",
    "freight": "list_legs",
    "library": "list_fines",
    "payroll": "list_employees",
}


async def insist(session: Session, call: Call, met: set[str]) -> Observation:
    """What a patient policy does: follow a new name, try again what was refused, read again what is
    stale, partial or cut off."""
    for _ in range(2 * PATIENCE + 3):
        seen = await session.step(Invoke(call))
        met |= set(seen.weather)
        if seen.code == "tool_renamed":
            call = call.model_copy(update={"name": seen.message.split(" is called ")[1].split()[0]})
        elif seen.code not in RETRY and not {"stale_read", "partial_read", "truncation"} & set(
            seen.weather
        ):
            return seen
    return seen


@pytest.mark.soak(area="sandbox")
async def test_a_retrying_policy_reaches_the_state_of_clear_sky(jail: Sandbox) -> None:
    met: set[str] = set()
    for number in range(count(12, 200)):
        sample = load_sample(NAMES[number % len(NAMES)])
        journey = draw_journey(sample, number, 25)
        clear = (await jail.play(sample.program, [sample.reset(), *journey, Look(), Changes()]))[
            -2:
        ]
        async with jail.session(sample.program) as session:
            await session.step(sample.reset(weather={"profile": "rough", "seed": number}))
            for step in journey:
                await (
                    insist(session, step.call, met)
                    if isinstance(step, Invoke)
                    else session.step(step)
                )
                await insist(session, Call(name=READS[sample.name]), met)
            met |= set((await session.step(Invoke(Call(name="ping")))).weather)
            assert (await session.step(Look())).state == clear[0].state, (sample.name, number)
            assert (await session.step(Changes())).parts == clear[1].parts
    assert met == set(KINDS)


async def test_same_seed_same_weather_another_seed_another(jail: Sandbox) -> None:
    sample = load_sample("freight")

    async def play(seed: int) -> list[Observation]:
        weather = {"profile": "rough", "seed": seed}
        return await jail.play(
            sample.program, [sample.reset(weather=weather), *draw_journey(sample, 5, 40)]
        )

    first, again, other = await play(1), await play(1), await play(2)
    assert first == again
    assert [seen.weather for seen in first] != [seen.weather for seen in other]


async def test_the_null_profile_is_no_weather(jail: Sandbox) -> None:
    sample = load_sample("payroll")
    journey = [*draw_journey(sample, 9, 40), Look()]
    bare = await jail.play(sample.program, [sample.reset(), *journey])
    assert (
        await jail.play(
            sample.program, [sample.reset(weather={"profile": "clear", "seed": 3}), *journey]
        )
        == bare
    )


async def test_a_refused_call_is_not_dispatched_and_state_truth_stays(jail: Sandbox) -> None:
    sample = load_sample("library")
    storm = {"profile": [{"kind": "rate_limit", "rate": 1.0}], "seed": 0}
    enrol = Invoke(Call(name="enrol", arguments={"name": "Olu", "tier": "adult"}))
    seen = await jail.play(
        sample.program, [sample.reset(weather=storm), *[enrol] * (PATIENCE + 1), Look()]
    )
    reset, *refused, done, look = seen
    assert {one.code for one in refused} == {"rate_limited"}
    assert {one.state_hash for one in refused} == {reset.state_hash}
    assert not any(one.uses for one in refused)
    assert done.outcome == "ok"
    assert look.state is not None
    assert len(look.state["members"]) == len(sample.state["members"]) + 1


async def test_a_quota_is_renewed_when_time_passes(jail: Sandbox) -> None:
    sample = load_sample("library")
    quota = {"profile": [{"kind": "quota", "calls": 2, "seconds": 60}], "seed": 0}
    fines = Invoke(Call(name="list_fines"))
    plan = [sample.reset(weather=quota), fines, fines, fines, Advance(61), fines]
    assert [seen.code for seen in await jail.play(sample.program, plan)][1:] == [
        "",
        "",
        "quota_exhausted",
        "",
        "",
    ]


async def test_nobody_is_told_a_name_that_does_not_hold_today(jail: Sandbox) -> None:
    sample = load_sample("library")
    renamed = {"profile": [{"kind": "renamed_tools", "rate": 1.0, "suffix": "_v2"}], "seed": 0}
    _, seen = await jail.play(
        sample.program, [sample.reset(weather=renamed), Invoke(Call(name="burn"))]
    )
    assert "known: search_titles_v2, show_title_v2, " in seen.message


async def test_expired_access_is_renewed_by_the_extra_tool(jail: Sandbox) -> None:
    sample = load_sample("library")
    fines, renew = Invoke(Call(name="list_fines")), Invoke(Call(name="renew_access"))
    seed = next(
        seed
        for seed in range(1000)
        if [sample_share(seed, call, "expired_auth") < 0.2 for call in (1, 2, 3)]
        == [True, False, False]
    )
    expired = {
        "profile": [
            {"kind": "expired_auth", "rate": 0.2, "calls": 3},
            {"kind": "extra_tools", "names": ["renew_access"]},
        ],
        "seed": seed,
    }
    for plan, codes in (
        ([fines, renew, fines], ["auth_expired", "", ""]),
        ([fines, fines, fines], ["auth_expired"] * 3),
    ):
        assert [
            seen.code
            for seen in await jail.play(sample.program, [sample.reset(weather=expired), *plan])
        ][1:] == codes


TOOLS: Any = [
    {"name": name, "description": "", "parameters": {"type": "object"}, "effect": effect}
    for name, effect in (("list", "query"), ("add", "change"))
]


def test_renamed_tools_bear_one_name_and_the_old_one_leads_there() -> None:
    weather = Weather([{"kind": "renamed_tools", "rate": 1.0, "suffix": "_v2"}], 0, TOOLS)
    assert [tool["name"] for tool in weather.tools()] == ["list_v2", "add_v2"]
    assert weather.meet("list_v2") == "list"
    old = weather.meet("list")
    assert not isinstance(old, str)
    assert "list_v2" in old["error"]["message"]


def ok(value: Any) -> dict[str, Any]:
    return {"ok": True, "outcome": "ok", "parts": [{"type": "json", "value": value}]}


@pytest.mark.parametrize(
    ("trouble", "first", "second", "words"),
    [
        pytest.param(
            {"kind": "stale_read", "rate": 1.0}, [1], [1], "[cached: as of 1 calls ago]", id="stale"
        ),
        pytest.param(
            {"kind": "partial_read", "rate": 1.0, "share": 0.5},
            [1],
            [2],
            "[partial: 1 of 2 entries]",
            id="partial",
        ),
        pytest.param(
            {"kind": "truncation", "rate": 1.0, "characters": 3},
            [1],
            "[2,",
            "[truncated: 3 of 6 characters]",
            id="truncated",
        ),
    ],
)
def test_spoiled_reads_say_so_and_changes_are_never_spoiled(
    trouble: dict[str, Any], first: Any, second: Any, words: str
) -> None:
    weather = Weather([trouble], 0, TOOLS)
    weather.meet("list")
    assert weather.change("list", {}, ok([1]))["parts"][0] == {"type": "json", "value": first}
    weather.meet("list")
    told, note = weather.change("list", {}, ok([2, 3]))["parts"]
    assert told.get("value", told.get("text")) == second
    assert note == {"type": "text", "text": words}
    assert weather.change("add", {}, ok([2, 3])) == ok([2, 3])


def test_the_real_profile_has_trouble_of_every_kind() -> None:
    assert {trouble["kind"] for trouble in PROFILES["rough"]} == set(KINDS)
    assert PROFILES["clear"] == []


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param({"kind": "delay"}, id="no-list"),
        pytest.param([{"kind": "hail"}], id="unknown"),
        pytest.param([{"kind": "rate_limit"}], id="lacking"),
        pytest.param([{"kind": "rate_limit", "rate": "often"}], id="type"),
        pytest.param([{"kind": "rate_limit", "rate": 0.1, "more": 1}], id="surplus"),
    ],
)
def test_a_profile_that_would_be_misread_is_refused(profile: Any) -> None:
    with pytest.raises(ValueError, match=r"[Tt]rouble"):
        check_profile(profile)


async def test_a_bad_profile_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="hail"):
        Reset({}, "2026-03-02T09:00:00Z", 1, weather={"profile": [{"kind": "hail"}], "seed": 1})
