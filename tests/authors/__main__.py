"""`python -m tests.authors STEP FOLDER`: measure what becomes of a real model's work, one step
after the other.

make ─► items ─► draw ─► read ─► climb ─► search, attack ─► second ─► ends ─► page

`make calibrate-author` takes all steps for one model. Each step keeps its lines in FOLDER and goes on where it was cut off.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import offline as author
from envmill.agents import is_scripted
from envmill.agents.rescore import read_ending
from envmill.base.errors import BuildError, SettingsError
from envmill.base.settings import Settings
from envmill.gates.exploring.ends import list_ends
from envmill.gates.reading.calibrations import FAIRNESS
from envmill.gates.reading.fairness import read_fairness_cases
from envmill.kinds import open_sandbox
from envmill.kinds.findings import GateContext, ScenarioCase
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.models.session import ModelSession
from envmill.pipeline.open_run import open_role
from schemas.base import digest
from schemas.rollout import Rollout
from tests.authors.attacks import Attack, attack, search
from tests.authors.evidence import (
    Evidence,
    Shown,
    Tokens,
    read_evidence,
    read_records,
    write_items,
    write_records,
)
from tests.authors.items import Item, list_items
from tests.authors.ladder import climb, note
from tests.authors.making import list_plan, make_runs, surround
from tests.authors.page import write_page
from tests.authors.readings import Packet, Shelf, draw_packets, read_packets
from tests.authors.second import JudgedEnd, judge_twice, list_distinct, read_second, write_second

CUSTOMER = {
    "envscaler": (6, 3), "awm": (6, 3), "scaleenv": (3, 3), "envfactory": (2, 3), "agentscaler": (2, 3), "endless_terminals": (1, 3),
}  # fmt: skip
"""Environments and scenarios of each, for a customer's model: 20 and 60."""
OFTEN, SELDOM = 8, 2
"""Attempts at each of the first `LADDER` scenarios, and at the others."""
LADDER = 60
KEEPS = 60
"""Kept scenarios that are read, from the first in an order that says nothing."""
SCRIPTS = ("skilled@0.9", "skilled@0.7", "careless")
CAREFUL = "careful"
"""Name of the author, and of the strongest policy."""
EPISODES = 400
"""Sequences of a run's own search, by default."""
BATCH = 8
"""Packets that are read before what was said is kept."""


