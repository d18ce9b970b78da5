"""Which texts a verifier leaves open. Two recorded scenarios of a real model author, one in which a
real agent was failed for a text that nobody asked for, one in which it was failed for texts that
nobody asked to be told."""

import json
from pathlib import Path
from typing import Any

import pytest

from envmill.gates import s2, s3, s4, s5, s6, s12
from envmill.gates.base import GateContext, ScenarioCase
from envmill.kinds import KINDS
from envmill.kinds.endings import derive_verifier, play_twice
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.verifiers.compose import ComposedVerifier, OracleRun, compose_verifier
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from schemas.base import Json
from schemas.environment import Call, Environment, Tool
from schemas.rollout import Verdict
from schemas.scenario import Draft, Fact, Scenario, UserContract, Verifier
from tests.specimens import ORIGIN, PROGRAM, STATE, make_environment

HERE = Path(__file__).parent / "recorded"
BEES: dict[str, Any] = json.loads((HERE / "beekeeping.json").read_text())
DESK: dict[str, Any] = json.loads((HERE / "helpdesk.json").read_text())
WRITES = ("lend_device", "record_inspection", "record_harvest", "share_honey")
EDWIN, FARAH, HIVE, DEVICE = (
    "member_4475bd5c",
    "member_213de83d",
    "hive_b60aeb01",
    "device_e8264663",
)
MARKED = "Looked after his bees in the winter"


def make_schema(state: dict[str, Any]) -> str:
    return "\n".join(
        f"create table {table} (id text primary key, "
        + ", ".join(
            f"{name} {'integer' if isinstance(value, int) else 'text'}"
            for name, value in _first(rows).items()
            if name != "id"
        )
        + ");"
        for table, rows in state.items()
    )


def _first(rows: dict[str, Any]) -> dict[str, Any]:
    return next(iter(rows.values()))


def make_bees(rules: list[str] | None = None) -> Environment:
    source = (HERE / "beekeeping.txt").read_text()
    files = {"schema.sql": make_schema(BEES["initial_state"]), "program.py": source}
    names = [
        line.split("def ")[1].split("(")[0]
        for line in source.splitlines()
        if line.startswith("    def ")
    ]
    effects: Any = {
        name: "change" if name in WRITES else "query" for name in names if not name.startswith("_")
    }
    kind = KINDS["sql"]
    tools, tables = (
        kind.derive_tools(source, BEES["class"], effects),
        kind.derive_tables(
            files,
            {f"{table}.id": "exempt" for table in ("inspections", "harvests", "honey_shares")},
        ),
    )
    return make_environment(
        kind="sql",
        files=files,
        entry=f"program:{BEES['class']}",
        tools=tools,
        tables=tables,
        rules=rules or [],
    )


def call(tool: str, **arguments: Json) -> Call:
    return Call(name=tool, arguments=arguments)


LEND = call("lend_device", device_id=DEVICE, member_id=EDWIN)
INSPECT = call("record_inspection", hive_id=HIVE, day=128, mites=2, brood_frames=6)
HARVEST = call("record_harvest", hive_id=HIVE, kg=14)
SHARE = call("share_honey", from_member_id=EDWIN, to_member_id=FARAH, kg=5)
PATH = [LEND, INSPECT, HARVEST, SHARE]


def widen(one: Call, **arguments: Json) -> Call:
    return one.model_copy(update={"arguments": one.arguments | arguments})


def make_draft(
    environment: Environment, oracle: list[Call], request: str = BEES["request"], **changes: Any
) -> Draft:
    fields: dict[str, Any] = {
        "environment": environment.id, "number": 0, "initial_state": BEES["initial_state"], "request": request,
        "user": UserContract(opening=request, facts=BEES["facts"]), "oracle": oracle, "polarity": "achieve",
        "clock": "2026-03-02T09:00:00+00:00", "seed": 1, "changes": [], "gold_hash": "h", "origin": ORIGIN,
    }  # fmt: skip
    return Draft.model_validate(fields | changes)


