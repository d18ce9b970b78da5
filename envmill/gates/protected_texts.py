# pyright: reportUnknownMemberType=false
"""Protected sets: sketches of benchmarks that no generated text may repeat, and the similarity of a
text to them.

shipped sketches, sketches in a folder ─┐
texts in the folder ─► one sketch more ─┴─► Protected.find(text) ─► same text, quotation, copy, reworded, or nothing
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from envmill.base.errors import SettingsError
from envmill.gates.positive_controls import PLANTS
from envmill.gates.protecting.interface import ComparedWorld
from envmill.gates.protecting.layouts import LAYOUTS, find_layout
from envmill.gates.protecting.reading import SUFFIX, SUFFIXES, Benchmark, list_files, read_any
from envmill.gates.protecting.same_task import AskedTask, TaskMatch, find_embedder, find_same_task
from envmill.gates.protecting.sketch import (
    LEAST,
    LONG_BYTES,
    MIDDLE,
    MIDDLE_BYTES,
    SHORT,
    BenchmarkSource,
    ProtectedSketch,
    estimate_shares,
    hash_runs,
    list_quotations,
    read_sketch,
    sign,
    sketch_benchmark,
)
from envmill.language.similarity import list_pairs, list_runs, mask_words, split_words
from schemas.base import Json

if TYPE_CHECKING:
    from envmill.gates.protecting.sketch import Numbers, Places

_COPIED = 0.5
"""Share of the smaller text's runs of eight from which it is a copy, and the fewest that are more
than a turn of speech."""
_FEWEST = 3
_ALIKE = 0.3
"""Share of common pairs of masked words from which a text is a reworded copy. Of 200 lightly
reworded texts, one shares less than 0.4. A task of BFCL shares at most 0.2 with another task that
is no variant of it; a task of our own corpus shares at most 0.1 with any."""
_PLANTED = 60
"""Texts the power is measured with."""


@dataclass(frozen=True)
class ProtectedMatch:
    """The similarity of a text to a protected one."""

    reason: str
    source: str
    """Set and place of the protected text."""
    shared: float
    """Share of runs, or 1 for a quotation."""
    words: str = ""
    """The words found in both texts, as the given text has them."""


class Protected:
    """All sketches that are in force."""

    def __init__(
        self, sketches: Sequence[ProtectedSketch], texts: Mapping[str, str] | None = None
    ) -> None:
        self.sketches = tuple(sketches)
        self.texts = texts or {}
        """Place of a task → its text, where the benchmark itself is at hand and not only its
        sketch. A judge can be shown these."""

    @property
    def sets(self) -> dict[str, int]:
        """Texts by benchmark and version; by file, where they lie in the folder as texts."""
        return {name: count for one in self.sketches for name, count in _count_texts(one).items()}

    @property
    def short(self) -> int:
        """Texts too short to be compared by their parts: only the very words are found, and of
        those under eight words nothing."""
        return sum(one.short for one in self.sketches)

    @property
    def digest(self) -> str:
        """Of all sets together."""
        return blake2b(
            "/".join(sorted(one.digest for one in self.sketches)).encode(), digest_size=8
        ).hexdigest()

    @property
    def power(self) -> dict[str, float]:
        """Kind of plant → share that is found in the set where the fewest are."""
        kinds = {kind for one in self.sketches for kind in one.power}
        return {
            kind: min(one.power[kind] for one in self.sketches if kind in one.power)
            for kind in sorted(kinds)
        }

    def find(self, text: str) -> ProtectedMatch | None:
        """The plainest thing in common first."""
        if len(split_words(text)) < LEAST:
            return None
        found = [match for one in self.sketches if (match := find_match(one, text)) is not None]
        return min(found, key=lambda match: _PLAINEST.index(match.reason), default=None)

    def find_task(self, asked: AskedTask) -> TaskMatch | None:
        """The task that the scenario copies, or may paraphrase."""
        found = [
            match
            for one in self.sketches
            if (match := find_same_task(one, asked, find_embedder())) is not None
        ]
        return min(
            found,
            key=lambda match: (match.reason != "same_task", -match.values, -match.calls),
            default=None,
        )

    def find_domains(self, world: ComparedWorld) -> dict[str, Json]:
        """Domains whose names or policies are similar to those of the environment. This is no copy,
        but users who measure with these benchmarks must know."""
        return {
            f"{one.source.name}/{name}": shares
            for one in self.sketches
            for name, shares in _find_near_domains(one, world).items()
        }


def _count_texts(sketch: ProtectedSketch) -> Mapping[str, int]:
    named = f"{sketch.source.name} {sketch.source.version}".strip()
    return {named: sum(sketch.sets.values())} if named else sketch.sets


_NEAR_DOMAIN = 0.2
"""Share of names, or of runs of a policy, from which a world is near another."""


def _find_near_domains(
    sketch: ProtectedSketch, world: ComparedWorld
) -> Mapping[str, dict[str, float]]:
    """BenchmarkDomain → kind of text compared → share, for domains that are near."""
    found: dict[str, dict[str, float]] = {}
    for kind, known, asked in (
        ("interface", sketch.interfaces, world.interface),
        ("policy", sketch.policies, list_runs(mask_words(world.policy), SHORT)),
    ):
        shares = estimate_shares(sign(sketch.salt, asked), known) if len(known) and asked else ()
        for domain, shared in zip(sketch.domains, shares, strict=False):
            if shared >= _NEAR_DOMAIN:
                found.setdefault(domain, {})[kind] = round(float(shared), 3)
    return found


_PLAINEST = ("same_text", "quotation", "copy", "reworded")


def find_match(sketch: ProtectedSketch, text: str) -> ProtectedMatch | None:
    """The best match of a text in one benchmark."""
    if same := find_same_text(sketch, text):
        return ProtectedMatch("same_text", same, 1.0, text[:200])
    return (
        _find_quotation(sketch, text)
        or _find_copy(sketch, split_words(text))
        or _find_likeness(sketch, text)
    )


def find_same_text(sketch: ProtectedSketch, text: str) -> str:
    """Place of the text of a benchmark that has the same words from end to end; empty if there is
    none."""
    asked = hash_runs(sketch.salt, [" ".join(split_words(text))], LONG_BYTES)
    same = _find_texts(sketch.wholes, sketch.whole_texts, asked)
    return sketch.names[same[0]] if same else ""


def _find_quotation(sketch: ProtectedSketch, text: str) -> ProtectedMatch | None:
    for run in sorted(set(list_quotations(text))) if _may_quote(sketch, text) else ():
        if found := _find_texts(
            sketch.quotes, sketch.quote_texts, hash_runs(sketch.salt, [run], LONG_BYTES)
        ):
            return ProtectedMatch("quotation", sketch.names[found[0]], 1.0, run)
    return None


def _may_quote(sketch: ProtectedSketch, text: str) -> bool:
    """Looks up all runs at once. Nearly every text quotes nothing and needs one look-up only."""
    runs = list(list_quotations(text))
    return bool(runs) and bool(
        _find_texts(sketch.quotes, sketch.quote_texts, hash_runs(sketch.salt, runs, LONG_BYTES))
    )


def _find_copy(sketch: ProtectedSketch, words: Sequence[str]) -> ProtectedMatch | None:
    """By the smaller of the two: an excerpt, or the whole of it among other words."""
    eights = hash_runs(sketch.salt, list_runs(words, MIDDLE), MIDDLE_BYTES)
    shared = Counter(_find_texts(sketch.runs, sketch.run_texts, eights))
    shares = {
        place: count / min(len(eights), int(sketch.sizes[place]))
        for place, count in shared.items()
        if count >= _FEWEST
    }
    best = min(shares, key=lambda place: (-shares[place], place), default=-1)
    return (
        ProtectedMatch("copy", sketch.names[best], round(shares[best], 3))
        if best >= 0 and shares[best] >= _COPIED
        else None
    )


def _find_likeness(sketch: ProtectedSketch, text: str) -> ProtectedMatch | None:
    if not len(sketch.signed) or len(split_words(text)) < MIDDLE:
        return None
    shares = estimate_shares(sign(sketch.salt, list_pairs(mask_words(text))), sketch.signatures)
    best = int(shares.argmax())
    if shares[best] < _ALIKE:
        return None
    return ProtectedMatch(
        "reworded", sketch.names[int(sketch.signed[best])], round(float(shares[best]), 3)
    )


def _find_texts(known: "Numbers", places: "Places", asked: "Numbers") -> list[int]:
    """Number of a text for each hash of it that is asked for."""
    import numpy as np

    if not len(known) or not len(asked):
        return []
    lows, highs = np.searchsorted(known, asked, "left"), np.searchsorted(known, asked, "right")
    return [
        int(place)
        for low, high in zip(lows, highs, strict=True)
        if high > low
        for place in places[low:high]
    ]


def make_sketch(
    benchmark: Benchmark, source: BenchmarkSource, embedder: str = ""
) -> ProtectedSketch:
    """A sketch with its power: the share of planted copies that it finds. The power must be
    measured now, because the sketch keeps no text."""
    made, texts = sketch_benchmark(benchmark, source, embedder), benchmark.texts
    names = [made.names[int(place)] for place in made.signed.tolist()]
    chosen = names[:: max(1, len(names) // _PLANTED)][:_PLANTED]
    power = (
        {kind: _rate(made, kind, [texts[name] for name in chosen]) for kind in PLANTS}
        if chosen
        else {}
    )
    return replace(made, power=power)


def _rate(sketch: ProtectedSketch, kind: str, texts: Sequence[str]) -> float:
    found = [find_match(sketch, PLANTS[kind](text, place)) for place, text in enumerate(texts)]
    return round(sum(match is not None for match in found) / len(texts), 3)


def read_protected(*folders: Path) -> Protected | None:
    """None where there is nothing. Read once a process, as long as no file changes."""
    files = [(folder, path) for folder in folders for path in list_files(folder)]
    stamps = tuple(
        (folder, path, path.stat().st_mtime_ns, path.stat().st_size) for folder, path in files
    )
    return _read(stamps) if stamps else None


@lru_cache(maxsize=4)
def _read(files: tuple[tuple[Path, Path, int, int], ...]) -> Protected:
    sketches = [read_sketch(path) for _, path, _, _ in files if path.suffix == SUFFIX]
    benchmarks = list(
        _read_folders({folder for folder, path, _, _ in files if path.suffix != SUFFIX})
    )
    texts = {task.place: task.text for one in benchmarks for task in one.tasks}
    return Protected(
        [*sketches, *(make_sketch(one, BenchmarkSource("")) for one in benchmarks)], texts
    )


def _read_folders(folders: Iterable[Path]) -> Iterable[Benchmark]:
    """Every text, and of a layout that is known the tasks and domains too."""
    for folder in sorted(folders):
        benchmark = read_any(folder)
        if (layout := find_layout(folder)) != "any":
            known = LAYOUTS[layout](folder)
            benchmark.tasks, benchmark.domains = known.tasks, known.domains
        if not benchmark.texts:
            raise SettingsError(
                f"{folder} holds protected sets and no text among them: give it texts as "
                f"{', '.join(SUFFIXES)}, or remove it."
            )
        yield benchmark
