"""What each view says of the example lake, counted by hand."""

import json
import math
import random
from typing import Any

import duckdb
import pytest

from envmill.agents.estimates import estimate_all, estimate_any, find_interval
from envmill.gates.f5 import ProbeCounts, estimate_variance, pool_prior
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.lake.views.repairs import REPAIRS
from envmill.lake.views.trainability import GROUP, TRAINABILITY
from tests.lake.views.example import EASY, FIRST, HARD, SECOND

_OUTCOMES = {"p": "pass", "f": "fail", "e": "error", "u": "error"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param(
            "select run, state, starts, provider from runs",
            [(FIRST, "finished", 1, "offline"), (SECOND, "started", 2, "offline")],
            id="runs",
        ),
        pytest.param(
            f"select outcome, attempts, tokens, cost, unpriced from exits where run = '{SECOND}' "
            "and subject = 'seed_2'",
            [("kept", 2, 140, 0.03, 0)],
            id="an outcome is the latest, its cost the sum",
        ),
        pytest.param(
            "select entered, kept, error, made, tokens, cost, unpriced from funnel where run = "
            f"'{SECOND}' and stage = 'generate'",
            [(3, 3, 0, 3, 340, None, 1)],
            id="one unknown price makes a cost unknown",
        ),
        pytest.param(
            "select entered, kept, dropped, error, cost, unpriced from funnel where run = "
            f"'{FIRST}' and stage = 'verify'",
            [(2, 1, 1, 0, 0.0, 0), (3, 3, 0, 0, 0.0, 0)],
            id="funnel",
        ),
        pytest.param(
            f"select theme, lap, entered, kept, share from yield where run = '{FIRST}'",
            [
                ("tool_lending", "environments", 2, 1, 0.5),
                ("tool_lending", "scenarios", 3, 2, 2 / 3),
            ],
            id="yield",
        ),
        pytest.param(
            "select theme, policy, rollout_group, attempts, passed, errors, pass_rate, scenarios "
            "from pass_rate",
            [
                ("tool_lending", "careless", "probe", 12, 5, 1, 5 / 11, 3),
                ("tool_lending", "reference", "teacher", 3, 2, 1, 1.0, 2),
                ("tool_lending", "skilled@0.7", "probe", 4, 3, 0, 0.75, 1),
            ],
            id="errors do not lower a pass rate, spoilt conversations do",
        ),
        pytest.param(
            "select policy, conversations, user_faults, share, too_many, suspected, scenarios, "
            "most_often from conversations",
            [("skilled@0.7", 4, 1, 0.25, True, 1, 1, "withholds")],
            id="conversations that their users spoilt",
        ),
        pytest.param(
            "select theme, item, kept, tokens, round(cost_per_kept, 6) from cost_per_kept where "
            f"run = '{FIRST}'",
            [
                ("clinic", "environment", 0, 0, None),
                ("tool_lending", "environment", 1, 400, 0.08),
                ("tool_lending", "scenario", 2, 300, 0.03),
                ("tool_lending", "trajectory", 2, 0, 0.0),
            ],
            id="cost per kept",
        ),
        pytest.param(
            "select repair, outcome, fault, versions, unchanged from versions where run = "
            f"'{FIRST}' and stage = 'build'",
            [
                (0, "built", "none", 1, 0),
                (0, "failed", "code", 1, 0),
                (1, "failed", "code", 1, 1),
                (2, "built", "none", 1, 0),
            ],
            id="versions",
        ),
        pytest.param(
            "select stage, gate, reason, subjects, sent_back, mended, given_up, unseen, weakened "
            "from repairs",
            [
                ("build", "W12", "row_missed", 1, 2, 1, 0, 0, 0),
                ("build", "W7", "change_before_check", 1, 2, 1, 0, 0, 0),
                ("generate", "S8", "unseen_id", 2, 2, 1, 0, 1, 1),
                ("generate", "S9", "tool_name", 1, 2, 0, 1, 0, 1),
                ("generate", "loop", "weakened", 1, 1, 1, 0, 0, 0),
                ("generate", "reply", "bad_reply", 1, 0, 0, 1, 0, 0),
            ],
            id="a version that nobody could read mends nothing",
        ),
        pytest.param(
            "select gate, looked, held, open_share, asked, dropped, suspected, sealed_share from "
            "sealed",
            [
                ("W12", 2, 2, 1.0, 1, 0, 0, 1.0),
                ("W7", 2, 2, 1.0, 0, 0, 0, None),
                ("W8", 2, 1, 0.5, 0, 0, 0, None),
                ("S15", 2, 2, 1.0, 2, 0, 1, 0.5),
                ("S8", 3, 3, 1.0, 3, 0, 0, 1.0),
                ("S9", 3, 2, 2 / 3, 0, 0, 0, None),
            ],
            id="a gate that held in the loop and had no sealed probe was not asked",
        ),
        pytest.param(
            "select lap, repairs, entered, kept, dropped, error, share, most_often from defects",
            [
                ("environments", 0, 1, 0, 1, 0, 0.0, "W3"),
                ("environments", 2, 1, 1, 0, 0, 1.0, None),
                ("scenarios", 0, 1, 1, 0, 0, 1.0, None),
                ("scenarios", 1, 1, 1, 0, 0, 1.0, None),
                ("scenarios", 3, 1, 1, 0, 0, 1.0, None),
            ],
            id="defects by number of repairs",
        ),
        pytest.param(
            "select run, step, calls, repairs, repair_tokens, repair_cost from spending where "
            "repairs > 0",
            [(FIRST, "environments-generate", 2, 1, 100, 0.02)],
            id="what repairs took",
        ),
        pytest.param(
            "select scenario, outcome, reason, false_accept, false_accept_n, false_reject, "
            "false_reject_n from bounds order by outcome",
            [
                (EASY.id, "kept", "", 0.0482, 60, 0.2589, 10),
                (HARD.id, "not_measured", "no_truth", None, None, None, None),
            ],
            id="bounds",
        ),
        pytest.param(
            f"""select attempts, passes, errors, user_faults, solved, pass_rate from trainability
                where policy = 'careless' and scenario = '{HARD.id}'""",
            [(3, 1, 1, 0, "sometimes", 1 / 3)],
            id="trainability",
        ),
        pytest.param(
            "select run, stage, outcome, reason, gate, subjects from failures",
            [
                (FIRST, "verify", "dropped", "test_fails", "W3", 1),
                (FIRST, "filter", "dropped", "unsolved", "F1", 1),
                (SECOND, "build", "error", "sandboxerror", "", 1),
            ],
            id="failures",
        ),
    ],
)
def test_a_view_counts_right(example: Lake, question: str, answer: list[Any]) -> None:
    assert fetch(example, question) == answer


