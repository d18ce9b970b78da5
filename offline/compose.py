"""Cuts one variation out of domain knowledge: which features, optional rules and queries take part,
and how high the limits are.

domain in full ──features──► ──options──► ──limits──► variation (theme, number, seed)
several domains, when it shall be larger than one ──each so──► one organisation ──► as many tools as were asked for
"""

import random
from dataclasses import replace
from functools import cache, lru_cache

from offline.consent import hand_over
from offline.crowd import widen
from offline.cut import cut_domain, list_feature_sets
from offline.dice import make_dice
from offline.documents import compose_outline
from offline.domain import Domain, Operation, Rule, StatusChange, WriteStep
from offline.knowledge import load_domain
from offline.organisation import count_ties, fill_up, join_domains
from offline.serving import compose_servers, list_able
from offline.sizes import make_part, pick_parts
from offline.spare import list_spare
from schemas.seed import Brief

COLLECTIONS = range(3, 6)
OPERATIONS = range(8, 15)
MOST_TOOLS = 100


def compose_domain(brief: Brief, seed: int) -> Domain:
    """The variation a brief asks for; the same brief and seed give the same one."""
    if brief.outline:
        domain = compose_outline(brief, seed).domain
        domain = widen(domain, brief.rows) if brief.rows else domain
    else:
        domain = _compose(
            brief.theme,
            brief.number,
            seed,
            brief.tools,
            brief.collections,
            brief.rows,
            brief.servers or 1,
        )
    domain = hand_over(domain, brief.number, seed) if brief.user_side else domain
    return (
        replace(domain, doubles=brief.distractors or 0, calls=brief.calls or 0)
        if brief.distractors or brief.calls
        else domain
    )


@lru_cache(maxsize=256)
def _compose(
    theme: str,
    number: int,
    seed: int,
    tools: int | None,
    collections: int | None,
    rows: int | None,
    servers: int = 1,
) -> Domain:
    if servers > 1:
        domain = _compose_servers(theme, number, seed, servers)
        return widen(domain, rows) if rows else domain
    domain = (
        _compose_sized(theme, number, seed, tools, collections)
        if tools or collections
        else _compose_usual(theme, number, seed)
    )
    return widen(domain, rows) if rows else domain


def _compose_usual(theme: str, number: int, seed: int) -> Domain:
    choices = list(_list_choices(theme))
    make_dice("features", theme, seed).shuffle(choices)
    # Walking a shuffled list instead of drawing: neighbours in number never share their features.
    domain = cut_domain(load_domain(theme), choices[number % len(choices)])
    dice = make_dice("settle", theme, number, seed)
    return _settle(domain, _drop_options(domain, OPERATIONS.stop - 1, dice), dice)


def _compose_servers(theme: str, number: int, seed: int, servers: int) -> Domain:
    able = {name: _compose_usual(name, number, seed) for name in list_able()}
    return compose_servers(theme, servers, able, make_dice("servers", theme, number, seed, servers))


def _compose_sized(
    theme: str, number: int, seed: int, tools: int | None, collections: int | None
) -> Domain:
    dice = make_dice("sizes", theme, number, seed, tools, collections)
    wholes = [make_part(each) for each in pick_parts(theme, tools, collections, dice)]
    kept = [
        each.operations if tools else _drop_options(each, len(each.operations), dice)
        for each in wholes
    ]
    parts = [
        _settle(whole, operations, dice) for whole, operations in zip(wholes, kept, strict=True)
    ]
    usual = sum(len(each) for each in kept) + count_ties(parts)
    wanted = tools or max(OPERATIONS.start, min(usual, MOST_TOOLS))
    return fill_up(
        join_domains(_leave_out(parts, wanted - count_ties(parts)), wanted, dice), wanted
    )


def _leave_out(parts: list[Domain], tools: int) -> list[Domain]:
    """Leave out what can be missed, of every part in turn, until so many tools are left or nothing
    more can go."""
    spare = [list_spare(each) for each in parts]
    too_many = max(0, sum(len(each.operations) for each in parts) - tools)
    turns = sorted(
        (turn, place) for place, names in enumerate(spare) for turn in range(len(names))
    )[:too_many]
    gone = [
        {spare[place][turn] for turn, other in turns if other == place}
        for place in range(len(parts))
    ]
    return [
        replace(
            part,
            operations={name: each for name, each in part.operations.items() if name not in names},
        )
        for part, names in zip(parts, gone, strict=True)
    ]


@cache
def _list_choices(theme: str) -> tuple[tuple[str, ...], ...]:
    """Every set of features that makes an environment of the right size."""
    whole = load_domain(theme)
    return tuple(each for each in list_feature_sets(whole) if _fits(cut_domain(whole, each)))


def _fits(domain: Domain) -> bool:
    return (
        len(domain.collections) in COLLECTIONS
        and sum(not each.optional for each in domain.operations.values()) in OPERATIONS
    )


def _drop_options(domain: Domain, most: int, dice: random.Random) -> dict[str, Operation]:
    """Operations without some of those that need not be."""
    optional = [
        name for name, each in domain.operations.items() if each.optional and dice.random() < 0.6
    ]
    room = most - sum(not each.optional for each in domain.operations.values())
    return {
        name: each
        for name, each in domain.operations.items()
        if not each.optional or name in optional[:room]
    }


def _settle(domain: Domain, operations: dict[str, Operation], dice: random.Random) -> Domain:
    """Draw what is left open: limits, title, id prefixes, optional rules; life cycles become rules
    and steps."""
    return replace(
        domain,
        names=(dice.choice(domain.names),),
        limits={name: (dice.choice(values),) for name, values in domain.limits.items()},
        collections={
            name: replace(each, prefixes=(dice.choice(each.prefixes),))
            for name, each in domain.collections.items()
        },
        operations={
            name: _render_moves(
                replace(
                    each,
                    must=tuple(
                        rule for rule in each.must if not rule.optional or dice.random() < 0.5
                    ),
                )
            )
            for name, each in operations.items()
        },
    )


def _render_moves(operation: Operation) -> Operation:
    return replace(
        operation,
        must=(*(_require(move) for move in operation.moves), *operation.must),
        then=(
            *(WriteStep(f"{move.row}.status = {move.after!r}") for move in operation.moves),
            *operation.then,
        ),
    )


def _require(move: StatusChange) -> Rule:
    wanted = " or ".join(repr(each) for each in move.before)
    that = (
        f"{move.row}.status == {move.before[0]!r}"
        if len(move.before) == 1
        else f"{move.row}.status in {move.before!r}"
    )
    noun = move.row.replace("_", " ")
    return Rule(
        that=that,
        code=f"{move.row}_not_{'_or_'.join(move.before)}".replace(" ", "_"),
        says=f"This {noun} is '{{{move.row}.status}}'; this can be done only while it is {wanted}.",
        rule=f"The status of {'an' if noun[0] in 'aeio' else 'a'} {noun} becomes {move.after!r} "
        f"only from {wanted}.",
    )
