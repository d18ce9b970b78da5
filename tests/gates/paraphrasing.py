"""How many paraphrases of benchmark tasks gate F3 finds, at how many false alarms. Others than the
detector's author write them.

    python -m tests.gates.paraphrasing render FOLDER BENCHMARK...     50 prompts, FOLDER/prompts/N.md
    python -m tests.gates.paraphrasing measure FOLDER BENCHMARK...    FOLDER/answers/N.json ─► what is found, as a table
    python -m tests.gates.paraphrasing curve FOLDER BENCHMARK...      the same at all thresholds ─► FOLDER/curve.svg and a table
    python -m tests.gates.paraphrasing cases FOLDER BENCHMARK...      FOLDER/cases.jsonl, with which `envmill calibrate` measures a judge

BENCHMARK is a folder that `envmill protect` reads. A paraphrase is compared with its own solution
under other names of tools, as it stands (`kept`), with one look-up left out (`shorter`), and with
other values (`swapped`). The honest side is every task of the same benchmarks, held against all
others: no harder one is known, since they share worlds, users and tools.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envmill.gates.f3 import ask_whether_same
from envmill.gates.protected_texts import find_match
from envmill.gates.protecting.layouts import read_benchmark
from envmill.gates.protecting.reading import Benchmark, BenchmarkTask
from envmill.gates.protecting.same_task import AskedTask, compare_near, find_same_task
from envmill.gates.protecting.sketch import BenchmarkSource, ProtectedSketch, sketch_benchmark
from envmill.gates.protecting.structure import LEAST_CALLS, list_call_values
from envmill.language.similarity import split_words
from schemas.base import Json
from schemas.seed import Brief
from schemas.suspicion import SuspicionCase, SuspicionItem
from tests.gates.curve import SCORES, Seen, draw, read_off, score
from tests.gates.curve import render as render_svg

PROMPT = Path(__file__).with_name("paraphrase.md")
PROMPTS, EACH = 50, 4
ROWS = ("words", "same_task", "like_task", "missed")


@dataclass(frozen=True)
class Known:
    """A benchmark with its sketch."""

    benchmark: Benchmark
    sketch: ProtectedSketch

    @property
    def tasks(self) -> list[BenchmarkTask]:
        """Those of the sketch: three calls and more, twins once."""
        by_place = {task.place: task for task in self.benchmark.tasks}
        return [by_place[one.name] for one in self.sketch.tasks]


def read_known(folders: Iterable[Path], embedder: str = "") -> list[Known]:
    found = [read_benchmark(folder) for folder in folders]
    return [Known(one, sketch_benchmark(one, BenchmarkSource("bench"), embedder)) for one in found]


def choose_tasks(known: Sequence[Known]) -> list[tuple[Known, BenchmarkTask]]:
    """Spread evenly over all tasks, variants of the same solution once."""
    unique = {
        (number, *sorted(list_call_values(task.calls))): (one, task)
        for number, one in enumerate(known)
        for task in reversed(one.tasks)
    }
    tasks = sorted(unique.values(), key=lambda found: found[1].place)
    return [tasks[place * len(tasks) // PROMPTS] for place in range(min(PROMPTS, len(tasks)))]


def render(folder: Path, known: Sequence[Known]) -> int:
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    chosen = choose_tasks(known)
    template = PROMPT.read_text(encoding="utf-8")
    for number, (_, task) in enumerate(chosen):
        (folder / "prompts" / f"{number:02d}.md").write_text(
            template.replace("{{text}}", task.text), encoding="utf-8"
        )
    return len(chosen)


def read_answers(
    folder: Path, known: Sequence[Known]
) -> Iterator[tuple[Known, BenchmarkTask, str]]:
    for number, (one, task) in enumerate(choose_tasks(known)):
        path = folder / "answers" / f"{number:02d}.json"
        told: Any = (
            json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"paraphrases": []}
        )
        yield from ((one, task, text) for text in told["paraphrases"][:EACH])


def pose(task: BenchmarkTask, text: str) -> Mapping[str, AskedTask]:
    """The paraphrase with the solution as somebody else's environment would have it."""
    kept = tuple((f"tool {name}", arguments) for name, arguments in task.calls)
    values = {
        value: f"other {number}"
        for number, value in enumerate(sorted(list_call_values(task.calls), key=len, reverse=True))
    }
    swapped = tuple(
        (name, {key: _swap(value, values) for key, value in arguments.items()})
        for name, arguments in kept
    )
    words = text
    for value, other in values.items():
        words = words.replace(value, other)
    shorter = (*kept[:1], *kept[2:]) if len(kept) > LEAST_CALLS else kept
    return {
        "kept": AskedTask(text, kept, task.changes),
        "shorter": AskedTask(text, shorter),
        "swapped": AskedTask(words, swapped),
    }


