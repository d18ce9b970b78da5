"""Operators find their places, change one thing, and most of what they make is told apart in the
jail."""

import ast
from collections import Counter

import pytest

from envmill.sandbox import Sandbox
from offline.compose import compose_domain
from offline.dice import make_dice
from offline.faults.checking import pair_lists
from offline.operators import OPERATORS, ProgramMutant, list_mutants, sample_mutants, sample_traces
from offline.program import name_class, write_program
from offline.tests import try_operations
from offline.witness import Pair, PlannedProgram, Play, Witness, find_witness
from schemas.prompts import ChecksInput, ChecksReply
from schemas.seed import Brief
from tests.offline.faults.cases import ENVIRONMENTS
from tests.offline.jail import JAIL
from tests.offline.questions import SEED, THEMES, ask, pose_checks
from tests.soak import count

SAMPLE = """
import copy

class Office:
    def lend(self, member_id: str, days: int) -> dict:
        "What it does."
        member = self.find(self.members, member_id)
        if not 1 <= days <= 7 or member["status"] != "active":
            raise Rejection("no", "not now")
        if any(row["kind"] == "a" and row["n"] > 1 for row in self.rows.values()):
            raise Rejection("no", "not so")
        member["owed"] += days * 2
        for row in self.rows.values():
            row["n"] = 0
        return dict(member)
"""

EXPECTED = {
    "comparison_flip": 'member["status"] == "active"',
    "boundary": "1 < days <= 7",
    "negated_condition": "if not (not 1 <= days <= 7",
    "connective_swap": "not 1 <= days <= 7 and member",
    "dropped_operand": "if not 1 <= days <= 7:",
    "quantifier_swap": "if all(",
    "constant_change": "days * 3",
    "arithmetic_swap": 'member["owed"] -= days * 2',
    "swapped_arguments": "self.find(member_id, self.members)",
    "wrong_attribute": 'member["id"] += days * 2',
    "removed_copy": "return member",
    "loop_bound": "for row in list(self.rows.values())[1:]",
    "dropped_filter": "",
    "dropped_statement": "pass",
    "removed_raise": "pass",
    "early_return": "return {}",
    "doubled_statement": 'member["owed"] += days * 2\n        member["owed"] += days * 2',
    "single_round": "break",
    "nothing_returned": "return None",
    "ignored_condition": "",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_makes_what_its_name_says(name: str) -> None:
    source = (
        SAMPLE.replace("dict(member)", "[row for row in self.rows.values() if row]")
        if name == "dropped_filter"
        else SAMPLE
    )
    mutants = list(list_mutants(source, [name]))
    assert mutants
    assert any(EXPECTED[name] in each.source.replace("'", '"') for each in mutants)


def test_a_mutant_differs_in_its_own_function_and_says_nothing_else() -> None:
    source = SAMPLE + "\n    def other(self) -> int:\n        return 1\n"
    for mutant in list_mutants(source, ["comparison_flip", "early_return"]):
        assert mutant.function == "lend"
        assert "\n    def other(self) -> int:\n        return 1\n" in mutant.source
        assert "What it does." in mutant.source
        assert "not now" in mutant.source


@pytest.mark.long
def test_mutants_parse_differ_and_come_again() -> None:
    domain = compose(*ENVIRONMENTS[0])
    source = write_program(domain, {each.name: each for each in domain.changes[: count(4, 20)]})
    mutants = list(list_mutants(source))
    assert len({each.source for each in mutants}) == len(mutants) > 80
    assert source not in {each.source for each in mutants}
    assert all(ast.parse(each.source) for each in mutants)
    assert mutants[-20:] == list(list_mutants(source, [*OPERATORS][-5:]))[-20:]
    assert sample_mutants(source, 30, make_dice(1)) == sample_mutants(source, 30, make_dice(1))
    assert len({each.operator for each in sample_mutants(source, 30, make_dice(1))}) >= 10


def compose(theme: str, number: int):
    return compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), SEED)


def pair_up(theme: str, number: int, mutants: int) -> list[tuple[ProgramMutant, list[Pair]]]:
    domain = compose(theme, number)
    source, tried = write_program(domain), try_operations(domain, SEED)
    clean = PlannedProgram(
        source, name_class(domain), {name: each.effect for name, each in domain.operations.items()}
    )
    drawn = sample_mutants(source, mutants, make_dice("mutants", theme, number))
    return [
        (
            each,
            [
                (
                    Play(clean, trace),
                    Play(PlannedProgram(each.source, clean.class_name, clean.tools), trace),
                )
                for trace in traces
            ],
        )
        for each in drawn
        for traces in [sample_traces(tried, SEED, each.function)]
    ]


def search(pairs: list[list[Pair]]) -> list[Witness | None]:
    async def go(sandbox: Sandbox) -> list[Witness | None]:
        return [await find_witness(each, sandbox) for each in pairs]

    return JAIL.enter(go)


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_most_mutants_of_programs_have_witnesses_and_copies_none() -> None:
    drawn = [
        each
        for environment in ENVIRONMENTS[: count(1, 12)]
        for each in pair_up(*environment, count(20, 200))
    ]
    witnesses = search([pairs for _, pairs in drawn])
    seen = Counter(
        (mutant.operator, witness is not None)
        for (mutant, _), witness in zip(drawn, witnesses, strict=True)
    )
    assert sum(found for (_, shown), found in seen.items() if shown) >= len(drawn) * 0.6, seen
    # What a session returns leaves it as JSON, so nobody holds on to a row.
    assert not seen["removed_copy", True] or seen["removed_copy", False]
    assert len({operator for operator, shown in seen if shown}) >= 10


@pytest.mark.long
def test_most_mutants_of_checks_have_witnesses() -> None:
    # One environment may have few checks.
    witnesses = search(
        [pairs for environment in ENVIRONMENTS[:3] for pairs in spoil_checks(*environment)]
    )
    assert len(witnesses) >= 12
    assert sum(each is not None for each in witnesses) >= len(witnesses) * 0.6


def spoil_checks(theme: str, number: int) -> list[list[Pair]]:
    """Each check of a list spoilt in four ways at most, the rest as it was."""
    asked, reply = (
        ChecksInput.model_validate(pose_checks(theme, number)),
        ChecksReply.model_validate_json(ask("checks", theme, number)),
    )
    spoilt = [
        (check, each.source)
        for check in reply.checks
        for each in sample_mutants(check.source, 4, make_dice("check", check.name))
    ]
    lists = [
        [
            each.model_copy(update={"source": source}) if each is check else each
            for each in reply.checks
        ]
        for check, source in spoilt
    ]
    return [list(pair_lists(list(reply.checks), each, asked)) for each in lists]
