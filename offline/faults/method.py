"""One method of a rendered program, cut into its parts: what it looks up, what it refuses, what it
does, what it returns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

INDENT = " " * 8
_REFUSAL = re.compile(r'raise Rejection\(f?"([^"]*)"')


@dataclass(frozen=True)
class GuardClause:
    """One `if …: raise Rejection(…)`."""

    condition: str
    """Text between `if` and the colon."""
    refusal: str
    """The statement that refuses."""
    lookups: tuple[str, ...] = ()
    """What stands between the refusal before it and this one: rows and values that only later lines
    need."""

    @property
    def code(self) -> str:
        """Reason code of the rejection."""
        found = _REFUSAL.search(self.refusal)
        return found[1] if found else ""

    @property
    def lines(self) -> list[str]:
        """As it stands in the program."""
        return [*self.lookups, f"{INDENT}if {self.condition}:", f"{INDENT}    {self.refusal}"]


@dataclass(frozen=True)
class Method:
    """A tool's method."""

    name: str
    """Name of the tool."""
    head: str
    """The `def` line."""
    opening: tuple[str, ...]
    """Docstring and lookups."""
    guards: tuple[GuardClause, ...]
    """Refusals, in order."""
    effects: tuple[str, ...]
    """Lines between the last refusal and the return."""
    ending: str
    """The return."""

    @property
    def lines(self) -> list[str]:
        """As it stands in the program."""
        return [
            self.head,
            *self.opening,
            *(line for each in self.guards for line in each.lines),
            *self.effects,
            self.ending,
        ]

    def without(self, guard: GuardClause) -> "Method":
        """The method that does not refuse this; what was looked up for it is, since other lines may
        need that."""
        place = self.guards.index(guard)
        before, after = self.guards[:place], self.guards[place + 1 :]
        if not after:
            return replace(self, guards=before, effects=(*guard.lookups, *self.effects))
        heir = replace(after[0], lookups=(*guard.lookups, *after[0].lookups))
        return replace(self, guards=(*before, heir, *after[1:]))

    def with_effects_first(self) -> "Method":
        """The method that changes before it refuses; lookups stay before both."""
        looked = (line for each in self.guards for line in each.lookups)
        guards = tuple(replace(each, lookups=()) for each in self.guards)
        return replace(
            self, opening=(*self.opening, *looked, *self.effects), guards=guards, effects=()
        )

    def with_guard(self, old: GuardClause, new: GuardClause) -> "Method":
        """The method with another refusal in this one's place."""
        return replace(self, guards=tuple(new if each is old else each for each in self.guards))

    def with_effect(self, number: int, *lines: str) -> "Method":
        """The method with other lines in the place of one effect."""
        return replace(self, effects=(*self.effects[:number], *lines, *self.effects[number + 1 :]))


def cut_methods(source: str) -> dict[str, Method]:
    """Every tool's method."""
    chunks = re.split(r"\n(?=    def )", source)[1:]
    methods = (
        _cut(chunk.rstrip("\n").split("\n"))
        for chunk in chunks
        if not chunk.startswith("    def _")
    )
    return {each.name: each for each in methods}


def put_method(source: str, method: Method) -> str:
    """The program with this method in the place of the one of its name."""
    chunks = re.split(r"\n(?=    def )", source)
    for number, chunk in enumerate(chunks):
        if chunk.startswith(f"    def {method.name}("):
            chunks[number] = "\n".join(method.lines) + "\n"
    return "\n".join(chunks)


def _cut(lines: list[str]) -> Method:
    head, *rest, ending = lines
    starts = list(_find_guards(rest))
    ends = [starts[0], *(each + 2 for each in starts)] if starts else []
    guards = tuple(
        GuardClause(rest[each].strip()[3:-1], rest[each + 1].strip(), tuple(rest[end:each]))
        for end, each in zip(ends, starts, strict=False)
    )
    # Rules stand in one block; what comes before it looks up, what comes after it changes.
    first, last = (starts[0], starts[-1] + 2) if starts else (_end_of_lookups(rest),) * 2
    name = head.split("def ")[1].split("(")[0]
    return Method(name, head, tuple(rest[:first]), guards, tuple(rest[last:]), ending)


def _find_guards(lines: list[str]) -> Iterator[int]:
    for number in range(len(lines) - 1):
        if lines[number].startswith(f"{INDENT}if ") and lines[number + 1].startswith(
            f"{INDENT}    raise "
        ):
            yield number


def _end_of_lookups(lines: list[str]) -> int:
    last = max(
        (
            number
            for number, line in enumerate(lines)
            if line.endswith('"""') or " = self._find(" in line
        ),
        default=-1,
    )
    return last + 1
