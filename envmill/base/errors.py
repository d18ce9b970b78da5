"""Every exception EnvMill raises: one base class, one type per boundary. A message ends with what to
do.

EnvMillError
├── SettingsError   a setting or argument is wrong
├── ModelError      a model did not give what was asked
│   ├── Outage          unreachable, or unable to serve; Throttled: asked to wait; TimeOver: still at work when the time was over
│   ├── KeyRefused      the key is missing, wrong or revoked: no call can go on
│   ├── BadRequest      the request itself was refused; asking again changes nothing
│   ├── BadReply        an answer came, and cannot become the record asked for
│   └── BudgetReached   the run's money or tokens are spent
├── Pending         an answer is on its way, and the run goes on once it is here
├── SandboxError    the jail could not be started or broke
├── BuildError      a program cannot be made to run
├── LakeError       a file of the lake is missing, damaged or of a foreign shape
│   └── LakeUnreachable its store cannot be reached now
├── CoordinationError  what the processes of a run share cannot be used
│   └── LeaseLost       another process has taken the work over
├── Refused         a question to the lake does more than read, or took more than it may
└── StepFailed      items of a step ended in error
"""

import traceback
from pathlib import Path
from typing import Any, ClassVar


class EnvMillError(Exception):
    """Base class. Facts are attributes, so that no handler parses a message."""

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
    """Base class of what a call to a model raises."""


class Outage(ModelError):
    """The provider could not be reached or could not serve; nothing is known about the item. Fact
    `sent`: whether it had the whole
    request, so that it may charge for it."""

    retryable = True


class Throttled(Outage):
    """The provider asked to be asked less. Fact `retry_after`: seconds it named, None when it named
    none."""


class TimeOver(Outage):
    """The provider had not answered when the time of the call was over. It is not asked again unless a
    person says so: it may still be at work, and would be paid twice."""


class KeyRefused(ModelError):
    """The provider does not accept the key: every call of the run would fail in the same way,
    and nothing is known about any item."""


class BadRequest(ModelError):
    """The provider refused the request as it is: a wrong model name, setting or schema, or too long
    a prompt."""


class BudgetReached(ModelError):
    """A run has spent its budget. Its results are saved; with a larger budget it continues from
    there."""


class Pending(EnvMillError):
    """Replies were asked for and are not there yet: neither an outage nor a failure."""


class BadReply(ModelError):
    """The provider answered, and the answer cannot become the record asked for."""


class SandboxError(EnvMillError):
    """The jail itself failed: never the environment's fault, never a reward of 0."""

    retryable = True


class BuildError(EnvMillError):
    """A program, test set or state cannot be used; the message is fit to be sent back to its
    author."""


class LakeError(EnvMillError):
    """A lake file is missing, damaged or of another shape."""


class LakeUnreachable(LakeError):
    """The store cannot be reached, or cannot serve now. What was published stays."""

    retryable = True


class CoordinationError(EnvMillError):
    """Leases and budgets, which the processes of a run share, cannot be read or changed."""


class LeaseLost(CoordinationError):
    """Another process took over the work of this one, which seemed dead. What this one made is not published."""

    retryable = True


class Refused(EnvMillError):
    """A question to the lake was refused by the lock, or cut off by a limit."""


class StepFailed(EnvMillError):
    """A step ended with items in error; everything else in it is saved."""

    retryable = True


def describe_bug(error: Exception) -> str:
    """What was raised, and the last line of code that it came through."""
    *_, last = traceback.extract_tb(error.__traceback__)
    place = "/".join(Path(last.filename).parts[-3:])
    return f"{type(error).__name__}: {error} ({place}, line {last.lineno})"
