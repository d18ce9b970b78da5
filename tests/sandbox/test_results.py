"""Arguments that are results of earlier calls: read, refused where no session can fill them, filled
in each session anew."""

from typing import Any

import pytest

from envmill.runtime.results import find_references
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.sandbox.results import link, record, settle, uses_result, write_references
from schemas.base import Json
from schemas.environment import Call, Tool
from tests.agency import LONG, OFFER, PATH, SIGN, STATE, call, make_agency, refer

AGENCY = make_agency()
PROGRAM = Program.of(AGENCY)
CLOCK = "2026-03-02T09:00:00+00:00"


def begin(seed: int) -> Reset:
    return Reset(STATE, CLOCK, seed)


async def play(sandbox: Sandbox, calls: list[Call], seed: int = 1, **how: Any) -> list[Observation]:
    return (await sandbox.play(PROGRAM, [begin(seed), *map(Invoke, calls), Look()], **how))[1:]


async def store(sandbox: Sandbox, calls: list[Call], seed: int = 1) -> list[Call]:
    linked, bad = link(calls, AGENCY.tools)
    assert not bad, bad
    seen = await play(sandbox, linked, seed)
    assert [step.outcome for step in seen] == ["ok"] * len(seen), [
        (step.code, step.message) for step in seen
    ]
    return record(linked, seen[:-1])


async def test_a_stored_path_holds_plain_values_and_runs_under_any_seed(jail: Sandbox) -> None:
    stored = await store(jail, LONG)
    assert "from" not in str([call.arguments for call in stored])
    first: Any = None
    for seed in (1, 2, 3):
        seen = await play(jail, stored, seed)
        assert all(step.outcome == "ok" for step in seen), seed
        made, state = settle(stored, seen[:-1]), seen[-1].state or {}
        assert not any(one.uses or one.label for one in made)
        (binder,) = state["binders"].values()
        assert binder["lease_ids"] == list(state["leases"]) or set(binder["lease_ids"]) == set(
            state["leases"]
        )
        assert binder["label"] == {"first": {"lease": made[5].arguments["lease_ids"][0]}}
        assert (
            made == [one.model_copy(update={"label": 0, "uses": []}) for one in stored]
            if seed == 1
            else made[3] != first
        )
        first = first or made[3]
    assert write_references(stored) == LONG


async def test_without_uses_the_same_path_does_not_run_elsewhere(jail: Sandbox) -> None:
    literal = [one.model_copy(update={"label": 0, "uses": []}) for one in await store(jail, PATH)]
    assert [step.outcome for step in await play(jail, literal, 1)] == ["ok"] * 4
    assert [step.outcome for step in await play(jail, literal, 2)] == [
        "ok",
        "ok",
        "rejection",
        "ok",
    ]


async def test_a_session_held_open_fills_them_too(jail: Sandbox) -> None:
    stored = await store(jail, PATH)
    async with jail.session(PROGRAM) as session:
        for seed in (5, 6):
            seen = [
                await session.step(step) for step in [begin(seed), *map(Invoke, stored), Look()]
            ]
            assert [step.outcome for step in seen] == ["ok"] * 5
        # A new beginning forgets what was answered before it.
        await session.step(begin(7))
        assert (await session.step(Invoke(stored[2]))).code == "no_result"


@pytest.mark.parametrize("hashes", ["each", "last", "none"])
async def test_a_call_that_lacks_its_result_is_not_made_and_nothing_fails(
    jail: Sandbox, hashes: Any
) -> None:
    stored = await store(jail, PATH)
    seen = await play(jail, [stored[0], stored[2]], hashes=hashes)
    assert [(step.outcome, step.code) for step in seen] == [
        ("ok", ""),
        ("rejection", "no_result"),
        ("ok", ""),
    ]
    assert (seen[-1].state or {}) == STATE
    refused = stored[1].model_copy(update={"arguments": {"flat_id": "F9", "tenant": "Ben Hale"}})
    assert [step.code for step in await play(jail, [stored[0], refused, stored[2]])] == [
        "",
        "unknown_flat",
        "no_result",
        "",
    ]


async def test_a_changed_argument_stays_as_it_was_changed(jail: Sandbox) -> None:
    stored = await store(jail, PATH)
    other = stored[2].model_copy(update={"arguments": stored[2].arguments | {"offer_id": "O1"}})
    seen = await play(jail, [*stored[:2], other], 4)
    assert {row["offer_id"] for row in (seen[-1].state or {})["leases"].values()} == {"O1"}
    assert settle([*stored[:2], other], seen[:-1])[2].arguments["offer_id"] == "O1"


async def test_twice_the_same_call_means_the_latest(jail: Sandbox) -> None:
    stored = await store(jail, PATH)
    seen = await play(jail, [*stored[:2], stored[1], stored[2]], 4)
    offers = {
        key: row["status"] for key, row in (seen[-1].state or {})["offers"].items() if key != "O1"
    }
    made: Any = seen[2].parts[0]
    assert offers.pop(made["value"]["id"]) == "signed"
    assert set(offers.values()) == {"open"}


