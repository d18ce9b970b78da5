"""A frozen sample of planted texts, honest look-alikes and recorded scenarios, and what a blind
reader (S16) makes of each.

    python -m tests.real_authors.blind render FOLDER KEY     one prompt per file, shuffled, neutral names; KEY says what each is
    python -m tests.real_authors.blind take FOLDER KEY       FOLDER/answers/N.json ─► `understood.json`
    python -m tests.real_authors.blind compare CASES         `understood.json` ─► differences ─► `sampled.json`, their questions to CASES

`blind.json` names the sample. A text is found by operator, side, scenario and place among the texts of that scenario, as in `planted.json`.
Entries whose prompts are alike share one file: a wrong answer or opening leaves the request as it
is. What follows from the answers is counted in `sampled.py`; `shipping.py` takes what is answered
to CASES.
"""

import asyncio
import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.gates import s16
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.exploring.trials import Trials
from envmill.gates.reading.evidence import describe
from envmill.models.parse import parse_reply
from envmill.sandbox import Sandbox
from schemas.base import canonical_json, digest
from schemas.reading import ReaderReply
from schemas.suspicion import SuspicionCase
from tests.real_authors.cases import list_recorded, list_scenarios
from tests.real_authors.judgements import UNDERSTOOD, read_understood
from tests.real_authors.planted import name_case
from tests.real_authors.sampled import (
    SAMPLE,
    Entry,
    Sampled,
    list_ambiguous,
    read_sample,
    read_sample_readings,
    write_sampled,
)
from tests.real_authors.texts import Text

PLANTED, LEAST, HONEST = 120, 10, 60
_SEED = 20261123
_BATCH = 20
"""Prompts that one reader answers."""


Texts = Mapping[tuple[str, str, str], Sequence[Text]]
"""Operator, side, scenario → texts, each once."""


def index(found: Iterable[tuple[str, Text]]) -> dict[tuple[str, str, str], list[Text]]:
    """In the order of `planted.json`."""
    texts: dict[tuple[str, str, str], list[Text]] = defaultdict(list)
    seen: set[tuple[str, ...]] = set()
    for source, text in found:
        key = (
            text.operator,
            str(text.planted),
            text.posed.scenario.model_dump_json(),
            *(one.question for one in text.findings),
        )
        if key not in seen:
            seen.add(key)
            texts[text.operator, "planted" if text.planted else "honest", source].append(text)
    return texts


def draw(texts: Texts, scenarios: Mapping[str, ScenarioCase]) -> list[Entry]:
    """Planted texts in proportion, honest ones whose prompt differs from that of every recorded
    scenario, and all of these.

    Nothing else is drawn of a scenario that is ambiguous as it was recorded: there is no honest
    look-alike of it.
    """
    dice = random.Random(_SEED)
    planted: dict[str, list[Entry]] = defaultdict(list)
    honest: dict[str, Entry] = {}
    known = {render(posed) for posed in scenarios.values()}
    ambiguous = list_ambiguous()
    for (operator, side, source), held in texts.items():
        for place, text in enumerate(held if source not in ambiguous else ()):
            entry = Entry(side, operator, source, place)
            if side == "planted":
                planted[operator].append(entry)
            elif not text.spoilt and (prompt := render(text.posed)) not in known:
                honest.setdefault(prompt, entry)
    drawn = [
        entry
        for operator, count in share(planted).items()
        for entry in dice.sample(planted[operator], count)
    ]
    drawn += dice.sample(list(honest.values()), HONEST)
    return [*drawn, *(Entry("recorded", "", source, 0) for source in scenarios)]


def share(planted: Mapping[str, Sequence[Entry]]) -> dict[str, int]:
    """How many of each operator: in proportion, at least `LEAST`, `PLANTED` in all."""
    whole = sum(map(len, planted.values()))
    counts = {
        name: min(len(held), max(LEAST, round(PLANTED * len(held) / whole)))
        for name, held in planted.items()
    }
    while sum(counts.values()) > PLANTED:
        counts[max(counts, key=lambda name: counts[name])] -= 1
    return counts


def render(posed: ScenarioCase) -> str:
    return s16.PROMPT.render(s16.show(posed), ReaderReply)


def write_sample(entries: Sequence[Entry]) -> None:
    told = [
        (
            entry.side,
            entry.operator,
            entry.source,
            entry.place,
            *((entry.spoilt,) if entry.spoilt else ()),
        )
        for entry in entries
    ]
    lines = ",\n".join(map(json.dumps, told))
    SAMPLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def find(entry: Entry, texts: Texts, scenarios: Mapping[str, ScenarioCase]) -> Text:
    if entry.side == "recorded":
        return Text("", scenarios[entry.source], (), planted=False)
    return texts[entry.operator, entry.side, entry.source][entry.place]


# Rendering.


