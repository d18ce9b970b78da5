"""Environments as large as was asked for: so many tools, collections and rows, and as sound as the
usual ones."""

import sys
from collections import Counter

import pytest

from envmill.base.errors import SettingsError
from envmill.kinds.start import CLOCK
from envmill.kinds.stateful import derive_tools
from envmill.runtime.canonical import MAX_STATE
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from offline.compose import compose_domain
from offline.crowd import settle
from offline.domain import TODAY, Domain, State
from offline.organisation import PEOPLE
from offline.polarities import POSES, make_twins
from offline.polarities.base import read_rows
from offline.program import name_class, write_program
from offline.scenario import write_scenario
from offline.wording import follow
from offline.world import DomainWorld, play_oracle
from schemas.base import canonical_json
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity
from schemas.seed import Brief, Seed
from tests.offline.exploring import explore_all
from tests.offline.jail import JAIL
from tests.offline.questions import SAMPLE, SEED, THEMES
from tests.soak import count

SIZES = [(10, None), (40, 12), (100, 40), (None, 25), (100, None)]


def compose(
    theme: str, tools: int | None = None, collections: int | None = None, rows: int | None = None
) -> Domain:
    brief = Brief(
        theme=theme, text=THEMES[theme], number=1, tools=tools, collections=collections, rows=rows
    )
    return compose_domain(brief, SEED)


@pytest.mark.parametrize(("tools", "collections"), SIZES)
def test_an_environment_has_the_size_that_was_asked_for(
    tools: int | None, collections: int | None
) -> None:
    for theme in SAMPLE:
        domain = compose(theme, tools, collections)
        assert tools in (None, len(domain.operations)), theme
        assert collections in (None, len(domain.collections)), theme
        assert len(domain.operations) <= 100
        assert all(each.lookup.call in domain.operations for each in domain.collections.values())
        compile(write_program(domain), "office.py", "exec")


@pytest.mark.soak(area="author")
@pytest.mark.parametrize("theme", sorted(THEMES)[:: count(3, 1)])
def test_every_theme_has_as_many_collections_as_were_asked_for(theme: str) -> None:
    """Three of every theme, and others in turn; in a soak nine, so that every number comes ten
    times."""
    place = sorted(THEMES).index(theme)
    for collections in (3, *range(4 + place % count(36, 4), 41, count(19, 4))):
        domain = compose(theme, None, collections)
        assert len(domain.collections) == collections
        assert 8 <= len(domain.operations) <= 100
        assert all(each.lookup.call in domain.operations for each in domain.collections.values())


@pytest.mark.soak(area="author")
@pytest.mark.parametrize("theme", sorted(THEMES)[:: count(6, 1)])
def test_three_collections_are_enough_for_scenarios(theme: str) -> None:
    """The program compiles, the model plays the path, and rules are left."""
    domain = compose(theme, None, 3)
    compile(write_program(domain), "office.py", "exec")
    assert any(each.must for each in domain.changes)
    for number in range(4):
        reply = write_scenario(domain, f"three/{number}", number)
        assert (
            play_oracle(domain, reply.initial_state, reply.oracle, 0, "three")
            != reply.initial_state
        )


def test_departments_know_each_other() -> None:
    for theme in SAMPLE:
        domain = compose(theme, 60, 20)
        tied = [
            name for name, each in domain.collections.items() if "contact_id" in each.attributes
        ]
        assert tied or sum(each.noun in PEOPLE for each in domain.collections.values()) < 2
        assert len(domain.parts) >= 3


LARGE = [(theme, SIZES[place % len(SIZES)]) for place, theme in enumerate(SAMPLE)][
    : count(2, len(SAMPLE))
]
PARTS = count(1, 4)


@pytest.mark.long
@pytest.mark.soak(area="author")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_large_environment_keeps_its_rules_in_the_jail(part: int) -> None:
    """Program and domain model agree on all tests and on random walks, with names of several
    domains in one class."""
    found = explore_all((compose(theme, *size), SEED) for theme, size in LARGE[part::PARTS])
    # A tool that is hard to bring about may lack a test; a program that does otherwise than the
    # model may not be.
    assert [fault for each in found for fault in each.faults if "too few tests" not in fault] == []
    assert sum(len(each.faults) for each in found) <= len(found)


def find_broken(state: State, domain: Domain) -> list[tuple[str, str]]:
    """Attributes whose values are not unique where they must be, or name rows that are not
    there."""
    columns = [
        (name, key, source)
        for name, one in domain.collections.items()
        for key, source in one.attributes.items()
    ]
    held = {(name, key): [row[key] for row in state[name].values()] for name, key, _ in columns}
    twice = [
        (name, key)
        for name, key, source in columns
        if source.unique and len({*held[name, key]}) < len(held[name, key])
    ]
    return twice + [
        (name, key)
        for name, key, source in columns
        if source.ref and not {*held[name, key]} - {""} <= state[source.ref].keys()
    ]


