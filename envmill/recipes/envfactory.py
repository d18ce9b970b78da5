"""Recipe `envfactory`: sketches of tools → types → tables → program → chains sampled from the types → scenarios → other words.

sketch.md, or documents ─► state.md ─► rows ─► metadata.md: types, tables touched ─► program and tests, replies held to the types
graph of the tools ─► backward sampler ─► the validator ─► topology.md: state, words, chain ─► the validator ─► carried out ─► reworded
"""

from collections.abc import Mapping
from pathlib import Path

from envmill.drafting.repair import Repair
from envmill.drafting.rewording import REWORD
from envmill.errors import BuildError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.agentscaler import AgentScaler, leave_out
from envmill.recipes.awm import list_columns
from envmill.recipes.envscaler import WHOLE, tell_place
from envmill.runtime.program import SCHEMA
from envmill.toolgraph.evidence.label import PROMPT as LABEL
from envmill.toolgraph.topology import draw_for, find_chain_fault, weave_environment
from schemas.environment import Blueprint, Environment, ToolPlan
from schemas.prompts import ScenarioReply, ThemeInput, ThemeReply
from schemas.run import RunConfig
from schemas.scenario import Polarity
from schemas.seed import Seed
from schemas.table_prompts import SchemaReply
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import MetadataInput, MetadataReply, Operator, SketchedTool, SketchInput, SketchReply, StateInput, TopologyInput

_FOLDER = Path(__file__).parent / "prompts" / "envfactory"

USER_SIDE = 4
"""One environment in so many has a tool of the user's own."""


class EnvFactory(AgentScaler):
    """Environments whose tools say types on both sides; what documents describe is parted into domains as recipe `agentscaler` does."""

    name = "envfactory"
    operators: tuple[Operator, ...] = ("goal_expansion", "compression", "implicit_reference", "ambiguity", "minimal_information")

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self._sketch = Prompt.load(_FOLDER / "sketch.md", SketchInput, SketchReply)
        self._state = Prompt.load(_FOLDER / "state.md", StateInput, SchemaReply)
        self._metadata = Prompt.load(_FOLDER / "metadata.md", MetadataInput, MetadataReply)
        self._topology = Prompt.load(_FOLDER / "topology.md", TopologyInput, ChainReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-mine": (self._theme, LABEL),
            "environments-generate": (self._sketch, self._requirements, self._state, self._schema, self._rows, self._metadata),
            "environments-build": (self._code, self._trials),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (self._topology, REWORD),
            "scenarios-build": (self._checks,),
        }

    async def find_theme(self, text: str, account: Account) -> ThemeReply:
        """A corpus will do as well: its places are sketched like those that are known."""
        return await account.ask(self._theme, ThemeInput(text=text), ThemeReply)

    def pick_seeds(self, config: RunConfig) -> list[Seed]:
        """Of known places, every fourth has a tool that is the user's alone; which ones, the run's seed says."""
        picked = super().pick_seeds(config)
        return [_give_user_a_tool(seed) if (place + (config.seed or 0)) % USER_SIDE == 0 else seed for place, seed in enumerate(picked)]

    def pick_texts(self, config: RunConfig) -> list[str]:
        """Documents, where any are named; without them the tools of known places are sketched."""
        return super().pick_texts(config) if config.documents else []

    async def _require(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        if plan.brief.outline is not None:
            return await super()._require(plan, complaint, account)
        reply = await account.ask(self._sketch, SketchInput(brief=plan.brief), SketchReply, complaint=complaint)
        told = reply.model_dump(include={"name", "summary", "requirements", "rules"}) | {"policy_document": reply.policy}
        tools = {"tools": [tool.plan for tool in reply.tools], "signatures": {tool.name: tool.signature for tool in reply.tools}}
        return plan.model_copy(update=told | tools)

    async def _design(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        """Tables that hold what sketched tools take and give."""
        if plan.brief.outline is not None:
            return await super()._design(plan, complaint, account)
        known = plan.model_dump(include={"name", "summary", "requirements", "rules"})
        inputs = StateInput(brief=plan.brief, **known, tools=_list_sketched(plan))
        reply = await account.ask(self._state, inputs, SchemaReply, complaint=complaint)
        files = {SCHEMA: reply.ddl}
        return plan.model_copy(update={"files": files, "policies": reply.policies, "collections": list_columns(files)})

    async def _plan_tools(self, plan: Blueprint, complaint: str, account: Account) -> Blueprint:
        known = plan.model_dump(include={"summary", "requirements", "rules"})
        sketched = [] if plan.brief.outline is not None else _list_sketched(plan)
        inputs = MetadataInput(brief=plan.brief, **known, ddl=plan.files[SCHEMA], tools=sketched)
        reply = await account.ask(self._metadata, inputs, MetadataReply, complaint=complaint)
        return plan.model_copy(
            update={
                "tools": [ToolPlan(name=tool.name, description=tool.description, effect=tool.effect) for tool in reply.tools],
                "touches": {tool.name: tool.touch for tool in reply.tools},
                "signatures": {tool.name: tool.signature for tool in reply.tools},
                "brief": leave_out(plan, reply.left_out),
            }
        )

    async def pose(self, environment: Environment, number: int, polarity: Polarity, repair: Repair, account: Account) -> ScenarioReply:
        """Along a chain that the validator passed; the one that comes back has to pass it as well."""
        graph = await weave_environment(environment)
        told = tell_place(environment, number, polarity).model_dump()
        inputs = TopologyInput.model_validate(told | {"sampled": draw_for(environment, graph, number)})
        reply = await account.ask(self._topology, inputs, ChainReply, complaint=repair.tell())
        if fault := find_chain_fault(graph, reply.chain, reply.polarity):
            raise BuildError(fault.words, reason=fault.code)
        return reply


def _give_user_a_tool(seed: Seed) -> Seed:
    brief = seed.brief.model_copy(update={"user_side": True})
    return Seed.model_validate(seed.model_dump() | {"id": "", "brief": brief})


def _list_sketched(plan: Blueprint) -> list[SketchedTool]:
    known = plan.signatures
    return [SketchedTool.model_validate(tool.model_dump() | known[tool.name].model_dump()) for tool in plan.tools if tool.name in known]