@pytest.mark.parametrize(
    ("codes", "fault", "counts"),
    [
        pytest.param([], "none", (1, 0, 0), id="it holds"),
        pytest.param(["W8 not_exercised"], "test", (0, 1, 0), id="it has the same complaint"),
        pytest.param(["W12 row_missed"], "test", (1, 0, 0), id="every gate looked at it"),
        pytest.param(
            ["W12 row_missed"],
            "code",
            (0, 0, 1),
            id="a program at fault hides what is wrong with the tests",
        ),
        pytest.param(
            ["W3 test_failed"], "test", (0, 0, 1), id="a red test keeps the other gates from it"
        ),
        pytest.param(
            ["loop weakened"], "test", (0, 0, 1), id="it was refused before a gate looked"
        ),
    ],
)
def test_the_last_version_says_what_was_mended(
    codes: list[str], fault: str, counts: tuple[int, int, int]
) -> None:
    versions = [
        ("failed", "test", ["W8 not_exercised"]),
        ("failed" if codes else "built", fault, codes),
    ]
    with duckdb.connect() as connection:
        connection.execute(
            "create table exits (run text, subject text, lap text, stage text, recipe text)"
        )
        connection.execute(
            "create table builds (run text, subject text, repair bigint, outcome text, fault "
            "text, sent_back text)"
        )
        for repair, (outcome, blamed, told) in enumerate(versions):
            sent_back = json.dumps(
                [dict(zip(("gate", "reason"), one.split(), strict=True)) for one in told]
            )
            connection.execute(
                "insert into builds values ('r', 'bp', ?, ?, ?, ?)",
                [repair, outcome, blamed, sent_back],
            )
        found = connection.execute(
            f"select mended, given_up, unseen from ({REPAIRS.sql}) where reason = 'not_exercised'"
        ).fetchone()
    assert found == counts


