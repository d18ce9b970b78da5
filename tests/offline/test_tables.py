"""Domains over tables: types that fit, programs that end where their twins over JSON end, and
tables that tools really touch."""

from dataclasses import replace

import pytest

from envmill.kinds import sql, stateful
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox, Step
from offline.columns import settle_state, sort_columns
from offline.database import list_policies, list_touches, write_schema
from offline.domain import Domain
from offline.population import populate
from offline.program import name_class, write_program
from offline.tests import try_brief
from schemas.environment import Effect
from schemas.seed import Brief
from tests.offline.jail import JAIL
from tests.offline.questions import SAMPLE, SEED, THEMES, compose
from tests.soak import count

HOLDS = {"TEXT": str, "INTEGER": int, "REAL": float}
TRIALS = count(6, 200)


def over_tables(theme: str, number: int = 0) -> Domain:
    return replace(compose(theme, number), kind="sql")


@pytest.mark.parametrize("theme", SAMPLE)
def test_columns_hold_what_their_type_says(theme: str) -> None:
    domain = over_tables(theme)
    sorts, state = sort_columns(domain), settle_state(domain, populate(domain, "types").state)
    for name, rows in state.items():
        for row in rows.values():
            assert {
                attribute: type(value) for attribute, value in row.items() if attribute != "id"
            } == {attribute: HOLDS[sort] for attribute, sort in sorts[name].items()}


@pytest.mark.parametrize("theme", sorted(THEMES))
def test_every_domain_has_a_schema_that_can_be_read(theme: str) -> None:
    domain = over_tables(theme)
    tables = sql.derive_tables({"schema.sql": write_schema(domain)}, list_policies(domain))
    assert {table.name: [column.name for column in table.columns] for table in tables} == {
        name: ["id", *each.attributes] for name, each in domain.collections.items()
    }
    effects: dict[str, Effect] = {name: each.effect for name, each in domain.operations.items()}
    tools = sql.derive_tools(write_program(domain), name_class(domain), effects)
    assert all(
        tool.reads or tool.writes for tool in sql.add_touches(tools, list_touches(domain), tables)
    )


def open_twins(theme: str) -> tuple[Program, Program]:
    """The program over JSON and the one over tables."""
    plain, tabled = compose(theme, 0), over_tables(theme)
    effects: dict[str, Effect] = {name: each.effect for name, each in plain.operations.items()}
    entry = f"office:{name_class(plain)}"
    one, other = write_program(plain), write_program(tabled)
    return (
        Program({"office.py": one}, entry, stateful.derive_tools(one, name_class(plain), effects)),
        Program(
            {"office.py": other, "schema.sql": write_schema(tabled)},
            entry,
            stateful.derive_tools(other, name_class(plain), effects),
        ),
    )


@pytest.mark.soak(area="recipes")
@pytest.mark.parametrize("theme", SAMPLE)
def test_both_renderings_answer_and_end_alike(theme: str) -> None:
    """Codes, replies and states, call by call; 5 and 5.0 are one number."""
    brief = Brief(theme=theme, text=dict(read_themes())[theme], number=0)
    world, trials = try_brief(brief, SEED)
    twins = open_twins(theme)

    async def go(sandbox: Sandbox) -> list[tuple[list[Observation], list[Observation]]]:
        played: list[tuple[list[Observation], list[Observation]]] = []
        for trial in trials[:: max(1, len(trials) // TRIALS)]:
            steps: list[Step] = [
                Reset(world.state, CLOCK, 7),
                *map(Invoke, (*trial.setup, trial.call)),
                Look(),
            ]
            one, other = [await sandbox.play(program, steps, hashes="none") for program in twins]
            played.append((one, other))
        return played

    for one, other in JAIL.enter(go):
        assert [(each.outcome, each.code) for each in one] == [
            (each.outcome, each.code) for each in other
        ]
        assert [each.parts for each in one[:-1]] == [each.parts for each in other[:-1]]
        assert one[-1].state == other[-1].state
