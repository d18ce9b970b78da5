"""Recipe `agentscaler` end to end: documents parted into domains, tools written over tables, walks
that become scenarios, every gate."""

import asyncio
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

import offline as author
from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.interop.importers.tools import list_sources, read_sources
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.plan import find_plan_faults
from envmill.lake.lake import Lake
from envmill.models.gateway import ModelSession
from envmill.recipes import agentscaler
from envmill.recipes.documents import part_domains
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.toolgraph.evidence.base import EvidenceInput, ToolBond
from envmill.toolgraph.evidence.label import STRENGTHS
from envmill.toolgraph.evidence.likeness import LikenessEvidence
from envmill.toolgraph.outlining import outline_proposal
from envmill.toolgraph.partition import find_domains
from envmill.toolgraph.proposing import propose_domains
from envmill.toolgraph.weaving import weave
from offline.database import list_touches
from offline.dice import make_dice
from offline.documents import compose_outline
from offline.domain import GONE
from offline.population import begin
from offline.truth import find_truth
from schemas.document_prompts import Found, Source
from schemas.environment import Blueprint, Environment
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from schemas.sketch import ToolSketch
from tests.interop.bundles.five import check_five
from tests.pipeline.test_runner import ask
from tests.recipes.walks import check_chains, check_walk, walk_recipe
from tests.soak import count

SEED = 7
SERVICES = "botocore:sns,botocore:ecs,botocore:cognito-idp"


class Answering:
    """An account that asks the offline author, who makes no mistakes."""

    provider, model = "offline", "offline"

    def __init__(self) -> None:
        self.asked = Counter[str]()

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> Any:
        self.asked[prompt.name] += 1
        return reply.model_validate_json(
            author.answer(prompt.name, inputs.model_dump(mode="json"), SEED, 0, 0.0)
        )


async def grow(
    documents: str = "", environments: int = 2
) -> tuple[list[Found], list[Seed], Answering]:
    recipe, models = agentscaler.make(read_themes()), Answering()
    config = RunConfig(
        recipe="agentscaler", environments=environments, documents=documents, seed=SEED
    )
    (text,) = recipe.pick_texts(config)
    found = [
        one for one in await recipe.grow(text, cast(ModelSession, models)) if isinstance(one, Found)
    ]
    return found, [recipe.make_seed(one, "unknown", "text", config) for one in found], models


async def test_documents_become_domains_with_tables_walks_and_a_licence() -> None:
    found, seeds, models = await grow()
    assert [one.theme for one in found] == [
        "helpdesk_tickets_customers",
        "rentals_vehicles_stations",
    ]
    assert {seed.licence for seed in seeds} == {"Apache-2.0"}
    assert models.asked["label"] == sum(len(one.outline.tools) for one in found)
    for one in found:
        known = {tool.name for tool in one.outline.tools}
        assert len(one.outline.walks) >= 12
        assert all(set(walk) <= known and len(walk) > 1 for walk in one.outline.walks)


@pytest.mark.long
async def test_the_factory_names_documents_of_twenty_domains() -> None:
    """Of service models and OpenAPI documents, by the one setting `--documents list:services`; each
    domain gives seeds."""
    pytest.importorskip("botocore")
    sketches = [
        sketch for harvest in read_sources("list:services").values() for sketch in harvest.sketches
    ]
    assert {sketch.source for sketch in sketches} == {"openapi", "botocore"}
    domains = await propose_domains(sketches, walks=0)
    assert sum(bool(outline_proposal(domain)) for domain in domains) >= 20
    found, seeds, _ = await grow("list:services", 20)
    assert len({(found_.outline.tools[0].service) for found_ in found}) >= 20
    assert len({seed.id for seed in seeds}) == len(seeds) >= 40


