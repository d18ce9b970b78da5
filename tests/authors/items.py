"""Every candidate of the measured runs and what became of it, read from the lake.

seed ─► blueprint ─► environment ─► tier
                        └─► slot ─► draft ─► scenario ─► tier
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from envmill.lake.lake import Lake
from envmill.lake.views import open_views

Fate = Literal["clean", "suspected", "observed", "dropped", "lost", "error"]
"""Tier, or why there is none. `lost` never became an item that gates could look at: its author gave
up, or its repairs ran out."""
SAYS = 400
"""Characters kept of a finding's detail."""


@dataclass(frozen=True)
class Found:
    """What one gate said of an item, where it said more than that it may be kept."""

    gate: str
    reason: str
    outcome: str
    detail: str


@dataclass(frozen=True)
class Item:
    """One candidate."""

    writer: str
    """Who wrote it: a name of the plan, such as `careful`."""
    run: str
    recipe: str
    lap: Literal["environments", "scenarios"]
    id: str
    """Environment or scenario; of what was lost the seed, blueprint or slot."""
    environment: str
    """Of a scenario; empty where this is one."""
    name: str
    fate: Fate
    stage: str
    """Where it ended."""
    found: tuple[Found, ...]
    repairs: int
    calls: int
    """Calls of the reference path."""
    polarity: str = ""
    parent: str = ""
    """Scenario that this one was planned to be harder than."""
    levers: tuple[str, ...] = ()
    """What makes it harder, as its line says."""

    @property
    def built(self) -> bool:
        """Whether gates could look at it."""
        return self.fate not in ("lost", "error")

    def describe(self) -> dict[str, Any]:
        return asdict(self)


def parse_item(told: dict[str, Any]) -> Item:
    return Item(
        **{
            **told,
            "found": tuple(Found(**one) for one in told["found"]),
            "levers": tuple(told.get("levers", ())),
        }
    )


def list_items(lake: Lake, writers: dict[str, str]) -> list[Item]:
    """All items of finished runs. `writers` says who an author's model is."""
    with open_views(lake) as views:
        runs = views.execute(
            "select run, recipe, config->>'model' from runs where state = 'finished' order by "
            "started"
        ).fetchall()
        return [
            item
            for run, recipe, model in runs
            for item in _Run(views, run, recipe, writers.get(model) or str(model)).list_items()
        ]


