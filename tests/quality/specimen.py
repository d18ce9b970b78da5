"""A small run in which every promise holds, written by hand; tests break one thing at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP
from schemas.base import Record, digest
from schemas.environment import Blueprint, Build, Environment, ToolPlan
from schemas.errand_plan import PlannedErrand
from schemas.ledger import Attack, Attrition, Evidence, ModelCall, RunEvent
from schemas.pair import Pair
from schemas.quality import Quarantine, Reverification, Review, Withdrawal
from schemas.rollout import Bundle, Rollout, Trajectory
from schemas.scenario import Change, Draft, Scenario
from schemas.seed import Brief, Seed
from tests.specimens import LEND, ORIGIN, STATE, make_environment, make_scenario, make_tests

R = TypeVar("R", bound=Record)

FINGERPRINTS = {step: digest(step) for step in STEP}

TIME = "2026-11-21T00:00:00+00:00"


@dataclass
class Line:
    """Rows of one run, by the step that writes them; `""` for rows that no step makes."""

    rows: dict[str, list[Record]] = field(
        default_factory=lambda: {step: [] for step in ["", *STEP]}
    )

    def cut_after(self, step: str) -> None:
        """Only what was there when that step ended."""
        steps = list(self.rows)
        self.rows = {name: self.rows[name] for name in steps[: steps.index(step) + 1]}

    def all(self, record: type[R]) -> list[R]:
        return [
            cast(R, row) for rows in self.rows.values() for row in rows if isinstance(row, record)
        ]

    def change(
        self, record: type[R], which: Callable[[R], bool] = lambda _: True, **changes: Any
    ) -> None:
        """Another content under the same id: nothing is validated."""
        for step, rows in self.rows.items():
            self.rows[step] = [
                row.model_copy(update=changes) if isinstance(row, record) and which(row) else row
                for row in rows
            ]

    def remove(self, record: type[R], which: Callable[[R], bool] = lambda _: True) -> None:
        for step, rows in self.rows.items():
            self.rows[step] = [row for row in rows if not (isinstance(row, record) and which(row))]

    def write(self, lake: Lake, run: str, fingerprints: Mapping[str, str] = FINGERPRINTS) -> None:
        """Through the lake's own door: one batch a step, what no step makes in files of its own."""
        for step, rows in self.rows.items():
            stamp = Stamp(run, step, fingerprints.get(step, ""), 0, 1, "0", TIME)
            attrition = [row for row in rows if isinstance(row, Attrition)]
            if step and rows:
                assert lake.publish(
                    [row for row in rows if not isinstance(row, Attrition)], attrition, stamp
                )
            for record in {type(row) for row in rows if not step}:
                lake.put(
                    record,
                    [row for row in rows if type(row) is record],
                    f"own-{record.table}",
                    stamp,
                )


def make_line(number: int = 0) -> Line:
    """One environment with one scenario, played twice and exported; the second draft of the place
    is dropped."""
    seed = Seed(
        recipe="envscaler",
        brief=Brief(theme="tool_lending", text="A shed.", number=number),
        licence="Apache-2.0",
    )
    origin = ORIGIN.model_copy(update={"seed": seed.id})
    blueprint = Blueprint(
        kind="stateful", brief=seed.brief, name="Shed", summary="A shed.", collections={"tools": ["free"]}, rules=[],
        tools=[ToolPlan(name="lend", description="Lend.", effect="change")], policy_document="", licence="Apache-2.0", origin=origin,
    )  # fmt: skip
    environment = make_environment(
        blueprint=blueprint.id, brief=seed.brief, origin=origin, rules=[f"Rule {number}."]
    )
    draft = Draft(
        environment=environment.id, number=0, initial_state=STATE, request="Lend the drill.", user=make_scenario(environment).user,
        oracle=[LEND], polarity="achieve", clock=TIME, seed=7, changes=[Change(path=["x"], op="add")], gold_hash="h", origin=origin,
    )  # fmt: skip
    scenario = make_scenario(environment, draft=draft.id, origin=origin)
    line = Line()
    line.rows |= _make_environments_lap(seed, blueprint, environment) | _make_scenarios_lap(
        environment, draft, scenario
    )
    line.rows[""] = [
        RunEvent(event="started", happened_at=TIME, detail={}),
        make_call(seed.id),
        *_afterwards(scenario),
    ]
    return line


def _make_environments_lap(
    seed: Seed, blueprint: Blueprint, environment: Environment
) -> dict[str, list[Record]]:
    build = Build(
        subject=blueprint.id, repair=0, outcome="built", failure="", fault="none", content_hash="h"
    )
    return {
        "environments-generate": [seed, blueprint, exit_row("environments-generate", seed.id, 1)],
        "environments-build": [
            environment,
            build,
            *make_tests(environment),
            exit_row("environments-build", blueprint.id, 1),
        ],
        "environments-verify": [
            gate_row("environments-verify", environment.id, "W1"),
            exit_row("environments-verify", environment.id),
        ],
        "environments-filter": [exit_row("environments-filter", environment.id)],
    }


