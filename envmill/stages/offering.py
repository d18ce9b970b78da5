"""Offering: the author of a scenario is offered a sampled chain that was carried out, and another
one where no scenario can follow it.

environment's offers ─► chain ─► author ─┬─ a scenario
          ▲                              └─ infeasible: which node, and why ─┐
          └── another chain and a line for it, twice; then the author chooses ─┘
"""

from dataclasses import dataclass, field, replace
from functools import partial

from envmill.gates.base import Finding, keep, pass_by
from envmill.kinds.authoring.repair import FIRST, Repair
from envmill.models.gateway import ModelSession
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import BlockPlan, ErrandBlock, ErrandBrief, describe_chain
from envmill.recipes.drafting.offered import INFEASIBLE, OfferedChain, complain_of_infeasible
from envmill.recipes.drafting.requests import choose_requests
from envmill.stages.context import RunContext
from envmill.stages.errands import PlacedErrand
from envmill.stages.places import ScenarioSlot, rank_place
from envmill.stages.posing import ScenarioVersion
from envmill.toolgraph.linking import Link, list_link_kinds, list_links
from envmill.toolgraph.offers import ChainOffers, find_offers
from envmill.toolgraph.references import list_tools, walk_nodes
from envmill.toolgraph.rehearsal import RehearsedChain
from schemas.base import Json
from schemas.chain import ChainStep, Infeasible
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity
from schemas.tool_prompts import SampledReply

GATE = "offer"
"""Under which the ledger has what was offered: `offer_1` and so on, a row for each chain."""
MORE = 2
"""Chains offered after the first, where the author finds one infeasible."""


@dataclass
class ChainOffering:
    """What the author of one scenario is offered, and what came of it."""

    place: ScenarioSlot
    polarity: Polarity
    planned: PlacedErrand
    """Planned for the place, and for the chain that stands."""
    context: RunContext
    offers: ChainOffers | None = None
    """None where nothing is offered."""
    chains: tuple[RehearsedChain, ...] = ()
    """Those of this place, in the order in which they are offered."""
    others_first: tuple[RehearsedChain, ...] = ()
    """Those that the other places are offered first."""
    why: str = ""
    """Why nothing is."""
    composed: ScenarioReply | None = None
    """What the kind composed, if it did; its words are asked for."""
    turn: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    _refused: set[Link] = field(default_factory=set[Link])
    """Links into nodes that the author called infeasible."""

    @classmethod
    async def prepare(
        cls, place: ScenarioSlot, planned: PlacedErrand, context: RunContext
    ) -> "ChainOffering":
        """Chains are drawn once for each environment."""
        recipe, config = context.recipe, context.config
        polarity = place.ask_polarity(config.polarities, place.number)
        if not recipe.samplers or config.chains == "free":
            return cls(place, polarity, planned, context)
        if place.parent is not None:
            return cls(place, polarity, planned, context, why="harder")
        if polarity != "achieve":
            # The path only reads there: a chain that changes something cannot be carried out.
            return cls(place, polarity, planned, context, why="only_reads")
        if place.environment.shared:
            return cls(place, polarity, planned, context, why="several_servers")
        if not place.tests and not place.rows:
            return cls(place, polarity, planned, context, why="no_start_state")

        rank, sharing = rank_place(config.polarities, place)

        async def make() -> ChainOffers:
            known = place.environment, place.tests, place.rows
            return await find_offers(
                *known, recipe.samplers, context.sandbox, results=config.results, sharing=sharing
            )

        offers = await context.offers.find(place.environment.id, make)
        chains = offers.list_for(rank, sharing)
        others_first = tuple(one for one in offers.chains[:sharing] if one not in chains[:1])
        return cls(
            place,
            polarity,
            planned,
            context,
            offers,
            chains,
            others_first,
            "" if chains else "none_carried_out",
        )

    @property
    def slot(self) -> ScenarioSlot:
        """The place with the chain that stands by now."""
        if self.turn >= min(len(self.chains), MORE + 1):
            return self.place
        drawn = self.chains[self.turn]
        return replace(
            self.place, offered=OfferedChain(drawn.chain, True, drawn.calls, frozenset(drawn.steps))
        )

    async def ask(self, repair: Repair, models: ModelSession) -> tuple[ScenarioReply, Repair]:
        """The reply to the chain that stands, or to another one, which repairs nothing. An author
        that refuses them all is asked without
        a chain: chains that make no sense are no reason to lose a scenario."""
        reply = await self._pose(repair, models)
        while (said := find_infeasible(reply)) is not None and self.slot.offered is not None:
            self.findings.append(self._describe_refusal(said))
            self._put_off(said)
            self.turn, repair = self.turn + 1, FIRST
            await self._plan_again(models)
            reply = await self._pose(repair, models)
        return reply, repair

    def _put_off(self, said: Infeasible) -> None:
        """The next chain is the one that repeats the fewest links into nodes that were refused
        here. What another place is offered first
        comes after all others."""
        offered = self.slot.offered
        assert offered is not None
        self._refused |= {link for node, link in list_links(offered.chain) if node == said.node}

        def rank(drawn: RehearsedChain) -> tuple[bool, int]:
            return drawn in self.others_first, len(
                self._refused.intersection(link for _, link in list_links(drawn.chain))
            )

        done = self.turn + 1
        self.chains = (*self.chains[:done], *sorted(self.chains[done:], key=rank))

    async def _pose(self, repair: Repair, models: ModelSession) -> ScenarioReply:
        slot = self.slot
        config = self.context.config
        requests = (
            choose_requests(config.requests, slot.number) if self.polarity == "achieve" else 1
        )
        brief = ScenarioBrief(
            slot.environment,
            slot.number,
            self.polarity,
            self.told,
            slot.offered,
            config.results,
            self.composed,
            requests,
        )
        return await self.context.recipe.pose(brief, repair, models)

    async def _plan_again(self, models: ModelSession) -> None:
        """A line for what is offered now: the one that was planned tells of the chain that was
        refused."""
        context, offered = self.context, self.slot.offered

        async def plan_alone(block: ErrandBlock, asking: ModelSession) -> BlockPlan:
            places = tuple(
                describe_chain(one, offered.chain if offered else None) for one in block.places
            )
            return await context.recipe.plan_errands(replace(block, places=places), asking)

        planned = partial(plan_offered, self.place, context)
        self.planned = await context.plans.redraw(
            self.place, context.config, planned, plan_alone, models
        )

    @property
    def told(self) -> ErrandBrief:
        """The errand as its author is told it: a chain that binds settles the tools."""
        brief = self.planned.brief
        line = brief.line
        if line is None or self.slot.offered is None:
            return brief
        return replace(brief, line=line.model_copy(update={"tools": []}))

    def list_findings(self) -> tuple[Finding, ...]:
        """A row for each chain that was offered, or one that says why none was."""
        if self.why:
            return (
                replace(
                    pass_by(f"{GATE}_1", self.why, _SAID[self.why]), evidence=self._describe_draws()
                ),
            )
        slot = self.slot
        if slot.offered is None and self.offers is not None:
            reason = "none_left" if self.turn <= MORE else "all_infeasible"
            return (*self.findings, pass_by(f"{GATE}_{self.turn + 1}", reason, _SAID[reason]))
        if slot.offered is None or len(self.findings) > self.turn:
            return tuple(self.findings)
        return (
            *self.findings,
            keep(
                f"{GATE}_{self.turn + 1}",
                self._describe_chain(slot.offered) | self._describe_draws(),
            ),
        )

    def _describe_refusal(self, said: Infeasible) -> Finding:
        offered = self.slot.offered
        assert offered is not None
        tools = {
            one.node.id: one.node.tool
            for one in walk_nodes(offered.chain.nodes)
            if isinstance(one.node, ChainStep)
        }
        tool = tools.get(said.node, "")
        detail = f"{said.node}{f' ({tool})' if tool else ''}: {said.reason}"
        evidence = (
            self._describe_chain(offered)
            | self._describe_draws()
            | {"node": said.node, "tool": tool, "reason": said.reason}
        )
        return replace(pass_by(f"{GATE}_{self.turn + 1}", INFEASIBLE, detail), evidence=evidence)

    def _describe_chain(self, offered: OfferedChain) -> dict[str, Json]:
        effects, new = (
            {tool.name: tool.effect for tool in self.place.environment.tools},
            self.chains[self.turn].new,
        )
        kinds: list[Json] = [
            kind for kind in list_link_kinds(offered.chain, effects) if new or kind != "result"
        ]
        return {
            "sampler": offered.chain.sampler,
            "tools": [*list_tools(offered.chain)],
            "links": kinds,
        }

    def _describe_draws(self) -> dict[str, Json]:
        if self.offers is None:
            return {}
        return {
            "drawn": self.offers.drawn,
            "offered": len(self.offers.chains),
            "not_offered": dict(self.offers.refused),
        }


