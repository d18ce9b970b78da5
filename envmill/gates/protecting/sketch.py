# pyright: reportUnknownMemberType=false
"""Sketches of a benchmark: hashes that show whether another text repeats one of its texts, but
contain no text.

texts ─► runs of 13 and 8 words ─► salted hashes, cut to 5 and 3 bytes, in the order of their values ─┐
      └► pairs of masked words ─► 1024 minima, cut to one bit each ───────────────────────────────────┤
solutions ─► calls and changes without names, one byte of each rare value ────────────────────────────┼─► one compressed file
domains ─► names of tools, parameters and columns, runs of their policies ─► minima, one bit each ────┘
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from envmill.base.errors import SettingsError
from envmill.gates.protecting.reading import Benchmark, BenchmarkDomain, BenchmarkTask
from envmill.gates.protecting.structure import (
    LEAST_CALLS,
    TaskStructure,
    describe_task,
    find_rare,
    hash_values,
    list_call_values,
)
from envmill.language.content_words import list_content_words
from envmill.language.similarity import MASK, list_pairs, list_runs, mask_words, split_words
from envmill.models.embedding import EMBEDDERS
from schemas.base import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.uint64]
    Places: TypeAlias = NDArray[np.int32]
    Signatures: TypeAlias = NDArray[np.uint8]

VERSION = 2
LONG, MIDDLE, SHORT = 13, 8, 3
"""Lengths of runs in words. One of 13 is a quotation; of 8 it takes many; those of 3, from
policies, are compared as a whole."""
LEAST = MIDDLE
"""Words of the shortest text that is sketched. A guess of a shorter text could be confirmed."""
_TOLD = 10
"""Words of a masked run of 13 that are not masked. A list of names is no quotation."""
LONG_BYTES, MIDDLE_BYTES = 5, 3
"""Bytes of a hash. With five, two runs of a million rarely collide. With three, collisions are
common, so one alone proves nothing."""
PERMUTATIONS = 1024
_KEPT_BIT = 40
"""The kept bit of a minimum. The highest bits of a minimum are zero."""


@dataclass(frozen=True)
class BenchmarkSource:
    """Origin of the texts, for the card. It affects no result."""

    name: str
    version: str = ""
    licence: str = ""
    address: str = ""


@dataclass(frozen=True)
class SketchedTask:
    """A task with a known solution."""

    name: str
    structure: TaskStructure


@dataclass(frozen=True)
class ProtectedSketch:
    """The stored form of a benchmark. Arrays run in parallel: a hash, and the number of its
    text."""

    source: BenchmarkSource
    salt: bytes
    """A hash of the texts. Equal texts have equal sketches, and no table of hashes fits two
    benchmarks."""
    names: tuple[str, ...]
    """Place of each text: file, record, and number of the text in it, without any content."""
    sets: Mapping[str, int]
    """File → number of texts."""
    short: int
    """Number of texts with fewer than 13 words. These are only found as a whole, and those under
    eight words not at all."""
    power: Mapping[str, float]
    """Kind of planted copy → share that this sketch finds, measured while the texts are present."""
    wholes: "Numbers"
    whole_texts: "Places"
    quotes: "Numbers"
    quote_texts: "Places"
    runs: "Numbers"
    run_texts: "Places"
    sizes: "Places"
    """Number of runs of 8 words per text; 0 for a short text."""
    signatures: "Signatures"
    """Signatures of the long texts, in the order of `signed`."""
    signed: "Places"
    tasks: tuple[SketchedTask, ...]
    """Tasks of three or more calls. Tasks with the same words count once."""
    task_words: "Signatures"
    """MinHash of each task's content words."""
    embedder: str
    """Embedder of `vectors`; empty if there are none."""
    vectors: "NDArray[np.int8]"
    """Embedding of each task, only made on request: unlike hashes, embeddings can be turned back
    into similar text."""
    domains: tuple[str, ...]
    """Domains of the benchmark."""
    interfaces: "Signatures"
    """MinHash of each domain's names of tools, parameters and columns."""
    policies: "Signatures"
    """MinHash of masked runs of three words of each domain's policy; without runs if it has
    none."""

    @property
    def digest(self) -> str:
        """A digest of the texts."""
        return self.salt.hex()


