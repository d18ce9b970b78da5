"""Mutants for the salt: one change each, in the code of a tool, and texts that parse."""

import ast

import pytest

from envmill.gates.mutating.mutants import sample_mutants
from tests.gates.specimens import make_studio
from tests.gates.specimens.studio import PROGRAM


def test_each_changes_one_function_and_parses() -> None:
    mutants = list(sample_mutants(make_studio(), 0))
    assert {mutant.kind for mutant in mutants} == {
        "dropped_refusal",
        "dropped_write",
        "turned_amount",
        "moved_bound",
    }
    assert len({mutant.files["program.py"] for mutant in mutants}) == len(mutants) > 15
    clean = _read_functions(PROGRAM)
    for mutant in mutants:
        changed = _read_functions(mutant.files["program.py"])
        assert [name for name in clean if clean[name] != changed[name]] == [mutant.tool]


def _read_functions(source: str) -> dict[str, str]:
    return {
        node.name: ast.dump(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }


def test_the_first_few_show_many_tools_and_the_seed_decides_the_order() -> None:
    first = [mutant.tool for mutant in sample_mutants(make_studio(), 0)][:5]
    assert len(set(first)) == 5
    order = [[mutant.files for mutant in sample_mutants(make_studio(), seed)] for seed in (0, 0, 1)]
    assert order[0] == order[1] != order[2]


@pytest.mark.parametrize(
    "source", ["class Studio(:", "x = " + "-" * 3000 + "1", ""], ids=["no-python", "deep", "empty"]
)
def test_what_cannot_be_read_has_no_mutants(source: str) -> None:
    studio = make_studio().model_copy(update={"files": {"program.py": source}})
    assert list(sample_mutants(studio, 0)) == []