async def plan_offered(
    place: ScenarioSlot, context: RunContext, block: ErrandBlock, models: ModelSession
) -> BlockPlan:
    """The recipe's plan of a block, told which chains its places will be offered first."""
    offerings = [
        await ChainOffering.prepare(replace(place, number=one.number), PlacedErrand(), context)
        for one in block.places
    ]
    chains = [offering.slot.offered for offering in offerings]
    places = [
        describe_chain(one, found.chain if found else None)
        for one, found in zip(block.places, chains, strict=True)
    ]
    return await context.recipe.plan_errands(replace(block, places=tuple(places)), models)


def give_in(reply: ScenarioReply) -> ScenarioVersion | None:
    """The version of an author that finds every chain infeasible: no other one is asked for."""
    said = find_infeasible(reply)
    return (
        None
        if said is None
        else ScenarioVersion(reply, None, (complain_of_infeasible(said),), hopeless=True)
    )


def find_infeasible(reply: ScenarioReply) -> Infeasible | None:
    """What the author says that no scenario can carry out."""
    return reply.infeasible if isinstance(reply, SampledReply) else None


_SAID = {
    "harder": "A harder scenario follows what makes it harder: no sampled chain is offered, and the "
    "author chooses the path.",
    "only_reads": "Under this polarity the path only reads, and sampled chains change something: the "
    "author chooses the path.",
    "several_servers": "Types tie no server to another one, so a chain drawn from them stays in one: the author "
    "chooses the path.",
    "no_start_state": "There are neither stored tests nor rows to carry a chain out on: the author chooses the "
    "path.",
    "all_infeasible": "The author found every chain infeasible that was offered, and chooses the path.",
    "none_left": "No other chain was carried out: the author chooses the path.",
    "none_carried_out": "None of the chains that were drawn could be carried out: the author chooses the path.",
}