@pytest.mark.parametrize(
    ("label", "walked"), [("strong", True), ("weak", True), ("independent", False), ("", False)]
)
async def test_a_pair_that_an_embedder_proposes_is_walked_if_a_model_says_so(
    label: str, walked: bool
) -> None:
    """Nothing else ties the two tools: no name, no table."""
    inputs = {
        "type": "object",
        "properties": {"berth_place": {"type": "string"}, "hull_length": {"type": "number"}},
    }
    tools = [
        ToolSketch(name="measure_hull", inputs=inputs),
        ToolSketch(name="paint_mast", inputs=inputs),
    ]
    likeness = LikenessEvidence("lexical")
    candidates = await weave(tools, [likeness])
    assert [bond.is_candidate for bonds in candidates.bonds.values() for bond in bonds] == [True]
    assert len(find_domains(candidates)) == 1
    assert len(find_domains(await weave(tools, []))) == 2
    assert candidates.labels == {}

    class Judge:
        name = "label"

        async def find(self, _: EvidenceInput) -> list[ToolBond]:
            return [ToolBond(0, 1, STRENGTHS[label], "label", label)] if label in STRENGTHS else []  # type: ignore[arg-type,index]

    assert bool((await weave(tools, cast(Any, [likeness, Judge()]))).labels) == walked


async def test_parameter_lists_that_are_unlike_are_no_candidates() -> None:
    shape = lambda *names: {  # noqa: E731
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
    }
    tools = [
        ToolSketch(name="measure_hull", inputs=shape("berth_place", "hull_length")),
        ToolSketch(name="bake_bread", inputs=shape("oven_heat", "flour_kind")),
        ToolSketch(name="list_all", inputs=shape()),
    ]
    assert (await weave(tools, [LikenessEvidence("lexical")])).bonds == {}


async def test_a_run_names_what_proposes_pairs(tmp_path: Path) -> None:
    """The setting reaches the graph: with it, what is proposed is another set of domains or
    walks."""
    config = RunConfig(
        recipe="agentscaler", environments=2, candidates="lexical", likeness=0.5, seed=SEED
    )
    (text,) = agentscaler.make(read_themes()).pick_texts(config)
    assert Source.model_validate_json(text).candidates == "lexical"
    models = cast(ModelSession, Answering())
    assert await part_domains(text, models)
    broken = Source.model_validate_json(text).model_copy(update={"candidates": "minilm"})
    with pytest.raises(SettingsError, match="minilm"):
        await part_domains(broken.model_dump_json(), models)


