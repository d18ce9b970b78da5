"""Compares names and words that a program writes with those that are known. One that nothing else
uses is misspelt."""

import re
from collections.abc import Iterable, Iterator, Mapping

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.relations import BrokenRelation
from envmill.gates.exploring.rows import list_rows, list_scalars
from schemas.base import Json, is_object
from schemas.scenario import Change

_BECOMES = re.compile(
    r"\b(?:becomes?|moves? to|changes? to|is set to|goes to|turns?(?: into| to)?|marked(?: as)?) "
    r"['\"‘“]([^'\"’”\n]{2,40})['\"’”]",
    re.IGNORECASE,
)
_PREFIXES = ("new_", "old_", "updated_", "current_")
_MOST_WORDS, _FEWEST_ROWS = 12, 3
"""An attribute with more different values has no fixed set of states; one in fewer rows is not
known well enough."""


def attributes_are_spelt_alike(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A write adds an attribute that no row has, and leaves one with a similar name unchanged."""
    known: dict[str, set[str]] = {}
    for state in exploration.starts:
        for row in list_rows(state):
            known.setdefault(row.collection, set()).update(row.value)
    for observed in exploration.writes():
        changes = exploration.diff(observed)
        for change in changes:
            if (
                len(change.path) == 3
                and change.op == "add"
                and change.path[2] not in known.get(change.path[0], ())
            ):
                collection, key, name = change.path
                twin = next(
                    (other for other in sorted(known.get(collection, ())) if _is_near(name, other)),
                    "",
                )
                if twin and not any(one.path == [collection, key, twin] for one in changes):
                    words = (
                        f"{observed.call.name} gives {key} an attribute {name!r} that no row of "
                        f"{collection} has; {twin!r} stays as it was"
                    )
                    yield BrokenRelation(
                        "misspelt_attribute", words, _describe_evidence(observed, change)
                    )
            for name, twin in _find_slips(change, known):
                words = (
                    f"{observed.call.name} adds a row to {change.path[0]} with {name!r}, which no "
                    f"row there has; {twin!r} says nothing"
                )
                yield BrokenRelation(
                    "misspelt_attribute", words, _describe_evidence(observed, change)
                )


def _find_slips(change: Change, known: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """(attribute of a new row that no other row has, the similar one that is empty or missing)."""
    if len(change.path) != 2 or change.op != "add" or not is_object(change.after):
        return
    usual, row = known.get(change.path[0], set()), change.after
    for name in sorted(set(row) - usual):
        if twin := next(
            (
                other
                for other in sorted(usual)
                if _is_near(name, other) and row.get(other) in ("", None)
            ),
            "",
        ):
            yield name, twin


def values_are_known(
    built: EnvironmentCase, exploration: ExplorationRun
) -> Iterator[BrokenRelation]:
    """A write sets a word that is not in the rows, the rules, the interface or the program's
    comparisons."""
    source = "\n".join(built.environment.files.values())
    spoken = "\n".join(
        [*built.environment.rules, built.environment.policy_document, *_describe(exploration)]
    )
    quoted = set(re.findall(r"['\"‘“]([^'\"’”\n]{2,40})['\"’”]", spoken))
    ranges = _list_words(exploration.starts)
    for observed in exploration.writes():
        given = set(map(str, list_scalars(observed.call.arguments)))
        for change in exploration.diff(observed):
            if (
                len(change.path) != 3
                or change.op != "set"
                or not isinstance(change.after, str)
                or change.after in given
            ):
                continue
            words = ranges.get((change.path[0], change.path[2]), set())
            if (
                not words
                or change.after in words
                or change.after in quoted
                or len(re.findall(rf"[\"']{re.escape(change.after)}[\"']", source)) != 1
            ):
                continue
            near = next(
                (
                    word
                    for word in sorted(words | quoted)
                    if _is_near(change.after, word) or word.casefold() == change.after.casefold()
                ),
                "",
            )
            # A last state is often never compared. So only a word that resembles another one, or
            # has capitals where others have none, is a mistake.
            if near or (not change.after.islower() and all(map(str.islower, words))):
                said = (
                    f"{observed.call.name} sets {'.'.join(change.path)} to {change.after!r}; known "
                    f"are {', '.join(sorted(words))}"
                )
                yield BrokenRelation("unknown_value", said, _describe_evidence(observed, change))


def transitions_are_made(
    built: EnvironmentCase, exploration: ExplorationRun
) -> Iterator[BrokenRelation]:
    """The rules say that something becomes a word, and no change sets it, although every change had
    some effect."""
    writes = list(exploration.writes())
    if {observed.call.name for observed in writes} != {
        name for name, tool in exploration.tools.items() if tool.effect == "change"
    }:
        return
    held: dict[str, set[str]] = {}
    for change in (change for observed in writes for change in exploration.diff(observed)):
        held.setdefault(change.path[0], set()).update(map(str, list_scalars(change.after)))
    for rule in built.environment.rules:
        set_to = {
            word
            for collection in _find_named(rule, exploration)
            for word in held.get(collection, ())
        }
        # If a rule repeats the word, it may also be the state at the start, which no change has to
        # set.
        words = [
            word
            for word in _BECOMES.findall(rule)
            if len(re.findall(rf"\W{re.escape(word)}\W", rule)) == 1
        ]
        for word in (one for one in words if one not in set_to):
            told = f"the rules say: {rule} No change was seen to set {word!r}"
            yield BrokenRelation("transition_missing", told, {"rule": rule, "word": word})


def _find_named(rule: str, exploration: ExplorationRun) -> set[str]:
    """Collections whose singular a rule contains; all of them if there is none."""
    words = set(re.findall(r"[a-z]+", rule.casefold()))
    known = {collection for state in exploration.starts for collection in state}
    named = {
        one
        for one in known
        if words & {one, one.removesuffix("s"), one.removesuffix("es"), re.sub("ies$", "y", one)}
    }
    return named or known


def _describe(exploration: ExplorationRun) -> Iterator[str]:
    for tool in exploration.tools.values():
        yield tool.description
        yield from (
            schema.get("description", "")
            for schema in tool.parameters.get("properties", {}).values()
        )


def _list_words(states: Iterable[Json]) -> dict[tuple[str, str], set[str]]:
    """(collection, attribute) → its values, if these are few short words that repeat."""
    seen: dict[tuple[str, str], list[str]] = {}
    for state in states:
        for row in list_rows(state):
            for name, value in row.value.items():
                if isinstance(value, str):
                    seen.setdefault((row.collection, name), []).append(value)
    return {
        column: set(values)
        for column, values in seen.items()
        if len(values) >= _FEWEST_ROWS
        and len(set(values)) <= min(_MOST_WORDS, len(values) - 1)
        and all(map(_is_word, values))
    }


def _is_word(text: str) -> bool:
    return 0 < len(text.split()) <= 3 and not any(sign.isdigit() for sign in text)


def _is_near(one: str, other: str) -> bool:
    """Whether one is the other with a usual prefix or one or two more letters, or both are long and
    differ in two letters at most."""
    if any(one == prefix + other for prefix in _PREFIXES):
        return True
    shorter, longer = sorted((one, other), key=len)
    if one == other or len(longer) - len(shorter) > 2 or len(shorter) < 4:
        return False
    return longer.startswith(shorter) or (
        len(shorter) >= 6 and one[0] == other[0] and _measure_distance(one, other) <= 2
    )


def _measure_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row[0] = row[0], number
        for place, sign in enumerate(other, 1):
            last, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, last + (letter != sign)),
            )
    return row[-1]


def _describe_evidence(observed: ObservedCall, change: Change) -> Json:
    return {
        "call": observed.call.model_dump(),
        "after": [one.model_dump() for one in observed.route],
        "change": change.model_dump(),
    }
