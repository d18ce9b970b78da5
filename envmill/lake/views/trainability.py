"""`trainability`: whether a group of attempts at a scenario would differ in reward, so that a
trainer learns from it."""

from envmill.lake.views.base import View

GROUP = 8
"""Attempts in a trainer's group."""

_SIBLINGS = "over (partition by run, environment, policy)"


def _others(value: str) -> str:
    """SQL: a sum over the scenario's siblings."""
    return f"sum({value}) {_SIBLINGS} - ({value})"


def _chance_all(up: str, down: str) -> str:
    """SQL: mean of p^GROUP where p ~ Beta(up, down), in closed form."""
    return (
        f"exp(lgamma({up} + {GROUP}) - lgamma({up}) + lgamma({up} + {down}) - lgamma({up} + "
        f"{down} + {GROUP}))"
    )


TRAINABILITY = View(
    name="trainability",
    sql=f"""
        with counted as (
            select run, environment, scenario, policy,
                   count(*) filter (outcome <> 'error') as attempts,
                   count(*) filter (outcome = 'pass') as passes,
                   count(*) filter (outcome = 'error') as errors,
                   count(*) filter (termination = 'user_fault') as user_faults
            from rollouts
            group by run, environment, scenario, policy),
        beside as (
            select *, {_others("(attempts > 0)::int")} as k, {_others("attempts")} as n, {_others("passes")} as x,
                   {_others("coalesce(passes * passes / nullif(attempts, 0), 0)")} as squares, {_others("attempts * attempts")} as sizes
            from counted),
        spread as (
            select *, round((squares - x * x / nullif(n, 0)) / nullif(k - 1, 0), 9) as between_them,
                   round((x - squares) / nullif(n - k, 0), 9) as within,
                   (n - sizes / nullif(n, 0)) / nullif(k - 1, 0) as size
            from beside),
        weighed as (
            select *, (x + 1.5) / (n + 3) as rate,
                   case when k < 3 or n = k then 1
                        when between_them <= within then if(within > 0, 4, 1)
                        else least(4, greatest(1, (between_them + (size - 1) * within) / (between_them - within) - 1)) end as alike
            from spread),
        posterior as (
            select *, 1 + (alike - 1) * k / (k + 3) as strength, rate * strength + passes as up,
                   (1 - rate) * strength + attempts - passes as down
            from weighed)
        select run, environment, scenario, policy, attempts, passes, errors, user_faults,
               passes / nullif(attempts + user_faults, 0) as pass_rate,
               case when attempts = 0 then 'unjudged' when passes = 0 then 'never' when passes = attempts then 'always'
                    else 'sometimes' end as solved,
               greatest(0, 1 - {_chance_all("up", "down")} - {_chance_all("down", "up")}) as trainable
        from posterior""",
    about=f"""One row per scenario and policy: how many attempts passed, and how likely it is that of {GROUP} more some pass and some fail.
The pass rate's prior is made of the policy's attempts at the environment's other scenarios, as gate F5 makes it of the probes.
Nothing is deleted by it: a scenario that one policy always solves may teach another.""",
    columns={
        "run": "Run id.",
        "environment": "Environment id.",
        "scenario": "Scenario id.",
        "policy": "Who acted.",
        "attempts": "Attempts that were judged.",
        "passes": "Of them, passed.",
        "errors": "Attempts that ended in error, those of the simulated user among them: no reward, so "
        "no part in `trainable`.",
        "user_faults": "Of them, conversations that the simulated user spoilt.",
        "pass_rate": "Passes per attempt that was judged or spoilt by its user, as in `pass_rate`; null "
        "when there is none.",
        "solved": "Of the judged attempts: `always`, `sometimes` or `never`; `unjudged` where there is "
        "none.",
        "trainable": f"Probability that a group of {GROUP} attempts has reward variance.",
    },
    questions=(
        (
            "Which scenarios teach the probe policy most?",
            """select scenario, attempts, passes, round(trainable, 3) as trainable from trainability
where policy = 'careless' order by trainable desc, scenario limit 5""",
        ),
        (
            "How many does each policy always, sometimes and never solve, and of how many would "
            "it learn?",
            """select policy, solved, count(*) as scenarios, count(*) filter (trainable >= 0.5) as teaching
from trainability group by all order by all""",
        ),
        (
            "Which were never judged?",
            "select run, scenario, policy, errors from trainability where attempts = 0",
        ),
    ),
    order="run, environment, scenario, policy",
)
