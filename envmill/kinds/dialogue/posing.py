"""A composed scenario: selected, proved, worded plainly, and its reference path held to the policy.

number, seed ─► selection ─► proved by execution ─► reply ─► verifier of its path ─► the path passes it: composition
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.base import NOTHING_COMPOSED, Composition
from envmill.kinds.dialogue.composing import AtomSelection, select, write_reply
from envmill.kinds.dialogue.proving import GATE, Bench, Proved, prove, prove_atoms
from envmill.kinds.endings import play_twice
from envmill.kinds.start import CLOCK
from envmill.sandbox import Sandbox
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.court import decide
from envmill.verifiers.ending import Ending
from schemas.dialogue import Persona
from schemas.dialogue_prompts import ComposedReply
from schemas.environment import Environment
from schemas.scenario import Draft, UserContract

Derive = Callable[[Draft, Environment, tuple[Ending, Ending], Sandbox], Awaitable[ComposedVerifier]]
_NOBODY = Persona(name="Somebody in a hurry.")


@dataclass(frozen=True)
class Poser:
    """What composes scenarios of one environment."""

    bench: Bench
    derive: Derive
    """The kind's own way to a verifier."""

    async def compose(self, number: int, turn: int) -> Composition:
        """The n-th scenario, or why it does not hold."""
        bench = self.bench
        known = bench.repertoire, bench.dialogue, bench.environment.tools
        selection = select(*known, number, bench.seed, turn)
        if selection is None:
            words = "no atoms and no persona allow a scenario with changes on both sides"
            return Composition(_write_nothing(), NOTHING_COMPOSED, words)
        reply = await self._pose(selection)
        if isinstance(reply, tuple):
            return Composition(_write_nothing(), f"oracle_{reply[0]}", reply[1])
        return Composition(reply)

    async def judge(self) -> tuple[Complaint, ...]:
        """What is wrong with the atoms, each alone: as they run, and as the policy sees them."""
        found = await prove_atoms(self.bench)
        for atom in self.bench.repertoire.atoms if not found else ():
            reply = await self._pose(AtomSelection((atom,), _NOBODY))
            if isinstance(reply, tuple):
                found += (Complaint(GATE, reply[0], f"The atom {atom.id} {reply[1]}."),)
        return found

    async def _pose(self, selection: AtomSelection) -> ComposedReply | tuple[str, str]:
        bench = self.bench
        proved = await prove(selection.atoms, bench)
        if not isinstance(proved, Proved):
            named = ", ".join(atom.id for atom in selection.atoms)
            return proved[0], proved[1] if len(selection.atoms) == 1 else f"{named}: {proved[1]}"
        tools = bench.environment.tools
        reply = write_reply(
            selection, proved.state, proved.path, bench.repertoire, bench.dialogue, tools
        )
        fault = await self._find_breach(reply)
        return ("policy_broken", fault) if fault else reply

    async def _find_breach(self, reply: ComposedReply) -> str:
        """What the verifier of the path has against the path."""
        bench = self.bench
        draft = _make_draft(reply, bench)
        ends = await play_twice(draft, bench.environment, bench.sandbox)
        if isinstance(ends, str):
            return f"does not run twice alike: {ends}"
        try:
            composed = await self.derive(draft, bench.environment, ends, bench.sandbox)
        except BuildError as error:
            return f"cannot be judged: {error.message}"
        verdict = await decide(bench.sandbox, composed.verifier, ends[0], CLOCK)
        if verdict.outcome == "pass":
            return ""
        return f"has a path that its own verifier refuses: {verdict.reason or 'no reason'}"


def _make_draft(reply: ComposedReply, bench: Bench) -> Draft:
    return Draft(
        environment=bench.environment.id,
        number=0,
        initial_state=reply.initial_state,
        request=reply.request,
        user=UserContract(opening=reply.opening, facts=reply.facts, hidden=reply.hidden),
        oracle=reply.oracle,
        polarity="achieve",
        clock=CLOCK,
        seed=bench.seed,
        changes=[],
        gold_hash="",
        say=reply.say,
        origin=bench.environment.origin,
    )


def _write_nothing() -> ComposedReply:
    return ComposedReply(initial_state={}, request="", oracle=[])
