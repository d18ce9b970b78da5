"""Refuse: a wish that one rule forbids in this state, the reads that show it, the reason said. The
twin asks with another argument."""

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from offline.dice import make_dice
from offline.domain import Operation, Rule, State
from offline.draw import sample_arguments
from offline.formula import fill, parse_expression, parse_statement
from offline.polarities.base import (
    TRIES,
    Twins,
    achieve,
    escape,
    find_known,
    find_trees,
    is_clear,
    is_known,
    merge,
    policy_of,
    shows,
    stands_in,
)
from offline.scenario import plan_calls
from offline.user import instruct_user
from offline.wording import WantedChange, list_facts, render_value, write_request
from offline.wording.grammar import load_sayings
from offline.world import DomainWorld
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.scenario import CallPattern, Fact

FOLDS = {"count", "total", "highest", "some"}
SHORTEST = 4
LIMITING = r"at most|no more than|more than|less than|at least|no longer|longer|fewer"
DATED = r"(\d+ [A-Z][a-z]+ \d{4}) (\d{4}-\d\d-\d\d)"
"""A day as people write it and as the records do."""
LEAST_TOLD = 10
"""A number of the rule that nobody says by chance."""
COMMON = frozenset(
    re.findall(
        r"\S+",
        "able about after again allowed already also another anybody anything asked asks back "
        "because becomes been before between can't "
        "cannot change changed changes come comes could days does doesn't done during each else "
        "every everybody everything exist exists "
        "feel fine first forbidden forbids free from give given gives goes good have help here "
        "hold holds into kind know last least leave "
        "left like look looked made make more most must need needs never nobody none not noted "
        "nothing nowhere once only onto other over "
        "part please possible question reason record records rule rules same says should somebody "
        "something sorry stand stands status "
        "still sure take taken takes tell thank thanks than that their them then there these they "
        "thing things this those time times "
        "together told under undone used wait were what when where which while whose will wish "
        "with within without work works would "
        "written pass passed passes",
    )
)
"""Words that a refusal may hold whatever its reason."""


def pose_refuse(world: DomainWorld, dice: random.Random) -> Twins | None:
    """A forbidden wish and its permitted twin; none when chance met no rule that reads can show."""
    sayable = [each for each in world.domain.changes if each.asks and each.tells and each.must]
    for _ in range(TRIES if sayable else 0):
        operation = dice.choice(sayable)
        wish = WantedChange(operation, sample_arguments(operation, world, world.state, dice))
        rule = _find_rule(wish, world)
        twins = _write(wish, rule, world, dice) if rule and is_clear(wish, world) else None
        if twins:
            return twins
    return None


def _find_rule(wish: WantedChange, world: DomainWorld) -> Rule | None:
    """The only rule it breaks: where there are several, a right refusal may name any."""
    codes = world.find_violations(wish.operation, wish.arguments)
    return next((each for each in wish.operation.must if codes == [each.code]), None)


def _write(wish: WantedChange, rule: Rule, world: DomainWorld, dice: random.Random) -> Twins | None:
    twin = _find_twin(wish, world, dice)
    if twin is None:
        return None
    key = dice.random()
    request, other = (
        write_request([each], world.domain, world.state, make_dice("refuse", key))
        for each in (wish, twin)
    )
    reads = _reveal(wish, rule, world, request)
    if reads is None:
        return None
    words = _find_words(wish, rule, world, request)
    if not words:
        return None
    # Only who recites them all says the others.
    rivals = [each.rstrip(".") for each in _list_others(wish.operation, rule, world)]
    told = Fact(
        name=f"why not: {world.domain.render_rule(rule)}",
        kind="pattern",
        value=_render_pattern(words),
        rivals=rivals,
    )
    reply = ScenarioReply(
        initial_state=world.state,
        request=request,
        oracle=reads,
        polarity="refuse",
        facts=list_facts([wish], world.domain, world.state),
        say=_render(wish, rule, world, dice),
        tell=[told],
        avoid=[CallPattern(name=wish.operation.name, actor=wish.operation.actor)],
    )
    refusal = instruct_user(
        reply,
        [wish],
        world.domain,
        world.state,
        lambda unsaid: write_request(unsaid, world.domain, world.state, make_dice("refuse", key)),
    )
    changed = next(name for name in wish.arguments if wish.arguments[name] != twin.arguments[name])
    return Twins(
        refusal,
        achieve(twin, world, other, list_facts([twin], world.domain, world.state)),
        f"another {changed}",
    )


