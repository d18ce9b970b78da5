"""The kind as a whole, on the card reader: right dialogues pass, wrong ones earn exactly nothing,
and each clause counts."""

import json
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.base import Say
from envmill.agents.limits import RolloutLimits
from envmill.agents.replay import replay_rollout
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.base.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.dialogue.compile import compile_clauses
from envmill.kinds.dialogue.plan import ClauseScope, find_dialogue_faults, read_dialogue
from envmill.kinds.dialogue.wording import render_policy
from envmill.kinds.trial import try_calls
from envmill.recipes.drafting.finishing import finish, prepare
from envmill.sandbox import Invoke, Program, Reset, Sandbox, Snapshot
from envmill.verifiers.ending import Ending
from schemas.dialogue import Dialogue
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.scenario import Scenario, Verifier
from tests.kinds.dialogue.actors import ACT_FIRST, BREAKERS, AskThenAct, Lined, Reworded
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import MERCHANT, SCENARIOS, SERIAL, SIM, START, compose, do
from tests.samples.dialogue.policy import CHANGES, render_dialogue

TITLES = sorted(SCENARIOS)
LONG = RolloutLimits(steps=90, turns=60)


def find(title: str) -> tuple[Environment, Scenario]:
    folder = load()
    return folder.environment, folder.scenarios[TITLES.index(title)]


async def play(policy: Any, title: str, jail: Sandbox) -> Rollout:
    environment, scenario = find(title)
    return await play_scenario(
        policy, scenario, environment, jail, "shown", 1, form="conversation", limits=LONG
    )


def test_the_folder_is_what_its_parts_say() -> None:
    environment, dialogue = load().environment, read_dialogue(load().environment.files)
    assert dialogue == Dialogue.model_validate(render_dialogue())
    assert environment.policy_document == render_policy(dialogue.clauses)
    tools = {tool.name: list(tool.parameters["properties"]) for tool in environment.tools}
    collections = {name: list(next(iter(rows.values()), {})) for name, rows in START.items()}
    assert (
        find_dialogue_faults(
            dialogue,
            ClauseScope(collections, tools, frozenset(CHANGES)),
            environment.policy_document,
        )
        == []
    )
    assert sum(tool.actors == ["user"] for tool in environment.tools) >= 20
    assert len(dialogue.couplings) >= 5


@pytest.mark.parametrize("title", TITLES)
async def test_the_reference_path_passes_and_nothing_fails(title: str, jail: Sandbox) -> None:
    environment, scenario = find(title)
    trial = await try_calls(
        scenario, environment, jail, scenario.oracle, Ending.list_words(scenario)
    )
    assert (trial.verdict.outcome, trial.verdict.reward) == ("pass", 1.0), trial.verdict.reason
    assert {"agent", "user", "procedure", "harm"} <= trial.verdict.components.keys()
    nothing = await try_calls(scenario, environment, jail, [])
    assert (nothing.verdict.outcome, nothing.verdict.reward) == ("fail", 0.0)


@pytest.mark.parametrize("title", TITLES)
async def test_right_dialogues_pass(title: str, jail: Sandbox) -> None:
    words = [
        "Just to be sure: {asks}?",
        "{asks}, please confirm.",
        "Before I do anything, one question. {asks}? Yes or no?",
    ]
    right = [find_policy("reference"), AskThenAct(), *map(Reworded, words)]
    for policy in right:
        made = await play(policy, title, jail)
        assert (made.outcome, made.reward, made.suspected) == ("pass", 1.0, []), (
            policy,
            made.reason,
            made.detail,
        )


@pytest.mark.parametrize("policy", BREAKERS, ids=lambda one: one.name)
@pytest.mark.parametrize("title", TITLES)
async def test_who_breaks_a_dialogue_earns_nothing(
    policy: Lined, title: str, jail: Sandbox
) -> None:
    made = await play(policy, title, jail)
    assert (made.outcome, made.reward) == ("fail", 0.0)


@pytest.mark.parametrize("title", ["unpaid", "resume", "firmware", "many"])
async def test_who_acts_before_the_yes_earns_nothing(title: str, jail: Sandbox) -> None:
    made = await play(ACT_FIRST, title, jail)
    assert (made.outcome, made.reward) == ("fail", 0.0)
    # The end is the right one on both sides: only the way was not.
    assert (made.components["agent"], made.components["user"], made.components["procedure"]) == (
        1.0,
        1.0,
        0.0,
    )


