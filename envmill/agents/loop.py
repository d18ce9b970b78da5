"""One performance of agent, user and environment, turn by turn, until somebody or something ends
it.

heard ─► speaker ─► turn ─┬─ calls ─► jail ─► replies ──────────────────┐
  ▲                       ├─ wait ──► jail ─► what came meanwhile ──────┤
  │                       └─ words ─► end of a single request           │
  └───────────────────────────────────or user ─► answer, stop, misstep ─┘
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envmill.agents.backend import RolloutBackend
from envmill.agents.base import MalformedCall, Speaker, Turn, TurnInput
from envmill.agents.limits import RolloutLimits
from envmill.agents.log import RolloutLog
from envmill.agents.users.base import Person, UserAnswer, UserEnd, UserKnowledge, Utterance
from envmill.agents.users.claims import drop_claims, find_claimed, find_marks, gives_all_away
from envmill.agents.users.doing import describe_deed, find_lacking, find_strange, turn_down
from envmill.agents.users.missteps import find_misstep, finds_no_end, list_suspicions
from envmill.agents.users.scripted import render_known
from envmill.base.errors import Outage
from envmill.sandbox import Advance, Invoke, Observation
from schemas.environment import Call
from schemas.rollout import Misstep, Suspected, Termination

MASKED: dict[Termination, str] = {
    "environment_error": "the environment failed, not the policy",
    "outage": "the model could not be reached: nothing is known about the policy",
    "user_fault": "the simulated user broke its contract, not the policy",
}
"""Ends that say nothing about the policy: never a reward, not of 0 either."""
_ENDS: Mapping[UserEnd, Termination] = {
    "content": "user_stopped",
    "gave_up": "user_gave_up",
    "handed_over": "user_handed_over",
    "out_of_scope": "user_out_of_scope",
}
"""Why a user says no more → how the rollout ended."""
_LEAVES = "(leaves the conversation)"
"""What stands in a dialogue for a user who left without a word."""


@dataclass(frozen=True)
class RolloutEnd:
    """How a rollout came to its end."""

    termination: Termination
    detail: str = ""
    misstep: Misstep = ""


class RolloutLoop:
    """Agent, user and environment, turn by turn."""

    def __init__(
        self,
        speaker: Speaker,
        person: Person | None,
        knowledge: UserKnowledge,
        stage: RolloutBackend,
        tape: RolloutLog,
        limits: RolloutLimits,
    ) -> None:
        self.tape = tape
        self._speaker, self._person, self._knowledge = speaker, person, knowledge
        self._stage, self._limits = stage, limits
        self._dialogue: list[Utterance] = []
        self.suspected: list[Suspected] = []
        """Missteps that the user's words suggest."""
        self._misread = 0
        """Turns in a row none of whose calls could be read."""
        self._done: set[str] = set()
        """Deeds of the user's that took effect."""
        self._claimed: dict[str, str] = {}
        """Deeds that the user called done without making them, each with what they said."""

    async def play(self, opening: str) -> RolloutEnd:
        """Until somebody or something ends it."""
        self._ask_user(opening)
        began = await self._stage.start()
        self.tape.start(began)
        if began.outcome != "ok":
            return RolloutEnd("environment_error", f"{began.code}: {began.message}")
        heard: TurnInput | RolloutEnd = TurnInput("opening", opening)
        try:
            while isinstance(heard, TurnInput):
                heard = self._find_limit() or await self._take(await self._speaker.speak(heard))
        except Outage as error:
            return RolloutEnd("outage", error.message)
        return heard

    @property
    def dialogue(self) -> Sequence[Utterance]:
        """What was said so far."""
        return self._dialogue

    @property
    def pretended(self) -> str:
        """What the user said of a deed that they were told to make and never made; empty where they
        made all they spoke of."""
        return next((said for name, said in self._claimed.items() if name not in self._done), "")

    def _ask_user(self, text: str) -> None:
        self.tape.add_answer(text)
        self._dialogue.append(Utterance("user", text))

    def _find_limit(self) -> RolloutEnd | None:
        tape, limits = self.tape, self._limits
        if tape.moves >= limits.steps:
            return RolloutEnd("step_limit", f"{tape.moves} calls")
        if limits.tokens is not None and tape.usage.output >= limits.tokens:
            return RolloutEnd("token_limit", f"{tape.usage.output} output tokens")
        if limits.seconds is not None and tape.seconds > limits.seconds:
            return RolloutEnd("time_limit", f"{tape.seconds:.0f} s went by")
        return None

    async def _take(self, turn: Turn) -> TurnInput | RolloutEnd:
        self.tape.take(turn)
        if turn.calls:
            return await self._call(turn)
        if turn.wait is not None:
            passed = await self._stage.play(Advance(turn.wait))
            self.tape.wait(turn.wait, passed)
            return _find_failure([passed]) or TurnInput("time", passed=passed)
        self.tape.speak(turn)
        if turn.cut:
            return RolloutEnd("token_limit", "its message was cut off")
        return (
            RolloutEnd("done")
            if self._person is None
            else await self._converse(self._person, turn.text)
        )

    async def _call(self, turn: Turn) -> TurnInput | RolloutEnd:
        """Side by side means one after the other here, in the order they came; what no longer fits
        the limit is not made."""
        done: list[tuple[Call | MalformedCall, Observation | None]] = []
        for call in turn.calls[: self._limits.steps - self.tape.moves]:
            reply = (
                None if isinstance(call, MalformedCall) else await self._stage.play(Invoke(call))
            )
            done.append((call, reply))
            if reply is not None and reply.outcome == "failure":
                break
        self.tape.record(turn, done)
        self._misread = 0 if any(reply is not None for _, reply in done) else self._misread + 1
        if self._misread >= self._limits.errors:
            return RolloutEnd(
                "agent_error", f"{self._misread} turns in a row whose calls could not be read"
            )
        if len(done) < len(turn.calls) and not _find_failure([reply for _, reply in done]):
            return RolloutEnd("step_limit", f"{self.tape.moves} calls")
        return _find_failure([reply for _, reply in done]) or TurnInput(
            "replies", replies=[reply for _, reply in done]
        )

    async def _converse(self, person: Person, text: str) -> TurnInput | RolloutEnd:
        """The user's answer. A proven misstep ends the conversation, a suspected one is
        recorded."""
        self._dialogue.append(Utterance("agent", text))
        answer = await person.answer(self._dialogue)
        if misstep := self._find_misstep(answer):
            self._ask_user(answer.text)
            return RolloutEnd("user_fault", f"{misstep}: {answer.text}", misstep)
        self._suspect(answer, *list_suspicions(self._knowledge, self._dialogue, answer))
        if claimed := find_claimed(self._knowledge, self._dialogue, answer, self._done):
            self._suspect(answer, "pretends")
            self._claimed |= dict.fromkeys(claimed, answer.text)
        told = [line.text for line in self._dialogue if line.who == "agent"]
        contract, deeds = self._knowledge.contract, self._knowledge.deeds
        strange = (
            find_strange(self._dialogue[-1].text, deeds, render_known(self._knowledge))
            if answer.does
            else ""
        )
        refusal = turn_down(strange) if strange else ""
        lacking = {
            name: refusal or find_lacking(name, deeds[name], contract, told) for name in answer.does
        }
        does = [name for name in answer.does if not lacking[name]]
        came = [await self._act(name) for name in does]
        if failed := _find_failure(came):
            return failed
        if answer.end:
            self._dialogue.append(Utterance("user", answer.text or _LEAVES))
            return RolloutEnd(_ENDS[answer.end], answer.text)
        if len(self.tape.said) >= self._limits.turns:
            return self._break_off(answer)
        told = [
            describe_deed(name, deeds[name], reply, contract.reports)
            for name, reply in zip(does, came, strict=True)
        ]
        made = [name for name, reply in zip(does, came, strict=True) if _took_effect(reply)]
        refused = [name for name in answer.does if name not in made]
        words = drop_claims(self._knowledge, answer.text, refused, made)
        self._ask_user(
            text := " ".join(filter(None, [words, *told, *dict.fromkeys(lacking.values())]))
        )
        return TurnInput("words", text)

    def _find_misstep(self, answer: UserAnswer) -> Misstep:
        """What is proven of an answer: by a comparison with the contract, or by words that no
        person says."""
        proven = find_misstep(self._knowledge, self._dialogue, answer)
        if proven or answer.meant:
            return proven
        if find_marks(self._knowledge, answer):
            return "impersonates"
        return "reveals" if gives_all_away(self._knowledge, self._dialogue, answer) else ""

    async def _act(self, name: str) -> Observation | None:
        """A call that is the user's alone; None where it was made before."""
        if name in self._done and not self._knowledge.repeats:
            return None
        call = self._knowledge.deeds[name]
        reply = await self._stage.play(Invoke(call))
        self.tape.act(call, reply)
        if reply.outcome == "ok":
            self._done.add(name)
        return reply

    def _break_off(self, answer: UserAnswer) -> RolloutEnd:
        if finds_no_end(self._knowledge, self._dialogue):
            self._suspect(answer, "never_stops")
        self._dialogue.append(Utterance("user", answer.text))
        return RolloutEnd("user_gave_up", f"{len(self.tape.said)} messages of the agent")

    def _suspect(self, answer: UserAnswer, *missteps: Misstep) -> None:
        self.suspected += [
            Suspected(misstep=one, asked=self._dialogue[-1].text, answer=answer.text)
            for one in missteps
        ]


def _took_effect(reply: Observation | None) -> bool:
    """Whether a deed was made, now or before."""
    return reply is None or reply.outcome == "ok"


def _find_failure(replies: Sequence[Observation | None]) -> RolloutEnd | None:
    failed = next((one for one in replies if one is not None and one.outcome == "failure"), None)
    return RolloutEnd("environment_error", f"{failed.code}: {failed.message}") if failed else None
