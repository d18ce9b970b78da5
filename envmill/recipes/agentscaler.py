"""Recipe `agentscaler`: documents of tools → graph → domains → tables → tools' code over them → walks → scenarios.

documents ─► sketches ─► graph, parted into domains ─► outlines: tools, tables, walks, licence      (one seed each)
outline ─► rules ─► schema ─► rows ─► tools, and what is left out with its reason ─► as recipe `awm` from here
walk ─► state, request, reference path along it ─► EXECUTED on a private copy, replayed on a clean one
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from envmill.drafting.repair import Repair
from envmill.errors import SettingsError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.importers.tools import read_sources
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.awm import Awm
from envmill.recipes.envscaler import WHOLE
from envmill.runtime.program import SCHEMA
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from envmill.toolgraph.evidence.label import Labels
from envmill.toolgraph.outlining import Part, Size, add_walks, is_plain, outline_proposal
from envmill.toolgraph.proposing import propose_domains
from schemas.document_prompts import Found, SelectedReply, Source, WalkInput
from schemas.environment import Blueprint, Environment, ToolPlan
from schemas.prompts import ScenarioReply, ThemeReply
from schemas.proposal import Proposal
from schemas.run import RunConfig
from schemas.scenario import Polarity
from schemas.seed import Brief, Seed
from schemas.table_prompts import InterfaceInput, RequirementsInput, RequirementsReply, SchemaInput, SchemaReply

_SURPLUS = 3
"""Domains proposed per environment wanted: some are like another one, of some too few tools can be written."""
_WORDS = 5
"""Words of a domain's name: a theme has six at most."""
_FOLDER = Path(__file__).parent / "prompts" / "agentscaler"


class AgentScaler(Awm):
    """Environments as tables with the tools of real documents over them; every scenario begins with a walk through the graph of tools."""

    name = "agentscaler"

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self._requirements = Prompt.load(_FOLDER / "requirements.md", RequirementsInput, RequirementsReply)
        self._schema = Prompt.load(_FOLDER / "schema.md", SchemaInput, SchemaReply)
        self._interface = Prompt.load(_FOLDER / "interface.md", InterfaceInput, SelectedReply)
        self._walk = Prompt.load(_FOLDER / "walk.md", WalkInput, ScenarioReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-mine": (LABEL,),
            "environments-generate": (self._requirements, self._schema, self._rows, self._interface),
            "environments-build": (self._code, self._trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (self._walk,),
            "scenarios-build": (self._checks,),
        }

    async def find_theme(self, text: str, account: Account) -> ThemeReply:  # noqa: ARG002
        raise SettingsError("Recipe agentscaler starts from documents of tools: leave `corpus` out, and name them under `documents`.")

    def pick_texts(self, config: RunConfig) -> list[str]:
        """One: domains are parted once, over all the documents."""
        wanted = (config.first + config.environments) * _SURPLUS
        told = Source(documents=config.documents, seed=config.seed or 0, wanted=wanted, tools=config.tools, collections=config.collections)
        return [told.model_dump_json()]

    async def grow(self, text: str, account: Account) -> list[ThemeReply]:
        """Every domain that is large enough; inside each a model is asked which tool rests on which."""
        source = Source.model_validate_json(text)
        outlined = [outline_proposal(one, Size.of(source.tools, source.collections)) for one in await _propose(source)]
        # The largest of each domain first: a service of four hundred operations must not crowd out all others.
        turns = [part for turn in zip_longest(*outlined) for part in turn if part is not None][: source.wanted]
        walked = [await add_walks(part, source.seed, (Labels(account),)) for part in turns]
        names = dict[str, int]()
        return [_tell(part, names, source) for part in walked]

    def make_seed(self, theme: ThemeReply, licence: str, source: str, config: RunConfig) -> Seed:
        seed = super().make_seed(theme, licence, source, config)
        if not isinstance(theme, Found):
            return seed
        brief = seed.brief.model_copy(update={"outline": theme.outline})
        return Seed.model_validate(seed.model_dump() | {"id": "", "brief": brief, "licence": theme.licence})

    async def _plan_tools(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        """What is not written of the documents is kept with its reason beside what the partition left out."""
        known = plan.model_dump(include={"summary", "requirements", "rules"})
        inputs = InterfaceInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA])
        reply = await account.ask(self._interface, inputs, SelectedReply, complaint=complaint)
        tools = [ToolPlan(name=tool.name, description=tool.description, effect=tool.effect) for tool in reply.tools]
        touches = {tool.name: tool.touch for tool in reply.tools}
        return plan.model_copy(update={"tools": tools, "touches": touches, "brief": leave_out(plan, reply.left_out)})

    async def pose(self, environment: Environment, number: int, polarity: Polarity, repair: Repair, account: Account) -> ScenarioReply:
        """Walks in turn, so that each is the seed of some scenario before any comes again."""
        outline = environment.brief.outline
        walks = outline.walks if outline else []
        inputs = WalkInput(
            brief=environment.brief,
            name=environment.name,
            rules=environment.rules,
            tools=environment.tools,
            source="\n".join(environment.files.values()),
            policy=environment.policy_document,
            number=number,
            polarity=polarity,
            walk=_keep_written(walks[number % len(walks)], environment) if walks else [],
        )
        return await account.ask(self._walk, inputs, ScenarioReply, complaint=repair.tell())


async def _propose(source: Source) -> list[Proposal]:
    """Domains of all documents together."""
    sketches = [sketch for harvest in read_sources(source.documents).values() for sketch in harvest.sketches]
    return await propose_domains(sketches, seed=source.seed)


def _tell(part: Part, names: dict[str, int], source: Source) -> Found:
    """A part smaller than asked for is of no use, and goes no further."""
    outline = part.outline
    is_small = len(outline.tools) < (source.tools or 0) or len(outline.tables) < (source.collections or 0)
    words = "".join(one if one.isalnum() and one.isascii() else " " for one in part.name.lower().replace("_", " ")).split()[:_WORDS]
    theme = "_".join([*(["api"] if not words[0][0].isalpha() else []), *words])
    names[theme] = names.get(theme, 0) + 1
    tables = ", ".join(table.name.replace("_", " ") for table in outline.tables)
    does = " ".join(sorted(tool.name.replace("_", " ") for tool in outline.tools))
    size = ", smaller than asked for" if is_small else ""
    return Found(
        reason=f"Its documents describe {len(outline.tools)} tools over {len(outline.tables)} tables{size}: {tables}.",
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
    outline = plan.brief.outline
    if outline is None:
        return plan.brief
    return plan.brief.model_copy(update={"outline": outline.model_copy(update={"left_out": outline.left_out | dict(reasons)})})


def _keep_written(walk: Sequence[str], environment: Environment) -> list[str]:
    """A walk without the tools that were left out."""
    known = {tool.name for tool in environment.tools}
    return [name for name in walk if name in known]