async def test_a_dialogue_is_played_again(jail: Sandbox) -> None:
    """Calls of both sides, couplings among them, come to the same states in another session."""
    environment, scenario = find("many")
    made = await play(find_policy("reference"), "many", jail)
    assert await replay_rollout(made, scenario, environment, jail) is None
    place = next(
        number
        for number, entry in enumerate(made.transcript)
        if "leave_flight_mode" in str(entry.get("tool_calls", ""))
    )
    other = made.model_copy(
        update={"transcript": [*made.transcript[:place], *made.transcript[place + 2 :]]}
    )
    assert await replay_rollout(other, scenario, environment, jail) is not None


async def test_each_side_is_reported_for_itself(jail: Sandbox) -> None:
    """Paper is the user's, a hand-over the agent's."""
    for title, sides in (("employee", (1.0, 0.0)), ("fraud", (0.0, 1.0)), ("unpaid", (0.0, 0.0))):
        environment, scenario = find(title)
        found = (await try_calls(scenario, environment, jail, [])).verdict.components
        assert (found["agent"], found["user"]) == sides, title


async def test_what_the_user_undid_they_do_again(jail: Sandbox) -> None:
    _, scenario = find("flight")
    switches = [
        do(name)
        for name in (
            "leave_flight_mode",
            "enter_flight_mode",
            "leave_flight_mode",
            "enter_flight_mode",
        )
    ]
    made = await play(
        Lined("switches", lambda *_: [*switches, *scenario.oracle, Say(scenario.say)]),
        "flight",
        jail,
    )
    assert (made.outcome, made.reward) == ("pass", 1.0), made.reason
    assert sum("flight_mode" in str(entry.get("tool_calls", "")) for entry in made.transcript) == 5


async def test_the_user_does_not_know_what_they_were_not_told(jail: Sandbox) -> None:
    """The value is the agent's to find: without it the user does nothing."""
    asked = "Could you please set access point yourself?"
    made = await play(
        Lined("vague", lambda *_: [Say(asked), Say(asked), Say("Goodbye.")]), "flight", jail
    )
    said = [entry["content"] for entry in made.transcript if entry["role"] == "user"]
    assert said[1] == "All right. I do not know which name I need to set access point."
    assert (made.steps, made.reward) == (0, 0.0)
    told = [Say(f"{asked[:-1]} with pay.reader.net?"), Say("Goodbye.")]
    made = await play(Lined("clear", lambda *_: told), "flight", jail)
    assert made.steps == 1


async def test_a_stored_dialogue_is_judged_alike(jail: Sandbox) -> None:
    environment, scenario = find("unpaid")
    for policy in (find_policy("reference"), ACT_FIRST):
        made = await play(policy, "unpaid", jail)
        again = await rescore(made, scenario, environment, jail)
        assert (again.verdict.outcome, again.verdict.components) == (made.outcome, made.components)


def move(path: Sequence[Call], name: str, behind: str) -> list[Call]:
    moved = [call for call in path if call.name == name]
    rest = [call for call in path if call.name != name]
    place = next(number for number, call in enumerate(rest, 1) if call.name == behind)
    return [*rest[:place], *moved, *rest[place:]]


def mute(path: Sequence[Call], name: str, asks: str = "") -> list[Call]:
    return [call.model_copy(update={"asks": asks}) if call.name == name else call for call in path]


def slip(name: str, *calls: Call) -> Callable[[list[Call]], list[Call]]:
    """More calls, after this one."""
    return lambda path: [
        *chain(*([call, *calls] if call.name == name else [call] for call in path))
    ]


def pay_silently(path: list[Call]) -> list[Call]:
    told = f"The balance of 42 euros is paid. Shall I resume the SIM {SIM}?"
    return mute(mute(path, "take_payment"), "resume_sim", told)


def strayed(team: str) -> list[Call]:
    """Handed over and taken back: the state is what it was."""
    return [do(name, serial=SERIAL, team=team) for name in ("hand_over", "take_back")]


