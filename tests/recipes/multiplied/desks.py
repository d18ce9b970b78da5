"""Operators over dialogues: plans of two sides, policy documents, marks and couplings of programs,
atoms, conversations, verifiers made of clauses, and a user's words."""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from envmill.gates.base import EnvironmentCase, ScenarioCase
from envmill.kinds.dialogue.atoms import ATOMS, read_repertoire
from envmill.kinds.dialogue.compile import is_about, read_clauses
from envmill.kinds.dialogue.plan import FILE, read_dialogue
from envmill.kinds.dialogue.wording import render_policy
from schemas.dialogue import Dialogue, PolicyClause, Repertoire
from schemas.dialogue_prompts import ComposedReply, WordsReply
from schemas.environment import Blueprint, Call, Environment
from schemas.scenario import Scenario
from tests.recipes.multiplied.operators import SOURCE, Dice, Operator, shuffle

Told = dict[str, Any]
Places = Iterator[Callable[[], None]]
"""What can be done to a copy, place by place."""
PARTS = ("procedure", "facts", "harm")
_NOWHERE = "of_nobody"


def _vary(told: Any, find: Callable[[Any], Places], dice: Dice) -> Iterator[Any]:
    """The thing changed at one place, for each place, in an order of the dice."""
    for place in shuffle(range(sum(1 for _ in find(told))), dice):
        changed = copy.deepcopy(told)
        list(find(changed))[place]()
        yield changed


def _put(told: Any, name: Any, value: Any) -> Callable[[], None]:
    return lambda: told.__setitem__(name, value)


def _add(rows: list[Any], row: Any) -> Callable[[], None]:
    return lambda: rows.append(row)


# Plans