def test_a_pass_rate_says_how_sure_it_is(example: Lake) -> None:
    """As estimated from the attempts themselves; a scenario with fewer than four judged attempts
    says nothing of groups of four."""
    question = (
        "select passed, attempts - errors, low, high, pass_at_4, pass_all_4 from pass_rate where "
        "policy = 'careless'"
    )
    ((passed, judged, *sure, some, every),) = fetch(example, question)
    assert sure == pytest.approx(list(find_interval(passed, judged)))
    groups = [(4, 4), (0, 4)]
    assert some == pytest.approx(sum(estimate_any(won, made, 4) or 0.0 for won, made in groups) / 2)
    assert every == pytest.approx(
        sum(estimate_all(won, made, 4) or 0.0 for won, made in groups) / 2
    )


def test_trainability_is_the_chance_that_the_gate_tells() -> None:
    """In environments of one to nine scenarios, with errors, none judged, and siblings that are
    alike, apart, and neither."""
    dice = random.Random(5)
    probed: dict[str, ProbeCounts] = {}
    with duckdb.connect() as connection:
        connection.execute(
            "create table rollouts (run text, environment text, scenario text, policy text, "
            "outcome text, termination text)"
        )
        for place in range(40):
            rate = dice.choice([0.0, 0.5, 1.0, None])
            for number in range(1 + place % 9):
                chance = dice.choice([0.0, 1.0]) if rate is None else rate
                passed = [dice.random() < chance for _ in range(dice.choice([0, 1, 4, 4, 5]))]
                outcomes = [*("pass" if one else "fail" for one in passed), "error"]
                scenario = f"scn_{place}_{number}"
                connection.executemany(
                    "insert into rollouts values ('r', ?, ?, 'careless', ?, 'done')",
                    [(f"env_{place}", scenario, outcome) for outcome in outcomes],
                )
                probed[scenario] = ProbeCounts(
                    f"env_{place}", "careless", sum(passed), len(passed), scripted=False
                )
        found = dict(
            connection.execute(f"select scenario, trainable from ({TRAINABILITY.sql})").fetchall()
        )
    assert found.keys() == probed.keys()
    for scenario, one in probed.items():
        prior = pool_prior(
            [
                other
                for name, other in probed.items()
                if other.environment == one.environment and name != scenario
            ]
        )
        assert math.isclose(
            found[scenario],
            estimate_variance(one.passed, one.judged, GROUP, prior),
            rel_tol=1e-6,
            abs_tol=1e-9,
        )


@pytest.mark.parametrize(
    ("outcomes", "rate", "solved"),
    [
        pytest.param("pppp", 1.0, "always", id="always"),
        pytest.param("ffff", 0.0, "never", id="never"),
        pytest.param("pppf", 0.75, "sometimes", id="sometimes"),
        pytest.param("pppu", 0.75, "always", id="a conversation was spoilt"),
        pytest.param("pppe", 1.0, "always", id="an environment broke down"),
        pytest.param("e", None, "unjudged", id="never judged"),
    ],
)
def test_who_spoils_conversations_does_not_pass_more_often(
    outcomes: str, rate: float | None, solved: str
) -> None:
    """A trial that a spoilt conversation replaces by an error would otherwise raise the rate."""
    with duckdb.connect() as connection:
        connection.execute(
            "create table rollouts (run text, environment text, scenario text, policy text, "
            "outcome text, termination text)"
        )
        connection.executemany(
            "insert into rollouts values ('r', 'e', 's', 'p', ?, ?)",
            [(_OUTCOMES[one], "user_fault" if one == "u" else "done") for one in outcomes],
        )
        found = connection.execute(f"select pass_rate, solved from ({TRAINABILITY.sql})").fetchone()
    assert found == (rate, solved)


def test_a_scenario_that_was_never_judged_has_what_its_siblings_say(example: Lake) -> None:
    question = "select {} from trainability where policy = 'reference' and scenario = '{}'"
    ((passes, attempts),) = fetch(example, question.format("passes, attempts", EASY.id))
    sibling = ProbeCounts("env", "reference", passes, attempts, scripted=True)
    found = fetch(example, question.format("trainable", HARD.id))
    assert found == [(pytest.approx(estimate_variance(0, 0, GROUP, pool_prior([sibling]))),)]
    assert EASY.id != HARD.id
