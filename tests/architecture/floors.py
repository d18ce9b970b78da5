"""The floors of the house, highest first. An import goes down, or stays within one room; anything
else is named here with its reason."""

from collections.abc import Iterator

from tests.architecture.imports import Imports

PACKAGES = ("flows", "tasks", "quality", "offline", "envmill", "schemas")

FLOORS: tuple[tuple[str, ...], ...] = (
    ("flows.cli",),
    ("flows",),
    ("tasks",),
    ("quality", "offline"),
    ("envmill.front",),
    ("envmill.pipeline",),
    ("envmill.stages",),
    ("envmill.recipes", "envmill.interop", "envmill.report"),
    ("envmill.gates",),
    ("envmill.agents", "envmill.toolgraph"),
    ("envmill.kinds",),
    ("envmill.verifiers",),
    ("envmill.sandbox", "envmill.models", "envmill.lake"),
    ("envmill.language",),
    ("envmill.runtime", "envmill.base"),
    ("schemas",),
)

SIDEWAYS: frozenset[tuple[str, str]] = frozenset(
    {
        (
            "envmill.models",
            "envmill.lake",
        ),  # the door returns a reply only after the journal has it
        (
            "envmill.recipes",
            "envmill.interop",
        ),  # documents that describe tools are what one recipe starts from
    }
)
"""Arrows allowed between two rooms of one floor."""

FORBIDDEN: frozenset[tuple[str, str]] = frozenset(
    {("quality", "envmill"), ("envmill.runtime", "schemas")}
)
"""Arrows that go down and are still wrong, by prefix: quality is handed frames, and the runtime is
copied into exports alone."""

ROOT, OFFERED = "envmill", ("envmill.front", "envmill.base.version")
"""The package's own `__init__` offers the front door's names to users' programs. No module of ours
imports it."""

HEIGHT = {room: len(FLOORS) - index for index, rooms in enumerate(FLOORS) for room in rooms}


def find_room(module: str) -> str:
    """The longest listed prefix; empty for a module that no floor lists."""
    parts = module.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in HEIGHT), "")


def is_ours(name: str) -> bool:
    return name.split(".")[0] in PACKAGES


def find_wrong_arrows(imports: Imports) -> Iterator[str]:
    """Each arrow that is not allowed, and each module whose floor is not written down."""
    for module in sorted(imports):
        if module != ROOT and not find_room(module):
            yield f"{module}: on no floor; give it one in floors.py"
        for target in sorted(filter(is_ours, imports[module])):
            if not _is_allowed(module, target):
                yield f"{module} -> {target}"


def _is_allowed(module: str, target: str) -> bool:
    if any(_is_within(module, start) and _is_within(target, end) for start, end in FORBIDDEN):
        return False
    if target == ROOT:
        return False
    if module == ROOT:
        return any(_is_within(target, room) for room in OFFERED)
    start, end = find_room(module), find_room(target)
    return (
        start == end != ""
        or (start, end) in SIDEWAYS
        or (bool(end) and HEIGHT.get(start, 0) > HEIGHT[end])
    )


def _is_within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")
