"""S15: the request selects one referent: no other row fits its words as well and could be used in
the same calls.

target row ──words of the request──► what the request says of it ─┐
similar rows, existing and injected ──────────────────────────────┴─► fits as well, and the program accepts it ─► ambiguous
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, gather, pass_by
from envmill.gates.exploring.trials import Attempt, Trials, list_writes
from envmill.gates.mutating.near_misses import find_targets
from envmill.gates.reading.distinguishing import distinguish
from envmill.gates.reading.known_values import KnownValues, list_leaves, list_told, read_day
from envmill.language.words import find_words, normalise
from schemas.base import Json, is_array, is_object
from schemas.environment import Call
from schemas.ledger import ReasonClass
from schemas.scenario import Scenario

GATE = "S15"
CODES: Mapping[str, ReasonClass] = {
    "wrong_referent": "suspicion",
    "ambiguous_referent": "suspicion",
    "untouched_referent": "suspicion",
}

_EMPTY = ("", "yes", "no", "none", "on", "in", "at", "to")
_LETTERS = {"A": r"(?<=[a-z\d] )A\b", "I": r"(?<=[a-z\d] )I(?=[.,;:!?)\n]|$)"}
"""Patterns of single letters that are also words, where they are not used as words."""
_CHOOSES = re.compile(
    r"\b(?:who|which|what)ever\b|\bnext (?:in|after|on the|one)\b|\bfirst (?:in|on the)\b"
    r"|\bthe (?:most|least|(?!west|forest|guest|interest|request|harvest|contest)[a-z]{3,}est)\b"
)
"""Words by which a rule chooses the row."""
_DEPTH = 2
"""References followed from a row: `Maya's loan of the sander` speaks of two other rows."""
_TELLING = "0123456789-"
"""Characters that a name has and a word has not."""
_MOST = 40
"""Number of rivals that are played."""
_ASKED = 6
"""Rows that a question names."""

Said = frozenset[tuple[str, str]]
"""(dotted field, value) pairs of a row that the request says."""


@dataclass(frozen=True)
class Target:
    place: int
    argument: str
    collection: str
    key: str
    said: Said


@dataclass(frozen=True)
class Rival:
    """Another row that fits the words of the request."""

    target: Target
    key: str
    better: bool
    """Whether the request says more of it than of the target."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Suspects rivals that fit as well and that the program accepts. If the request says nothing
    about a target, the evidence reports it, and nothing is dropped."""
    targets = list_targets(subject)
    if not targets:
        return pass_by(
            GATE, "no_referent", "No write of the reference path names a row of the initial state."
        )
    stock, told = read_world(subject)
    rivals = [rival for target in targets for rival in find_rivals(target, targets, stock, told)]
    rivals += [
        rival
        for target in targets
        for rival in find_strangers(target, targets, subject, stock, told)
    ]
    rivals = leave_out_distinct(rivals, stock, told)
    taken = await find_taken(subject, means, rivals)
    forgotten = find_forgotten(targets, subject, stock, told)
    found = [
        suspect(ours, stock)
        for target in targets
        if (ours := [rival for rival in taken if rival.target is target])
    ]
    found += [suspect_forgotten(row, said, forgotten) for row, said in forgotten]
    unsaid = [f"{target.collection}.{target.key}" for target in targets if not target.said]
    evidence: Json = {
        "targets": [f"{each.collection}.{each.key}" for each in targets],
        "nothing_said_of": unsaid,
        "tried": len(rivals),
    }
    return gather(GATE, sorted(found, key=lambda one: one.reason != "wrong_referent"), evidence)


def suspect(rivals: Sequence[Rival], stock: StateIndex) -> Finding:
    """The rivals of one target: every row that fits as well."""
    worst = next((rival for rival in rivals if rival.better), rivals[0])
    reason, target = "wrong_referent" if worst.better else "ambiguous_referent", worst.target
    finding = drop(GATE, reason, describe(worst), [show(rival) for rival in rivals])
    keys = [target.key, *dict.fromkeys(rival.key for rival in rivals)][:_ASKED]
    rows = "; ".join(f"{key} ({render_row(stock, target.collection, key)})" for key in sorted(keys))
    question = (
        f"Does the request leave open which of these {target.collection} is meant where "
        f"{target.argument} is needed: {rows}?"
    )
    if worst.better:
        start = (
            f"Of these {target.collection}, is any meant by the request rather than {target.key}"
        )
        question = f"{start}, where {target.argument} is needed: {rows}?"
    return replace(finding, question=question)


def suspect_forgotten(row: str, said: str, forgotten: Sequence[tuple[str, str]]) -> Finding:
    finding = drop(
        GATE,
        "untouched_referent",
        f"the request speaks of {row} ({said}), and no change is about it",
        [list(one) for one in forgotten],
    )
    return replace(
        finding, question=f"Does the request ask for a change of, or with, {said!r} ({row})?"
    )


def render_row(stock: StateIndex, collection: str, key: str) -> str:
    """A row as a reader sees it, in one line."""
    return ", ".join(
        f"{name} {value}"
        for name, value in describe_row(stock, collection, key, 1)
        if name != "key" and value not in ("", None)
    )[:300]


def leave_out_distinct(
    rivals: Sequence[Rival], stock: StateIndex, told: KnownValues
) -> list[Rival]:
    """The rivals without those that a superlative, a negation or a word of a longer text
    distinguishes from their target."""

    def read(collection: str, key: str) -> dict[str, Json]:
        return dict(describe_row(stock, collection, key, _DEPTH))

    kept: list[Rival] = []
    for rival in rivals:
        target = rival.target
        alike = [read(target.collection, one.key) for one in rivals if one.target is target]
        if not distinguish(
            read(target.collection, target.key),
            read(target.collection, rival.key),
            alike,
            told.normal,
        ):
            kept.append(rival)
    return kept


def list_targets(subject: ScenarioCase) -> list[Target]:
    """Rows of the initial state that writes name, once for each call and argument."""
    stock, told = read_world(subject)
    return [
        Target(
            place,
            argument,
            home,
            str(call.arguments[argument]),
            find_said(stock, home, str(call.arguments[argument]), told),
        )
        for place, call in (
            (place, subject.scenario.oracle[place]) for place in list_writes(subject)
        )
        for argument, home, _ in find_targets(call, stock)
    ]


def read_world(subject: ScenarioCase) -> tuple[StateIndex, KnownValues]:
    return StateIndex.of(subject.scenario.initial_state), KnownValues.of(
        list_told(subject.scenario), int(subject.scenario.clock[:4])
    )


def find_rivals(
    target: Target, targets: list[Target], stock: StateIndex, told: KnownValues
) -> Iterator[Rival]:
    """Rows of the same collection that no word of the request distinguishes from the target. Rows
    that the oracle itself acts on are no rivals."""
    meant = {each.key for each in targets}
    # If the request says nothing of the target, words for rows that other changes name, or refer
    # to, belong to those changes.
    elsewhere = [] if target.said else [each for each in targets if each.place != target.place]
    meant |= {key for each in elsewhere for key in reach(stock, each.collection, each.key, _DEPTH)}
    for key in sorted(stock.rows[target.collection]):
        if key not in meant:
            said = find_said(stock, target.collection, key, told)
            more = [
                value for _, value in said - target.said if not value.replace(".", "").isdigit()
            ]
            # A number that also fits does so by accident. If the request says nothing of the
            # target, every row would fit.
            if target.said <= said and (target.said or more):
                yield Rival(target, key, bool(more))


def find_strangers(
    target: Target,
    targets: list[Target],
    subject: ScenarioCase,
    stock: StateIndex,
    told: KnownValues,
) -> Iterator[Rival]:
    """Every other row of the collection, if the request does not describe the target, does not lead
    to it, and has no rule that selects it.

    `Whoever comes next in points` is such a rule. It names no value of the row, so comparing values
    cannot tell which row it means.
    """
    if (
        not target.said
        and not _CHOOSES.search(told.normal)
        and not is_led_to(target, targets, subject, stock, told)
    ):
        meant = {each.key for each in targets}
        yield from (
            Rival(target, key, better=False)
            for key in stock.rows[target.collection]
            if key not in meant
        )


def is_led_to(
    target: Target,
    targets: list[Target],
    subject: ScenarioCase,
    stock: StateIndex,
    told: KnownValues,
) -> bool:
    """Whether the target is tied to a row of the same call, or a row refers to it that the request
    mentions and no other change names."""
    beside = {
        str(leaf) for leaf in list_leaves(subject.scenario.oracle[target.place].arguments)
    } - {target.key}
    if beside & set(reach(stock, target.collection, target.key, _DEPTH)):
        return True
    elsewhere = {each.key for each in targets if each.place != target.place} - beside
    rows = [
        (home, key)
        for home, held in stock.rows.items()
        for key in held
        if key not in elsewhere and key != target.key
    ]
    leading = [(home, key) for home, key in rows if target.key in reach(stock, home, key, _DEPTH)]
    return any(key in beside or find_said(stock, home, key, told) for home, key in leading)


def find_forgotten(
    targets: list[Target], subject: ScenarioCase, stock: StateIndex, told: KnownValues
) -> list[tuple[str, str]]:
    """Rows with a name that the user says and no other row has, next to the targets in their
    collection, to which no write leads."""
    reached = {
        key for target in targets for key in reach(stock, target.collection, target.key, _DEPTH)
    }
    writes = list_writes(subject)
    looked = {
        str(leaf)
        for place, call in enumerate(subject.scenario.oracle)
        if place not in writes
        for leaf in list_leaves(call.arguments)
    }
    # A person whose record a call looks up is not forgotten.
    reached |= {
        key
        for one in looked
        if (home := stock.find_home(one))
        for key in list(reach(stock, home, one, _DEPTH))[1:]
    }
    used = {
        str(leaf)
        for place in writes
        for leaf in list_leaves(subject.scenario.oracle[place].arguments)
    }
    # A named row may serve only to look up what the answer is about.
    told_of = looked - reached if subject.scenario.verifier.facts else set[str]()
    spoken = normalise(
        "\n".join(
            str(value)
            for each in targets
            for _, value in describe_row(stock, each.collection, each.key, _DEPTH)
        )
    )
    forgotten: list[tuple[str, str]] = []
    for collection in sorted({target.collection for target in targets}):
        for key, row in stock.rows[collection].items():
            names = [
                value
                for value in row.values()
                if isinstance(value, str) and value != key and not stock.find_home(value)
            ]
            unique = [
                name
                for name in names
                if is_said(name, told) and is_unique(name, stock) and not find_words(spoken, name)
            ]
            if (
                not unique
                or key in reached
                or used & {key, *unique}
                or any(is_speaker(name, subject.scenario) for name in unique)
            ):
                continue
            if not told_of & set(list(reach(stock, collection, key, _DEPTH))[1:]):
                forgotten.append((f"{collection}.{key}", unique[0]))
    return forgotten


def is_speaker(name: str, scenario: Scenario) -> bool:
    """Whether the speaker gives the name as their own, at the beginning or below the request."""
    own = re.escape(normalise(name))
    text = normalise(scenario.request).strip()
    begins = rf"\b(?:this is|it is|it's|i am|i'm|my name is)\s+{own}\b"
    alone = (
        rf"\A(?:\W*(?:hello|hi|good \w+|dear \w+)\W+)?{own}(?:,? [^.!?\n]{{0,40}})? (?:here|"
        r"speaking)\b"
    )
    return re.search(rf"{begins}|{alone}|[\n.!?,–-]\s*{own}\W*\Z", text) is not None


def is_unique(name: str, stock: StateIndex) -> bool:
    """Whether only one row of all collections has this name. A status or a weekday often becomes
    the value of several rows."""
    others = sum(
        name in row.values()
        for rows in stock.rows.values()
        for row in rows.values()
        if is_object(row)
    )
    return (
        others == 1
        and len(name) > 2
        and any(letter.isupper() or letter in _TELLING for letter in name)
        and not read_day(name)
    )


def reach(stock: StateIndex, collection: str, key: str, depth: int) -> Iterator[str]:
    """A row's key, and those of the rows it refers to."""
    yield key
    row: Mapping[str, Json] = stock.rows[collection][key]
    for field, value in row.items() if depth else ():
        if str(value) != key and (home := stock.find_home(value, field)):
            yield from reach(stock, home, str(value), depth - 1)