def _swap(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_swap(one, values) for one in value]
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return value
    other = values.get(str(value).strip().casefold(), "other")
    return other if isinstance(value, str) else int.from_bytes(other.encode()[-3:])


def find(sketch: ProtectedSketch, asked: AskedTask, embedder: str = "") -> str:
    """What F3 says of it."""
    if find_match(sketch, asked.text):
        return "words"
    match = find_same_task(sketch, asked, embedder)
    return match.reason if match else "missed"


def leave_out(sketch: ProtectedSketch, one: Known, task: BenchmarkTask) -> ProtectedSketch:
    """The sketch without a task and its variants, which have nearly the same values. Its texts are
    left out wholly: they were copied."""
    own = list_call_values(task.calls)
    places = [
        place
        for place, other in enumerate(one.tasks)
        if not _is_variant(own, list_call_values(other.calls))
    ]
    vectors = sketch.vectors[places] if len(sketch.vectors) else sketch.vectors
    return replace(
        sketch,
        tasks=tuple(sketch.tasks[place] for place in places),
        task_words=sketch.task_words[places],
        vectors=vectors,
    )


def _is_variant(own: frozenset[str], other: frozenset[str]) -> bool:
    return own == other or len(own & other) >= 0.75 * max(1, min(len(own), len(other)))


def measure_honest(known: Sequence[Known], embedder: str = "") -> dict[str, int]:
    """Tasks held against all others that are no variants of them."""
    counts: dict[str, int] = dict.fromkeys(ROWS, 0)
    for one in known:
        for task in one.tasks:
            match = find_same_task(
                leave_out(one.sketch, one, task),
                AskedTask(task.text, task.calls, task.changes),
                embedder,
            )
            counts[match.reason if match else "missed"] += 1
    return counts


def measure(folder: Path, known: Sequence[Known], embedder: str = "") -> dict[str, dict[str, int]]:
    """Kind → outcome → number. `missed` of the honest side is right."""
    counts: dict[str, dict[str, int]] = {
        kind: dict.fromkeys(ROWS, 0) for kind in ("kept", "shorter", "swapped")
    }
    for one, task, text in read_answers(folder, known):
        for kind, asked in pose(task, text).items():
            counts[kind][find(one.sketch, asked, embedder)] += 1
    return counts | {"honest": measure_honest(known, embedder)}


def see_paraphrases(
    folder: Path, known: Sequence[Known], embedder: str = ""
) -> dict[str, list[Seen]]:
    """Kind → paraphrases as F3 saw them."""
    found: dict[str, list[Seen]] = {"kept": [], "shorter": [], "swapped": []}
    for one, task, text in read_answers(folder, known):
        own = list_call_values(task.calls)
        variants = {
            other.place for other in one.tasks if _is_variant(own, list_call_values(other.calls))
        }
        for kind, asked in pose(task, text).items():
            near = compare_near(one.sketch, asked, embedder)
            retrieved = any(match.source in variants for match in near)
            found[kind].append(
                Seen(near, find_match(one.sketch, asked.text) is not None, retrieved)
            )
    return found


def see_honest(known: Sequence[Known], embedder: str = "") -> list[Seen]:
    """Tasks against all others that are no variants of them."""
    return [
        Seen(
            compare_near(
                leave_out(one.sketch, one, task),
                AskedTask(task.text, task.calls, task.changes),
                embedder,
            )
        )
        for one in known
        for task in one.tasks
    ]