def _find_twin(wish: WantedChange, world: DomainWorld, dice: random.Random) -> WantedChange | None:
    """The same wish with one argument otherwise, and permitted."""
    names = list(wish.arguments)
    dice.shuffle(names)
    for name in names:
        for _ in range(4):
            other = sample_arguments(wish.operation, world, world.state, dice)[name]
            twin = replace(wish, arguments=wish.arguments | {name: other})
            if (
                other != wish.arguments[name]
                and world.allows(twin.operation, twin.arguments)
                and is_clear(twin, world)
            ):
                return twin
    return None


def _reveal(wish: WantedChange, rule: Rule, world: DomainWorld, request: str) -> list[Call] | None:
    """Lookups that show why not; none where what counts is that something is absent, or no lookup
    gives it."""
    scope = _bind(wish, world)
    try:
        places = list(_list_rows(rule, scope, world))
    except KeyError:
        # It counts rows by what other rows say, one for each: no few lookups show that.
        return None
    reads = merge(plan_calls([wish], world.domain, world.state)[:-1])
    if not all(is_known(call, reads[:number], request, world) for number, call in enumerate(reads)):
        return None
    for place in places:
        found = find_known(*place, reads, request, world)
        if found is None or not shows(found, *place, world):
            return None
        reads = merge(reads, found)
    return reads if places else None


def _list_rows(rule: Rule, scope: dict[str, Any], world: DomainWorld) -> Iterator[tuple[str, str]]:
    """Rows on which the rule decides: those it names, and those it counts. A fold that finds
    nothing shows nothing."""
    tree = parse_expression(rule.that)
    for call in find_trees(tree, ast.Call):
        match call:
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=collection), *_, where]) if (
                name in FOLDS
            ):
                for row in world.value(
                    ast.Call(ast.Name("rows"), [ast.Name(collection), where], []), scope
                ):
                    yield collection, row["id"]
            case ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=collection), key]):
                yield collection, world.value(key, scope)
            case _:
                pass
    if not any(call.func.id in FOLDS for call in find_trees(tree, ast.Call)):
        for owner in find_trees(tree, ast.Attribute):
            row = scope.get(owner.value.id) if isinstance(owner.value, ast.Name) else None
            if row:
                yield _find_collection(row["id"], world.state), row["id"]


def _bind(wish: WantedChange, world: DomainWorld) -> dict[str, Any]:
    """What the rule's names stand for: limits, arguments, rows, and what the operation fetches
    first."""
    rows = {
        each.local: world.state[each.row][wish.arguments[each.name]]
        for each in wish.operation.takes
        if each.row
    }
    scope: dict[str, Any] = {**world.domain.bounds, **wish.arguments, **rows}
    for step in wish.operation.fetch:
        match parse_statement(step.do):
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                scope[name] = world.value(value, scope)
            case _:
                pass
    return scope


def _find_collection(row_id: str, state: State) -> str:
    return next(name for name, rows in state.items() if row_id in rows)


def _render(wish: WantedChange, rule: Rule, world: DomainWorld, dice: random.Random) -> str:
    said = load_sayings().sample("refuse", dice)
    return said.replace("{reason}", _render_reason(wish, rule, world)).replace(
        "{rule}", world.domain.render_rule(rule)
    )


def _render_reason(wish: WantedChange, rule: Rule, world: DomainWorld) -> str:
    """What the program would say if it were tried."""
    scope = _bind(wish, world)
    return fill(rule.says, lambda field: render_value(world.value(parse_expression(field), scope)))


def _describe_decisive(wish: WantedChange, rule: Rule, world: DomainWorld) -> str:
    """The same without what only names something: "yellow" is whose carers are too few, not that
    they are."""
    scope = _bind(wish, world)

    def render(field: str) -> str:
        value = world.value(parse_expression(field), scope) if field in rule.that else ""
        return (
            f"{render_value(value)} {value}"
            if isinstance(value, str) and render_value(value) != value
            else render_value(value)
        )

    return fill(rule.says, render)


