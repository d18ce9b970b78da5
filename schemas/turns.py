"""What the models of a rollout are given besides its messages, and what a simulated user
answers."""

from typing import Literal

from schemas.base import Contract, Json


class PolicyInput(Contract):
    """What an acting model is told before the first message."""

    policy_document: str
    """Rules of the environment, for whoever works in it, and what day and time it is."""


class UserInput(Contract):
    """What a model that plays the user knows."""

    persona: str
    """Who they are."""
    goals: list[str]
    """What they want."""
    request: str
    """The whole errand in one message, hidden values included."""
    known: dict[str, Json]
    """What they have said or may say at once."""
    hidden: dict[str, Json]
    """What they tell only when asked."""
    wordings: dict[str, list[str]] = {}
    """Questions that ask for what is hidden, by its name."""
    deeds: list[str]
    """What they can do themselves when asked to, and nobody for them."""
    fallbacks: dict[str, str]
    """What they say of what they do not know."""
    stop: str
    """When they are content."""
    dialogue: str
    """Everything said so far."""


class FaultInput(Contract):
    """A conversation, and what its user was to say in it."""

    persona: str
    """Who the user is."""
    goals: list[str]
    """What they want."""
    facts: dict[str, Json]
    """What they know and have to give when they are asked."""
    hidden: list[str]
    """Names of the facts that they tell only when they are asked."""
    deeds: list[str]
    """What they do themselves when they are asked to."""
    fallbacks: dict[str, str]
    """What they say of what they do not know."""
    dialogue: str
    """Everything said, a line for each message."""


class FaultReply(Contract):
    """Whether the user did something in a conversation that it should not have done."""

    fault: Literal[
        "none",
        "withheld",
        "contradicted",
        "ended_early",
        "told_unasked",
        "invented",
        "acted_unasked",
        "repeated",
        "went_on",
    ]
    """What the user did."""
    fact: str = ""
    """Name of the fact or of the deed, where the fault is about one."""
    question: str = ""
    """The assistant's message that the answer is to, or a part of it, word for word."""
    answer: str = ""
    """The user's answer to it, word for word."""
    reason: str = ""
    """Why, in one sentence."""


class UserReply(Contract):
    """The user's next message."""

    text: str
    """What they say; may be empty when they stop."""
    stop: bool
    """Whether they are done with the conversation."""
    does: list[str] = []
    """Which of their deeds they do now, before they say it."""
    why: Literal["content", "handed_over", "out_of_scope"] = "content"
    """Why they stop: they are satisfied or were refused, somebody else takes over, or nothing that
    they know tells how to go on."""