async def test_the_program_is_told_neither_labels_nor_uses(jail: Sandbox) -> None:
    source = AGENCY.files["program.py"].replace(
        '        key = new_id("lease")',
        "        import gc\n        found = [one for one in gc.get_objects() if isinstance(one, "
        "dict) and 'uses' in one]\n"
        "        if any(isinstance(one['uses'], list) and one['uses'] for one in found):\n"
        "            raise Rejection('told', 'It was told.')\n        key = new_id(\"lease\")",
    )
    stored = await store(jail, PATH)
    program = Program.of(AGENCY.model_copy(update={"files": {"program.py": source}}))
    seen = await jail.play(program, [begin(3), *map(Invoke, stored)])
    assert [step.outcome for step in seen] == ["ok"] * 4, [
        (step.code, step.message) for step in seen
    ]


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        pytest.param([OFFER, call("sign_lease", offer_id=refer(3, "/id"), months=1), OFFER], "a later call", id="later"),
        pytest.param([OFFER, call("sign_lease", offer_id=refer(2, "/id"), months=1)], "this call itself", id="itself"),
        pytest.param([OFFER, call("sign_lease", offer_id=refer(0, "/id"), months=1)], "no call 0", id="counted from 0"),
        pytest.param([OFFER, call("sign_lease", offer_id=refer(9, "/id"), months=1)], "no call 9", id="nowhere"),
        pytest.param([OFFER, call("sign_lease", offer_id=refer(1, "id"), months=1)], "write /id", id="no pointer"),
        pytest.param([OFFER.model_copy(update={"actor": "user"}), call("sign_lease", offer_id=refer(1, "/id"), months=1)], "user's",
                     id="of the user's"),
    ],
)  # fmt: skip
def test_a_reference_that_no_session_can_fill_is_told(calls: list[Call], words: str) -> None:
    _, (bad,) = link(calls, AGENCY.tools)
    assert bad.number == 2
    assert words in bad.words
    assert bad.reference.into == "/offer_id"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/ids", "'ids' is not there: the object has flat_id, tenant, status, id"),
        ("/id/0", "the value is no object and no list"),
    ],
)
async def test_a_pointer_that_leads_nowhere_is_told_with_what_is_there(
    jail: Sandbox, path: str, words: str
) -> None:
    linked, _ = link([OFFER, call("sign_lease", offer_id=refer(1, path), months=1)], AGENCY.tools)
    seen = await play(jail, linked)
    assert (seen[1].outcome, seen[1].code) == ("rejection", "no_result")
    assert words in seen[1].message


async def test_a_result_of_the_wrong_type_is_refused_like_any_argument(jail: Sandbox) -> None:
    linked, _ = link(
        [OFFER, call("sign_lease", offer_id=refer(1, "/id"), months=refer(1, "/id"))], AGENCY.tools
    )
    seen = await play(jail, linked)
    assert seen[1].outcome == "rejection"
    assert "months" in seen[1].message


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (refer(1, "/id"), ["/at"]),
        ([refer(1, "/id"), "x", refer(2, "")], ["/at/0", "/at/2"]),
        ({"a": {"b/c": refer(1, "/id")}}, ["/at/a/b~1c"]),
        ({"from": 1, "path": "/id", "more": 1}, []),
        ({"from": "Leeds", "path": "/id"}, []),
        ({"from": True, "path": "/id"}, []),
        ({"from": 1, "path": 2}, []),
        ('{"from": 1, "path": "/id"}', []),
    ],
)
def test_a_reference_has_exactly_two_keys_wherever_it_stands(value: Json, found: list[str]) -> None:
    assert [one.into for one in find_references({"at": value}, {})] == found


def test_an_object_that_the_tool_itself_declares_is_a_value() -> None:
    place: Json = {
        "type": "object",
        "properties": {"from": {"type": "integer"}, "path": {"type": "string"}},
    }
    for schema in (place, {"anyOf": [place, {"type": "null"}]}):
        tool = Tool(
            name="cut",
            description="Cut.",
            effect="change",
            parameters={"type": "object", "properties": {"where": schema}},
        )
        linked, bad = link(
            [call("cut", where=refer(1, "/x")), call("cut", where=refer(1, "/x"))], [tool]
        )
        assert not bad
        assert not any(one.uses or one.label for one in linked)
        assert linked[1].arguments == {"where": refer(1, "/x")}


async def test_who_uses_whose_result_is_known(jail: Sandbox) -> None:
    stored = await store(jail, LONG)
    pairs = {
        (one, other) for one in range(6) for other in range(6) if uses_result(stored, one, other)
    }
    assert pairs == {(0, 1), (1, 3), (2, 4), (3, 5), (4, 5)}


def test_calls_without_results_are_stored_as_ever() -> None:
    linked, _ = link([OFFER], AGENCY.tools)
    assert linked == [OFFER]
    assert OFFER.model_dump() == {
        "name": "make_offer",
        "arguments": OFFER.arguments,
        "actor": "agent",
    }
    assert "uses" not in str(Call.model_json_schema())
    assert SIGN.arguments["offer_id"] == refer(2, "/id")
