"""The factory's backend, handed over as the zygote does it."""

from envmill.runtime.db import adopt_sessions

adopt_sessions("apsw")