def find_said(stock: StateIndex, collection: str, key: str, told: KnownValues) -> Said:
    """Fields of a row, and of the rows it refers to, whose value the user says."""
    described = describe_row(stock, collection, key, _DEPTH)
    return frozenset((name, str(value)) for name, value in described if is_said(value, told))


def describe_row(
    stock: StateIndex, collection: str, key: str, depth: int, name: str = ""
) -> Iterator[tuple[str, Json]]:
    """Dotted field and plain value, sorted by name. A field that holds the key of a row leads on to
    that row.

    Questions list fields in this order, because a stored state orders its fields otherwise than a
    draft. So the judge is asked once only.
    """
    row: Mapping[str, Json] = stock.rows[collection][key]
    yield f"{name}key", key
    for field, value in sorted(row.items()):
        home = stock.find_home(value, field) if depth and str(value) != key else ""
        if home:
            yield from describe_row(stock, home, str(value), depth - 1, f"{name}{field}.")
        elif not is_object(value) and not is_array(value):
            yield f"{name}{field}", value


def is_said(value: Json, told: KnownValues) -> bool:
    """Whether the user states a value, and not by accident. A yes or no describes nothing, and a
    letter counts only as a capital."""
    if isinstance(value, str) and len(value) == 1 and value.isalpha():
        return (
            value.isupper()
            and re.search(_LETTERS.get(value, rf"\b{value}\b"), told.plain) is not None
        )
    if (
        isinstance(value, bool)
        or value is None
        or (isinstance(value, str) and value.casefold() in _EMPTY)
    ):
        return False
    return told.holds(value)


