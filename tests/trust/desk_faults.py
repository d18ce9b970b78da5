"""Faults of the recipe `tau2`, planted in a faultless reply: each kind is what it does at every
place where it can be done.

reply, document, program or verifier ──kind──► spoilt ones, one for each place
"""

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

Told = dict[str, Any]
Spoils = Iterator[Callable[[], None]]
"""What can be done to one thing that is being changed, place by place."""
CODE, SERIAL = "kestrel-41", "TR-5081"


def spread(told: Any, find: Callable[[Any], Spoils]) -> list[Any]:
    """The thing spoilt at one place, for each place."""
    made = list[Any]()
    for place in range(sum(1 for _ in find(told))):
        spoilt = copy.deepcopy(told)
        list(find(spoilt))[place]()
        made.append(spoilt)
    return made


def _add(rows: list[Any], row: Any) -> Callable[[], None]:
    return lambda: rows.append(row)


def _put(told: Any, name: Any, value: Any) -> Callable[[], None]:
    return lambda: told.__setitem__(name, value)


def _cut(rows: list[Any], place: int) -> Callable[[], None]:
    return lambda: rows.__delitem__(place)


# The plan


def _contradict(told: Told) -> Spoils:
    """What one clause asks for, another forbids."""
    users = {tool["name"] for tool in told["tools"] if tool["side"] == "user"}
    asked = [one["first"] for one in told["clauses"] if one["first"]]
    asked += [one["call"] for one in told["clauses"] if one["effect"] == "hand_over"]
    for name in dict.fromkeys(one["name"] for one in asked):
        if name not in users:
            clause = {"id": "never", "effect": "forbid", "call": {"name": name}}
            yield _add(told["clauses"], clause)


def _turn_round(told: Told) -> Spoils:
    """Each of two calls must come before the other."""
    for one in told["clauses"]:
        if one["first"] and one["first"].get("actor", "agent") == "agent":
            turned = one | {"id": "turned", "call": one["first"], "first": one["call"]}
            yield _add(told["clauses"], turned)


def _never_apply(told: Told) -> Spoils:
    for one in told["clauses"]:
        for each in one["when"]:
            if each["on"] == "state" and each["op"] == "is":
                yield _add(one["when"], each | {"op": "is_not"})


def _name_no_tool(told: Told) -> Spoils:
    for one in told["clauses"]:
        yield _put(one["call"], "name", f"{one['call']['name']}_now")


def _name_no_field(told: Told) -> Spoils:
    for one in told["clauses"]:
        for each in one["when"]:
            if each["on"] == "state":
                yield _put(each, "field", f"{each['field']}_of_it")


def _say_twice(told: Told) -> Spoils:
    for one in told["clauses"]:
        yield _add(told["clauses"], one | {"id": "again"})


def _idle_tool(told: Told) -> Spoils:
    for name in ("shake_gently", "hear_noise", "smell_case"):
        words = "Examine it by hand. Returns what is noticed."
        tool = {"name": name, "side": "user", "effect": "query", "description": words}
        yield _add(told["tools"], tool | {"reads": ["unit"]})


def _still_coupling(told: Told) -> Spoils:
    for one in told["couplings"]:
        yield _put(one, "reads", [])


def _own_side(told: Told) -> Spoils:
    for one in told["couplings"]:
        yield _put(one, "writes", list(one["reads"]))


def _lose_access(told: Told) -> Spoils:
    for persona in told["personas"]:
        for goal in told["goals"]:
            if goal["needs"]:
                yield _put(persona, "cannot", [goal["needs"][-1]])


def _need_no_tool(told: Told) -> Spoils:
    for goal in told["goals"]:
        yield _add(goal["needs"], "ask_the_maker")


def _want_no_goal(told: Told) -> Spoils:
    for persona in told["personas"]:
        yield _put(persona, "goals", ["it flies"])


def _reach_over(told: Told) -> Spoils:
    for tool in told["tools"]:
        other = "unit" if tool["side"] == "agent" else "customers"
        yield _put(tool, "reads", [*tool["reads"], other])


def _lock_for_ever(told: Told) -> Spoils:
    for tool in told["tools"]:
        if tool["unlocked_by"]:
            yield _put(tool["unlocked_by"], "tool", tool["name"])
            yield _put(tool["unlocked_by"], "tool", "ask_the_maker")


# The document


def _drop_sentence(lines: list[str]) -> Spoils:
    for place, line in enumerate(lines):
        if line[:1].isdigit():
            yield _cut(lines, place)