async def derive(environment: Environment, draft: Draft, sandbox: Sandbox) -> Verifier:
    ends = await play_twice(draft, environment, sandbox)
    assert not isinstance(ends, str), ends
    return (await derive_verifier(draft, environment, *ends, sandbox)).verifier


async def rule(
    environment: Environment, draft: Draft, calls: list[Call], sandbox: Sandbox, **edits: Any
) -> Verdict:
    """The verdict on an agent that makes these calls; `edits` puts a value into the end state:
    table__key__column."""
    seen = await sandbox.play(Program.of(environment), [start(draft), *map(Invoke, calls), Look()])
    assert all(step.outcome == "ok" for step in seen), [(step.code, step.message) for step in seen]
    final: Any = seen[-1].state
    for place, value in edits.items():
        table, key, column = place.split("__")
        final = {**final, table: {**final[table], key: {**final[table][key], column: value}}}
    return judge(await derive(environment, draft, sandbox), Ending(draft.initial_state, final))


async def test_the_recorded_agent_that_gave_a_reason_passes(sandbox: Sandbox) -> None:
    environment = make_bees()
    draft = make_draft(environment, PATH)
    verifier = await derive(environment, draft, sandbox)
    assert (verifier.free, verifier.worded) == (["honey_shares.reason", "inspections.note"], [])
    recorded = [LEND, INSPECT, HARVEST, widen(SHARE, reason=MARKED)]
    assert (await rule(environment, draft, recorded, sandbox)).outcome == "pass"
    assert (await rule(environment, draft, PATH, sandbox)).outcome == "pass"


@pytest.mark.parametrize(
    ("calls", "edits"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([LEND, INSPECT, HARVEST], {}, id="a step left out"),
        pytest.param(
            [LEND, INSPECT, HARVEST, widen(SHARE, kg=6, reason=MARKED)],
            {},
            id="another amount, with a reason",
        ),
        pytest.param([*PATH, SHARE], {}, id="twice"),
        pytest.param(
            PATH,
            {"honey_shares__share_9d3a7741__reason": "Something else."},
            id="the free column of another row",
        ),
        pytest.param(
            PATH, {f"members__{FARAH}__status": "resting"}, id="another column of a touched row"
        ),
    ],
)
async def test_what_is_not_free_is_still_compared(
    calls: list[Call], edits: dict[str, Any], sandbox: Sandbox
) -> None:
    environment = make_bees()
    if any(place.startswith("honey_shares") for place in edits):
        edits = {
            f"honey_shares__{next(iter(BEES['initial_state']['honey_shares']))}__reason": "Something else."
        }
    assert (
        await rule(environment, make_draft(environment, PATH), calls, sandbox, **edits)
    ).outcome == "fail"


@pytest.mark.parametrize(
    ("rules", "request_", "facts", "free"),
    [
        pytest.param(
            ["A share above 3 kg needs a reason."],
            "",
            {},
            ["inspections.note"],
            id="a rule speaks of it",
        ),
        pytest.param([], "Give no reason.", {}, ["inspections.note"], id="the request does"),
        pytest.param([], "", {"the reason": "none"}, ["inspections.note"], id="a fact does"),
        pytest.param([], "", {}, ["honey_shares.reason", "inspections.note"], id="nobody does"),
    ],
)
async def test_a_text_that_somebody_speaks_of_is_not_free(
    rules: Any, request_: str, facts: Any, free: Any, sandbox: Sandbox
) -> None:
    environment = make_bees(rules)
    request = f"{BEES['request']} {request_}"
    draft = make_draft(environment, PATH, request, user=UserContract(opening=request, facts=facts))
    assert (await derive(environment, draft, sandbox)).free == free


def alter_reasons(value: str) -> dict[str, Any]:
    rows = BEES["initial_state"]["honey_shares"]
    return BEES["initial_state"] | {
        "honey_shares": {key: row | {"reason": value} for key, row in rows.items()}
    }


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("gift", id="a choice"),
        pytest.param("2026-03-04", id="a date"),
        pytest.param("Edna Marsh", id="a name that another table holds"),
    ],
)
async def test_what_the_rows_show_to_be_no_free_text_is_compared(
    value: str, sandbox: Sandbox
) -> None:
    environment = make_bees()
    draft = make_draft(environment, PATH, initial_state=alter_reasons(value))
    assert (await derive(environment, draft, sandbox)).free == ["inspections.note"]