def _make_scenarios_lap(
    environment: Environment, draft: Draft, scenario: Scenario
) -> dict[str, list[Record]]:
    probes = [make_rollout(scenario, attempt, passed=attempt == 0) for attempt in range(2)]
    trajectory = Trajectory(
        rollout=probes[0].id, scenario=scenario.id, environment=environment.id, policy="careless",
        messages=[{"role": "user"}, {"role": "assistant"}], tools=[], loss=[False, True], state_hashes=[], reward=1.0, licence="Apache-2.0",
    )  # fmt: skip
    pair = Pair(
        chosen=probes[0].id, rejected=probes[1].id, scenario=scenario.id, environment=environment.id, policy="careless",
        shared=[{"role": "user"}], better=[{"role": "assistant"}], better_loss=[True], worse=[{"role": "assistant"}], worse_loss=[True],
        tools=[], margin=1.0, licence="Apache-2.0",
    )  # fmt: skip
    probed = Evidence(
        gate="F1", subject=scenario.id, finding={"policy": "careless", "passed": 1, "attempts": 2}
    )
    bundle = Bundle(
        exporter="sft",
        content_hash="h",
        path="p",
        files={"train.jsonl": 9, "program/__init__.py": 0},
        rows=1,
    )
    found = gate_row("scenarios-filter", scenario.id, "F1", evidence=probed.id)
    return {
        "scenarios-generate": [
            draft,
            make_errand(environment),
            exit_row("scenarios-generate", f"{environment.id}:000", 1),
            exit_row(
                "scenarios-generate",
                f"{environment.id}:001",
                outcome="dropped",
                reason="oracle_rejection",
            ),
        ],
        "scenarios-build": [scenario, exit_row("scenarios-build", draft.id, 1)],
        "scenarios-verify": [
            make_attack(scenario),
            gate_row("scenarios-verify", scenario.id, "S1"),
            exit_row("scenarios-verify", scenario.id, 1),
        ],
        "scenarios-filter": [*probes, probed, found, exit_row("scenarios-filter", scenario.id, 2)],
        "scenarios-collect": [trajectory, pair, exit_row("scenarios-collect", scenario.id, 1)],
        "scenarios-export": [bundle, exit_row("scenarios-export", "run:r1", 1)],
    }


def make_errand(environment: Environment) -> PlannedErrand:
    return PlannedErrand(
        environment=environment.id, number=0, polarity="achieve", who="a neighbour", what="Wants the drill lent.", tools=["lend"],
        about=["a free drill"], state="one drill free", source="planned",
    )  # fmt: skip


def make_rollout(scenario: Scenario, attempt: int, passed: bool) -> Rollout:
    return Rollout(
        scenario=scenario.id, environment=scenario.environment, policy="careless", rollout_group="probe", attempt=attempt, seed=attempt,
        outcome="pass" if passed else "fail", reward=float(passed), components={}, reason="", steps=1, termination="done",
        final_state_hash="h", transcript=[],
    )  # fmt: skip


def make_attack(scenario: Scenario) -> Attack:
    return Attack(
        environment=scenario.environment, scenario=scenario.id, manner="blind", calls=[LEND], said=[], reward=1.0, solves=True,
        final_state_hash="h",
    )  # fmt: skip


def make_call(subject: str) -> ModelCall:
    return ModelCall(
        request="q", sample=0, ordinal="j:1", step="environments-generate", subject=subject, prompt="blueprint", prompt_hash="h",
        provider="offline", model="m", outcome="reply", reused=False, retries=0, tokens_in=1, tokens_out=1, cost=0.0, latency=0.1,
        asked_at=TIME, reply="{}",
    )  # fmt: skip


def exit_row(step: str, subject: str, children: int = 0, **changes: Any) -> Attrition:
    return gate_row(step, subject, "exit", children=children, **changes)


def gate_row(step: str, subject: str, gate: str, **changes: Any) -> Attrition:
    fields: dict[str, Any] = {
        "lap": STEP[step].lap, "stage": STEP[step].stage, "gate": gate, "subject": subject, "parent": "", "try_number": 1,
        "outcome": "kept", "reason": "", "detail": "", "evidence": "", "children": 0, "recipe": "envscaler", "theme": "tool_lending",
        "seconds": 1.0, "tokens": 0, "cost": 0.0,
    }  # fmt: skip
    return Attrition.model_validate(fields | changes)


def _afterwards(scenario: Scenario) -> list[Record]:
    return [
        Reverification(
            subject=scenario.id, gate="S1", outcome="pass", reward=1.0, reason="", judged_at=TIME
        ),
        Review(
            subject=scenario.id,
            reviewer="Ada",
            judgement="note",
            note="",
            locks=[],
            reviewed_at=TIME,
        ),
        Withdrawal(subject="scn_old", reason="leaked", bundles=[], withdrawn_at=TIME),
        Quarantine(
            table_name="tests", row="tst_old", promise="json_parses", detail="torn", content=None
        ),
    ]