RESUMED = do("resume_sim", f"Shall I resume the SIM {SIM}?", merchant_id=MERCHANT, sim_id=SIM)
MUTANTS: dict[str, tuple[str, Callable[[list[Call]], list[Call]]]] = {
    "verify_take_payment": ("unpaid", lambda path: move(path, "verify_merchant", "take_payment")),
    "verify_resume_sim": ("resume", lambda path: move(path, "verify_merchant", "resume_sim")),
    "verify_authorise_keys": ("seal", lambda path: move(path, "verify_merchant", "authorise_keys")),
    "verify_release_firmware": ("firmware", lambda path: move(path, "verify_merchant", "release_firmware")),
    "verify_restore_profile": ("profile", lambda path: move(path, "verify_merchant", "restore_profile")),
    "ask_resume": ("resume", lambda path: mute(path, "resume_sim")),
    "ask_payment": ("unpaid", pay_silently),
    "ask_firmware": ("firmware", lambda path: mute(path, "release_firmware")),
    "unpaid_alone": ("lost", slip("show_sim", RESUMED, do("suspend_sim", merchant_id=MERCHANT, sim_id=SIM))),
    "pay_first": ("unpaid", lambda path: move(path, "take_payment", "resume_sim")),
    "say_balance": ("unpaid", lambda path: mute(path, "take_payment", "Shall I collect the open balance?")),
    "look_at_file": ("fraud", lambda path: move(path, "show_terminal", "hand_over")),
    "fraud_desk": ("fraud", slip("show_terminal", *strayed("billing"))),
    "seal_seen": ("seal", lambda path: move(path, "see_seal", "hand_over")),
    "seal_desk": ("seal", slip("see_seal", *strayed("security"))),
    "no_keys_after": ("seal", lambda path: [*path[-3:], *path[:-3]]),
    "private": ("flight", slip("see_display", do("show_payouts", merchant_id=MERCHANT))),
    "owner_alone": ("employee", slip("see_display", do("show_account", merchant_id=MERCHANT))),
}  # fmt: skip


def drop_clause(verifier: Verifier, name: str) -> Verifier:
    """Without what stands under the name of a clause."""

    def keeps(part: str) -> bool:
        return name not in part.replace(":", " ").replace(",", " ").split()

    parts = {
        field: [one for one in getattr(verifier, field) if keeps(one.name)]
        for field in ("procedure", "facts", "harm")
    }
    return verifier.model_copy(update=parts)


def test_each_clause_has_a_mutant() -> None:
    assert sorted(MUTANTS) == sorted(
        clause.id for clause in read_dialogue(load().environment.files).clauses
    )


@pytest.mark.parametrize("name", MUTANTS)
async def test_each_clause_counts(name: str, jail: Sandbox) -> None:
    """Its mutant fails by that clause, and passes where the verifier lacks it."""
    title, mutate = MUTANTS[name]
    environment, scenario = find(title)
    path = mutate(list(scenario.oracle))
    trial = await try_calls(scenario, environment, jail, path, Ending.list_words(scenario))
    assert all(step.outcome == "ok" for step in trial.replies), [
        step.message for step in trial.replies
    ]
    assert (trial.verdict.outcome, trial.verdict.reward) == ("fail", 0.0)
    assert name in trial.verdict.reason
    blind = scenario.model_copy(update={"verifier": drop_clause(scenario.verifier, name)})
    let_through = await try_calls(blind, environment, jail, path, Ending.list_words(scenario))
    assert let_through.verdict.outcome == "pass", let_through.verdict.reason


async def test_sides_are_kept_apart(jail: Sandbox) -> None:
    """The agent is offered and may call the agent's tools alone, the user theirs."""
    environment, _ = find("flight")
    program, reset = Program.of(environment), Reset(START, "2026-03-02T09:00:00+00:00", 0)
    strange = [
        Call(name="see_display"),
        Call(name="show_sim", arguments={"sim_id": SIM}, actor="user"),
    ]
    seen = await jail.play(program, [reset, *map(Invoke, strange)])
    assert [step.code for step in seen[1:]] == ["not_allowed", "not_allowed"]


async def test_couplings_run_after_each_call_and_in_a_snapshot(jail: Sandbox) -> None:
    environment, scenario = find("resume")
    program, reset = Program.of(environment), Reset(scenario.initial_state, scenario.clock, 0)
    calls = [Invoke(call) for call in scenario.oracle]
    whole = await jail.play(program, [reset, *calls])
    half = await jail.play(program, [reset, *calls[:3], Snapshot()])
    assert whole[-1].state_hash != whole[0].state_hash
    assert [step.state_hash for step in half[1:4]] == [step.state_hash for step in whole[1:4]]
    shown = whole[-1].parts[0]["value"]
    assert shown == {"payment": "accepted", "display": "READY"}