QUOTED = f"{BEES['request']} Put down \u201cThanks for the winter\u201d beside it."


@pytest.mark.parametrize(
    ("request_", "wordings", "reason", "outcome"),
    [
        pytest.param(QUOTED, {}, "Thanks for the winter", "pass", id="as the request says"),
        pytest.param(
            QUOTED,
            {},
            "\u201cthanks for  the winter.\u201d",
            "pass",
            id="case, blanks, quotes, a full stop",
        ),
        pytest.param(QUOTED, {}, "Thanks for the summer", "fail", id="another text"),
        pytest.param(QUOTED, {}, "", "fail", id="none"),
        pytest.param(
            QUOTED,
            {"Thanks for the winter": ["Winter thanks"]},
            "winter thanks",
            "pass",
            id="a wording that is listed",
        ),
        pytest.param(BEES["request"], {}, "For the winter", "pass", id="own words: others"),
        pytest.param(BEES["request"], {}, "", "fail", id="own words: none"),
        pytest.param(BEES["request"], {}, " ... ", "fail", id="own words: no word"),
    ],
)
async def test_a_text_that_the_path_writes(
    request_: str, wordings: Any, reason: str, outcome: str, sandbox: Sandbox
) -> None:
    environment = make_bees()
    path = [LEND, INSPECT, HARVEST, widen(SHARE, reason="Thanks for the winter")]
    draft = make_draft(environment, path, request_, variants=wordings)
    calls = [LEND, INSPECT, HARVEST, widen(SHARE, reason=reason)]
    assert (await rule(environment, draft, calls, sandbox)).outcome == outcome
    assert (await derive(environment, draft, sandbox)).worded == (
        [] if request_ == QUOTED else ["honey_shares.reason"]
    )


TOLD = 'member_id: Number on the member\'s card.\n        """\n        if tool_id'
SHED = (
    PROGRAM.replace(
        "tool_id: str, member_id: str)", "tool_id: str, member_id: str, note: str | None = None)"
    )
    .replace(TOLD, TOLD.replace("card.", "card.\n            note: Anything worth knowing."))
    .replace(
        '        return {"loan": key}',
        '        if note:\n            self.WHERE = note\n        return {"loan": key}',
    )
)


@pytest.mark.parametrize(
    ("where", "free"),
    [
        pytest.param('loans[key]["note"]', ["loans.note"], id="of a new row"),
        pytest.param('tools[tool_id]["note"]', ["tools.note"], id="of a row that is changed"),
        pytest.param('members[member_id]["note"]', [], id="of a row that is left alone"),
        pytest.param(
            'loans[key]["note"] = "lent: "\n            self.loans[key]["note"] += ""; '
            'self.loans[key]["why"]',
            [],
            id="with a trace",
        ),
    ],
)
async def test_a_class_is_watched_for_where_its_texts_go(
    where: str, free: list[str], sandbox: Sandbox
) -> None:
    source = SHED.replace("WHERE", where)
    assert "self.WHERE" in SHED
    effects: Any = {"list_tools": "query", "get_member": "query", "lend": "change"}
    environment = make_environment(
        files={"program.py": source}, tools=KINDS["stateful"].derive_tools(source, "Shed", effects)
    )
    key, member = "T1", "M1"
    lend = call("lend", tool_id=key, member_id=member)
    draft = make_draft(
        environment,
        [lend],
        "Lend Ada the saw.",
        initial_state=STATE,
        user=UserContract(opening="x"),
    )
    assert (await derive(environment, draft, sandbox)).free == free
    assert (await rule(environment, draft, [lend], sandbox)).outcome == "pass"
    noted = await rule(environment, draft, [widen(lend, note="For the hedge")], sandbox)
    assert noted.outcome == ("pass" if free else "fail")


