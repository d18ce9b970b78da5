"""What can go wrong between us and the local server.

EnvMillError
├── NoServer   this home's server does not run or does not answer
└── Refused    the server understood and said no
"""

from envmill.base.errors import EnvMillError


class NoServer(EnvMillError):
    """This home's server does not run, does not answer, or lacks what `envmill up` gives it."""

    retryable = True


class ServerRefused(EnvMillError):
    """The server said no; its status code is the fact `status`."""
