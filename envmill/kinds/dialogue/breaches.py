"""Ends that break one clause of the policy each: what a scenario's verifier has to refuse.

clause × rows for which it applies ─┐
end of the reference path ──────────┴─► the same end with one call, answer or word changed ─► breach

The state stays as the reference path left it, so that nothing else is wrong. Other demands on a
changed call are met where they can be: what must come first was done, and the user said yes.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from envmill.kinds.base import Breach
from envmill.kinds.dialogue.compile import (
    Binding,
    bind,
    bind_rows,
    is_about,
    list_facts,
    list_words,
    read_clauses,
)
from envmill.language.words import find_words
from envmill.verifiers.ending import AGREED, CompletedCall, Ending
from envmill.verifiers.facts import is_given
from schemas.base import is_object
from schemas.dialogue import CallCondition, Dialogue, PolicyClause
from schemas.environment import Call
from schemas.scenario import CallPattern, Scenario

_MOST = 12
"""Rows that are tried for one clause; those that the reference path is about come first."""
_UNKNOWN = "nobody"
_VAGUE = "Shall I go ahead with it now?"


@dataclass(frozen=True)
class _Scene:
    """One scenario with the right end, and the rows for which each clause applies there."""

    scenario: Scenario
    right: Ending
    bound: Sequence[tuple[PolicyClause, Sequence[Binding]]]
    patterns: Mapping[str, Sequence[tuple[PolicyClause, Binding, CallPattern]]]
    """Effect → the calls that its clauses are about."""

    @classmethod
    def of(cls, dialogue: Dialogue, scenario: Scenario, right: Ending) -> "_Scene":
        words, patterns = list_words(scenario), defaultdict[str, list[Any]](list)
        bound = [
            (clause, bind_rows(clause, scenario.initial_state, words))
            for clause in dialogue.clauses
        ]
        for clause, bindings in bound:
            patterns[clause.effect] += [
                (clause, binding, bind(clause.call, binding)) for binding in bindings
            ]
        return cls(scenario, right, bound, patterns)

    def make_call(self, pattern: CallPattern) -> Call:
        """A call of the reference path, or one that the pattern is about."""
        made = (call for call in self.scenario.oracle if is_about(pattern, call))
        plain = Call(name=pattern.name, arguments=pattern.arguments, actor=pattern.actor)
        return next(made, plain)

    def prepare(self, call: Call, *, without: CallPattern | None = None) -> list[Call]:
        """What other clauses want before the call, except one thing."""
        wanted = [
            self.make_call(bind(clause.first, binding))
            for clause, binding, pattern in self.patterns.get("first", ())
            if clause.first and is_about(pattern, call)
        ]
        return [one for one in wanted if without is None or not is_about(without, one)]

    def ask_for(self, call: Call) -> list[str]:
        """A question that names all that clauses want named before the call."""
        asking = [
            clause
            for clause, _, pattern in self.patterns.get("confirm", ())
            if is_about(pattern, call)
        ]
        names = dict.fromkeys(name for clause in asking for name in clause.names)
        told = ", ".join(str(call.arguments[name]) for name in names if name in call.arguments)
        return [f"Shall I go ahead with it now, {told}?" if told else _VAGUE] if asking else []

    def begin(self, calls: Sequence[Call], asked: Sequence[str] = ()) -> Ending:
        """The right end, with these calls before all others, after these questions."""
        right, more = self.right, len(asked)
        put = [CompletedCall(call, "ok", after=more) for call in calls]
        later = [replace(deed, after=deed.after + more) for deed in right.deeds]
        said, answers = [*asked, *right.said], [AGREED] * more + [*(right.answers or ())]
        return replace(right, deeds=[*put, *later], said=said, answers=answers)


def list_breaches(dialogue: Dialogue, scenario: Scenario, right: Ending) -> Iterator[Breach]:
    """Of each clause that applies to the scenario, where a breach can be made."""
    verifier, scene = scenario.verifier, _Scene.of(dialogue, scenario, right)
    named = {part.name: read_clauses(part.name) for part in
             (*verifier.procedure, *verifier.facts, *verifier.harm)}  # fmt: skip
    for clause, bindings in scene.bound:
        others = frozenset(name for name, ids in named.items() if ids and clause.id not in ids)
        for what, end in _break(clause, _sort(clause, bindings, scene)[:_MOST], scene):
            yield Breach(clause.id, what, end, others)


def _sort(clause: PolicyClause, bindings: Sequence[Binding], scene: _Scene) -> list[Binding]:
    oracle = scene.scenario.oracle

    def is_idle(binding: Binding) -> bool:
        return not any(is_about(bind(clause.call, binding), call) for call in oracle)

    return sorted(bindings, key=is_idle)


def _break(
    clause: PolicyClause, bindings: Sequence[Binding], scene: _Scene
) -> Iterator[tuple[str, Ending]]:
    if clause.effect in ("allow", "hand_over"):
        yield from _call_unnamed(clause, scene)
    if clause.effect == "say":
        yield from _keep_quiet(clause, bindings, scene)
    for binding in bindings:
        pattern = bind(clause.call, binding)
        match clause.effect:
            case "first":
                yield from _call_early(clause, binding, scene)
            case "confirm":
                yield from _call_unasked(clause, scene.make_call(pattern), scene)
            case "forbid":
                yield from _call_forbidden(clause, binding, scene)
            case "hand_over":
                left = [deed for deed in scene.right.deeds if not is_about(pattern, deed.call)]
                if len(left) < len(scene.right.deeds):
                    yield f"without {pattern.name}", replace(scene.right, deeds=left)
            case _:
                pass


def _call_early(
    clause: PolicyClause, binding: Binding, scene: _Scene
) -> Iterator[tuple[str, Ending]]:
    call = scene.make_call(bind(clause.call, binding))
    first = bind(clause.first or CallPattern(name=""), binding)
    calls = [*scene.prepare(call, without=first), call]
    yield f"{call.name} before {first.name}", scene.begin(calls, scene.ask_for(call))


def _call_unasked(clause: PolicyClause, call: Call, scene: _Scene) -> Iterator[tuple[str, Ending]]:
    made_up = dict.fromkeys(clause.names, _UNKNOWN) | call.arguments
    call = call.model_copy(update={"arguments": made_up})
    calls = [*scene.prepare(call), call]
    yield f"{call.name} without a yes", scene.begin(calls)
    told = [made_up[name] for name in clause.names if made_up[name] is not None]
    if any(not find_words(_VAGUE, str(value)) for value in told):
        yield f"{call.name} after a vague question", scene.begin(calls, [_VAGUE])


def _call_forbidden(
    clause: PolicyClause, binding: Binding, scene: _Scene
) -> Iterator[tuple[str, Ending]]:
    """At the end, after what makes it forbidden."""
    call = scene.make_call(bind(clause.call, binding))
    earlier = [
        scene.make_call(bind(one.call, binding))
        for one in clause.when
        if isinstance(one, CallCondition)
    ]
    end = scene.begin(scene.prepare(call), scene.ask_for(call))
    late = [CompletedCall(one, "ok", after=len(end.said)) for one in [*earlier, call]]
    yield f"{call.name}, which is forbidden", replace(end, deeds=[*end.deeds, *late])


def _call_unnamed(clause: PolicyClause, scene: _Scene) -> Iterator[tuple[str, Ending]]:
    """The same tool, for what no clause of its sort names."""
    named = [
        pattern
        for _, _, pattern in scene.patterns.get(clause.effect, ())
        if pattern.name == clause.call.name
    ]
    for call in _list_others(clause, scene):
        if not any(is_about(pattern, call) for pattern in named):
            calls = [*scene.prepare(call), call]
            yield f"{call.name} where no clause says so", scene.begin(calls, scene.ask_for(call))
            return


def _list_others(clause: PolicyClause, scene: _Scene) -> Iterator[Call]:
    """For each row, for a row that is not there, with another constant, and without arguments."""
    state, pattern = scene.scenario.initial_state, clause.call
    for name, collection in clause.rows.items():
        rows = state.get(collection)
        for key in [*(rows if is_object(rows) else ()), _UNKNOWN]:
            bound = bind(pattern, {name: key})
            yield Call(name=bound.name, arguments=bound.arguments, actor=bound.actor)
    for name, value in pattern.arguments.items():
        if isinstance(value, str) and value not in clause.rows:
            bound = bind(pattern.model_copy(update={"arguments": {name: _UNKNOWN}}), {})
            yield Call(name=bound.name, arguments=bound.arguments, actor=bound.actor)
    yield Call(name=pattern.name, actor=pattern.actor)


def _keep_quiet(
    clause: PolicyClause, bindings: Sequence[Binding], scene: _Scene
) -> Iterator[tuple[str, Ending]]:
    """All that is said, without what has to be told."""
    for fact in list_facts(clause, bindings, scene.scenario):
        words = [str(one) for one in (fact.value, *fact.also)]
        cut = [_cut(message, words) for message in scene.right.said]
        quiet = ["…" if is_given(fact, message) else message for message in cut]
        yield f"{words[0]!r} is not told", replace(scene.right, said=quiet)


def _cut(message: str, words: Sequence[str]) -> str:
    for word in filter(None, words):
        message = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "…", message, flags=re.IGNORECASE)
    return message
