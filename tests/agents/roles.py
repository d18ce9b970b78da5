"""Replies of model-played users. An engineer wrote them in the role of the user: no model said
them.

`Replies` gives them to the loop as a model's, one after the other; a policy that is scripted plays the agent.
"""

from collections.abc import Sequence
from typing import Any, cast

from envmill.models.session import ModelSession
from schemas.turns import UserReply

Line = dict[str, Any]


class Replies:
    """A session with a model that says these, and keeps what it was asked."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines, self.asked = list(lines), list[Any]()

    async def ask(self, _prompt: Any, inputs: Any, _reply: Any, **_more: Any) -> UserReply:
        self.asked.append(inputs)
        line = self._lines.pop(0) if self._lines else {"text": "Thank you.", "stop": True}
        return UserReply.model_validate({"stop": False, **line})

    @property
    def session(self) -> ModelSession:
        return cast("ModelSession", self)


def say(text: str, *does: str, **more: Any) -> Line:
    return {"text": text, "does": list(does), **more}


# Of the scenario `flight`, in the order of what the reference path asks.
IN_A_HURRY = [
    say("One second.", "see display"),
    say("kestrel-41."),
    say("Sure.", "see signal"),
    say("Switching it off now.", "leave flight mode"),
    say("Okay, the menu.", "see network menu"),
    say("Typing it in.", "set access point"),
    say("Let me ring something up.", "try payment"),
    say("Great, thanks!", stop=True),
]
PATIENT = [
    say("Of course, I am walking over to it.", "see display"),
    say("Yes: it is kestrel-41, all in small letters."),
    say("Let me put my glasses on.", "see signal"),
    say("I see, that little aeroplane. I take it out.", "leave flight mode"),
    say("All right, here is the menu.", "see network menu"),
    say("I am spelling it out on the keys.", "set access point"),
    say("I try it with my own card.", "try payment"),
    say("How lovely, it works. Thank you for your patience.", stop=True),
]
UNSURE = [
    say("Which one is the display? Oh, here.", "see display"),
    say("You mean the code on the letter? kestrel-41."),
    say("The bars? Just a moment.", "see signal"),
    say("I hope that is the right one.", "leave flight mode"),
    say("I opened it.", "see network menu"),
    say("Done, I think.", "set access point"),
    say("Trying.", "try payment"),
    say("Oh good.", stop=True),
]
