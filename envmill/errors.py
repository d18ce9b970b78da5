"""Every error EnvMill raises: one base, one flat type per boundary, the mend at the end of the message.

EnvMillError
├── SettingsError   a setting or argument is wrong
├── ModelError      a provider could not be reached (Outage) or answered badly (BadReply)
├── SandboxError    the jail could not be started or broke
├── BuildError      a program cannot be made to run
├── LakeError       a file of the lake is missing, damaged or of a foreign shape
├── Refused         a question to the lake does more than read, or took more than it may
└── StepFailed      items of a step ended in error
"""

from typing import Any, ClassVar


class EnvMillError(Exception):
    """Base of all; facts are attributes, so that a handler never parses a message."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.facts)


def _rebuild(kind: type[EnvMillError], message: str, facts: dict[str, Any]) -> EnvMillError:
    return kind(message, **facts)


class SettingsError(EnvMillError):
    """A setting, option or argument cannot be used."""


class ModelError(EnvMillError):
    """Base of what the door raises."""


class Outage(ModelError):
    """The provider could not be reached or could not serve; nothing is known about the item."""

    retryable = True


class BadReply(ModelError):
    """The provider answered, and the answer cannot become the record asked for."""


class SandboxError(EnvMillError):
    """The jail itself failed: never the environment's fault, never a reward of 0."""

    retryable = True


class BuildError(EnvMillError):
    """A program, test set or state cannot be used; the message is fit to be sent back to its author."""


class LakeError(EnvMillError):
    """A lake file is missing, damaged or of another shape."""


class Refused(EnvMillError):
    """A question to the lake was refused by the lock, or cut off by a limit."""


class StepFailed(EnvMillError):
    """A step ended with items in error; everything else in it is saved."""

    retryable = True