@pytest.mark.soak(area="author")
@pytest.mark.parametrize("rows", [200, count(3_000, 5_000), count(10_000, 100_000)])
def test_a_state_has_as_many_rows_as_were_asked_for_and_its_oracle_runs(rows: int) -> None:
    theme = SAMPLE[0]
    domain = compose(theme, rows=rows)
    reply = write_scenario(domain, "rows", 1)
    assert sum(map(len, reply.initial_state.values())) == rows
    assert find_broken(reply.initial_state, domain) == []
    size = len(canonical_json(reply.initial_state))
    sys.stdout.write(f"{theme}: {rows} rows are {size / 2**20:.1f} MB\n")
    assert size < MAX_STATE
    *outcomes, final = play(domain, reply)
    assert {f"{each.outcome} {each.code} {each.message}".strip() for each in outcomes} == {"ok"}
    assert final.state != reply.initial_state


@pytest.mark.soak(area="author")
@pytest.mark.parametrize("polarity", POSES)
def test_where_nothing_may_change_the_state_is_as_large_and_the_reads_find_their_rows_in_it(
    polarity: Polarity,
) -> None:
    rows = count(300, 1_000)
    for theme in SAMPLE[: count(1, len(SAMPLE))]:
        domain = compose(theme, rows=rows)
        twins = make_twins(domain, polarity, "rows")
        if twins is None:
            assert polarity == "clarify", theme
            continue
        assert sum(map(len, twins.negative.initial_state.values())) == rows
        *outcomes, final = play(domain, twins.negative)
        assert {each.outcome for each in outcomes} == {"ok"}
        assert final.state == twins.negative.initial_state
        world = DomainWorld(domain, twins.negative.initial_state, TODAY, "rows")
        assert all(read_rows(call, world) for call in twins.negative.oracle)


def play(domain: Domain, reply: ScenarioReply) -> list[Observation]:
    """The reference path in the jail, and a last look at the state."""
    tools = derive_tools(
        write_program(domain),
        name_class(domain),
        {name: each.effect for name, each in domain.operations.items()},
    )
    program = Program({"office.py": write_program(domain)}, f"office:{name_class(domain)}", tools)
    steps = [Reset(reply.initial_state, CLOCK, 7), *map(Invoke, reply.oracle), Look()]

    async def go(sandbox: Sandbox) -> list[Observation]:
        return await sandbox.play(program, steps, hashes="none")

    return JAIL.enter(go)


def test_sizes_that_do_not_fit_together_say_what_does() -> None:
    with pytest.raises(SettingsError, match="two to four tools per collection"):
        compose("court_calendars", 10, 40)


def test_a_brief_without_sizes_keeps_its_id_and_says_nothing_of_them() -> None:
    brief = Brief(theme="clinic", text="A clinic. Ümlaut.", number=1)
    assert brief.model_dump() == {"theme": "clinic", "text": "A clinic. Ümlaut.", "number": 1}
    seed = Seed(recipe="envscaler", brief=brief, licence="CC0-1.0")
    assert (
        seed.id
        != Seed(
            recipe="envscaler", brief=brief.model_copy(update={"tools": 30}), licence="CC0-1.0"
        ).id
    )
    assert Seed.model_validate(seed.model_dump()) == seed


@pytest.mark.parametrize("theme", SAMPLE)
def test_distractors_stand_beside_every_record_and_one_alone_is_called_by_its_name(
    theme: str,
) -> None:
    """Each has the numbers of its original and names of its own; what a change names is the only
    one called so."""
    plain = Brief(theme=theme, text=THEMES[theme], number=0)
    domain = compose_domain(plain.model_copy(update={"distractors": 2}), SEED)
    base, full = settle(compose_domain(plain, SEED), "doubles"), settle(domain, "doubles")
    for name in domain.collections:
        rows = [
            [value for value in row.values() if not isinstance(value, str)]
            for row in full.state[name].values()
        ]
        assert len(rows) == 3 * len(base.state[name])
        assert all(rows.count(one) >= 3 for one in rows)
    assert find_broken(full.state, domain) == []
    reply = write_scenario(domain, "doubles", 1)
    assert (
        play_oracle(domain, reply.initial_state, reply.oracle, 0, "doubles") != reply.initial_state
    )
    # What is only looked through on the way may share its name: the request says where it stands.
    changes = [call for call in reply.oracle if domain.operations[call.name].effect == "change"]
    named = [
        (each.row, call.arguments[each.name])
        for call in changes
        for each in domain.operations[call.name].takes
        if each.row
    ]
    assert named
    for collection, row_id in named:
        labels = Counter(
            follow(collection, key, [], domain, reply.initial_state)
            for key in reply.initial_state[collection]
        )
        assert labels[follow(collection, row_id, [], domain, reply.initial_state)] == 1


def test_a_brief_without_distractors_is_written_as_ever() -> None:
    assert "distractors" not in Brief(theme="x", text="y", number=0).model_dump()
