"""Which verifiers an exported folder can judge by itself: all but those with a pattern that only
RE2 runs."""

from envmill.interop.bundles.envrun.judge.re2 import error, translate
from schemas.scenario import Verifier


def find_unjudged(verifier: Verifier) -> str:
    """Why the folder's own judge answers `error`; empty where it judges as the factory does."""
    for fact in verifier.facts:
        if fact.kind == "pattern":
            try:
                translate(str(fact.value))
            except error as reason:
                return (
                    f"the fact {fact.name!r} is a pattern that the standard library has no "
                    f"spelling for ({reason})"
                )
    return ""