class _Run:
    """One run's rows, by subject."""

    def __init__(self, views: Any, run: str, recipe: str, writer: str) -> None:
        self.run, self.recipe, self.writer = run, recipe, writer

        def ask(question: str) -> list[tuple[Any, ...]]:
            return views.execute(question, [run]).fetchall()

        self.exits = {
            (lap, stage, subject): (
                outcome,
                reason or "",
                detail or "",
                stopped or "",
                parent or "",
            )
            for lap, stage, subject, outcome, reason, detail, stopped, parent in ask(
                "select lap, stage, subject, outcome, reason, detail, stopped_by, parent from "
                "exits where run = ?"
            )
        }
        self.tiers = dict(ask("select subject, tier from tiers where run = ?"))
        self.environments = ask(
            "select id, blueprint, name from environments where run = ? order by id"
        )
        self.drafts = {
            (one[1], one[2]): one[0]
            for one in ask("select id, environment, number from drafts where run = ?")
        }
        self.scenarios = {
            one[0]: one
            for one in ask(
                "select draft, id, polarity, len(oracle::json[]), request from scenarios where "
                "run = ?"
            )
        }
        self.parents = {
            (environment, number): (parent, tuple(json.loads(levers)))
            for environment, number, parent, levers in ask(
                "select environment, number, parent, levers from errands where run = ? and parent "
                "<> ''"
            )
        }
        self.repairs: dict[str, int] = defaultdict(int)
        for subject, repair in ask(
            "select subject, max(repair) from builds where run = ? group by subject"
        ):
            self.repairs[subject] = int(repair)
        self.found: dict[str, list[Found]] = defaultdict(list)
        for subject, gate, reason, outcome, detail in ask(
            """select subject, gate, reason, outcome, detail from attrition where run = ? and gate <> 'exit'
               and outcome in ('dropped', 'observed', 'suspected', 'cleared', 'corrected', 'error')
               qualify try_number = max(try_number) over (partition by lap, stage, subject) order by subject, gate, reason"""
        ):
            self.found[subject].append(Found(gate, reason or "", outcome, (detail or "")[:SAYS]))

    def list_items(self) -> Iterator[Item]:
        yield from self._list_lost_seeds()
        for environment, blueprint, name in self.environments:
            yield self._follow(
                "environments", environment, "", name, self.repairs[blueprint], 0, ""
            )
            yield from self._list_scenarios(environment)

    def _list_lost_seeds(self) -> Iterator[Item]:
        """Seeds and blueprints that no environment came of. A seed that the run's quota left out
        was never a candidate."""
        made = {blueprint for _, blueprint, _ in self.environments}
        for (lap, stage, subject), (outcome, reason, detail, stopped, _) in self.exits.items():
            if (
                lap != "environments"
                or stage not in ("generate", "build")
                or outcome == "kept"
                or stopped == "choice"
                or subject in made
            ):
                continue
            yield self._lose(
                "environments",
                subject,
                "",
                stage,
                outcome,
                Found(stopped, reason, outcome, detail[:SAYS]),
            )

    def _list_scenarios(self, environment: str) -> Iterator[Item]:
        for (lap, stage, subject), (outcome, reason, detail, stopped, parent) in sorted(
            self.exits.items()
        ):
            if (lap, stage, parent) != ("scenarios", "generate", environment):
                continue
            said = Found(stopped, reason, outcome, detail[:SAYS])
            draft = self.drafts.get((environment, int(subject.rpartition(":")[2])))
            told = self.scenarios.get(draft or "")
            if outcome != "kept" or draft is None:
                yield self._lose("scenarios", subject, environment, "generate", outcome, said)
            elif told is None:
                ended = self.exits.get(("scenarios", "build", draft), ("error", "", "", "", ""))
                yield self._lose(
                    "scenarios",
                    subject,
                    environment,
                    "build",
                    ended[0],
                    Found(ended[3], ended[1], ended[0], ended[2][:SAYS]),
                )
            else:
                _, scenario, polarity, calls, request = told
                item = self._follow(
                    "scenarios",
                    scenario,
                    environment,
                    request,
                    self.repairs[subject],
                    calls,
                    polarity,
                )
                parent, levers = self.parents.get(
                    (environment, int(subject.rpartition(":")[2])), ("", ())
                )
                yield replace(item, parent=parent, levers=levers)

    def _follow(
        self,
        lap: Literal["environments", "scenarios"],
        subject: str,
        environment: str,
        name: str,
        repairs: int,
        calls: int,
        polarity: str,
    ) -> Item:
        stage, fate = "verify", "error"
        for passed in ("verify", "filter"):
            ended = self.exits.get((lap, passed, subject))
            if ended:
                stage, fate = passed, "dropped" if ended[0] == "dropped" else "error"
        tier = self.tiers.get(subject)
        found = tuple(self.found[subject])
        return Item(
            self.writer,
            self.run,
            self.recipe,
            lap,
            subject,
            environment,
            name,
            tier or fate,
            stage,
            found,
            repairs,
            calls,
            polarity,
        )

    def _lose(
        self,
        lap: Literal["environments", "scenarios"],
        subject: str,
        environment: str,
        stage: str,
        outcome: str,
        said: Found,
    ) -> Item:
        fate: Fate = "error" if outcome == "error" else "lost"
        return Item(
            self.writer,
            self.run,
            self.recipe,
            lap,
            subject,
            environment,
            "",
            fate,
            stage,
            (said,),
            self.repairs[subject],
            0,
        )


def pick(items: Sequence[Item], lap: str, *, writer: str = "") -> list[Item]:
    return [one for one in items if one.lap == lap and writer in ("", one.writer)]