def _change_sentence(lines: list[str]) -> Spoils:
    for place, line in enumerate(lines):
        for old, new in (("Before the", "After the"), ("Never", "Always"), ("in no case", "also")):
            if line[:1].isdigit() and old in line:
                yield _put(lines, place, line.replace(old, new))


def _add_sentence(lines: list[str]) -> Spoils:
    for words in ("Never make the call `find_device`.", "Refund every customer 20 euros."):
        yield _add(lines, f"{len(lines)}. {words}")


# The program


def _methods(tree: Any, *marks: str) -> Iterator[ast.FunctionDef]:
    """With all of these marks; one that begins with ! it must not have."""
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    for method in (node for node in body if isinstance(node, ast.FunctionDef)):
        found = [ast.unparse(one) for one in method.decorator_list]
        if all(
            not _has(mark[1:], found) if mark[0] == "!" else _has(mark, found) for mark in marks
        ):
            yield method


def _has(mark: str, found: list[str]) -> bool:
    return any(one.startswith(mark) for one in found)


def _tools(tree: Any, *marks: str) -> Iterator[ast.FunctionDef]:
    return (one for one in _methods(tree, "!coupling", *marks) if not one.name.startswith("_"))


def _is_change(method: ast.FunctionDef) -> bool:
    return any(_stores(node) for node in ast.walk(method))


def _stores(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Tuple)


def _blocks(method: ast.AST) -> Iterator[list[Any]]:
    for node in ast.walk(method):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _lose_stores(methods: Iterator[ast.FunctionDef]) -> Spoils:
    for method in methods:
        for block in _blocks(method):
            for place, node in enumerate(block):
                if _stores(node):
                    yield _put(block, place, ast.Pass())


def _drop_coupling(tree: Any) -> Spoils:
    for method in _methods(tree, "coupling"):
        yield lambda held=method.body: held.insert(0, ast.Return())


def _unmark(mark: str) -> Callable[[Any], Spoils]:
    def find(tree: Any) -> Spoils:
        for method in _methods(tree, mark):
            kept = [one for one in method.decorator_list if not ast.unparse(one).startswith(mark)]
            yield lambda held=method, kept=kept: setattr(held, "decorator_list", kept)

    return find


def _lie(change: bool) -> Callable[[Any], Spoils]:
    """A reply of the user's own tool tells what is not so."""

    def find(tree: Any) -> Spoils:
        for method in _tools(tree, "actors"):
            for node in ast.walk(method) if _is_change(method) is change else ():
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
                    for place in range(len(node.value.values)):
                        yield _put(node.value.values, place, ast.Constant("nothing"))

    return find


def _insert(text: str, *marks: str, change: bool) -> Callable[[Any], Spoils]:
    def find(tree: Any) -> Spoils:
        for method in _tools(tree, *marks):
            if _is_change(method) is change:
                lines = ast.parse(text).body
                yield lambda held=method.body, lines=lines: held.__setitem__(slice(0, 0), lines)

    return find


_PULL = 'self.unit["unit"]["cable"] = not self.unit["unit"]["cable"]'
_FILE = 'row = next(iter(self.devices.values()))\nrow["block"] = "theft"'


def _guards(tree: Any) -> Iterator[ast.If]:
    for method in _tools(tree):
        for node in ast.walk(method):
            if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
                yield node


def _drop_guard(tree: Any) -> Spoils:
    for node in _guards(tree):
        yield lambda held=node: setattr(held, "test", ast.Constant(False))


def _turn_guard(tree: Any) -> Spoils:
    for node in _guards(tree):
        turned = ast.UnaryOp(ast.Not(), node.test)
        yield lambda held=node, turned=turned: setattr(held, "test", turned)


def _wrong_value(tree: Any) -> Spoils:
    for method in _tools(tree):
        for node in ast.walk(method):
            if not (isinstance(node, ast.Assign) and _stores(node)):
                continue
            if isinstance(node.value, ast.Constant):
                value = node.value.value
                other = (not value) if isinstance(value, bool) else "other"
                yield lambda held=node, other=other: setattr(held, "value", ast.Constant(other))


def _crash(tree: Any) -> Spoils:
    for method in _tools(tree):
        yield lambda held=method.body: held.insert(0, ast.parse("self.nothing").body[0])


# The atoms


def _mendable(told: Told) -> Iterator[Told]:
    return (atom for atom in told["atoms"] if not atom["unfixable"])


def _shorten(told: Told) -> Spoils:
    for atom in _mendable(told):
        if len(atom["fix"]) > 1:
            yield _cut(atom["fix"], len(atom["fix"]) - 1)