def sketch_benchmark(
    benchmark: Benchmark, source: BenchmarkSource, embedder: str = ""
) -> ProtectedSketch:
    """Sketches texts, tasks and domains. `power` is measured elsewhere."""
    import numpy as np  # late: a tenth of a second that only those pay who compare

    texts = benchmark.texts
    named = {name: text for name, text in sorted(texts.items()) if len(split_words(text)) >= LEAST}
    unique = {
        " ".join(split_words(text)): name for name, text in sorted(named.items(), reverse=True)
    }
    names = sorted(unique.values())
    salt = hashlib.blake2b(
        json.dumps(sorted(unique)).encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    long = [place for place, name in enumerate(names) if len(split_words(named[name])) >= LONG]
    wholes = _collect(
        (hash_runs(salt, [" ".join(split_words(named[name]))], LONG_BYTES), place)
        for place, name in enumerate(names)
    )
    quotes = _collect(
        (hash_runs(salt, list_quotations(named[names[place]]), LONG_BYTES), place) for place in long
    )
    parts = {
        place: hash_runs(salt, list_runs(split_words(named[names[place]]), MIDDLE), MIDDLE_BYTES)
        for place in long
    }
    runs = _collect((found, place) for place, found in parts.items())
    sizes = np.array([len(parts.get(place, ())) for place in range(len(names))], dtype=np.int32)
    signatures = [sign(salt, list_pairs(mask_words(named[names[place]]))) for place in long]
    first = np.unique(quotes[0], return_index=True)[1]
    return ProtectedSketch(
        source=source,
        salt=salt,
        names=tuple(names),
        sets=_count_sets(texts),
        short=len(texts) - len(named) + len(names) - len(long),
        power={},
        wholes=wholes[0],
        whole_texts=wholes[1],
        quotes=quotes[0][first],
        quote_texts=quotes[1][first],
        runs=runs[0],
        run_texts=runs[1],
        sizes=sizes,
        signatures=_stack(signatures),
        signed=np.array(long, dtype=np.int32),
        **_sketch_tasks(benchmark.tasks, salt, embedder),
        **_sketch_domains(benchmark.domains, salt),
    )


def _sketch_tasks(tasks: Sequence[BenchmarkTask], salt: bytes, embedder: str) -> dict[str, Any]:
    import numpy as np

    unique = {" ".join(split_words(task.text)): task for task in reversed(tasks) if task.text}
    chosen = sorted(unique.values(), key=lambda task: task.place)
    rare = find_rare([list_call_values(task.calls) for task in chosen])
    kept = [
        (task, values)
        for task, values in zip(chosen, rare, strict=True)
        if len(task.calls) >= LEAST_CALLS
    ]
    structures = [
        replace(
            describe_task(task.calls, task.changes, salt),
            values=frozenset(),
            rare=hash_values(values, salt),
        )
        for task, values in kept
    ]
    vectors = EMBEDDERS[embedder]([task.text for task, _ in kept]) if embedder and kept else []
    return {
        "tasks": tuple(
            SketchedTask(task.place, structure)
            for (task, _), structure in zip(kept, structures, strict=True)
        ),
        "task_words": _stack([sign(salt, list_content_words(task.text)) for task, _ in kept]),
        "embedder": embedder if vectors else "",
        "vectors": np.array([_round(vector) for vector in vectors], dtype=np.int8).reshape(
            len(vectors), -1 if vectors else 0
        ),
    }


def _round(vector: Sequence[float]) -> list[int]:
    most = max(map(abs, vector), default=1.0) or 1.0
    return [round(127 * part / most) for part in vector]


def _sketch_domains(domains: Mapping[str, BenchmarkDomain], salt: bytes) -> dict[str, Any]:
    def list_policy_runs(name: str) -> frozenset[str]:
        return frozenset[str]().union(
            *(list_runs(mask_words(part), SHORT) for part in domains[name].policy)
        )

    return {
        "domains": tuple(sorted(domains)),
        "interfaces": _stack([sign(salt, domains[name].interface) for name in sorted(domains)]),
        "policies": _stack([sign(salt, list_policy_runs(name)) for name in sorted(domains)]),
    }


def _stack(signatures: "list[Signatures]") -> "Signatures":
    import numpy as np

    return np.array(signatures, dtype=np.uint8).reshape(len(signatures), PERMUTATIONS // 8)


def _count_sets(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        file = name.rpartition(":")[0]
        counts[file] = counts.get(file, 0) + 1
    return dict(sorted(counts.items()))


def _collect(found: Iterable[tuple["Numbers", int]]) -> "tuple[Numbers, Places]":
    """Sorted by hash, so that the order in the texts stays unknown."""
    import numpy as np

    pairs = [(int(number), place) for numbers, place in found for number in numbers]
    pairs.sort()
    return np.array([number for number, _ in pairs], dtype=np.uint64), np.array(
        [place for _, place in pairs], dtype=np.int32
    )


def hash_runs(salt: bytes, runs: Iterable[str], size: int) -> "Numbers":
    """Sorted hashes of the distinct runs."""
    import numpy as np

    hashed = (
        hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=size, key=salt).digest()
        for run in runs
    )
    return np.array(sorted({int.from_bytes(one, "big") for one in hashed}), dtype=np.uint64)


def list_quotations(text: str) -> Iterator[str]:
    """Runs of 13 words, as they are and with names and numbers masked."""
    plain, masked = split_words(text), mask_words(text)
    if len(plain) >= LONG:
        yield from list_runs(plain, LONG)
    if len(masked) >= LONG:
        yield from (
            run for run in list_runs(masked, LONG) if LONG - run.split().count(MASK) >= _TOLD
        )


def sign(salt: bytes, runs: Iterable[str]) -> "Signatures":
    """MinHash with one bit of each minimum. Any guess agrees with half of the 1024 bits, give or
    take 16. A run adds 26 to that in a text of 20 runs, and 5 in one of 100, so a dictionary of
    guesses finds only chance."""
    import numpy as np

    hashed = hash_runs(salt, runs, 8)
    if not len(hashed):
        return np.zeros(PERMUTATIONS // 8, dtype=np.uint8)
    factors, terms = _permutations()
    with np.errstate(over="ignore"):
        mixed = hashed[:, None] * factors[None, :] + terms[None, :]
    return np.packbits(
        ((mixed.min(axis=0) >> np.uint64(_KEPT_BIT)) & np.uint64(1)).astype(np.uint8)
    )


def _permutations() -> "tuple[Numbers, Numbers]":
    import numpy as np

    if not _PERMUTED:
        drawn = [
            hashlib.blake2b(f"permutation/{number}".encode(), digest_size=16).digest()
            for number in range(PERMUTATIONS)
        ]
        _PERMUTED.append(
            np.array([int.from_bytes(one[:8], "big") | 1 for one in drawn], dtype=np.uint64)
        )
        _PERMUTED.append(
            np.array([int.from_bytes(one[8:], "big") for one in drawn], dtype=np.uint64)
        )
    return _PERMUTED[0], _PERMUTED[1]


_PERMUTED: list[Any] = []


def estimate_shares(signature: "Signatures", signatures: "Signatures") -> "NDArray[np.float64]":
    """Estimated share of common runs, give or take 0.03. Unrelated texts agree in half of the
    bits."""
    import numpy as np

    other = np.bitwise_count(signatures ^ signature[None, :]).sum(axis=1, dtype=np.int64)
    return 1 - 2 * other / PERMUTATIONS


def render_sketch(sketch: ProtectedSketch) -> bytes:
    """The file's bytes. Equal sketches give equal bytes."""
    import numpy as np

    head: dict[str, Json] = {
        "version": VERSION,
        "source": vars(sketch.source),
        "salt": sketch.salt.hex(),
        "names": list(sketch.names),
        "sets": dict(sketch.sets),
        "short": sketch.short,
        "power": dict(sketch.power),
        "tasks": [
            [
                one.name,
                list(one.structure.calls),
                sorted(one.structure.rare),
                list(one.structure.end),
            ]
            for one in sketch.tasks
        ],
        "embedder": sketch.embedder,
        "domains": list(sketch.domains),
    }
    arrays: dict[str, Any] = {
        "head": np.frombuffer(json.dumps(head, sort_keys=True).encode(), dtype=np.uint8),
        "wholes": _cut(sketch.wholes, LONG_BYTES),
        "quotes": _cut(sketch.quotes, LONG_BYTES),
        "runs": _cut(sketch.runs, MIDDLE_BYTES),
        **{name: getattr(sketch, name) for name in _PLAIN},
    }
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


_PLAIN = (
    *("whole_texts", "quote_texts", "run_texts", "sizes", "signed", "signatures"),
    *("task_words", "vectors", "interfaces", "policies"),
)
"""Arrays that are written unchanged."""


def _cut(numbers: "Numbers", size: int) -> "Signatures":
    import numpy as np

    return numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)[:, 8 - size :]


def _join(parts: "Signatures") -> "Numbers":
    import numpy as np

    whole = np.zeros((len(parts), 8), dtype=np.uint8)
    whole[:, 8 - parts.shape[1] :] = parts
    return whole.reshape(-1).view(">u8").astype(np.uint64)


def read_sketch(path: Path) -> ProtectedSketch:
    import numpy as np

    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            head: Any = json.loads(bytes(file["head"]))
            arrays: dict[str, Any] = {name: file[name] for name in file.files if name != "head"}
        if head["version"] != VERSION:
            raise SettingsError(
                f"{path} is a sketch of version {head['version']}; this EnvMill reads {VERSION}. "
                "Make it again with `protect`."
            )
        return ProtectedSketch(
            source=BenchmarkSource(**head["source"]),
            salt=bytes.fromhex(head["salt"]),
            names=tuple(head["names"]),
            sets=head["sets"],
            short=head["short"],
            power=head["power"],
            wholes=_join(arrays["wholes"]),
            quotes=_join(arrays["quotes"]),
            runs=_join(arrays["runs"]),
            tasks=tuple(
                SketchedTask(
                    name, TaskStructure(tuple(calls), rare=frozenset(rare), end=tuple(end))
                )
                for name, calls, rare, end in head["tasks"]
            ),
            embedder=head["embedder"],
            domains=tuple(head["domains"]),
            **{name: arrays[name] for name in _PLAIN},
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise SettingsError(
            f"{path} is not a sketch ({error}): make it again with `envmill protect`, or remove it."
        ) from error
