"""The narrow dialect of schemas: closed, complete, or given up."""

import json

import pytest
from pydantic import ConfigDict

from envmill.models.structured import make_schema, narrow, render_schema
from flows.cli.prompt import collect_prompts
from schemas.base import Contract, Json
from schemas.prompts import BlueprintReply, ProgramReply, ScenarioReply, TestsReply


class Leaf(Contract):
    name: str
    size: int | None = None


class Tree(Contract):
    leaves: list[Leaf]
    best: Leaf
    pair: tuple[int, str] = (0, "")


class Flat(Contract):
    leaves: list[Leaf]
    best: Leaf
    """The best."""


class Loop(Contract):
    inner: "Loop | None" = None


class AnyValue(Contract):
    value: Json


class Open(Contract):
    rows: dict[str, int]


class Empty(Contract):
    pass


class Loose(Contract, extra="allow"):
    name: str


def walk(schema: Json) -> list[Json]:
    found = [schema] if isinstance(schema, dict) else []
    parts = (
        schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    )
    return found + [one for part in parts for one in walk(part)]


@pytest.mark.parametrize("record", [Flat, Leaf, ProgramReply])
def test_every_object_is_closed_and_all_of_it_required(record: type[Contract]) -> None:
    schema = narrow(record)
    assert schema is not None
    objects = [one for one in walk(schema) if one.get("type") == "object"]
    assert objects
    assert all(
        one["additionalProperties"] is False and one["required"] == list(one["properties"])
        for one in objects
    )
    rendered = json.dumps(schema)
    assert not any(word in rendered for word in ("$ref", "$defs", '"default"', '"title"'))


@pytest.mark.parametrize(
    "record", [Loop, AnyValue, Open, Empty, Loose, Tree, BlueprintReply, ScenarioReply, TestsReply]
)
def test_what_the_dialect_cannot_say_is_given_up(record: type[Contract]) -> None:
    assert narrow(record) is None


_TITLES = """Atom AtomStep AtomsReply BlueprintReply Branch Break Call CallCondition CallPattern CasesReply
Chain ChainReply CheckerReply ChecksReply ClaimedIdentity Coupling CoverageReply DagReply
DebugReply DemandSource DeskReply DeskTestsReply Errand ErrandLine ErrandsReply ErrorsReply
ExamReply Fact FaultReply FaultsReply FileLine Filling FromItem FromNode FromRecord FromUser
Goal GrowReply HarderLine HarderReply Hint Image Infeasible InterfaceReply Loop MapperReply
MatchedTest MetadataReply MethodsReply MissingTest NamesReply NaturalReply NaturalVerdict
Persona Pick PlannedTool PolicyClause PolicyProseReply PolicyReadingReply ProgramReply
PromisedTool ProposedFault ReadAnswer ReadChange ReaderReply Reason Relation RelationReply
RequirementsReply RewordReply RowsReply RulingReply ScenarioReply SchemaReply SelectedReply
Service SharedIdentity SidedCollection SidedTool SketchReply SketchedTool SolutionReply
StateCondition StatedLine Step SuspicionReply SystemReply TesterCall TesterReply TestsReply
ThemeReply Told ToolPatch ToolPlan ToolsetReply TopologyReply TrialsReply TwoReadings TypedTool
Understanding UnlockedBy UserReply Verdict WalkReply Wish WordsCondition WordsReply WrittenCheck
WrittenRequest"""
"""Names that models read in reply schemas. A class that is renamed keeps its own by `model_config =
ConfigDict(title=...)`."""


def test_models_read_the_same_names_whatever_classes_are_called() -> None:
    schemas = [
        make_schema(prompt.gives) for _, prompt in collect_prompts().values() if prompt.gives
    ]
    assert (
        sorted({name for schema in schemas for name in (schema["title"], *schema.get("$defs", {}))})
        == _TITLES.split()
    )


class Renamed(Contract):
    model_config = ConfigDict(title="Leaf")

    name: str
    size: int | None = None


def test_a_title_stands_for_the_name_of_the_class() -> None:
    class Tree(Contract):
        leaves: list[Renamed]
        best: Renamed
        pair: tuple[int, str] = (0, "")

    before = globals()["Tree"]
    assert render_schema(Tree) == render_schema(before)
    assert "Renamed" not in render_schema(Tree)


def test_two_parts_of_one_title_are_refused() -> None:
    class Both(Contract):
        one: Leaf
        other: Renamed

    with pytest.raises(ValueError, match="have one title"):
        make_schema(Both)
