"""Retries: what is worth asking again, when, and when it has been enough."""

import random
from dataclasses import dataclass, field

from envmill.base.errors import Outage, Throttled

PAUSES = (0.3, 1.2, 5.0)
"""Seconds. A longer outage is the run's to wait out."""


@dataclass(frozen=True)
class Retries:
    """For outages alone. One place retries: vendors' libraries, providers and recipes do not."""

    pauses: tuple[float, ...] = field(default_factory=lambda: PAUSES)
    """Before each retry of an outage, give or take half, so that many callers do not come back
    together."""
    deadline: float = 900.0
    """Seconds a call may take from its first sending, retries included. One sending may take them
    all: a server that works on a
    request would be paid for both if it were sent again."""

    def pause(self, error: Outage, failed: int, left: float, chance: random.Random) -> float | None:
        """Seconds to wait before asking again; None when it has been enough. Throttled calls wait
        in the limiter instead."""
        if isinstance(error, Throttled):
            wait = error.facts.get("retry_after") or 0.0
            return 0.0 if wait < left else None
        if failed > len(self.pauses):
            return None
        wait = self.pauses[failed - 1] * chance.uniform(0.5, 1.5)
        return wait if wait < left else None
