"""Recipe `tau2`: atoms are proved by execution, scenarios are composed by seed, and words hold what is composed."""

from collections.abc import AsyncGenerator, Callable
from itertools import combinations
from typing import Any, cast

import pytest
import pytest_asyncio
from pydantic import ValidationError

from envmill.base.settings import ROOT, Settings
from envmill.gates.codes import STAGES
from envmill.gates.w3 import find_idle, play_tests
from envmill.kinds import KINDS
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.base import Composition
from envmill.kinds.dialogue.atoms import ATOMS, find_atom_faults, read_repertoire
from envmill.kinds.dialogue.composing import list_able, select, write_reply
from envmill.kinds.dialogue.equipping import judge_repertoire
from envmill.kinds.dialogue.kind import DialogueKind
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.proving import Bench, Proved, prove
from envmill.kinds.dialogue.sides import widen_touches
from envmill.models.gateway import ModelSession
from envmill.recipes import tau2
from envmill.sandbox import Sandbox
from envmill.stages.build import assemble_environment, store_tests
from envmill.stages.context import RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.database import Touch
from schemas.dialogue import Atom, Persona, Repertoire
from schemas.dialogue_prompts import ComposedReply, DeskTestsReply, WordsReply
from schemas.environment import Environment
from schemas.run import RunConfig
from schemas.scenario import Draft
from tests.recipes.test_hooks import Noting
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")
RECIPE = tau2.make([])
KIND = cast(DialogueKind, KINDS["dialogue"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk() -> Environment:
    return await make_desk()


async def make_desk() -> Environment:
    """The embedded author's, with its atoms beside the program."""
    models = cast(ModelSession, Noting())
    seed = RECIPE.pick_seeds(RunConfig(recipe="tau2", environments=1, seed=7))[0]
    plan = await RECIPE.think_up(seed, FIRST, models)
    program = await RECIPE.write_program(plan, None, FIRST, models)
    built = assemble_environment(plan, program, models)
    repertoire = await RECIPE.write_atoms(built, None, FIRST, models)
    return equip(built, repertoire)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jail(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Sandbox]:
    home = {"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))}
    async with Sandbox.open(Settings.read(home), drivers=1) as opened:
        yield opened


def equip(environment: Environment, repertoire: Repertoire) -> Environment:
    files = {**environment.files, ATOMS: repertoire.model_dump_json()}
    return Environment.model_validate(
        environment.model_dump(mode="json") | {"id": "", "files": files}
    )


def change(desk: Environment, spoil: Callable[[dict[str, Any]], None]) -> Repertoire:
    found = read_repertoire(desk.files)
    assert found is not None
    told = found.model_dump(mode="json")
    spoil(told)
    return Repertoire.model_validate(told)


def shorten(repertoire: Repertoire, *names: str) -> Repertoire:
    """The named atoms and three that the user mends: to judge every atom of the desk takes long."""
    mended = [atom.id for atom in repertoire.atoms if not atom.unfixable and atom.id not in names]
    left = {*names, *mended[:3]}
    told = repertoire.model_dump(mode="json")
    told["atoms"] = [
        atom | {"apart": [name for name in atom["apart"] if name in left]}
        for atom in told["atoms"]
        if atom["id"] in left
    ]
    return Repertoire.model_validate(told)


def pick(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(atom for atom in told["atoms"] if atom["id"] == name)


def drop_step(name: str, tool: str) -> Callable[[dict[str, Any]], None]:
    def spoil(told: dict[str, Any]) -> None:
        atom = pick(told, name)
        atom["fix"] = [step for step in atom["fix"] if step["tool"] != tool]

    return spoil


def add_step(name: str, tool: str, place: int) -> Callable[[dict[str, Any]], None]:
    return lambda told: pick(told, name)["fix"].insert(place, {"tool": tool})


def write(name: str, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda told: pick(told, name).update(fields)


def at(field: str, value: Any, row: str = "unit/unit") -> dict[str, Any]:
    return {"row": row, "field": field, "value": value}


def mend_after_all(told: dict[str, Any]) -> None:
    """A case that is handed over though its fault was mended."""
    breaks = [at("seal", "broken"), at("cable", True)]
    write("seal_broken", breaks=breaks, mended=[at("cable", False)])(told)
    add_step("seal_broken", "pull_cable", 1)(told)


SPOILT = {
    "not_fixed": drop_step("profile_lost", "greet_profile"),
    "fix_refused": drop_step("profile_lost", "unlock_tool"),
    "policy_broken": drop_step("profile_lost", "verify_customer"),
    "idle_step": add_step("profile_lost", "plug_cable", 0),
    "fixed_early": add_step("profile_lost", "plug_cable", 5),
    "not_broken": write("profile_lost", breaks=[at("cable", True)]),
    "not_healthy": write("profile_lost", mended=[at("profile", "lost")]),
    "fixed_after_all": mend_after_all,
}


async def test_the_page_of_atoms_has_each_code() -> None:
    page = (ROOT / "docs/gates/atoms.md").read_text()
    told = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert told == [*STAGES["atoms"]]


async def judge(repertoire: Repertoire, desk: Environment, jail: Sandbox) -> set[str]:
    found = await judge_repertoire(repertoire, desk, KIND.derive_verifier, jail)
    return {one.code for one in found}


@pytest.mark.soak(area="mechanisms")
async def test_honest_atoms_hold(desk: Environment, jail: Sandbox) -> None:
    """Under `make test` one that both sides mend, one that the user mends, one that the agent
    cannot mend, and three more."""
    honest = change(desk, lambda _: None)
    handed = next(atom.id for atom in honest.atoms if atom.unfixable)
    few = shorten(honest, "profile_lost", "seal_broken", handed)
    assert await judge(honest if count(0, 1) else few, desk, jail) == set()


@pytest.mark.parametrize("code", SPOILT)
async def test_a_claim_that_does_not_hold_is_told(
    desk: Environment, jail: Sandbox, code: str
) -> None:
    spoilt = shorten(change(desk, SPOILT[code]), "profile_lost", "seal_broken")
    assert code in await judge(spoilt, desk, jail)


async def test_a_fault_of_both_sides_that_one_mends_is_told(
    desk: Environment, jail: Sandbox
) -> None:
    """The profile waits from the start: what the desk does is idle, or the user does without it."""
    spoil = write("profile_lost", breaks=[at("profile", "waiting")])
    spoilt = shorten(change(desk, spoil), "profile_lost")
    assert await judge(spoilt, desk, jail) & {"one_sided", "idle_step"}


async def test_what_the_policy_asks_for_first_makes_no_fault_of_both_sides(
    desk: Environment, jail: Sandbox
) -> None:
    """The user mends it; who calls is verified before the agent looks at the records."""
    honest = change(desk, lambda _: None)
    verify = next(
        step.model_dump()
        for step in find_atom(honest, "profile_lost").fix
        if step.tool == "verify_customer"
    )
    changes = {tool.name for tool in desk.tools if tool.effect == "change"}
    users = set(read_dialogue(desk.files).user_tools)
    alone = next(
        atom.id
        for atom in honest.atoms
        if not atom.unfixable and {step.tool for step in atom.fix} & changes <= users
    )

    def spoil(told: dict[str, Any]) -> None:
        pick(told, alone)["fix"].insert(0, verify)

    assert await judge(shorten(change(desk, spoil), alone), desk, jail) == set()


@pytest.mark.parametrize(
    ("told", "spoil"),
    [
        ("is no tool", add_step("profile_lost", "fly_away", 0)),
        ("there is not", write("profile_lost", goal="nothing")),
        ("is no record", write("profile_lost", breaks=[at("profile", "lost", "unit/other")])),
        ("breaks nothing", write("profile_lost", breaks=[at("profile", "there")])),
        ("into one `group`", write("seal_broken", breaks=[at("profile", "lost")])),
        ("is there twice", lambda told: told["atoms"].append(told["atoms"][0])),
        (
            "changes something: only looks",
            lambda told: told["begins"].append({"tool": "plug_cable"}),
        ),
    ],
)
async def test_what_an_atom_names_is_there(
    desk: Environment, told: str, spoil: Callable[[dict[str, Any]], None]
) -> None:
    faults = find_atom_faults(change(desk, spoil), read_dialogue(desk.files), desk.tools)
    assert any(told in fault for fault in faults), faults


_COMPOSED: dict[tuple[int, int], Composition | None] = {}


async def compose_once(
    desk: Environment, jail: Sandbox, number: int, turn: int = 0
) -> Composition | None:
    """For tests that only read it: each is proved by execution."""
    if (number, turn) not in _COMPOSED:
        _COMPOSED[number, turn] = await KIND.compose_scenario(desk, number, 7, turn, jail)
    return _COMPOSED[number, turn]


async def compose(desk: Environment, jail: Sandbox, number: int) -> ComposedReply:
    return read_composed(await compose_once(desk, jail, number))


def read_composed(made: Composition | None) -> ComposedReply:
    assert made is not None
    assert (made.reason, made.detail) == ("", "")
    assert isinstance(made.reply, ComposedReply)
    return made.reply


async def test_the_same_seed_composes_the_same(desk: Environment, jail: Sandbox) -> None:
    first = [await compose(desk, jail, number) for number in range(8)]
    again, other = (
        [
            read_composed(await KIND.compose_scenario(desk, number, 7, 0, jail))
            for number in (3, 4, 5)
        ],
        [
            read_composed(await KIND.compose_scenario(desk, number, 8, 0, jail))
            for number in (3, 4, 5)
        ],
    )
    assert first[3:6] == again
    assert [one.atoms for one in again] != [one.atoms for one in other]
    assert len({tuple(one.atoms) for one in first}) == len(first)
    assert {len(one.atoms) for one in first} > {2, 3, 4, 5}


async def test_both_sides_change_something_and_a_case_is_handed_over_last(
    desk: Environment, jail: Sandbox
) -> None:
    changes = {tool.name for tool in desk.tools if tool.effect == "change"}
    handing = 0
    for number in range(20):
        reply = await compose(desk, jail, number)
        assert {call.actor for call in reply.oracle if call.name in changes} == {"agent", "user"}
        places = [place for place, call in enumerate(reply.oracle) if call.name == "hand_over"]
        assert places in ([], [len(reply.oracle) - 1])
        handing += len(places)
    assert handing


async def test_words_are_held_to_what_was_composed(desk: Environment, jail: Sandbox) -> None:
    composed = await compose(desk, jail, 0)
    assert composed.hidden
    symptoms = " ".join(composed.symptoms)
    plain = "My name is Corner Bakery, the serial number is TR-5081."
    wordings = {name: ["What is the code?", *["And it?"] * 4] for name in composed.hidden}

    def find(opening: str, **fields: Any) -> str:
        told = {"opening": opening, "goals": ["It works."], "persona": "Any.", "stop": "it works"}
        reply = WordsReply.model_validate(told | {"wordings": wordings} | fields)
        return tau2.find_word_fault(reply, composed)

    assert find(f"{plain} {symptoms}") == ""
    assert "does not tell 'serial number'" in find(f"My name is Corner Bakery. {symptoms}")
    assert "told only when asked" in find(f"{plain} {symptoms} My code is kestrel-41.")
    assert "symptom" in find(plain)
    assert "fewer than five" in find(f"{plain} {symptoms}", wordings={})
    strange = {name: ["Is it raining?"] * 5 for name in composed.hidden}
    assert "by a word of its name" in find(f"{plain} {symptoms}", wordings=strange)
    for field, told in {
        "fallbacks": {"": "No. My code is kestrel-41."},
        "goals": ["It takes kestrel-41 again."],
        "stop": "kestrel-41 is accepted",
    }.items():
        assert f"`{field}` tells" in find(f"{plain} {symptoms}", **{field: told})
    honest = {"fallbacks": {"code": "Which code do you mean?"}, "stop": "my code is accepted"}
    assert find(f"{plain} {symptoms}", **honest) == ""


async def test_atoms_that_make_no_sense_together_do_not_meet(desk: Environment) -> None:
    """A car that may not be driven needs no new key."""
    dialogue = read_dialogue(desk.files)

    def list_pairs(repertoire: Repertoire) -> set[frozenset[str]]:
        drawn = (select(repertoire, dialogue, desk.tools, number, 7, 0) for number in range(120))
        ids = [[atom.id for atom in one.atoms] for one in drawn if one is not None]
        return {frozenset(pair) for one in ids for pair in combinations(one, 2)}

    pair = frozenset(("profile_lost", "seal_broken"))
    assert pair in list_pairs(change(desk, lambda _: None))
    apart = list_pairs(change(desk, write("seal_broken", apart=["profile_lost"])))
    assert pair not in apart
    assert any("seal_broken" in one for one in apart)
    faults = find_atom_faults(
        change(desk, write("seal_broken", apart=["nothing"])), dialogue, desk.tools
    )
    assert faults == ["The atom seal_broken is apart from 'nothing', which is no atom."]


async def test_a_user_is_not_able_to_do_what_their_persona_does_not(
    desk: Environment, jail: Sandbox
) -> None:
    """Who cannot pull a heavy cable does not pull it when they are told to."""
    dialogue = read_dialogue(desk.files)
    free = await compose(desk, jail, 0)
    able = {call.name for call in free.able}
    assert able
    name = sorted(able)[0]
    personas = [Persona(name="Any.", cannot=[name])]
    bound = list_able(free.oracle, dialogue, desk.tools, personas[0])
    assert {call.name for call in bound} == able - {name}


async def test_a_user_knows_their_code_though_no_call_of_the_path_takes_it(
    desk: Environment,
) -> None:
    """An agent may verify who calls before it knows that it need not."""
    repertoire, dialogue = change(desk, lambda _: None), read_dialogue(desk.files)
    selection = select(repertoire, dialogue, desk.tools, 0, 7, 0)
    assert selection is not None
    reply = write_reply(selection, repertoire.state, [], repertoire, dialogue, desk.tools)
    assert reply.hidden == repertoire.hidden
    assert set(reply.hidden) <= set(reply.facts)


SCALE = count(20, 200)


@pytest.mark.soak(area="dialogue")
async def test_one_domain_gives_many_different_scenarios(desk: Environment, jail: Sandbox) -> None:
    """Each is proved; one that does not hold leaves its place to the next."""
    made, drawn = list[ComposedReply](), 0
    for number in range(SCALE):
        for turn in range(12):
            found = await compose_once(desk, jail, number, turn)
            drawn += 1
            if found is not None and isinstance(found.reply, ComposedReply) and not found.reason:
                made.append(found.reply)
                break
    assert len(made) == SCALE
    assert drawn <= SCALE * 1.5
    assert len({tuple(one.atoms) for one in made}) >= SCALE * 0.9
    assert {len(one.atoms) for one in made} >= {2, 3, 4, 5, 6}


async def test_what_a_tool_writes_of_its_own_side_is_added_and_nothing_else(
    desk: Environment, jail: Sandbox
) -> None:
    dialogue, models = read_dialogue(desk.files), cast(ModelSession, Noting())
    tests = store_tests(desk, await RECIPE.write_tests(desk, None, FIRST, models, {}))
    forgot = {name: Touch(reads=touch.reads) for name, touch in dialogue.touches.items()}
    forgetful = dialogue.model_copy(update={"touches": forgot})
    widened = await widen_touches(forgetful, desk, tests, jail)
    assert widened.touches["verify_customer"].writes == ["customers"]
    assert await widen_touches(dialogue, desk, tests, jail) == dialogue
    sides = {**dialogue.sides, "customers": "user"}
    other = forgetful.model_copy(update={"sides": sides})
    assert (await widen_touches(other, desk, tests, jail)).touches["verify_customer"].writes == []


SPARE = {"symptom": "It is out.", "goal": "any"}


def bench_of(environment: Environment, repertoire: Repertoire, jail: Sandbox) -> Bench:
    return Bench(environment, read_dialogue(environment.files), repertoire, jail, 7)


def find_atom(repertoire: Repertoire, name: str) -> Atom:
    return next(atom for atom in repertoire.atoms if atom.id == name)


async def test_what_unlocks_a_tool_is_no_look(desk: Environment, jail: Sandbox) -> None:
    """Even where the plan of an older folder calls it a query."""
    tools = [
        tool.model_copy(update={"effect": "query"}) if tool.name == "unlock_tool" else tool
        for tool in desk.tools
    ]
    called = desk.model_copy(update={"tools": tools})
    repertoire = change(desk, lambda _: None)
    proved = await prove(
        [find_atom(repertoire, "profile_lost")], bench_of(called, repertoire, jail)
    )
    assert isinstance(proved, Proved), proved


async def test_a_step_that_another_atom_made_idle_is_left_out(
    desk: Environment, jail: Sandbox
) -> None:
    repertoire = change(desk, lambda _: None)
    lost = find_atom(repertoire, "profile_lost")
    restored = Atom.model_validate(
        SPARE
        | {
            "id": "restored",
            "breaks": [at("cable", False), at("profile", "waiting")],
            "fix": [{"tool": "plug_cable"}],
            "mended": [at("cable", True)],
        }
    )
    other = next(
        atom
        for atom in repertoire.atoms
        if not atom.unfixable and atom.id != lost.id and "verify_customer" in str(atom.fix)
    )
    bench = bench_of(desk, repertoire, jail)
    alone = await prove([lost], bench)
    assert isinstance(alone, Proved)
    assert "restore_profile" in {call.name for call in alone.path}
    met = await prove([lost, other, restored], bench)
    assert isinstance(met, Proved), met
    assert not {"restore_profile", "unlock_tool"} & {call.name for call in met.path}
    assert "greet_profile" in {call.name for call in met.path}


async def test_a_closing_change_that_atoms_share_is_made_last(
    desk: Environment, jail: Sandbox
) -> None:
    """A cable that is plugged only where the profile is there."""
    head = "def plug_cable(self)"
    (path,) = [name for name in desk.files if head in desk.files[name]]
    source = desk.files[path]
    start = source.index("\n", source.index('"""', source.index('"""', source.index(head)) + 3))
    guard = (
        '\n        if self.unit["unit"]["profile"] != "there":'
        '\n            raise Rejection("no_profile", "There is no profile.")'
    )
    files = {**desk.files, path: source[:start] + guard + source[start:]}
    closing = desk.model_copy(update={"files": files})
    repertoire = change(desk, lambda _: None)
    out = Atom.model_validate(
        SPARE
        | {
            "id": "out",
            "breaks": [at("cable", False)],
            "fix": [{"tool": "plug_cable"}],
            "mended": [at("cable", True)],
        }
    )
    lost = find_atom(repertoire, "profile_lost").model_dump(mode="json")
    lost["fix"].append({"tool": "plug_cable"})
    atoms = [out, Atom.model_validate(lost)]
    met = await prove(atoms, bench_of(closing, repertoire, jail))
    assert isinstance(met, Proved), met
    changes = [call.name for call in met.path if call.name in ("plug_cable", "greet_profile")]
    assert changes == ["greet_profile", "plug_cable"]


class Asked(Noting):
    """Keeps what authors were told was wrong."""

    last_asked = None

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def afresh(self, *told: Any) -> "Asked":
        self.told += [str(one) for one in told if isinstance(one, str)]
        return self

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **rest: Any) -> Any:
        self.told.append(rest.get("complaint", ""))
        return await super().ask(prompt, inputs, reply)


@pytest.mark.parametrize("failing", [2, 99])
async def test_a_composition_that_fails_its_proof_is_drawn_anew_and_no_words_are_asked_for_it(
    desk: Environment, jail: Sandbox, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    real = KIND.compose_scenario

    async def compose(environment: Any, number: int, seed: int, turn: int, sandbox: Any) -> Any:
        if turn < failing:
            nothing = ComposedReply(initial_state={}, request="", oracle=[])
            return Composition(nothing, "oracle_idle_step", "is mended without call 8")
        return await real(environment, number, seed, turn, sandbox)

    monkeypatch.setattr(KIND, "compose_scenario", compose)
    nothing: Any = None
    config = RunConfig(recipe="tau2", seed=7, polarities={"achieve": 1}, suspicions="keep")
    context = RunContext("r", config, nothing, RECIPE, nothing, jail)
    subject, models = Subject("x", "y", "t", ScenarioSlot(desk, 0)), Asked()
    result = await generate_draft(subject, context, cast(ModelSession, models))
    drafts = [one for one in result.records if isinstance(one, Draft)]
    counted = [one for one in result.findings if one.gate.startswith("composition_")]
    assert not any("is mended without" in told for told in models.told)
    assert {one.reason for one in counted} == {"oracle_idle_step"}
    if failing == 2:
        assert len(drafts) == 1
        assert len(counted) == 2
    else:
        assert not drafts
        assert not models.asked
        assert result.stopped_by is not None
        assert result.stopped_by.reason == "oracle_idle_step"


STARTED: dict[str, Any] = {
    "initial_state": {"lock": {"lock": {"id": "lock", "pin": "shut"}}},
    "starts": {"pin open": [{"row": "lock/lock", "field": "pin", "value": "open"}]},
    "tests": {"pull_pin": [{"name": "pin open", "refuses": {}}, {"accepts": {}}]},
}


async def test_a_test_begins_from_the_start_that_it_names() -> None:
    reply = DeskTestsReply.model_validate(STARTED)
    assert [reply.begin(place)["lock"]["lock"]["pin"] for place in (0, 1)] == ["open", "shut"]
    assert reply.initial_state["lock"]["lock"]["pin"] == "shut"


@pytest.mark.parametrize(
    ("starts", "told"),
    [
        ({"pin shut": []}, "no test has the name 'pin shut'"),
        ({"pin open": [{"row": "lock/other", "field": "pin", "value": 1}]}, "has no field"),
        ({"pin open": [{"row": "lock/lock", "field": "pun", "value": 1}]}, "has no field 'pun'"),
    ],
)
async def test_a_start_that_leads_nowhere_is_told(starts: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        DeskTestsReply.model_validate(STARTED | {"starts": starts})


async def test_a_change_that_no_test_sees_is_the_tests_fault(
    desk: Environment, jail: Sandbox
) -> None:
    """Honest programs over one healthy thing: what is already so stays so."""
    plan = await RECIPE.write_tests(desk, None, FIRST, cast(ModelSession, Noting()), {})
    assert find_idle(desk, await play_tests(desk, store_tests(desk, plan), jail)) == []
    left = [
        test
        for test in plan.tests
        if test.call.name != "plug_cable" or [call.name for call in test.setup] == ["plug_cable"]
    ]
    fewer = store_tests(desk, plan.model_copy(update={"tests": left}))
    (told,) = find_idle(desk, await play_tests(desk, fewer, jail))
    assert told.startswith("plug_cable is a change, and no test that accepts it sees it change")
    assert KIND.tests_move
