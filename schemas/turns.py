"""What the models of a rollout are given besides its messages, and what a simulated user answers."""

from schemas.base import Contract, Json


class PolicyInput(Contract):
    """What an acting model is told before the first message."""

    policy_document: str
    """Rules of the environment, for whoever works in it."""


class UserInput(Contract):
    """What a model that plays the user knows."""

    persona: str
    """Who they are."""
    goals: list[str]
    """What they want."""
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


class UserReply(Contract):
    """The user's next message."""

    text: str
    """What they say; may be empty when they stop."""
    stop: bool
    """Whether they are done with the conversation."""
    does: list[str] = []
    """Which of their deeds they do now, before they say it."""
