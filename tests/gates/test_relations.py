"""Searches by another case: of a name people expect it, a reference they copy. Filters by which
rows are told otherwise."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.arguments import Offers
from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.exploring.relations import filters_are_subsets, searches_find_parts
from schemas.environment import Call, Tool
from tests.gates.specimens import make_studio


def search(text: str, *found: str) -> Any:
    parts = [{"type": "json", "value": [{"id": key} for key in found]}]
    call = Call(name="find_rows", arguments={"status": "open", "text": text})
    return SimpleNamespace(why="search", call=call, seen=SimpleNamespace(outcome="ok", parts=parts))


def find_breaches(said: str, *calls: Any) -> list[str]:
    """What is said of a search whose parameter is described so."""
    parameters = {
        "properties": {
            "status": {"type": "string"},
            "text": {"type": "string", "description": said},
        }
    }
    tool = Tool(
        name="find_rows",
        description="Find rows by a part of their names.",
        parameters=parameters,
        effect="query",
    )
    offers = Offers(EnvironmentCase(make_studio(), ()))
    exploration = SimpleNamespace(tools={tool.name: tool}, of=lambda _: calls, offers=offers)
    return [
        breach.reason
        for breach in searches_find_parts(cast(Any, None), cast(ExplorationRun, exploration))
    ]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("P-205", []),
        ("HA 12/7", []),
        ("B231", []),
        ("Ada Kern", ["case_sensitive"]),
        ("Wheel 2", ["case_sensitive"]),
        ("RAKU", ["case_sensitive"]),
    ],
)
def test_a_name_is_found_in_either_case_and_a_reference_need_not_be(
    text: str, reasons: list[str]
) -> None:
    assert (
        find_breaches(
            "Text to look for.", search(text, "R1"), search(text, "R1"), search(text.swapcase())
        )
        == reasons
    )


@pytest.mark.parametrize(
    ("said", "reasons"),
    [
        pytest.param(
            "Number, or a part of it.", ["whole_words_only", "case_sensitive"], id="promised"
        ),
        pytest.param(
            "What the number of the berth contains.",
            ["whole_words_only", "case_sensitive"],
            id="promised-otherwise",
        ),
        pytest.param("Text to look for.", [], id="promised-by-the-tool-alone"),
        pytest.param("The exact number, not a part of it.", [], id="exact"),
        pytest.param(
            "Number, or a part of it; case-sensitive.",
            ["whole_words_only"],
            id="case-said-to-matter",
        ),
        pytest.param(
            "A part of the number, as it is printed: capitals matter.",
            ["whole_words_only"],
            id="capitals-said-to-matter",
        ),
        pytest.param(
            "A part of the number, not case-sensitive.",
            ["whole_words_only", "case_sensitive"],
            id="case-said-not-to-matter",
        ),
    ],
)
def test_a_reference_is_found_by_a_part_where_its_parameter_promises_it(
    said: str, reasons: list[str]
) -> None:
    assert find_breaches(said, search("P-205", "R1"), search("P-2"), search("p-205")) == reasons


@pytest.mark.parametrize(
    ("description", "searched"),
    [
        ("Find items by the exact tag, a part of the name, category or status.", ["name"]),
        ("Find items by a part of the name or the category.", ["name", "category"]),
        ("Find items whose text contains a part.", ["name", "category"]),
        ("Find items by a keyword.", ["name", "category"]),
        ("List items.", []),
    ],
)
def test_a_search_takes_parts_of_what_its_description_names(
    description: str, searched: list[str]
) -> None:
    parameters = {
        "properties": {
            name: {"type": "string", "description": "Given."} for name in ("name", "category")
        }
    }
    tool = Tool(name="find_items", description=description, parameters=parameters, effect="query")
    assert list(Offers(EnvironmentCase(make_studio(), ())).searches(tool)) == searched


def test_a_name_is_found_in_one_case_where_its_parameter_says_so() -> None:
    calls = [search("Ada Kern", "R1"), search("Ada K", "R1"), search("aDA kERN")]
    assert find_breaches("A part of the name. Upper and lower case matter.", *calls) == []
    assert find_breaches("A part of the name. Upper and lower case do not matter.", *calls) == [
        "case_sensitive"
    ]


def narrow(rows: list[dict[str, Any]], **arguments: str) -> Any:
    call = Call(name="find_masters", arguments={**arguments})
    return SimpleNamespace(
        why="filter",
        call=call,
        seen=SimpleNamespace(outcome="ok", parts=[{"type": "json", "value": rows}]),
    )


ALL = [
    {"master_id": "G1", "name": "Ottilie", "busy": False},
    {"master_id": "G2", "name": "Rafael", "busy": False},
]


@pytest.mark.parametrize(
    ("part", "reasons"),
    [
        pytest.param(
            [{"master_id": "G1", "name": "Ottilie", "busy": True}],
            [],
            id="what-is-worked-out-for-the-filter-differs",
        ),
        pytest.param(
            [{"master_id": "G3", "name": "Noor", "busy": False}],
            ["filter_widens"],
            id="another-row",
        ),
        pytest.param(
            [{"driver": {"id": "D1"}, "runs": ["r1"]}], [], id="a-record-inside-a-row-is-its-key"
        ),
        pytest.param(
            [{"driver": {"id": "D9"}, "runs": ["r1"]}],
            ["filter_widens"],
            id="another-record-inside-a-row",
        ),
        pytest.param(
            [{"master_id": "G1", "name": "Ottilie"}, {"master_id": "G1", "name": "Noor"}],
            ["filter_widens"],
            id="no-key",
        ),
        pytest.param(
            [{"name": "Ottilie", "busy": True}], ["filter_widens"], id="rows-without-a-key"
        ),
        pytest.param(
            [{"master_id": "S01", "name": "Noor", "busy": False}],
            [],
            id="the-row-that-is-asked-for",
        ),
        pytest.param(
            [
                {"master_id": "S01", "name": "Noor", "busy": False},
                {"master_id": "G3", "name": "Abe", "busy": False},
            ],
            ["filter_widens"],
            id="another-row-beside-the-one-asked-for",
        ),
    ],
)
def test_a_filter_may_tell_rows_otherwise_and_no_other_rows(
    part: list[dict[str, Any]], reasons: list[str]
) -> None:
    whole = (
        [{"driver": {"id": key}, "runs": []} for key in ("D1", "D2")]
        if "driver" in part[0]
        else ALL
    )
    calls = [narrow(whole), narrow(part, session="S01")]
    tool = SimpleNamespace(
        name="find_masters",
        description="Masters.",
        effect="query",
        parameters={"properties": {"session": {"type": "string"}}},
    )
    exploration = SimpleNamespace(tools={tool.name: tool}, of=lambda _: calls)
    assert [
        breach.reason
        for breach in filters_are_subsets(cast(Any, None), cast(ExplorationRun, exploration))
    ] == reasons