async def test_gates_know_what_is_left_open(sandbox: Sandbox) -> None:
    """No mutant, tampering or attack is paid, and none that only words a free text otherwise counts
    as one."""
    environment = make_bees()
    path = [LEND, INSPECT, HARVEST, widen(SHARE, reason="Thanks for the winter")]
    draft = make_draft(environment, path)
    kept = draft.model_dump(
        exclude={
            "id",
            "schema_version",
            "chain",
            "changes",
            "gold_hash",
            "tell",
            "avoid",
            "variants",
            "overlap",
            "waived",
        }
    )
    rest = {
        "draft": draft.id,
        "features": {},
        "split": "train",
        "oracle_reward": 1.0,
        "do_nothing_reward": 0.0,
    }
    scenario = Scenario.model_validate(
        kept | rest | {"verifier": await derive(environment, draft, sandbox)}
    )
    assert (scenario.verifier.free, scenario.verifier.worded) == (
        ["inspections.note"],
        ["honey_shares.reason"],
    )
    posed, means = ScenarioCase(scenario, environment), GateContext(sandbox)
    for gate in (s2, s3, s4, s5, s6, s12):
        finding = await gate.check(posed, means)
        assert finding.outcome == "kept", finding


DESK_RULES = ["An agent has at most 2 open tickets of priority high at a time."]


def compose_desk(rules: list[str], **changes: Any) -> tuple[ComposedVerifier, list[CompletedCall]]:
    tools = [
        Tool(name=f"list_{name}", description="", parameters={}, effect="query")
        for name in DESK["initial_state"]
    ]
    environment = make_environment(policy_document=DESK["policy"], rules=rules, tools=tools)
    state = DESK["initial_state"]
    deeds = [
        CompletedCall(
            call(f"list_{name}"), "ok", "", [{"type": "json", "value": {name: list(rows.values())}}]
        )
        for name, rows in state.items()
    ]
    fields: dict[str, Any] = {
        "initial_state": state, "polarity": "refuse", "say": DESK["say"], "tell": DESK["tell"], "user": UserContract(opening="x"),
    }  # fmt: skip
    draft = make_draft(
        environment, [deed.call for deed in deeds], DESK["request"], **(fields | changes)
    )
    return compose_verifier(draft, environment, OracleRun([], deeds), OracleRun([], deeds)), deeds


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param(DESK["honest"], "pass", id="the recorded refusal"),
        pytest.param(DESK["say"], "pass", id="the reference path"),
        pytest.param(
            "She has Barn phones are silent and Door lock server is down already.",
            "pass",
            id="the tickets themselves",
        ),
        pytest.param("I am sorry, that is not possible.", "fail", id="a bare refusal"),
        pytest.param("She has three open tickets of priority high.", "fail", id="another number"),
        pytest.param("She has Door lock server is down already.", "fail", id="one of the tickets"),
        pytest.param(
            "Two tickets: Guest login fails, Weather mast sends nothing, Seat fee is billed twice.",
            "fail",
            id="those that do not count",
        ),
    ],
)
def test_a_refusal_tells_how_many_records_stand_against_it(said: str, outcome: str) -> None:
    composed, deeds = compose_desk(DESK_RULES)
    state = DESK["initial_state"]
    assert judge(composed.verifier, Ending(state, state, deeds, [said])).outcome == outcome
    assert judge(composed.verifier, Ending(state, state, (), [said])).outcome == "fail"


def test_records_that_no_rule_counts_are_told_one_by_one() -> None:
    composed, _ = compose_desk(["An agent who is suspended takes no ticket."])
    assert [fact.name for fact in composed.verifier.facts] == [
        fact["name"] for fact in DESK["tell"]
    ]


def test_whom_it_goes_to_may_be_told_beside_what_had_to_be_looked_up() -> None:
    desk = Fact(name="who decides", kind="text", value="head of staff")
    tell = [Fact.model_validate(DESK["tell"][0]), desk]
    composed, _ = compose_desk(
        [], polarity="escalate", tell=tell, say=f"{DESK['say']} The head of staff decides."
    )
    assert [fact.name for fact in composed.verifier.facts] == [fact.name for fact in tell]
    assert composed.refused == ()