def write_curves(folder: Path, known: Sequence[Known], embedder: str = "") -> str:
    """The curves of paraphrases with their own solution, as FOLDER/curve.svg; the table has the
    other kinds too."""
    seen, honest = see_paraphrases(folder, known, embedder), see_honest(known, embedder)
    names = [name for name in SCORES if embedder or "embeddings" not in name]
    curves = {
        kind: {
            name: draw([score(one, name) for one in found], [score(one, name) for one in honest])
            for name in names
        }
        for kind, found in seen.items()
    }
    stands = {
        name: (_share(honest, name), _share(seen["kept"], name))
        for name in names
        if name.startswith("structure")
    }
    (folder / "curve.svg").write_text(render_svg(curves["kept"], stands), encoding="utf-8")
    lines = [
        "| solution | decided by | at 0 % false alarms | 1 % | 3 % | 5 % | 10 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, drawn in curves.items():
        for name, curve in drawn.items():
            cells = " | ".join(
                f"{read_off(curve, most):.0%}" for most in (0.0, 0.01, 0.03, 0.05, 0.1)
            )
            lines.append(f"| {kind} | {name} | {cells} |")
    lines += [
        "",
        *(
            f"{name}: found {found:.1%} at {alarms:.1%} false alarms where the gate stands"
            for name, (alarms, found) in stands.items()
        ),
    ]
    for kind, found in seen.items():
        reached = sum(one.copied or one.retrieved for one in found)
        lines.append(
            f"{kind}: of {len(found)}, the source or a variant of it is among the nearest of "
            f"{reached}"
        )
    return "\n".join(lines)


def _share(seen: Sequence[Seen], name: str) -> float:
    return sum(score(one, name) >= 1 for one in seen) / len(seen)


def make_cases(folder: Path, known: Sequence[Known]) -> Iterator[SuspicionCase]:
    """A paraphrase beside its own task, which is planted, and beside the likest that is another."""
    for one, task, text in read_answers(folder, known):
        asked, own = pose(task, text)["kept"], list_call_values(task.calls)
        places = {other.place: other for other in one.tasks}
        near = sorted(
            compare_near(one.sketch, asked), key=lambda match: (-match.words, match.source)
        )
        others = [
            places[match.source]
            for match in near
            if not _is_variant(own, list_call_values(places[match.source].calls))
        ]
        path: list[Json] = [
            {"name": name, "arguments": dict(arguments)} for name, arguments in asked.calls
        ]
        brief = Brief(theme="benchmark", text=task.place.partition(":")[0], number=0)
        item = SuspicionItem(
            brief=brief,
            name="",
            rules=[],
            policy="",
            tools=[],
            request=text,
            told=[],
            path={"calls": path},
            rows={},
            witness=[],
        )
        for planted, other in ((True, task), *((False, other) for other in others[:1])):
            yield SuspicionCase(
                gate="F3",
                reason="like_task",
                planted=planted,
                item=item,
                question=ask_whether_same(other.text),
            )


def write_table(counts: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f"| | {' | '.join(ROWS)} | all |", f"|---|{'---|' * (len(ROWS) + 1)}"]
    lines += [
        f"| {kind} | {' | '.join(str(found[row]) for row in ROWS)} | {sum(found.values())} |"
        for kind, found in counts.items()
    ]
    return "\n".join(lines)


def main(words: Sequence[str]) -> None:
    embedder = "minilm" if "--embed" in words else ""
    task, folder, *benchmarks = [word for word in words if word != "--embed"]
    known = read_known(map(Path, benchmarks), embedder)
    if task == "render":
        sys.stdout.write(
            f"{render(Path(folder), known)} prompts in {folder}/prompts; put each reply into "
            f"{folder}/answers/N.json\n"
        )
    elif task == "cases":
        made = [case.model_dump_json() for case in make_cases(Path(folder), known)]
        (Path(folder) / "cases.jsonl").write_text(
            "".join(f"{one}\n" for one in made), encoding="utf-8"
        )
        sys.stdout.write(f"{len(made)} cases in {folder}/cases.jsonl\n")
    elif task == "curve":
        sys.stdout.write(f"{write_curves(Path(folder), known, embedder)}\n")
    else:
        read = sum(len(split_words(text)) > 0 for *_, text in read_answers(Path(folder), known))
        sys.stdout.write(
            f"{read} paraphrases\n\n{write_table(measure(Path(folder), known, embedder))}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
