"""Whether a scenario is harder than the easy one beside it: both paths are carried out, and what
they take is compared.

parent's path ─► measured once ─┐
draft's path  ─► measured      ─┴─► levers that show, or a complaint that says what both take
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.findings import Finding, keep
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.results import settle
from envmill.stages.context import RunContext
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import ScenarioVersion
from envmill.toolgraph.chain_player import read_reply
from envmill.toolgraph.hardness import PathHardness, PlayedScenario, list_levers, measure_path
from schemas.environment import Environment
from schemas.errand_plan import PlannedErrand
from schemas.scenario import CallPattern, Draft, Fact, Scenario

GATE, NOT_HARDER, REPEATS = "harder", "not_harder", "only_repeats"
_CLAIMED_ALONE = "near_misses"
"""A lever that counts only where the line names it: a larger state has more rows that are alike."""
_CONTRACT = (
    "The scenario has to need what its parent does not need: a value that must be looked up "
    "first, a record that the request does not name "
    "and that has to be told apart from others, a further tool that the rules make necessary, or "
    "a value to tell that must be worked out."
)


@dataclass
class HardnessRuler:
    """Compares the drafts of one place with its parent; without a parent every draft passes."""

    place: ScenarioSlot
    context: RunContext
    claimed: Sequence[str] = ()
    """Levers that the line names."""
    easy: PathHardness = field(default_factory=PathHardness)
    """What the parent's path takes."""
    _found: dict[str, Finding] = field(default_factory=dict[str, Finding])
    """Request of a version that passed → what was measured of it."""

    async def hold(self, posed: ScenarioVersion) -> ScenarioVersion:
        """A version that runs, refused where its path takes no more than the parent's."""
        parent, draft = self.place.parent, posed.draft
        if parent is None or draft is None:
            return posed
        harder = await measure_scenario(
            draft, draft.tell, draft.avoid, self.place.environment, self.context.sandbox
        )
        shown = [
            name
            for name in list_levers(harder, self.easy)
            if name in self.claimed or name != _CLAIMED_ALONE
        ]
        if not shown:
            return replace(
                posed, draft=None, complaints=(complain(harder, self.easy, self.claimed),)
            )
        claimed = {"parent": parent.scenario.id, "levers": [*self.claimed], "shown": [*shown]}
        self._found[posed.reply.request] = keep(
            GATE, {**claimed, "harder": harder.describe(), "easy": self.easy.describe()}
        )
        return posed

    def list_findings(self, best: ScenarioVersion | None) -> tuple[Finding, ...]:
        """What was measured of the version that goes on."""
        found = self._found.get(best.reply.request) if best is not None else None
        return (found,) if found else ()


async def open_ruler(
    place: ScenarioSlot, planned: PlannedErrand | None, context: RunContext
) -> HardnessRuler:
    """The parent is played once for its place."""
    if place.parent is None or planned is None:
        return HardnessRuler(place, context)
    parent = place.parent.scenario
    shunned = [one.call for one in parent.verifier.harm]
    easy = await measure_scenario(
        parent, parent.verifier.facts, shunned, place.environment, context.sandbox
    )
    return HardnessRuler(place, context, planned.levers, easy)


def complain(harder: PathHardness, easy: PathHardness, claimed: Sequence[str]) -> Complaint:
    """What both paths take, in numbers. A path of the parent's calls, made more often, has a code
    of its own."""
    again = set(harder.calls) <= set(easy.calls) and len(harder.calls) > len(easy.calls)
    told = (
        f"calls {len(harder.calls)} (parent {len(easy.calls)}), calls in a row that each need a "
        f"reply {harder.depth} ({easy.depth}), "
        f"different values passed on from replies {len(harder.links)} ({len(easy.links)}), "
        "records chosen that the request does not name "
        f"{harder.picks} ({easy.picks}), values to work out {harder.worked_out} ({easy.worked_out})"
    )
    words = (
        "the path only makes the parent's calls again"
        if again
        else "the path takes no more than the parent's"
    )
    named = (
        f" The line's levers are {', '.join(claimed)}: let the path show at least one of them."
        if claimed
        else ""
    )
    return Complaint(
        "oracle",
        REPEATS if again else NOT_HARDER,
        f"{words}: {told}",
        contract=f"{_CONTRACT}{named}",
    )


async def measure_scenario(
    posed: Draft | Scenario,
    facts: Sequence[Fact],
    shunned: Sequence[CallPattern],
    environment: Environment,
    sandbox: Sandbox,
) -> PathHardness:
    """Its path is carried out on a private copy."""
    reset = Reset(state=posed.initial_state, clock=posed.clock, seed=posed.seed)
    _, *seen, end = await sandbox.play(
        Program.of(environment), [reset, *map(Invoke, posed.oracle), Look()]
    )
    calls = settle(posed.oracle, seen)
    played = PlayedScenario(
        state=posed.initial_state,
        end=end.state or {},
        words="\n".join([posed.request, posed.user.opening, *map(str, posed.user.facts.values())]),
        calls=[(call.name, call.arguments) for call in calls],
        replies=[read_reply(one) for one in seen],
        changers=frozenset(tool.name for tool in environment.tools if tool.effect == "change"),
        shunned=[(one.name, one.arguments) for one in shunned],
        told=[fact.value for fact in facts],
    )
    return measure_path(played)