def _of_plan(
    find: Callable[[Told], Places],
) -> Callable[[Blueprint, Dice], Iterator[Blueprint]]:
    def vary(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
        told = read_dialogue(plan.files).model_dump(mode="json")
        for changed in _vary(told, find, dice):
            text = Dialogue.model_validate(changed).model_dump_json(indent=1)
            yield plan.model_copy(update={"files": plan.files | {FILE: text}})

    return vary


def _forbid_what_is_asked(told: Told) -> Places:
    for one in told["clauses"]:
        for call in [one["first"]] if one["first"] else []:
            if call["actor"] == "agent":
                never = {"id": "never_that", "effect": "forbid", "call": {"name": call["name"]}}
                yield _add(told["clauses"], never)


def _ask_both_ways(told: Told) -> Places:
    for one in told["clauses"]:
        if one["first"] and one["first"]["actor"] == "agent":
            turned = {"id": "turned", "call": one["first"], "first": one["call"]}
            yield _add(told["clauses"], one | turned)


def _never_apply(told: Told) -> Places:
    for one in told["clauses"]:
        for each in one["when"]:
            if each["on"] == "state" and each["op"] in ("is", "is_not"):
                other = "is" if each["op"] == "is_not" else "is_not"
                yield _add(one["when"], each | {"op": other})


def _name_no_tool(told: Told) -> Places:
    for one in told["clauses"]:
        yield _put(one["call"], "name", f"{one['call']['name']}_{_NOWHERE}")


def _name_no_field(told: Told) -> Places:
    for one in told["clauses"]:
        for each in [*one["when"], *([one["told"]] if one["told"] else [])]:
            if "field" in each:
                yield _put(each, "field", f"{each['field']}_{_NOWHERE}")


def _say_twice(told: Told) -> Places:
    for one in told["clauses"]:
        yield _add(told["clauses"], one | {"id": "again"})


def _bind_the_user(told: Told) -> Places:
    for one in told["clauses"]:
        for name in told["user_tools"][:1]:
            yield _put(one, "call", {"name": name, "arguments": {}, "actor": "user"})


def _need_no_more(told: Told) -> Places:
    """A tool of the user that nothing needs any more."""
    asked = {one["first"]["name"] for one in told["clauses"] if one["first"]}
    for name in told["user_tools"]:
        if name not in asked and any(name in goal["needs"] for goal in told["goals"]):

            def drop(name: str = name) -> None:
                for goal in told["goals"]:
                    goal["needs"] = [one for one in goal["needs"] if one != name]

            yield drop


def _be_still(told: Told) -> Places:
    for one in told["couplings"]:
        yield _put(one, "reads", [])


def _stay_on_one_side(told: Told) -> Places:
    for one in told["couplings"]:
        yield lambda one=one: one.update(reads=one["reads"][:1], writes=one["reads"][:1])


def _refuse_what_is_needed(told: Told) -> Places:
    for persona in told["personas"]:
        for goal in told["goals"]:
            if not persona["goals"] or goal["name"] in persona["goals"]:
                yield _put(persona, "cannot", [*persona["cannot"], goal["needs"][-1]])


def _want_what_is_not_there(told: Told) -> Places:
    for persona in told["personas"]:
        yield _put(persona, "goals", [*persona["goals"], "it flies"])
    for goal in told["goals"]:
        yield _add(goal["needs"], f"tool_{_NOWHERE}")


def _reach_over(told: Told) -> Places:
    for tool, touch in told["touches"].items():
        own = "user" if tool in told["user_tools"] else "agent"
        other = next(name for name, side in told["sides"].items() if side != own)
        yield _put(touch, "reads", [*touch["reads"], other])


def _lock_for_ever(told: Told) -> Places:
    for name, found in told["discoverable"].items():
        yield _put(found["by"], "name", name)
        yield _put(found["by"], "name", f"key_{_NOWHERE}")


def _turn_actor(told: Told) -> Places:
    for one in told["clauses"]:
        for call in (one["call"], one["first"]):
            if call:
                yield _put(call, "actor", "user" if call["actor"] == "agent" else "agent")


def reorder_plan(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    """What has no order: clauses, goals, personas, names of collections and tools."""
    for _ in range(3):
        told = read_dialogue(plan.files)
        changes: Told = {
            name: shuffle(getattr(told, name), dice) for name in ("clauses", "goals", "personas")
        }
        changes["touches"] = dict(shuffle(list(told.touches.items()), dice))
        text = told.model_copy(update=changes).model_dump_json()
        yield plan.model_copy(update={"files": plan.files | {FILE: text}})


def rename_clauses(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
    told = read_dialogue(plan.files)
    for clause in shuffle(told.clauses, dice):
        clauses = [
            one.model_copy(update={"id": f"rule_{one.id}"}) if one is clause else one
            for one in told.clauses
        ]
        text = told.model_copy(update={"clauses": clauses}).model_dump_json()
        yield plan.model_copy(update={"files": plan.files | {FILE: text}})


def _of_document(
    find: Callable[[list[str]], Places],
) -> Callable[[Blueprint, Dice], Iterator[Blueprint]]:
    def vary(plan: Blueprint, dice: Dice) -> Iterator[Blueprint]:
        lines = render_policy(read_dialogue(plan.files).clauses).splitlines()
        for changed in _vary(lines, find, dice):
            yield plan.model_copy(update={"policy_document": "\n".join([*changed, ""])})

    return vary


def _list_sentences(lines: list[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if line[:1].isdigit()]


def _drop_sentence(lines: list[str]) -> Places:
    for place in _list_sentences(lines):
        yield lambda place=place: lines.__delitem__(place)


def _turn_sentence(lines: list[str]) -> Places:
    for place in _list_sentences(lines):
        for old, new in (("Before the", "After the"), ("Never", "Always"), (" make ", " avoid ")):
            if old in lines[place]:
                yield _put(lines, place, lines[place].replace(old, new, 1))


def _make_up_sentence(lines: list[str]) -> Places:
    for words in ("Refund the fee to whoever asks.", "Never tell anybody the time."):
        yield _add(lines, f"{len(_list_sentences(lines)) + 1}. {words}")


def _space_out(lines: list[str]) -> Places:
    yield _add(lines, "")


PLANS = (
    *(
        Operator("sides", name, False, _of_plan(find))
        for name, find in {
            "forbidden_and_asked": _forbid_what_is_asked,
            "each_before_the_other": _ask_both_ways,
            "never_applies": _never_apply,
            "unknown_tool": _name_no_tool,
            "unknown_field": _name_no_field,
            "clause_twice": _say_twice,
            "user_bound": _bind_the_user,
            "idle_tool": _need_no_more,
            "still_coupling": _be_still,
            "coupling_of_one_side": _stay_on_one_side,
            "goal_out_of_reach": _refuse_what_is_needed,
            "unknown_goal_or_need": _want_what_is_not_there,
            "reaches_over": _reach_over,
            "never_unlocked": _lock_for_ever,
            "actor_turned": _turn_actor,
        }.items()
    ),
    Operator("document", "clause_left_out", False, _of_document(_drop_sentence)),
    Operator("document", "clause_turned", False, _of_document(_turn_sentence)),
    Operator("document", "clause_made_up", False, _of_document(_make_up_sentence)),
    Operator("sides", "reordered", True, reorder_plan),
    Operator("sides", "clause_renamed", True, rename_clauses),
    Operator("document", "blank_lines", True, _of_document(_space_out)),
)


# Programs


def _of_program(
    find: Callable[[ast.ClassDef], Places],
) -> Callable[[EnvironmentCase, Dice], Iterator[EnvironmentCase]]:
    def vary(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
        source = built.environment.files[SOURCE]
        tree = ast.parse(source)
        for changed in _vary(tree, lambda one: find(_find_class(one)), dice):
            yield _refile(built, SOURCE, ast.unparse(ast.fix_missing_locations(changed)) + "\n")

    return vary


def _find_class(tree: ast.Module) -> ast.ClassDef:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return max(classes, key=lambda one: len(one.body))


def _refile(built: EnvironmentCase, path: str, text: str) -> EnvironmentCase:
    files = built.environment.files | {path: text}
    told = built.environment.model_dump() | {"id": "", "files": files}
    return replace(built, environment=Environment.model_validate(told))


def _list_marked(body: ast.ClassDef, mark: str) -> Iterator[ast.FunctionDef]:
    for node in body.body:
        if isinstance(node, ast.FunctionDef) and any(
            ast.unparse(one).startswith(mark) for one in node.decorator_list
        ):
            yield node


def _lose_coupling(body: ast.ClassDef) -> Places:
    for node in _list_marked(body, "coupling"):
        yield lambda node=node: node.body.insert(0, ast.Return())


def _unmark(mark: str) -> Callable[[ast.ClassDef], Places]:
    def find(body: ast.ClassDef) -> Places:
        for node in _list_marked(body, mark):
            left = [one for one in node.decorator_list if not ast.unparse(one).startswith(mark)]
            yield lambda node=node, left=left: setattr(node, "decorator_list", left)

    return find


PROGRAMS = (
    Operator("program", "coupling_lost", False, _of_program(_lose_coupling)),
    Operator("marks", "coupling_unmarked", False, _of_program(_unmark("coupling"))),
    Operator("marks", "side_unmarked", False, _of_program(_unmark("actors"))),
    Operator("marks", "lock_unmarked", False, _of_program(_unmark("discoverable"))),
)


# Atoms


def _of_atoms(
    find: Callable[[Told, Environment], Places],
) -> Callable[[EnvironmentCase, Dice], Iterator[EnvironmentCase]]:
    def vary(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
        repertoire = read_repertoire(built.environment.files)
        assert repertoire is not None
        told = repertoire.model_dump(mode="json")
        for changed in _vary(told, lambda one: find(one, built.environment), dice):
            yield _refile(built, ATOMS, Repertoire.model_validate(changed).model_dump_json())

    return vary


def _list_changing(atom: Told, environment: Environment) -> list[int]:
    changing = {tool.name for tool in environment.tools if tool.effect == "change"}
    return [place for place, step in enumerate(atom["fix"]) if step["tool"] in changing]


def _mendable(told: Told) -> list[Told]:
    return [atom for atom in told["atoms"] if not atom["unfixable"]]


def _shorten(told: Told, environment: Environment) -> Places:
    for atom in _mendable(told):
        for place in _list_changing(atom, environment)[-1:] if len(atom["fix"]) > 1 else ():
            yield lambda fix=atom["fix"], place=place: fix.__delitem__(place)


def _break_nothing(told: Told, _: Environment) -> Places:
    for atom in told["atoms"]:
        kept = [
            one | {"value": told["state"][collection][key][one["field"]]}
            for one in atom["breaks"]
            for collection, _, key in [one["row"].partition("/")]
        ]
        yield _put(atom, "breaks", kept)


def _ask_nothing(told: Told, environment: Environment) -> Places:
    clauses = read_dialogue(environment.files).clauses
    bound = {clause.call.name for clause in clauses if clause.effect == "confirm"}
    for step in (step for atom in told["atoms"] for step in atom["fix"]):
        if step["asks"] and step["tool"] in bound:
            yield _put(step, "asks", "")


def _wrong_argument(told: Told, _: Environment) -> Places:
    for step in (step for atom in told["atoms"] for step in atom["fix"]):
        for name in step["arguments"]:
            yield _put(step["arguments"], name, _NOWHERE)


def _unknown_step(told: Told, _: Environment) -> Places:
    for step in (step for atom in told["atoms"] for step in atom["fix"]):
        yield _put(step, "tool", f"{step['tool']}_{_NOWHERE}")


def _call_unfixable(told: Told, _: Environment) -> Places:
    for atom in told["atoms"]:
        yield _put(atom, "unfixable", not atom["unfixable"])


def _be_unhealthy(told: Told, _: Environment) -> Places:
    for atom in told["atoms"]:
        one, other = atom["mended"][0], {"is": "is_not", "is_not": "is"}
        if one["op"] in other:
            yield _put(one, "op", other[one["op"]])


def _know_nothing(told: Told, _: Environment) -> Places:
    for name in told["hidden"]:
        yield lambda name=name: told["facts"].pop(name)


def _begin_with_a_change(told: Told, environment: Environment) -> Places:
    for atom in told["atoms"]:
        for place in _list_changing(atom, environment)[:1]:
            yield _add(told["begins"], atom["fix"][place])


def _forget_first(told: Told, environment: Environment) -> Places:
    """What a clause wants before a call of the fix, and the atom alone does."""
    for atom in told["atoms"]:
        for place, step in enumerate(atom["fix"]):
            if _is_first(step, atom["fix"][place + 1 :], told, environment):
                yield lambda fix=atom["fix"], place=place: fix.__delitem__(place)


def _is_first(step: Told, later: list[Told], told: Told, environment: Environment) -> bool:
    clauses = [one for one in read_dialogue(environment.files).clauses if one.first]
    known = {one["tool"] for one in told["begins"]} | {one["tool"] for one in later}
    names = {one["tool"] for one in later}
    return step["tool"] not in known and any(
        one.first.name == step["tool"] and one.call.name in names and not one.when
        for one in clauses
        if one.first
    )


def reorder_atoms(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    """Each is proved alone, and rows have no order."""
    repertoire = read_repertoire(built.environment.files)
    assert repertoire is not None
    for _ in range(2):
        state: Any = {
            name: dict(shuffle(list(rows.items()), dice)) if isinstance(rows, dict) else rows
            for name, rows in repertoire.state.items()
        }
        changes = {"atoms": shuffle(repertoire.atoms, dice), "state": state}
        yield _refile(built, ATOMS, repertoire.model_copy(update=changes).model_dump_json())


def _rename_atom(told: Told, _: Environment) -> Places:
    for atom in told["atoms"]:
        yield _put(atom, "id", f"case_{atom['id']}")


def _pad_atom(told: Told, _: Environment) -> Places:
    for atom in told["atoms"]:
        yield _put(atom, "symptom", f"{atom['symptom']} It has been so since this morning.")


ATOM_OPERATORS = (
    *(
        Operator("atoms", name, False, _of_atoms(find))
        for name, find in {
            "fix_too_short": _shorten,
            "breaks_nothing": _break_nothing,
            "not_asked": _ask_nothing,
            "wrong_argument": _wrong_argument,
            "unknown_step": _unknown_step,
            "fixable_turned": _call_unfixable,
            "unhealthy": _be_unhealthy,
            "fact_unknown": _know_nothing,
            "begins_with_a_change": _begin_with_a_change,
            "first_left_out": _forget_first,
        }.items()
    ),
    Operator("atoms", "reordered", True, reorder_atoms),
    Operator("atoms", "renamed", True, _of_atoms(_rename_atom)),
    Operator("atoms", "padded", True, _of_atoms(_pad_atom)),
)
PROVED = (*PROGRAMS[:1], *ATOM_OPERATORS)
"""Those that the proofs of the atoms are asked about."""


# Conversations, users and verifiers


def _of_scenario(
    find: Callable[[Told, Dialogue], Places],
) -> Callable[[ScenarioCase, Dice], Iterator[ScenarioCase]]:
    def vary(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
        told, dialogue = _tell(posed.scenario), read_dialogue(posed.environment.files)
        for changed in _vary(told, lambda one: find(one, dialogue), dice):
            yield replace(posed, scenario=Scenario.model_validate(changed))

    return vary


def _tell(scenario: Scenario) -> Told:
    """Without its id, and with the parts that are written where there is something in them."""
    verifier, user = scenario.verifier.model_dump(), scenario.user.model_dump()
    empty_user: Told = {"able": [], "reports": [], "wordings": {}, "hidden": []}
    return scenario.model_dump() | {
        "id": "",
        "verifier": {part: [] for part in PARTS} | verifier,
        "user": empty_user | user,
        "oracle": [{"asks": ""} | call.model_dump() for call in scenario.oracle],
    }


def _list_bound(told: Told, dialogue: Dialogue, effect: str) -> Iterator[tuple[PolicyClause, int]]:
    """Calls of the path that a clause binds whatever the state."""
    for clause in dialogue.clauses:
        for place, call in enumerate(told["oracle"]):
            free = clause.call.model_copy(update={"arguments": {}})
            if clause.effect == effect and not clause.when and is_about(free, Call(**call)):
                yield clause, place


def _lose_question(told: Told, dialogue: Dialogue) -> Places:
    for _, place in _list_bound(told, dialogue, "confirm"):
        yield _put(told["oracle"][place], "asks", "")


def _ask_vaguely(told: Told, dialogue: Dialogue) -> Places:
    for clause, place in _list_bound(told, dialogue, "confirm"):
        if clause.names:
            yield _put(told["oracle"][place], "asks", "Shall I go on with it now?")


def _move_first(told: Told, dialogue: Dialogue) -> Places:
    for clause, place in _list_bound(told, dialogue, "first"):
        first = [
            number
            for number, call in enumerate(told["oracle"][:place])
            if clause.first and call["name"] == clause.first.name
        ]
        if len(first) == 1:

            def move(one: int = first[0], two: int = place) -> None:
                told["oracle"].insert(two, told["oracle"].pop(one))

            yield move


def _stay_silent(told: Told, _: Dialogue) -> Places:
    """What is to be told is told nowhere."""
    for fact in told["verifier"]["facts"]:

        def hush(words: tuple[Any, ...] = (fact["value"], *fact["also"])) -> None:
            for one, name in [(told, "say"), *((call, "asks") for call in told["oracle"])]:
                for word in words:
                    one[name] = re.sub(re.escape(str(word)), "…", one[name] or "", flags=re.I)

        yield hush


def _keep_the_case(told: Told, dialogue: Dialogue) -> Places:
    tools = {clause.call.name for clause in dialogue.clauses if clause.effect == "hand_over"}
    for place, call in enumerate(told["oracle"]):
        if call["name"] in tools:
            yield lambda place=place: told["oracle"].__delitem__(place)


def _change_sides(told: Told, _: Dialogue) -> Places:
    for call in told["oracle"]:
        yield _put(call, "actor", "user" if call["actor"] == "agent" else "agent")


def _ask_otherwise(told: Told, _: Dialogue) -> Places:
    for words in ("Just to be sure: {}", "Before I do anything, one question. {} Yes or no?"):

        def reword(words: str = words) -> None:
            for call in told["oracle"]:
                call["asks"] = words.format(call["asks"]) if call["asks"] else ""

        yield reword


def _look_first(told: Told, _: Dialogue) -> Places:
    """What the user can see is asked for before all else."""
    looks = [call for call in told["user"]["able"] if call["name"] in told["user"]["reports"]]
    for look in looks:
        yield lambda look=look: told["oracle"].insert(0, look)


def _tell_hidden(told: Told, _: Dialogue) -> Places:
    user = told["user"]
    for name in user["hidden"]:
        words = f" By the way, my {name} is {user['facts'][name]}."
        yield _put(user, "opening", user["opening"] + words)


def _forget_hidden(told: Told, _: Dialogue) -> Places:
    """The user knows nothing of what only they could tell."""
    for name in told["user"]["hidden"]:

        def forget(name: str = name) -> None:
            told["user"]["facts"].pop(name)
            told["user"]["hidden"].remove(name)
            told["user"]["wordings"].pop(name, None)

        yield forget


def _be_somebody_else(told: Told, _: Dialogue) -> Places:
    yield _put(told["user"], "persona", "A pensioner who takes the time to answer.")


def _lose_clause(told: Told, _: Dialogue) -> Places:
    verifier = told["verifier"]
    ids = {one for part in PARTS for each in verifier[part] for one in read_clauses(each["name"])}
    for clause in sorted(ids):

        def lose(clause: str = clause) -> None:
            for part in PARTS:
                verifier[part] = [
                    each for each in verifier[part] if clause not in read_clauses(each["name"])
                ]

        yield lose


def _lose_predicate(told: Told, _: Dialogue) -> Places:
    for part in ("procedure", "harm"):
        for place in range(len(told["verifier"][part])):
            yield lambda rows=told["verifier"][part], place=place: rows.__delitem__(place)


def _weaken(told: Told, _: Dialogue) -> Places:
    """A question may name nothing, anything is named, the order does not matter."""
    for one in (*told["verifier"]["procedure"], *told["verifier"]["harm"]):
        if one["op"] == "agreed" and one.get("names"):
            yield _put(one, "names", [])
        if one["op"] == "only":
            yield _put(one, "among", [one["call"] | {"arguments": {}}])
        if one["op"] == "before":
            yield lambda one=one: one.update(first=one["call"], call=one["first"])


def _reorder_parts(told: Told, _: Dialogue) -> Places:
    for part in ("procedure", "harm"):
        yield lambda part=part: told["verifier"][part].reverse()


def add_clause(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """The policy forbids more than the verifier knows of."""
    dialogue = read_dialogue(posed.environment.files)
    made = {call.name for call in posed.scenario.oracle}
    for tool in shuffle([one for one in posed.environment.tools if one.effect == "change"], dice):
        if tool.name not in made | set(dialogue.user_tools):
            told = {"id": "added", "effect": "forbid", "call": {"name": tool.name}}
            clauses = [*dialogue.clauses, PolicyClause.model_validate(told)]
            text = dialogue.model_copy(update={"clauses": clauses}).model_dump_json()
            yield _repolicy(posed, text)


def rename_everywhere(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """A clause, in the policy and in the verifier."""
    dialogue = read_dialogue(posed.environment.files)
    for clause in shuffle(dialogue.clauses, dice)[:3]:
        text = dialogue.model_dump_json().replace(f'"{clause.id}"', f'"rule_{clause.id}"')
        told = _tell(posed.scenario)
        for part in (each for name in PARTS for each in told["verifier"][name]):
            part["name"] = re.sub(rf"\b{clause.id}\b", f"rule_{clause.id}", part["name"])
        yield _repolicy(replace(posed, scenario=Scenario.model_validate(told)), text)


def _repolicy(posed: ScenarioCase, text: str) -> ScenarioCase:
    files = posed.environment.files | {FILE: text}
    told = posed.environment.model_dump() | {"id": "", "files": files}
    environment = Environment.model_validate(told)
    scenario = posed.scenario.model_copy(update={"environment": environment.id})
    return replace(posed, environment=environment, scenario=scenario)


SCENARIOS = (
    *(
        Operator(part, name, False, _of_scenario(find))
        for part, faults in {
            "conversation": {
                "question_left_out": _lose_question,
                "question_vague": _ask_vaguely,
                "first_too_late": _move_first,
                "not_told": _stay_silent,
                "case_kept": _keep_the_case,
                "side_changed": _change_sides,
            },
            "user": {
                "hidden_told": _tell_hidden,
                "hidden_unknown": _forget_hidden,
            },
            "clauses": {
                "clause_lost": _lose_clause,
                "predicate_lost": _lose_predicate,
                "predicate_weakened": _weaken,
            },
        }.items()
        for name, find in faults.items()
    ),
    Operator("clauses", "clause_added", False, add_clause),
    Operator("conversation", "asked_otherwise", True, _of_scenario(_ask_otherwise)),
    Operator("conversation", "looked_first", True, _of_scenario(_look_first)),
    Operator("user", "persona", True, _of_scenario(_be_somebody_else)),
    Operator("clauses", "reversed", True, _of_scenario(_reorder_parts)),
    Operator("clauses", "renamed", True, rename_everywhere),
)


# Words


@dataclass(frozen=True)
class Worded:
    """The words of one user, and the composition that they are of."""

    reply: WordsReply
    composed: ComposedReply


def read_words(posed: ScenarioCase) -> Worded:
    """As their author wrote them."""
    scenario, repertoire = posed.scenario, read_repertoire(posed.environment.files)
    assert repertoire is not None
    user, state = scenario.user, scenario.initial_state
    broken = [
        atom for atom in repertoire.atoms if all(_is_broken(one, state) for one in atom.breaks)
    ]
    composed = ComposedReply(
        initial_state=state,
        request=scenario.request,
        oracle=scenario.oracle,
        facts=user.facts,
        hidden=user.hidden,
        symptoms=[atom.symptom for atom in broken],
    )
    told = {name: getattr(user, name) for name in WordsReply.model_fields}
    return Worded(WordsReply.model_validate(told), composed)


def _is_broken(one: Any, state: Any) -> bool:
    collection, _, key = one.row.partition("/")
    return state[collection][key][one.field] == one.value


def _of_words(
    find: Callable[[Told, ComposedReply], Places],
) -> Callable[[Worded, Dice], Iterator[Worded]]:
    def vary(worded: Worded, dice: Dice) -> Iterator[Worded]:
        told = worded.reply.model_dump()
        for changed in _vary(told, lambda one: find(one, worded.composed), dice):
            yield replace(worded, reply=WordsReply.model_validate(changed))

    return vary


def _list_open(composed: ComposedReply) -> list[str]:
    return [name for name in composed.facts if name not in composed.hidden]


def _lose_fact(told: Told, composed: ComposedReply) -> Places:
    for name in _list_open(composed):
        value = str(composed.facts[name])
        if value in told["opening"]:
            yield _put(told, "opening", told["opening"].replace(value, "mine"))


def _mistake_fact(told: Told, composed: ComposedReply) -> Places:
    for name in _list_open(composed):
        value = str(composed.facts[name])
        if value in told["opening"]:
            yield _put(told, "opening", told["opening"].replace(value, f"{value[:-1]}_7"))


def _give_away(told: Told, composed: ComposedReply) -> Places:
    for name in composed.hidden:
        words = f"It is {composed.facts[name]}, if that helps."
        yield _put(told, "opening", f"{told['opening']} {words}")
        yield _put(told, "fallbacks", {**told["fallbacks"], "": f"No idea. {words}"})
        yield _put(told, "goals", [*told["goals"], words])


def _lose_symptoms(told: Told, composed: ComposedReply) -> Places:
    told_facts = ", ".join(str(composed.facts[name]) for name in _list_open(composed))
    yield _put(told, "opening", f"Hello, I am {told_facts}. Can you help?")


def _ask_too_little(told: Told, composed: ComposedReply) -> Places:
    for name in composed.hidden:
        yield _put(told["wordings"], name, told["wordings"][name][:3])
        yield _put(told["wordings"], name, ["Is it raining?"] * 5)


def _say_around(before: str, after: str) -> Callable[[Told, ComposedReply], Places]:
    def find(told: Told, _: ComposedReply) -> Places:
        yield _put(told, "opening", f"{before}{told['opening']}{after}")

    return find


WORDS = (
    *(
        Operator("words", name, False, _of_words(find))
        for name, find in {
            "fact_left_out": _lose_fact,
            "fact_mistaken": _mistake_fact,
            "hidden_given_away": _give_away,
            "symptoms_left_out": _lose_symptoms,
            "questions_lacking": _ask_too_little,
        }.items()
    ),
    Operator("words", "greeting", True, _of_words(_say_around("Good morning. ", ""))),
    Operator("words", "thanks", True, _of_words(_say_around("", "\nThank you very much."))),
)