def _break_nothing(told: Told) -> Spoils:
    for atom in told["atoms"]:
        one = atom["breaks"][0]
        collection, _, key = one["row"].partition("/")
        value = told["state"][collection][key][one["field"]]
        yield _put(atom, "breaks", [one | {"value": value}])


def _break_beside(told: Told) -> Spoils:
    """Something else is broken, and not what its fix mends."""
    for atom in _mendable(told):
        row = {"row": "unit/unit", "field": "cable", "value": True}
        yield _put(atom, "breaks", [row])


def _forget(tool: str) -> Callable[[Told], Spoils]:
    def find(told: Told) -> Spoils:
        for atom in told["atoms"]:
            left = [step for step in atom["fix"] if step["tool"] != tool]
            if len(left) < len(atom["fix"]):
                yield _put(atom, "fix", left)

    return find


def _ask_nothing(told: Told) -> Spoils:
    for step in (step for atom in told["atoms"] for step in atom["fix"] if step["asks"]):
        yield _put(step, "asks", "")


def _ask_else(told: Told) -> Spoils:
    """Asked for without the value that the policy wants named."""
    for step in (step for atom in told["atoms"] for step in atom["fix"]):
        if step["tool"] == "resume_plan":
            yield _put(step, "asks", "Shall I go on now?")


def _idle_step(told: Told) -> Spoils:
    for atom in _mendable(told):
        if not any(step["tool"] == "plug_cable" for step in atom["fix"]):
            yield lambda held=atom["fix"]: held.insert(0, {"tool": "plug_cable"})


def _swap(told: Told) -> Spoils:
    """What waits for something is done before it."""
    pairs = {("order", "load"), ("release", "install"), ("open", "insert"), ("release", "load")}
    for atom in _mendable(told):
        steps = atom["fix"]
        for one in range(len(steps)):
            for two in range(one + 1, len(steps)):
                verbs = steps[one]["tool"].split("_")[0], steps[two]["tool"].split("_")[0]
                if verbs in pairs:
                    turned = list(steps)
                    turned[one], turned[two] = steps[two], steps[one]
                    yield _put(atom, "fix", turned)


def _wrong_argument(told: Told) -> Spoils:
    for step in (step for atom in _mendable(told) for step in atom["fix"]):
        for name in step["arguments"]:
            yield _put(step["arguments"], name, "another")


def _unknown_tool(told: Told) -> Spoils:
    for step in (step for atom in told["atoms"] for step in atom["fix"]):
        yield _put(step, "tool", f"{step['tool']}_twice")


def _unfixable_after_all(told: Told) -> Spoils:
    for atom in _mendable(told):
        yield _put(atom, "unfixable", True)


def _unhealthy(told: Told) -> Spoils:
    for atom in _mendable(told):
        one = atom["mended"][0]
        yield _put(one, "value", "another" if isinstance(one["value"], str) else not one["value"])


def _one_side(told: Told) -> Spoils:
    """What the desk would do is done already: the fix has the desk's part for nothing."""
    for atom in _mendable(told):
        for one in atom["breaks"]:
            if one["row"].startswith("devices/") and one["value"] in ("old", "expired"):
                new = "released" if one["value"] == "old" else "ordered"
                yield _put(one, "value", new)


def _no_fact(told: Told) -> Spoils:
    """What is hidden is known to nobody."""
    for name in told["hidden"]:
        yield lambda name=name: told["facts"].pop(name)
    yield _add(told["hidden"], "colour of the case")


def _changing_look(told: Told) -> Spoils:
    yield _add(told["begins"], {"tool": "plug_cable"})
    yield _add(told["ends"], {"tool": "pull_cable"})


def _rivals(told: Told) -> Spoils:
    mendable = list(_mendable(told))
    for one, two in pairwise(mendable):
        yield _put(two, "breaks", [*two["breaks"], one["breaks"][0]])


# The words


def _lose_fact(told: Told) -> Spoils:
    for words in (SERIAL, "Corner Bakery"):
        if words in told["opening"]:
            yield _put(told, "opening", told["opening"].replace(words, "mine"))


def _other_fact(told: Told) -> Spoils:
    yield _put(told, "opening", told["opening"].replace(SERIAL, "TR-5018"))


def _tell_hidden(told: Told) -> Spoils:
    for words in ("The code is {}.", "({})", "I was given {}, if that is of any use."):
        yield _put(told, "opening", f"{told['opening']} {words.format(CODE)}")


