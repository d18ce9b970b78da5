"""The kind `dialogue` as one object: a program with JSON state, and beside it the file that says
its sides and its policy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.base.errors import BuildError
from envmill.kinds import stateful
from envmill.kinds.base import Breach, BuildContext, BuildResult, Composition, Policies
from envmill.kinds.dialogue.atoms import read_repertoire
from envmill.kinds.dialogue.breaches import list_breaches
from envmill.kinds.dialogue.compile import compile_clauses
from envmill.kinds.dialogue.counters import find_counters
from envmill.kinds.dialogue.equipping import equip
from envmill.kinds.dialogue.marks import find_mark_faults
from envmill.kinds.dialogue.plan import FILE, ClauseScope, find_dialogue_faults, read_dialogue
from envmill.kinds.dialogue.posing import Poser
from envmill.kinds.dialogue.proving import Bench
from envmill.kinds.dialogue.sides import check_sides
from envmill.kinds.dialogue.wording import render_clause, render_policy
from envmill.kinds.jailed import JailedKind
from envmill.sandbox import Sandbox
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.ending import Ending
from schemas.database import Table
from schemas.environment import Blueprint, Effect, Environment, Tool
from schemas.folder import Touch
from schemas.run import Reward
from schemas.scenario import Draft, Scenario


class DialogueKind(JailedKind):
    """Two sides behind one Python class, and a policy made of clauses."""

    name = "dialogue"
    takes_checklists = False
    tests_move = True

    def find_plan_faults(self, plan: Blueprint) -> list[str]:
        try:
            dialogue = read_dialogue(plan.files)
        except BuildError as error:
            return [*super().find_plan_faults(plan), error.message]
        changes = frozenset(tool.name for tool in plan.tools if tool.effect == "change")
        tools = {
            tool.name: list(signed.inputs.get("properties", {}))
            if (signed := plan.signatures.get(tool.name))
            else None
            for tool in plan.tools
        }
        scope = ClauseScope(plan.collections, tools, changes)
        return [
            *super().find_plan_faults(plan),
            *find_dialogue_faults(dialogue, scope, plan.policy_document),
        ]

    async def build(self, blueprint: Blueprint, workshop: BuildContext) -> BuildResult:
        """The policy document is the clauses' sentences, where the plan left it empty."""
        dialogue = read_dialogue(blueprint.files)
        document = blueprint.policy_document or render_policy(dialogue.clauses)
        built = await workshop.write_program(
            blueprint.model_copy(update={"policy_document": document})
        )
        if not dialogue.composed:
            return built
        return await equip(
            built, workshop.author, self.derive_verifier, workshop.sandbox, workshop.models
        )

    async def compose_scenario(
        self, environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox
    ) -> Composition | None:
        """Of atoms, where it has any. What does not hold is not repaired, another composition is drawn."""
        repertoire = read_repertoire(environment.files)
        if repertoire is None:
            return None
        bench = Bench(environment, read_dialogue(environment.files), repertoire, sandbox, seed)
        return await Poser(bench, self.derive_verifier).compose(number, turn)

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        return stateful.derive_tools(source, class_name, effects)

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        """None; the file that says the sides must be there, and name the couplings that the program
        has."""
        dialogue = read_dialogue(files)
        if faults := find_mark_faults(dialogue, files):
            raise BuildError(" ".join(faults))
        return stateful.derive_tables(files, policies)

    def add_touches(
        self,
        tools: Sequence[Tool],
        touches: Mapping[str, Touch],  # noqa: ARG002
        tables: Sequence[Table],  # noqa: ARG002
    ) -> list[Tool]:
        return list(tools)

    async def derive_verifier(
        self, draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox
    ) -> ComposedVerifier:
        """What the reference path changed on each side, and what the clauses ask of the way."""
        dialogue = read_dialogue(environment.files)
        await check_sides(dialogue, draft, environment, sandbox)
        composed = await super().derive_verifier(draft, environment, ends, sandbox)
        base = composed.verifier
        asked = compile_clauses(dialogue, draft)
        told = {fact.value for fact in base.facts}
        changes = {
            "sides": dict(dialogue.sides),
            "frame": [*base.frame, *await find_counters(environment, sandbox)],
            "procedure": [*base.procedure, *asked.procedure],
            "facts": [*base.facts, *(fact for fact in asked.facts if fact.value not in told)],
            "harm": [*base.harm, *asked.harm],
        }
        return replace(composed, verifier=base.model_copy(update=changes))

    def list_breaches(
        self, environment: Environment, scenario: Scenario, right: Ending
    ) -> Iterator[Breach]:
        return list_breaches(read_dialogue(environment.files), scenario, right)

    def choose_reward(self, asked: Reward) -> Reward:  # noqa: ARG002  a part of a procedure is none
        return "binary"

    def render_demands(self, environment: Environment, scenario: Scenario) -> Iterator[str]:
        """Without what the policy document says: that need not be asked for."""
        verifier = scenario.verifier
        own = {
            "procedure": [one for one in verifier.procedure if not one.name.startswith("clause ")],
            "facts": [one for one in verifier.facts if not one.name.startswith("clause ")],
        }
        return super().render_demands(
            environment, scenario.model_copy(update={"verifier": verifier.model_copy(update=own)})
        )

    def describe(self, environment: Environment) -> Iterator[str]:
        dialogue = read_dialogue(environment.files)
        for side in ("agent", "user"):
            tools = [tool.name for tool in environment.tools if side in tool.actors]
            held = [name for name, owner in dialogue.sides.items() if owner == side]
            yield (
                f"The {side} holds {', '.join(held)}, and has {len(tools)} tools: "
                f"{', '.join(tools)}."
            )
        for coupling in dialogue.couplings:
            yield (
                f"After each call: {coupling.name.replace('_', ' ')} "
                f"({', '.join(coupling.reads)} to {', '.join(coupling.writes)})."
            )
        for tool, found in dialogue.discoverable.items():
            yield (
                f"Found on the way: {tool}, once {found.by.name} was "
                f"called{f' for {found.document}' if found.document else ''}."
            )
        yield from (f"Clause {clause.id}: {render_clause(clause)}" for clause in dialogue.clauses)


__all__ = ["FILE", "DialogueKind"]