def write_prompts(
    entries: Sequence[Entry],
    texts: Texts,
    scenarios: Mapping[str, ScenarioCase],
    folder: Path,
    key_file: Path,
) -> None:
    """Batches of prompts, each of few environments, in which hardly two are variants of one
    scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    prompts: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        prompts[render(find(entry, texts, scenarios).posed)].append(entry)
    key: dict[str, Any] = {"prompt_hash": s16.PROMPT.hash, "prompts": {}}
    batches: list[list[int]] = []
    for batch in deal(prompts):
        numbers: list[int] = []
        for prompt in batch:
            number = len(key["prompts"]) + 1
            numbers.append(number)
            (folder / f"{number:03d}.txt").write_text(prompt, encoding="utf-8")
            key["prompts"][f"{number:03d}"] = [asdict(entry) for entry in prompts[prompt]]
        batches.append(numbers)
    (folder / "batches.json").write_text(
        json.dumps([[f"{one:03d}" for one in batch] for batch in batches]), encoding="utf-8"
    )
    key_file.write_text(json.dumps(key, indent=1), encoding="utf-8")


def deal(prompts: Mapping[str, Sequence[Entry]]) -> list[list[str]]:
    """Variants of one scenario are spread over the batches of its half of the environments; inside,
    sorted by environment."""
    dice = random.Random(_SEED)
    sources: dict[str, list[str]] = defaultdict(list)
    for prompt, entries in prompts.items():
        sources[entries[0].source].append(prompt)
    halves: list[list[str]] = [[], []]
    for environment in sorted({source.rpartition("/")[0] for source in sources}):
        own = [
            prompt
            for source in sorted(sources)
            if source.rpartition("/")[0] == environment
            for prompt in _mix(sources[source], dice)
        ]
        halves[len(halves[0]) > len(halves[1])] += own
    batches: list[list[str]] = []
    for half in halves:
        count = -(-len(half) // _BATCH)
        dealt = [half[number::count] for number in range(count)]
        batches += [
            sorted(
                batch,
                key=lambda prompt: (prompts[prompt][0].source.rpartition("/")[0], dice.random()),
            )
            for batch in dealt
        ]
    return batches


def _mix(prompts: Sequence[str], dice: random.Random) -> list[str]:
    return dice.sample(prompts, len(prompts))


# Comparing.


def take_answers(
    texts: Texts, scenarios: Mapping[str, ScenarioCase], folder: Path, key_file: Path
) -> None:
    """Adds the replies to those that are stored, by the digest of what was shown."""
    key = json.loads(key_file.read_text(encoding="utf-8"))["prompts"]
    replies = dict(read_understood())
    for number, entries in key.items():
        reply = read_answer(folder / "answers" / f"{number}.json")
        if isinstance(reply, str):
            sys.stderr.write(f"{number}: {reply}\n")
        else:
            replies |= {
                name_shown(find(Entry(**told), texts, scenarios).posed): reply.model_dump(
                    mode="json"
                )
                for told in entries
            }
    lines = ",\n".join(
        f'"{name}": {canonical_json(reply)}' for name, reply in sorted(replies.items())
    )
    UNDERSTOOD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def name_shown(posed: ScenarioCase) -> str:
    """Under which a reply is stored."""
    return digest(s16.show(posed).model_dump(mode="json"))


async def compare(
    texts: Texts, scenarios: Mapping[str, ScenarioCase], means: GateContext
) -> tuple[list[Sampled], dict[str, dict[str, Any]]]:
    """Of each entry what other gates ask about it and what S16 asks, and all these questions as
    cases by id.

    Of a planted text the questions of S16 are put about the scenario as it was recorded, too: these
    are honest cases. A question about
    a text that is ambiguous or spoilt calibrates nobody.
    """
    found: list[Sampled] = []
    cases: dict[str, dict[str, Any]] = {}
    ambiguous = list_ambiguous()

    async def take(
        posed: ScenarioCase, finding: Finding, *, planted: bool, calibrates: bool = True
    ) -> str:
        case = await make_case(posed, finding, means, planted=planted)
        cases[name_case(case)] = {"calibrates": calibrates, "case": case.model_dump(mode="json")}
        return name_case(case)

    for entry in read_sample():
        text = find(entry, texts, scenarios)
        reply = ReaderReply.model_validate(read_understood()[name_shown(text.posed)])
        noticed = {name_case(case): case for case in text.list_cases() if text.planted}
        cases |= {
            name: {"calibrates": False, "case": case.model_dump(mode="json")}
            for name, case in noticed.items()
        }
        known = not entry.spoilt and entry.source not in ambiguous
        said = [one for one in (await s16.compare(text.posed, means, reply)).spread() if one.reason]
        found.append(
            Sampled(
                list(noticed),
                [
                    await take(text.posed, one, planted=text.planted, calibrates=known)
                    for one in said
                ],
            )
        )
        for one in said if text.planted else ():
            await take(scenarios[entry.source], one, planted=False)
    return found, cases


def read_answer(path: Path) -> ReaderReply | str:
    """A reply, or why there is none."""
    return (
        parse_reply(path.read_text(encoding="utf-8"), ReaderReply)
        if path.exists()
        else "not answered"
    )


async def make_case(
    posed: ScenarioCase, finding: Finding, means: GateContext, *, planted: bool
) -> SuspicionCase:
    """The question with the item as the judge is shown it, replies to the path among it."""
    (trial, *_) = await Trials.of(posed, means).oracle()
    item = describe(posed, finding, trial.replies)
    return SuspicionCase(
        gate=finding.gate,
        reason=finding.reason,
        planted=planted,
        item=item,
        question=finding.question,
    )


async def gather(
    means: GateContext,
) -> tuple[dict[tuple[str, str, str], list[Text]], dict[str, ScenarioCase]]:
    recorded = [one async for one in list_recorded(means)]
    return index(recorded), {source: posed async for source, posed in list_scenarios(means)}


async def main(verb: str, *paths: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": home})) as sandbox:
            means = GateContext(sandbox)
            texts, scenarios = await gather(means)
            if verb == "render":
                if not SAMPLE.exists():
                    write_sample(draw(texts, scenarios))
                write_prompts(read_sample(), texts, scenarios, *paths)
            elif verb == "take":
                take_answers(texts, scenarios, *paths)
            else:
                found, cases = await compare(texts, scenarios, means)
                write_sampled(found, read_sample_readings())
                paths[0].write_text(
                    "".join(f"{json.dumps(told)}\n" for told in cases.values()), encoding="utf-8"
                )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(Path, sys.argv[2:])))