def _list_standing(rule: Rule) -> str:
    """How the rows stand that it counts: who says "inside already" has looked at the visits,
    whatever the rule calls it."""
    folds = (
        call for call in find_trees(parse_expression(rule.that), ast.Call) if call.func.id in FOLDS
    )
    equal = (
        each
        for fold in folds
        for each in find_trees(fold, ast.Compare)
        if isinstance(each.ops[0], ast.Eq)
    )
    return " ".join(
        str(each.comparators[0].value)
        for each in equal
        if isinstance(each.comparators[0], ast.Constant)
    )


def _find_words(wish: WantedChange, rule: Rule, world: DomainWorld, request: str) -> list[str]:
    """Words that only the reason holds: not the request, not the policy document, no other rule of
    the operation, not any refusal."""
    # What follows a semicolon says how it would have to be, and is not what the records show.
    seen, _, wanted = _describe_decisive(wish, rule, world).partition(";")
    rules = f"{wanted} {world.domain.render_rule(rule)}"
    others = _list_others(wish.operation, rule, world)
    known = " ".join(
        [request, policy_of(world.domain), _list_said(wish.operation, world), *others]
    ).lower()
    numbers = [
        each
        for each in _list_numbers(re.sub(DATED, " ", seen))
        if int(each) > 1 and not stands_in(int(each), request)
    ]
    days = [noted for said, noted in re.findall(DATED, seen) if said.lower() not in known]
    telling = [
        each
        for each in [*_cut_stems(seen), *days, *numbers]
        if not re.search(_render_pattern([each]), known)
    ]
    if not telling:
        # What stands in the records can be said in no word of its own: whoever says it rightly
        # would go unheard.
        return []
    limits = (
        ["at most", "maximum", "limit"]
        if numbers and re.search(LIMITING, f"{seen} {rules}")
        else []
    )
    told = [each for each in _list_numbers(rules) if int(each) >= LEAST_TOLD]
    more = [
        each
        for each in [*_cut_stems(f"{rules} {_list_standing(rule)}"), *limits, *told]
        if not re.search(_render_pattern([each]), known)
    ]
    return [*dict.fromkeys([*telling, *more])]


def _list_numbers(text: str) -> list[str]:
    return re.findall(r"(?<![\w.-])\d+(?![\w.-])", text)


def _list_said(operation: Operation, world: DomainWorld) -> str:
    """What anybody says who speaks of this operation at all, whether it is possible or not."""
    nouns = (
        f"{name} {each.noun}".replace("_", " ") for name, each in world.domain.collections.items()
    )
    ends = (each.after for each in operation.moves)
    return " ".join(
        [
            operation.does,
            *operation.asks,
            *operation.tells,
            *(each.about for each in operation.takes),
            *nouns,
            *ends,
        ]
    )


def _list_others(operation: Operation, rule: Rule, world: DomainWorld) -> list[str]:
    """The other rules of the operation, word for word."""
    mine = world.domain.render_rule(rule)
    return [told for each in operation.must if (told := world.domain.render_rule(each)) != mine]


def _render_pattern(words: list[str]) -> str:
    # A number ends where it ends; a word may go on, so that its other forms say the same.
    parts = [each + r"\b" if each.isdigit() else escape(each) for each in words]
    return rf"(?i)\b({'|'.join(parts)})"


def _cut_words(text: str) -> list[str]:
    return [each for each in re.findall(r"[a-z][a-z-]+", text.lower()) if len(each) >= SHORTEST]


def _cut_stems(text: str) -> list[str]:
    return [stem for each in _cut_words(text) if not {each, stem := _cut_stem(each)} & COMMON]


def _cut_stem(word: str) -> str:
    """What its forms share, roughly: suspended, suspends and suspension are one."""
    for ending in (
        "ations",
        "ation",
        "ions",
        "ing",
        "ion",
        "ied",
        "ies",
        "ed",
        "es",
        "s",
        "y",
        "e",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST + ("ion" in ending):
            return word.removesuffix(ending)
    return word