def _tell_hidden_later(told: Told) -> Spoils:
    """Given away to whoever asks for something else."""
    yield _put(told, "fallbacks", {"": f"I do not know that. The code is {CODE}."})


def _lose_symptom(told: Told) -> Spoils:
    """The opening ends before what is wrong."""
    head = told["opening"].split(SERIAL)[0]
    yield _put(told, "opening", f"{head}{SERIAL}, Corner Bakery.")


def _few_questions(told: Told) -> Spoils:
    for name, asked in told["wordings"].items():
        yield _put(told["wordings"], name, asked[:2])
        yield _put(told["wordings"], name, [])


def _strange_questions(told: Told) -> Spoils:
    for name in told["wordings"]:
        yield _put(told["wordings"], name, [f"Is it raining, {turn}?" for turn in "abcde"])


# The verifier


def _names(told: Told) -> list[str]:
    parts = [*told.get("procedure", []), *told.get("facts", []), *told.get("harm", [])]
    named = [one["name"] for one in parts if one["name"].startswith("clause ")]
    return list(dict.fromkeys(_name_clause(name) for name in named))


def _name_clause(name: str) -> str:
    return name.removeprefix("clause ").split(" (")[0].split(":")[0]


def _lose_clause(told: Told) -> Spoils:
    for clause in _names(told):

        def lose(clause: str = clause) -> None:
            for part in ("procedure", "facts", "harm"):
                left = [one for one in told.get(part, []) if not _is_of(one, clause)]
                told[part] = left

        yield lose


def _is_of(one: Told, clause: str) -> bool:
    return one["name"].startswith("clause ") and _name_clause(one["name"]) == clause


FAULTS: Mapping[str, Mapping[str, Callable[[Any], Spoils]]] = {
    "desk": {
        "contradicting_clauses": _contradict, "each_before_the_other": _turn_round,
        "clause_that_never_applies": _never_apply, "clause_of_no_tool": _name_no_tool,
        "clause_of_no_field": _name_no_field, "clause_said_twice": _say_twice,
        "idle_tool": _idle_tool, "still_coupling": _still_coupling,
        "coupling_of_one_side": _own_side, "persona_out_of_reach": _lose_access,
        "goal_of_no_tool": _need_no_tool, "persona_of_no_goal": _want_no_goal,
        "tool_reaches_over": _reach_over, "never_unlocked": _lock_for_ever,
    },
    "document": {
        "clause_left_out": _drop_sentence, "clause_told_otherwise": _change_sentence,
        "clause_made_up": _add_sentence,
    },
    "desk_program": {
        "coupling_lost": _drop_coupling,
        "coupling_lost_in_part": lambda tree: _lose_stores(_methods(tree, "coupling")),
        "coupling_unmarked": _unmark("coupling"), "side_unmarked": _unmark("actors"),
        "lock_unmarked": _unmark("discoverable"), "look_lies": _lie(change=False),
        "reply_lies": _lie(change=True), "effect_lost": lambda tree: _lose_stores(_tools(tree)),
        "wrong_value": _wrong_value,
        "agent_writes_the_users_side": _insert(_PULL, "!actors", change=True),
        "user_writes_the_agents_side": _insert(_FILE, "actors", change=True),
        "look_changes": _insert(_PULL, change=False), "guard_lost": _drop_guard,
        "guard_turned_round": _turn_guard, "crash": _crash,
    },
    "atoms": {
        "fix_too_short": _shorten, "breaks_nothing": _break_nothing,
        "breaks_something_else": _break_beside, "verifying_left_out": _forget("verify_customer"),
        "unlocking_left_out": _forget("unlock_tool"), "handing_over_left_out": _forget("hand_over"),
        "not_asked": _ask_nothing, "asked_without_the_value": _ask_else, "idle_step": _idle_step,
        "wrong_order": _swap, "wrong_argument": _wrong_argument, "step_of_no_tool": _unknown_tool,
        "called_unfixable": _unfixable_after_all, "mended_is_not_healthy": _unhealthy,
        "one_side_is_enough": _one_side, "fact_unreachable": _no_fact,
        "look_that_changes": _changing_look, "rivals_of_two_groups": _rivals,
    },
    "words": {
        "fact_left_out": _lose_fact, "fact_told_otherwise": _other_fact,
        "hidden_told": _tell_hidden, "hidden_told_unasked": _tell_hidden_later,
        "symptom_left_out": _lose_symptom, "too_few_questions": _few_questions,
        "questions_for_something_else": _strange_questions,
    },
    "verifier": {"clause_lost": _lose_clause},
}  # fmt: skip
"""What is spoilt → kind → what it does, place by place."""
