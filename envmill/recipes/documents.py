"""Documents of tools: domains they are parted into, each with a seed, and the first parts of a plan
for what a document describes.

documents ─► sketches ─► graph, parted into domains ─► outlines: tools, tables, walks, licence      (one seed each)
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from envmill.base.errors import SettingsError
from envmill.interop.importers.tools import read_sources
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.themes import seed_theme
from envmill.runtime.program import SCHEMA
from envmill.toolgraph.evidence.base import EvidenceSource
from envmill.toolgraph.evidence.label import LabelEvidence
from envmill.toolgraph.evidence.likeness import LikenessEvidence
from envmill.toolgraph.outlining import OutlinePart, Size, add_walks, is_plain, outline_proposal
from envmill.toolgraph.proposing import propose_domains
from schemas.choice import NO_PAST, Past
from schemas.document_prompts import Found, Source
from schemas.environment import Blueprint, ToolPlan
from schemas.prompts import ThemeReply
from schemas.proposal import Proposal
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed
from schemas.table_prompts import RequirementsInput, RequirementsReply, SchemaInput, SchemaReply
from schemas.typed_prompts import MetadataInput, MetadataReply, SketchedTool

_SURPLUS = 3
"""Domains proposed per environment wanted: some are like another one, of some too few tools can be
written."""
_WORDS = 5
"""Words of a domain's name: a theme has six at most."""


def load_requirements() -> Prompt:
    return Prompt.load(
        PROMPTS / "documents" / "requirements.md", RequirementsInput, RequirementsReply
    )


def load_schema() -> Prompt:
    return Prompt.load(PROMPTS / "documents" / "schema.md", SchemaInput, SchemaReply)


def load_metadata() -> Prompt:
    return Prompt.load(PROMPTS / "documents" / "metadata.md", MetadataInput, MetadataReply)


async def refuse_corpus(recipe: RecipeName, _text: str, _account: ModelSession) -> ThemeReply:
    """No theme is found in a text where documents say what there is."""
    raise SettingsError(
        f"Recipe {recipe} starts from documents of tools: leave `corpus` out, and name them under "
        "`documents`."
    )


def pick_source(config: RunConfig, past: Past = NO_PAST) -> list[str]:
    """One text: domains are parted once, over all the documents. Earlier runs used some of them, so
    further ones are proposed."""
    wanted = (config.first + config.environments) * _SURPLUS + len(past.turns)
    told = Source(
        documents=config.documents,
        seed=config.run_seed,
        wanted=wanted,
        tools=config.tools,
        collections=config.collections,
        candidates=config.candidates,
        likeness=config.likeness,
    )
    return [told.model_dump_json()]


async def part_domains(text: str, models: ModelSession) -> list[ThemeReply]:
    """Every domain that is large enough; inside each a model is asked which tool rests on which."""
    source = Source.model_validate_json(text)
    candidates = (
        [LikenessEvidence(source.candidates, source.likeness)]
        if source.candidates != "names"
        else []
    )
    outlined = [
        outline_proposal(one, Size.of(source.tools, source.collections))
        for one in await _propose(source, candidates)
    ]
    # The largest of each domain first: a service of four hundred operations must not crowd out all
    # others.
    turns = [part for turn in zip_longest(*outlined) for part in turn if part is not None][
        : source.wanted
    ]
    walked = [
        await add_walks(part, source.seed, (*candidates, LabelEvidence(models))) for part in turns
    ]
    names = dict[str, int]()
    return [_describe(part, names, source) for part in walked]


def seed_domain(
    recipe: RecipeName,
    theme: ThemeReply,
    licence: str,
    source: str,
    config: RunConfig,
    past: Past = NO_PAST,
) -> Seed:
    """A domain as a seed, with its outline and the licence of its documents; a theme of a text as
    any other."""
    seed = seed_theme(recipe, theme, licence, source, config, past)
    if not isinstance(theme, Found):
        return seed
    brief = seed.brief.model_copy(update={"outline": theme.outline})
    return Seed.model_validate(
        seed.model_dump() | {"id": "", "brief": brief, "licence": theme.licence}
    )


async def _propose(source: Source, evidence: Sequence[EvidenceSource]) -> list[Proposal]:
    """Domains of all documents together."""
    sketches = [
        sketch for harvest in read_sources(source.documents).values() for sketch in harvest.sketches
    ]
    return await propose_domains(sketches, evidence, source.seed)


def _describe(part: OutlinePart, names: dict[str, int], source: Source) -> Found:
    """A part smaller than asked for is of no use, and goes no further."""
    outline = part.outline
    is_small = len(outline.tools) < (source.tools or 0) or len(outline.tables) < (
        source.collections or 0
    )
    words = "".join(
        one if one.isalnum() and one.isascii() else " "
        for one in part.name.lower().replace("_", " ")
    ).split()[:_WORDS]
    theme = "_".join([*(["api"] if not words[0][0].isalpha() else []), *words])
    names[theme] = names.get(theme, 0) + 1
    tables = ", ".join(table.name.replace("_", " ") for table in outline.tables)
    does = " ".join(sorted(tool.name.replace("_", " ") for tool in outline.tools))
    size = ", smaller than asked for" if is_small else ""
    return Found(
        reason=f"Its documents describe {len(outline.tools)} tools over {len(outline.tables)} "
        f"tables{size}: {tables}.",
        stateful=True,
        specific=True,
        theme=theme if names[theme] == 1 else f"{theme}_{names[theme]}",
        description=f"Records of {tables}, read and changed by tools of {part.name.split()[0]}: {does}.",
        usefulness=8 if outline.walks and not is_small else 1,
        modelability=max(1, min(10, 1 + sum(map(is_plain, part.sketches)))),
        outline=outline,
        licence=part.licence,
    )


def leave_out(plan: Blueprint, reasons: Mapping[str, str]) -> Brief:
    """The brief with what is not written of its documents, and why, beside what the partition left
    out."""
    outline = plan.brief.outline
    if outline is None:
        return plan.brief
    return plan.brief.model_copy(
        update={
            "outline": outline.model_copy(update={"left_out": outline.left_out | dict(reasons)})
        }
    )


async def ask_metadata(
    prompt: Prompt, plan: Blueprint, complaint: str, models: ModelSession
) -> Blueprint:
    """Tools, each with its types and the tables it touches."""
    known = plan.model_dump(include={"summary", "requirements", "rules"})
    sketched = [] if plan.brief.outline is not None else list_sketched(plan)
    inputs = MetadataInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA], tools=sketched)
    reply = await models.ask(prompt, inputs, MetadataReply, complaint=complaint)
    sketches = {tool.name: tool for tool in sketched}
    tools = [tool.settle(sketches.get(tool.name)) for tool in reply.tools]
    return plan.model_copy(
        update={
            "tools": [
                ToolPlan(name=tool.name, description=tool.description, effect=tool.effect)
                for tool in tools
            ],
            "touches": {tool.name: tool.touch for tool in tools},
            "signatures": {tool.name: tool.signature for tool in tools},
            "brief": leave_out(plan, reply.left_out),
        }
    )


def list_sketched(plan: Blueprint) -> list[SketchedTool]:
    """Tools whose types are known before their tables are settled."""
    known = plan.signatures
    return [
        SketchedTool.model_validate(tool.model_dump() | known[tool.name].model_dump())
        for tool in plan.tools
        if tool.name in known
    ]
