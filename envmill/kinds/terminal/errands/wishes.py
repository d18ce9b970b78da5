"""An errand as it was wished for, held to what can be seen before anything runs."""

import re
from collections.abc import Iterator

from schemas.errand import Errand

SKIPPED = ("/proc", "/sys", "/dev", "/run", "/tmp")
"""What stands there is no state: an examination passes over it."""
_TELLING = 3
"""Characters from which an answer can be looked for in a text: shorter ones stand in many."""


def find_errand_faults(errand: Errand) -> Iterator[str]:
    """Everything that is wrong with it, in words for whoever wrote it."""
    for name in ("request", "at_first", "at_the_end"):
        if not getattr(errand, name).strip():
            yield f"{name} is empty."
    for place in errand.places:
        if not place.startswith("/") or place.rstrip("/") in (
            "",
            "/etc",
            "/usr",
            "/srv",
            "/var",
            "/opt",
            "/home",
            "/root",
        ):
            yield (
                f"The place {place!r} is no path of its own: name the absolute path of what is "
                "made or changed."
            )
        elif any(place == each or place.startswith(f"{each}/") for each in SKIPPED):
            yield f"The place {place!r} does not last: choose one outside of {', '.join(SKIPPED)}."
        elif not _is_named(place, errand.request):
            yield (
                f"The request never names {place!r} or the folder that it is in, so nobody can "
                "know where it goes."
            )
    yield from (
        f"The request tells the answer {each!r}: leave it to be worked out."
        for each in find_told(errand.answers, errand.request)
    )


def find_told(answers: list[str], text: str) -> list[str]:
    """Answers that stand in a text as words of their own."""
    return [
        each
        for each in answers
        if len(each) >= _TELLING and re.search(rf"(?<![\w.]){re.escape(each)}(?![\w])", text)
    ]


def _is_named(place: str, request: str) -> bool:
    return place in request or place.rsplit("/", 1)[0] in request