class Measurement:
    """One folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder, self.settings = folder, settings
        self.lake = Lake(settings.lake)
        self.shelf = Shelf(self.lake)

    def open_model(self, role: Any, spec: str) -> Any:
        folder = self.folder / "replies" / spec.replace(":", "-").replace("/", "-")
        return open_role(role, spec, self.settings, folder, author.answer)

    def read(self) -> Evidence:
        return read_evidence(self.folder)

    def list_cases(self) -> dict[str, ScenarioCase]:
        """Scenarios that can be played, by id."""
        return {one.id: self.shelf.case(one) for one in self.list_playable()}

    def list_playable(self) -> list[Item]:
        """In an order that says nothing of them, so that the first few are a sample."""
        found = [
            one
            for one in self.read().items
            if one.lap == "scenarios" and one.fate in ("clean", "suspected", "observed")
        ]
        return sorted(found, key=lambda one: digest([one.id, "sample"]))

    # Steps.

    def items(self, writers: dict[str, str]) -> None:
        write_items(self.folder / "items.jsonl", list_items(self.lake, writers))
        own = [one for one in self._list_own_rollouts() if not is_scripted(one.policy)]
        write_records(self.folder / "natural.jsonl", [note(one, CAREFUL) for one in own])
        with open_views(self.lake) as views:
            rows = views.execute(
                """select config->>'model', recipe, role, count(*), sum(tokens_in), sum(tokens_out), sum(repair::int)
                   from model_calls join runs using (run) where not reused group by all order by all"""
            ).fetchall()
        found = [Tokens(writer=writers.get(one[0]) or str(one[0]), recipe=one[1], role=one[2], calls=one[3], read=int(one[4] or 0),
                        written=int(one[5] or 0), repairs=int(one[6] or 0)) for one in rows]  # fmt: skip
        write_records(self.folder / "tokens.jsonl", found)

    def draw(self, keeps: int) -> None:
        drawn = read_records(self.folder / "drawn.jsonl", Packet)
        packets = draw_packets(
            self.read().items, self.lake, read_fairness_cases(FAIRNESS), keeps, drawn
        )
        write_records(self.folder / "drawn.jsonl", packets, add=True)
        shown = [Shown(**one.model_dump(include=set(Shown.model_fields))) for one in packets]
        write_records(self.folder / "packets.jsonl", shown, add=True)

    async def read_blind(self, reader: str, spec: str) -> None:
        known = {(one.packet, one.reader) for one in self.read().readings}
        packets = [
            one
            for one in read_records(self.folder / "drawn.jsonl", Packet)
            if (one.id, reader) not in known
        ]
        async with self.open_model("judge", spec) as models:
            for first in range(0, len(packets), BATCH):
                found = await read_packets(packets[first : first + BATCH], reader, models)
                write_records(self.folder / "readings.jsonl", found, add=True)

    async def climb(self, name: str, policy: str, spec: str, times: int, most: int | None) -> None:
        done = {(one.scenario, one.attempt) for one in self.read().ladder if one.policy == name}
        cases = dict(list(self.list_cases().items())[:most])
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(open_sandbox(self.settings))
            models: ModelSession | None = (
                await stack.enter_async_context(self.open_model("policy", spec)) if spec else None
            )
            for number in range(times):
                left = {key: case for key, case in cases.items() if (key, number) not in done}
                async for rollout in climb(left, policy, [number], sandbox, models):
                    write_records(self.folder / "ladder.jsonl", [note(rollout, name)], add=True)
                    write_records(self.folder / "rollouts.jsonl", [rollout], add=True)

    async def search(self) -> None:
        """Programs over rows alone: a machine has no calls to draw."""
        done = {one.scenario for one in self.read().attacks if one.by == "search"}
        cases = [
            case
            for key, case in self.list_cases().items()
            if key not in done and self.shelf.reads_rows(case.environment)
        ]
        async with open_sandbox(self.settings) as sandbox:
            async for found in search(cases, GateContext(sandbox, seed=1, episodes=EPISODES)):
                write_records(self.folder / "attacks.jsonl", [found], add=True)

    async def attack(self, spec: str, most: int | None) -> None:
        done = {one.scenario for one in self.read().attacks if one.by == "model"}
        cases = [case for key, case in list(self.list_cases().items())[:most] if key not in done]
        async with open_sandbox(self.settings) as sandbox, self.open_model("judge", spec) as models:
            for task in asyncio.as_completed(
                [attack(case, GateContext(sandbox), models) for case in cases]
            ):
                found: Attack = await task
                write_records(self.folder / "attacks.jsonl", [found], add=True)

    async def second(self, spec: str, most: int | None) -> None:
        done = read_second(self.folder / "seconds.jsonl")
        wanted = [
            case for case in self.list_cases().values() if self.shelf.reads_rows(case.environment)
        ][:most]
        async with self.open_model("judge", spec) as models:
            for task in asyncio.as_completed(
                [write_second(case, models) for case in wanted if case.scenario.id not in done]
            ):
                if found := await task:
                    write_records(self.folder / "seconds.jsonl", [found], add=True)

    async def ends(self) -> None:
        """Ends of policies, attackers, mutants and detours, judged by both verifiers."""
        cases, found = self.list_cases(), list[JudgedEnd]()
        rollouts = [
            *read_records(self.folder / "rollouts.jsonl", Rollout),
            *self._list_own_rollouts(),
        ]
        async with open_sandbox(self.settings) as sandbox:
            for key, verifier in read_second(self.folder / "seconds.jsonl").items():
                case = cases[key]
                reached = [
                    ("gates", ending, accepted)
                    for ending, accepted in await list_ends(case, GateContext(sandbox))
                ]
                for rollout in (
                    one for one in rollouts if one.scenario == key and one.outcome != "error"
                ):
                    try:
                        ending = await read_ending(
                            rollout, case.scenario, case.environment, sandbox
                        )
                    except BuildError:
                        continue
                    reached.append((rollout.policy, ending, rollout.outcome == "pass"))
                found += await judge_twice(case, verifier, list(list_distinct(reached)), sandbox)
        write_records(self.folder / "ends.jsonl", found)

    def _list_own_rollouts(self) -> list[Rollout]:
        """Of the runs themselves."""
        return [
            one
            for run in sorted({item.run for item in self.read().items})
            for one in self.lake.read(Rollout, run)
        ]

    def describe(self, lines: list[str]) -> None:
        path = self.folder / "about.json"
        path.write_text(
            json.dumps({**self.read().about, "lines": lines}, ensure_ascii=False, indent=1) + "\n",
            encoding="utf-8",
        )

    def page(self) -> None:
        sys.stdout.write("\n".join(write_page(self.read())) + "\n")


def main(told: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.authors", description=__doc__)
    parser.add_argument(
        "step",
        choices=(
            "all",
            "make",
            "items",
            "draw",
            "read",
            "climb",
            "search",
            "attack",
            "second",
            "ends",
            "page",
        ),
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--model",
        default="",
        help="the author, or who plays this step's part, as provider:model@server",
    )
    parser.add_argument("--name", default="", help="under which a reader or a policy is kept")
    parser.add_argument(
        "--policy",
        default="",
        help="who acts: of `climb` a script's name, else provider:model@server",
    )
    parser.add_argument(
        "--hasty", default="", help="a weaker model for the ladder, as provider:model@server"
    )
    parser.add_argument("--judge", default="")
    parser.add_argument("--reader", action="append", default=[])
    parser.add_argument("--times", type=int, default=SELDOM)
    parser.add_argument("--most", type=int)
    parser.add_argument("--keeps", type=int, default=KEEPS)
    parser.add_argument(
        "--writers", default="", help="model=name, separated by commas: who an author's model is"
    )
    asked = parser.parse_args(told)
    asyncio.run(_take(asked))


async def _take_all(measured: Measurement, asked: argparse.Namespace) -> None:
    """Every step after the runs. Where one model plays several parts, the page says so."""
    readers = asked.reader or [asked.judge or asked.model] * 2
    if len(readers) != 2:
        raise SettingsError(
            f"Two readers read blind, and {len(readers)} were named: give READERS two models, or "
            "none."
        )
    strong = asked.policy or asked.model
    measured.items({asked.model.partition(":")[2]: CAREFUL})
    measured.draw(KEEPS)
    for number, reader in enumerate(readers, 1):
        await measured.read_blind(f"reader {number}", reader)
    for name, model in ((CAREFUL, strong), ("hasty", asked.hasty)):
        if model:
            await measured.climb(name, "model", model, OFTEN, LADDER)
            await measured.climb(name, "model", model, SELDOM, None)
    for script in SCRIPTS:
        await measured.climb(script, script, "", OFTEN, None)
    await measured.search()
    await measured.attack(readers[0], None)
    await measured.second(readers[1], None)
    await measured.ends()
    parts = (
        f"author {asked.model}, agent {strong}, readers {' and '.join(readers)}, judge "
        f"{asked.judge or asked.model}"
    )
    measured.describe(
        [
            f"Models: {parts}. Where one family of models wrote, judged and acted, its habits may "
            "agree with each other."
        ]
    )
    (measured.folder / "page.md").write_text(
        "\n".join(write_page(measured.read())) + "\n", encoding="utf-8"
    )
    sys.stderr.write(f"written to {measured.folder / 'page.md'}\n")


async def _take(asked: argparse.Namespace) -> None:
    folder: Path = asked.folder
    if asked.step in ("all", "make"):
        make_runs(
            list(list_plan(folder, CUSTOMER)),
            folder,
            asked.model,
            asked.judge or asked.model,
            asked.policy or asked.model,
        )
    own = asked.step == "all" or (folder / "lake").exists()
    measured = Measurement(folder, Settings.read(surround(folder) if own else os.environ))
    writers = dict(one.split("=") for one in asked.writers.split(",") if one)
    match asked.step:
        case "all":
            await _take_all(measured, asked)
        case "make":
            pass
        case "items":
            measured.items(writers)
        case "draw":
            measured.draw(asked.keeps)
        case "read":
            await measured.read_blind(asked.name, asked.model)
        case "climb":
            await measured.climb(
                asked.name or asked.policy,
                asked.policy or "model",
                asked.model,
                asked.times,
                asked.most,
            )
        case "search":
            await measured.search()
        case "attack":
            await measured.attack(asked.model, asked.most)
        case "second":
            await measured.second(asked.model, asked.most)
        case "ends":
            await measured.ends()
        case _:
            measured.page()


if __name__ == "__main__":
    main(sys.argv[1:])
