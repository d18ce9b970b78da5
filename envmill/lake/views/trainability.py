"""`trainability`: whether a group of attempts at a scenario would differ in reward, so that a trainer learns from it."""

from envmill.lake.views.base import View

GROUP = 8
"""Attempts in a trainer's group."""


def _chance_all(wins: str) -> str:
    """SQL: mean of p^GROUP where p ~ Beta(wins + 1, attempts - wins + 1), in closed form."""
    return f"exp(lgamma({wins} + 1 + {GROUP}) - lgamma({wins} + 1) + lgamma(attempts + 2) - lgamma(attempts + 2 + {GROUP}))"


TRAINABILITY = View(
    name="trainability",
    sql=f"""
        select run, environment, scenario, policy, attempts, passes, errors,
               passes / nullif(attempts, 0) as pass_rate,
               greatest(0, 1 - {_chance_all("passes")} - {_chance_all("(attempts - passes)")}) as trainable
        from (select run, environment, scenario, policy,
                     count(*) filter (outcome <> 'error') as attempts,
                     count(*) filter (outcome = 'pass') as passes,
                     count(*) filter (outcome = 'error') as errors
              from rollouts
              group by run, environment, scenario, policy)""",
    about=f"""One row per scenario and policy: how many attempts passed, and how likely it is that of {GROUP} more some pass and some fail.
The pass rate has a uniform prior, so that few attempts say little: with none the probability is {1 - 2 / (GROUP + 1):.2f}.""",
    columns={
        "run": "Run id.",
        "environment": "Environment id.",
        "scenario": "Scenario id.",
        "policy": "Who acted.",
        "attempts": "Attempts that were judged.",
        "passes": "Of them, passed.",
        "errors": "Attempts that ended in error; they count for nothing.",
        "pass_rate": "Passes per attempt; null when none was judged.",
        "trainable": f"Probability that a group of {GROUP} attempts has reward variance.",
    },
    questions=(
        (
            "Which scenarios teach the probe policy most?",
            """select scenario, attempts, passes, round(trainable, 3) as trainable from trainability
where policy = 'careless' order by trainable desc, scenario limit 5""",
        ),
        (
            "How many are worth keeping, by policy?",
            """select policy, count(*) as scenarios, count(*) filter (trainable >= 0.5) as worth
from trainability group by policy order by policy""",
        ),
        ("Which were never judged?", "select run, scenario, policy, errors from trainability where attempts = 0"),
    ),
    order="run, environment, scenario, policy",
)
