"""An attempt at a scenario of an opened bundle, and the moves that it is made of."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, cast

from .court import JudgeProcess, Verdict, make_error
from .fields import fit
from .files import fault
from .jail import Message, Session

CALL = {"name": str, "arguments": dict, "actor": str}
_MOVES = {"name": CALL, "say": {"say": str}, "advance": {"advance": (int, float)}}


class Episode:
    """One attempt at a scenario. Replies are what a policy is told; JailError says that the jail
    broke, and nothing about the policy."""

    def __init__(
        self,
        session: Session,
        court: JudgeProcess,
        scenario: Mapping[str, Any],
        verifier: Mapping[str, Any],
        told: str,
        form: str,
        person: str,
    ) -> None:
        self.scenario, self.form, self.person = scenario, form, person
        self._session, self._court, self._verifier, self._told = session, court, verifier, told
        self._deeds: list[Message] = []
        self._said: list[str] = []
        self._dialogue: list[Message] = []
        self._misstep = ""
        self._done: set[str] = set()
        self._ended: list[int] = []
        began = session.reset(scenario)
        self.state_hash: str = began["state_hash"]
        """Hash of the state as it is now; empty when it is unknown."""
        self.broken = not began["ok"]
        """Whether the environment failed: nothing will be found out about a policy."""

    @property
    def messages(self) -> list[Message]:
        """What a policy reads first: the policy document and the time where there are any, and what
        the user says."""
        system = [{"role": "system", "content": self._told}] if self._told else []
        return [*system, {"role": "user", "content": self.opening}]

    @property
    def opening(self) -> str:
        """What the user says first."""
        return (
            self.scenario["request"] if self.form == "single" else self.scenario["user"]["opening"]
        )

    def call(self, name: str, arguments: Mapping[str, Any], actor: str = "agent") -> Message:
        """`{"ok": True, "parts"}`, or `{"ok": False, "error": {code, message}}`: refused, or the
        environment itself failed."""
        seen = self._session.call(name, dict(arguments), actor)
        asked = {"name": name, "arguments": dict(arguments), "actor": actor}
        code = "" if seen["ok"] else seen["error"]["code"]
        deed = {
            "call": asked,
            "outcome": seen["outcome"],
            "code": code,
            "parts": seen.get("parts", []),
        }
        self._deeds.append(deed | {"after": len(self._said)})
        self._note(seen)
        return {name: seen[name] for name in ("ok", "parts", "error", "delay") if name in seen}

    def advance(self, seconds: float) -> list[Message]:
        """Let time pass; what came meanwhile."""
        seen = self._session.advance(seconds)
        self._note(seen)
        return seen.get("notifications", [])

    def say(self, text: str) -> Message | None:
        """Tell the user something; the last words are those that count most.

        In a conversation the scripted user answers: `{"text", "end"}`. Once `end` is not empty
        (`content`, `gave_up`) it says no more.
        """
        self._said.append(text)
        if self.form == "single" or self.person == "yours":
            return None
        self._dialogue = [
            *(self._dialogue or [{"who": "user", "text": self.opening}]),
            {"who": "agent", "text": text},
        ]
        answer = self._court.answer(
            self.scenario, self._dialogue, "" if self.person == "scripted" else self.person
        )
        said = " ".join(
            filter(None, [answer["text"], *map(self._act, answer["does"]), *answer["lacking"]])
        )
        self._dialogue.append({"who": "user", "text": said})
        later = self.scenario["user"].get("later", [])[len(self._ended) : len(self._ended) + 1]
        if later and said.startswith(later[0]):
            self._ended.append(len(self._said))
        self._misstep = self._misstep or answer["misstep"]
        return {"text": said, "end": answer["end"]}

    def score(self) -> Verdict:
        """The verdict on the state as it is now, and on what was done and said."""
        end = self._session.state()
        if self.broken or not end["ok"]:
            return make_error("the environment failed, not the policy")
        if self._misstep:
            return make_error(
                f"the simulated user broke its contract, not the policy ({self._misstep})"
            )
        ending = self._describe_ending(end["state"])
        return self._court.decide(self._verifier, ending, self.scenario["clock"])

    def measure(self) -> dict[str, list[int]] | None:
        """Numbers of the `goals` that hold now and of the `guards` that are broken; None where
        nothing can be said. It tells nothing of what they ask for."""
        end = self._session.state()
        if self.broken or not end["ok"]:
            return None
        ending = self._describe_ending(end["state"])
        return self._court.measure(self._verifier, ending, self.scenario["clock"])

    def _describe_ending(self, state: Any) -> Message:
        """What a judge looks at."""
        answers = [line["text"] for line in self._dialogue[1:] if line["who"] == "user"]
        # Whoever plays the user themselves keeps the answers: what depends on them is not known
        # here.
        known = self.person != "yours" or self.form == "single"
        return {
            "initial": self.scenario["initial_state"],
            "final": state,
            "deeds": self._deeds,
            "said": self._said,
            "ended": self._ended,
            "answers": answers if known else None,
        }

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _act(self, deed: Message) -> str:
        """Make a call that is the user's alone; what they say of it."""
        if deed["name"] in self._done and not deed["repeats"]:
            return deed["again"]
        seen = self.call(deed["call"]["name"], deed["call"]["arguments"], deed["call"]["actor"])
        if not seen["ok"]:
            return deed["refused"] + seen["error"]["message"]
        self._done.add(deed["name"])
        return (
            describe_reading(deed["name"], seen["parts"], deed["done"])
            if deed["reads"]
            else deed["done"]
        )

    def _note(self, seen: Message) -> None:
        self.broken = self.broken or seen["outcome"] == "failure"
        self.state_hash = seen["state_hash"]


def describe_reading(name: str, parts: Sequence[Message], done: str) -> str:
    """What the user reads out of a reply to a call of their own, rendered as in the factory."""
    said = "; ".join(filter(None, (_render_row(part.get("value")) for part in parts)))
    return f"I have done it: {name}. It says: {said}." if said else done


def _render_row(value: Any) -> str:
    row = cast("Message", value) if isinstance(value, dict) else {}
    return ", ".join(f"{key.replace('_', ' ')} {_word(one)}" for key, one in row.items())


def _word(value: Any) -> str:
    return "yes" if value is True else "no" if value is False else str(value)


def check_move(move: Message, file: str = "moves", place: str = "") -> None:
    """Raise FolderError unless it is a move."""
    kind = next((kind for kind in _MOVES if kind in move), "")
    if not kind:
        raise fault(
            file,
            f"{str(move)[:80]} is no move",
            "Write a call as name and arguments, words as say, seconds as advance.",
            place,
        )
    fit(file, {"arguments": {}, "actor": "agent"} | move, _MOVES[kind], place)
    if kind == "advance" and not isfinite(move["advance"]):
        raise fault(
            file, f"{move['advance']} is no number of seconds", "Write a finite one.", place
        )


def make_move(episode: Episode, move: Message) -> Any:
    """Make one move; FolderError where it is no move."""
    check_move(move)
    if "name" in move:
        return episode.call(move["name"], move.get("arguments", {}), move.get("actor", "agent"))
    if "say" in move:
        return episode.say(move["say"])
    return episode.advance(move["advance"])