def test_lists_of_documents_name_their_sources(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("# ours\nmcp:notes.json\n\nbotocore:sqs  # queues\n")
    assert list_sources(f"openapi:a.json,list:{tmp_path}/own.txt") == [
        "openapi:a.json",
        f"mcp:{tmp_path}/notes.json",
        "botocore:sqs",
    ]
    with pytest.raises(SettingsError, match="services"):
        list_sources("list:nothing")


async def test_whatever_is_not_written_has_a_reason() -> None:
    pytest.importorskip("botocore")
    _, seeds, _ = await grow(SERVICES, 8)
    assert len(seeds) > 4
    for seed in seeds:
        assert seed.brief.outline is not None
        composed = compose_outline(seed.brief, SEED)
        written = composed.domain.operations.keys()
        documented = {tool.name for tool in seed.brief.outline.tools}
        assert documented - written == composed.left_out.keys()
        assert all(composed.left_out.values())
        assert all(name.startswith("find_") for name in written - documented)
        touched = {
            table
            for one in list_touches(composed.domain).values()
            for table in (*one.reads, *one.writes)
        }
        assert touched <= composed.domain.collections.keys()
        for operation in composed.domain.changes:
            made = [
                found
                for step in operation.then
                for found in re.findall(r"(\w+)='(\w[^']*)'", step.do)
                if " = new(" in step.do
            ]
            unsaid = [
                f"{column.replace('_', ' ')} {value}" for column, value in made if value != "active"
            ]
            assert all(one.removeprefix("is ") in operation.does for one in unsaid), (
                operation.does,
                unsaid,
            )
            assert not any(one.endswith(" yes") for one in unsaid), (
                operation.name,
                "nobody asked for it to be switched on",
            )


async def test_a_flag_of_the_call_is_no_column() -> None:
    _, (seed, *_), _ = await grow()
    assert seed.brief.outline is not None
    flag = {"type": "boolean"}
    tools = [
        tool.model_copy(
            update={
                "inputs": {
                    **tool.inputs,
                    "properties": {
                        **tool.inputs["properties"],
                        "force_change": flag,
                        "notify": flag,
                    },
                }
            }
        )
        for tool in seed.brief.outline.tools
        if tool.effect == "change"
    ]
    others = [tool for tool in seed.brief.outline.tools if tool.effect != "change"]
    brief = seed.brief.model_copy(
        update={"outline": seed.brief.outline.model_copy(update={"tools": [*others, *tools]})}
    )
    taken = {each.name for one in compose_outline(brief, SEED).domain.changes for each in one.takes}
    assert "notify" in taken
    assert "force_change" not in taken


async def test_a_tool_whose_name_nobody_could_use_is_left_out() -> None:
    _, (seed, *_), _ = await grow()
    assert seed.brief.outline is not None
    (first, *others) = seed.brief.outline.tools
    long = first.model_copy(update={"name": f"{first.name}_{'x' * 64}"})
    brief = seed.brief.model_copy(
        update={"outline": seed.brief.outline.model_copy(update={"tools": [long, *others]})}
    )
    assert "more than 64 letters" in compose_outline(brief, SEED).left_out[long.name]


async def test_no_first_row_refers_to_one_that_was_deleted() -> None:
    _, seeds, _ = await grow()
    for seed in seeds:
        domain = compose_outline(seed.brief, SEED).domain
        state = begin(domain, "rows", make_dice("rows")).state
        for name, collection in domain.collections.items():
            for column, attribute in collection.attributes.items():
                gone = (
                    {key for key, row in state[attribute.ref].items() if GONE in row.values()}
                    if attribute.ref
                    else set[str]()
                )
                assert not gone & {row[column] for row in state[name].values()}


async def test_a_plan_accounts_for_every_tool_of_its_documents() -> None:
    _, (seed, *_), models = await grow()
    plan = await agentscaler.make(read_themes()).think_up(seed, FIRST, cast(ModelSession, models))
    assert find_plan_faults(plan) == []
    assert plan.brief.outline is not None
    assert plan.brief.outline.left_out["upload_attachments"]
    forgotten = plan.model_copy(
        update={"tools": [tool for tool in plan.tools if tool.name != "close_ticket"]}
    )
    (fault,) = find_plan_faults(forgotten)
    assert "close_ticket" in fault
    few = Blueprint.model_validate(plan.model_dump() | {"id": "", "tools": plan.tools[:4]})
    assert any("at least 6" in one for one in find_plan_faults(few))


PLANS, EVERY = count(6, 300), count(2, 5)
_SERVICES = "botocore:sns,botocore:sqs,botocore:efs,botocore:codecommit,botocore:backup"


@pytest.mark.soak(area="mechanisms")
async def test_who_passes_over_a_tool_of_its_documents_is_told_and_an_honest_author_is_not() -> (
    None
):
    """In a soak 300 plans over domains of five services, each fifth of which lacks a tool. All
    others are honest."""
    dice, recipe, found = random.Random(SEED), agentscaler.make(read_themes()), Counter[bool]()
    _, seeds, models = await grow(_SERVICES if count(0, 1) else "", count(2, 12))
    plans = [
        await recipe.think_up(seed, FIRST, cast(ModelSession, models))
        for seed in seeds
        if seed.brief.outline
    ]
    large = [
        plan
        for plan in plans
        if len(plan.tools) > 6 and sum(one.effect == "change" for one in plan.tools) > 2
    ]
    for number in range(PLANS):
        plan, spoilt = dice.choice(large), number % EVERY == 0
        tools = dice.sample(plan.tools, len(plan.tools) - spoilt)
        found[spoilt] += bool(find_plan_faults(plan.model_copy(update={"tools": tools})))
    assert found[False] == 0
    assert found[True] >= PLANS // EVERY - PLANS // EVERY // 20, found


async def test_a_plan_says_what_each_tool_of_a_document_returns() -> None:
    """The words are the author's own; a tool whose document says nothing of its reply is not
    asked."""
    _, (seed, *_), models = await grow()
    plan = await agentscaler.make(read_themes()).think_up(seed, FIRST, cast(ModelSession, models))
    tools = [
        tool.model_copy(update={"description": "Open a ticket."})
        if tool.name == "create_ticket"
        else tool
        for tool in plan.tools
    ]
    (fault,) = find_plan_faults(plan.model_copy(update={"tools": tools}))
    assert "does not say what it returns" in fault
    assert "ticket_id" in fault
    assert plan.brief.outline is not None
    silent = [tool.model_copy(update={"outputs": {}}) for tool in plan.brief.outline.tools]
    outline = plan.brief.outline.model_copy(update={"tools": silent})
    brief = plan.brief.model_copy(update={"outline": outline})
    assert find_plan_faults(plan.model_copy(update={"tools": tools, "brief": brief})) == []


async def test_tools_of_a_server_are_enough_and_what_tells_no_licence_has_none(
    tmp_path: Path,
) -> None:
    place = tmp_path / "notes.json"
    place.write_text(json.dumps({"tools": [describe(*one) for one in NOTES]}))
    (found,), (seed,), _ = await grow(f"mcp:{place}")
    assert seed.licence == "unknown"
    assert seed.brief.outline is not None
    composed = compose_outline(seed.brief, SEED)
    assert {
        "update_note",
        "archive_note",
        "restore_note",
        "delete_note",
    } <= composed.domain.operations.keys()
    assert composed.left_out["create_note"] == "it needs folder_id, which nobody can look up here"
    assert set(composed.domain.collections) == {"notes"}
    assert "create_folder" in seed.brief.outline.left_out
    assert found.theme.startswith("notes")


NOTES = (
    ("create_folder", "name"), ("list_folders",), ("delete_folder", "folder_id"), ("create_note", "folder_id", "title"), ("list_notes",),
    ("delete_note", "note_id"), ("restore_note", "note_id"), ("get_note", "note_id"), ("update_note", "note_id", "text"),
    ("archive_note", "note_id"), ("assign_note", "note_id", "folder_id"),
)  # fmt: skip


def describe(name: str, *needed: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in needed},
        "required": list(needed),
    }
    return {"name": name, "description": name.replace("_", " "), "inputSchema": schema}