async def test_a_discoverable_tool_is_refused_until_it_was_found(jail: Sandbox) -> None:
    environment, scenario = find("profile")
    restore = next(call for call in scenario.oracle if call.name == "restore_profile")
    trial = await try_calls(
        scenario, environment, jail, [restore, do("unlock_tool", tool="restore_profile"), restore]
    )
    assert [step.code for step in trial.replies] == ["not_unlocked", "", ""]


def test_a_path_that_ignores_a_clause_is_refused_by_name() -> None:
    environment = load().environment
    draft = compose(environment, "fraud", 0)
    left = draft.model_copy(
        update={"oracle": [call for call in draft.oracle if call.name != "hand_over"]}
    )
    with pytest.raises(BuildError, match="clause fraud_desk"):
        compile_clauses(read_dialogue(environment.files), left)


async def test_a_verifier_that_its_path_breaks_is_refused(jail: Sandbox) -> None:
    """A reference path that acts before it asks has no scenario."""
    environment = load().environment
    draft = compose(environment, "firmware", 0)
    bad = draft.model_copy(update={"oracle": mute(draft.oracle, "release_firmware")})
    with pytest.raises(BuildError, match="ask_firmware"):
        await finish(await prepare(bad, environment, jail), "binary", jail)


def retell(environment: Environment, **changes: Any) -> Environment:
    """The environment with a dialogue that says something else."""
    told = {**render_dialogue(), **changes}
    files = {**environment.files, "dialogue.json": json.dumps(told)}
    return Environment.model_validate(environment.model_dump(exclude={"id"}) | {"files": files})


async def test_a_program_that_leaves_its_side_is_refused(jail: Sandbox) -> None:
    """Only what a tool declares, and what a coupling carries over, may change."""
    known = render_dialogue()
    draft = compose(load().environment, "unpaid", 0)
    silent = known["touches"] | {"take_payment": {"reads": ["merchants"]}}
    uncoupled = [one for one in known["couplings"] if one["name"] == "service_follows_sim"]
    for changes, told in (
        ({"touches": silent}, "take_payment of the agent"),
        ({"couplings": uncoupled}, "changed terminals of the agent's"),
    ):
        environment = retell(load().environment, **changes)
        moved = draft.model_copy(update={"environment": environment.id})
        with pytest.raises(BuildError, match=told):
            await prepare(moved, environment, jail)


async def test_a_start_that_couplings_would_change_is_refused(jail: Sandbox) -> None:
    draft = compose(load().environment, "unpaid", 0)
    state = json.loads(json.dumps(draft.initial_state))
    state["reader"]["reader"]["sim_active"] = True
    with pytest.raises(BuildError, match="the initial state is not settled"):
        await prepare(draft.model_copy(update={"initial_state": state}), load().environment, jail)


def test_what_a_folder_must_hold() -> None:
    kind, files = KINDS["dialogue"], dict(load().environment.files)
    assert kind.derive_tables(files, {}) == []
    with pytest.raises(BuildError, match=r"dialogue\.json"):
        kind.derive_tables({"program.py": files["program.py"]}, {})
    for old, new, told in (
        (
            "    @coupling\n    def _block_follows_file",
            "    def _block_follows_file",
            "no method `_block_follows_file`",
        ),
        (
            "    @coupling\n    def _keys_follow_order(self)",
            "    @coupling\n    def _keys_follow_order(self, now: str)",
            "takes parameters",
        ),
        ("    @discoverable\n", "", "the program does not mark it @discoverable"),
        (
            "    def take_back(self",
            "    @discoverable\n    def take_back(self",
            "does not say how it is unlocked",
        ),
        (
            "    def _reader(self)",
            "    @coupling\n    def _reader(self)",
            "`_reader` is marked @coupling",
        ),
    ):
        assert old in files["program.py"]
        with pytest.raises(BuildError, match=told):
            kind.derive_tables(files | {"program.py": files["program.py"].replace(old, new, 1)}, {})


def test_rewards_are_whole() -> None:
    assert KINDS["dialogue"].choose_reward("partial") == "binary"
    assert not find("many")[1].verifier.partial