async def find_taken(subject: ScenarioCase, means: GateContext, rivals: list[Rival]) -> list[Rival]:
    """Rivals that the program accepts in the target's place and that the verifier rejects. A rival
    that passes is another correct solution."""
    trials, oracle = Trials.of(subject, means), subject.scenario.oracle
    words = trials.last_words()
    stock, _ = read_world(subject)
    attempts = [Attempt("rival", put(oracle, rival, stock), words) for rival in rivals[:_MOST]]
    if not attempts:
        return []
    played = await trials.once("rivals", lambda: trials.play(attempts))
    return [
        rival
        for rival, trial in zip(rivals, played, strict=False)
        if all(reply.outcome == "ok" for reply in trial.replies) and trial.verdict.outcome == "fail"
    ]


def put(oracle: list[Call], rival: Rival, stock: StateIndex) -> tuple[Call, ...]:
    """The path with the rival wherever the target was named, because later calls are about the same
    row."""
    target = rival.target

    def swap(name: str, value: Json) -> Json:
        if value == target.key:
            return rival.key
        named = str(value) == target.key and stock.find_home(value, name) == target.collection
        return int(rival.key) if named else value

    return tuple(
        call.model_copy(
            update={
                "arguments": {name: swap(name, value) for name, value in call.arguments.items()}
            }
        )
        for call in oracle
    )


def describe(rival: Rival) -> str:
    target = rival.target
    said = ", ".join(f"{name} {value}" for name, value in sorted(target.said)) or "nothing"
    much = (
        "fits the request's words better than"
        if rival.better
        else "fits the request's words as well as"
    )
    return f"{target.collection}.{rival.key} {much} {target.key}, of which it says {said}"


def show(rival: Rival) -> Json:
    target = rival.target
    return {
        "call": target.place + 1,
        "argument": target.argument,
        "target": target.key,
        "rival": rival.key,
        "said": sorted(target.said),
    }