@pytest.mark.parametrize(
    ("documents", "words"),
    [("swagger:x", "names no documents"), ("openapi:", "names no documents")],
)
def test_documents_that_nobody_can_read_are_refused(documents: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_sources(documents)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    (run,) = asyncio.run(walk_recipe("agentscaler", tmp_path_factory.mktemp("agentscaler")))
    return run


@pytest.mark.long
def test_environments_and_scenarios_come_of_it(finished: Settings) -> None:
    check_walk([finished])
    assert {one.licence for one in Lake(finished.lake).read(Environment, "r1")} == {"Apache-2.0"}


@pytest.mark.long
def test_a_scenario_goes_along_a_walk(finished: Settings) -> None:
    lake = Lake(finished.lake)
    homes = {one.id: one for one in lake.read(Environment, "r1")}
    drafts = [one for one in lake.read(Draft, "r1") if one.polarity == "achieve"]
    assert drafts
    for draft in drafts:
        outline = homes[draft.environment].brief.outline
        assert outline is not None
        walked = outline.walks[draft.number % len(outline.walks)]
        assert {call.name for call in draft.oracle} & set(walked)
    for scenario in lake.read(Scenario, "r1"):
        if scenario.polarity == "achieve":
            assert callable(find_truth(scenario, homes[scenario.environment], SEED))
    assert lake.read(Scenario, "r1")


@pytest.mark.long
async def test_every_kept_path_is_a_chain_that_the_validator_passes(
    finished: Settings, jail: Sandbox
) -> None:
    await check_chains([finished], jail)


@pytest.mark.long
def test_each_step_of_the_funnel_is_counted(finished: Settings) -> None:
    rows = ask(
        finished,
        "select gate, count(*) from attrition where stage = 'collect' and outcome = 'kept' group "
        "by all",
    )
    counted = dict(rows)
    assert counted["validity"] >= 1
    assert counted.get("end_state", 0) + counted.get("function_match", 0) >= 1


@pytest.mark.long
@pytest.mark.soak(area="mcp")
@pytest.mark.skipif(
    not count(0, 1), reason="under `make test` recipes awm and envfactory: make soak AREA=mcp"
)
async def test_five_policies_earn_the_same_wherever_a_folder_is_played(
    finished: Settings, tmp_path: Path
) -> None:
    assert await check_five(finished, "r1", count(1, 20), tmp_path) == count(1, 20)
