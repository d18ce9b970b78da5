"""`pass_rate`: how often a policy passes."""

from envmill.lake.views.base import View

PASS_RATE = View(
    name="pass_rate",
    sql="""
        select rollouts.run, environments.brief ->> 'theme' as theme, policy, rollout_group,
               count(*) as attempts,
               count(*) filter (outcome = 'pass') as passed,
               count(*) filter (outcome = 'error') as errors,
               passed / nullif(attempts - errors, 0) as pass_rate,
               count(distinct scenario) as scenarios,
               avg(steps) filter (outcome <> 'error') as steps
        from rollouts left join environments on environments.id = rollouts.environment and environments.run = rollouts.run
        group by rollouts.run, theme, policy, rollout_group""",
    about="""One row per run, domain, policy and group: which share of attempts passes.
Pass rates of `offline` runs show plumbing, never difficulty.""",
    columns={
        "run": "Run id.",
        "theme": "Domain; null when the environment's row was set aside.",
        "policy": "Who acted.",
        "rollout_group": "Why the attempts were made: probe or teacher.",
        "attempts": "Attempts, errors included.",
        "passed": "Of them, passed.",
        "errors": "Of them, outages; they say nothing about the policy.",
        "pass_rate": "Passed per attempt that was judged; null when none was.",
        "scenarios": "Scenarios attempted.",
        "steps": "Mean tool calls of a judged attempt.",
    },
    questions=(
        (
            "Which share of probes passes, by domain?",
            "select theme, policy, attempts, passed, round(pass_rate, 2) as pass_rate from pass_rate where rollout_group = 'probe'",
        ),
        ("Where did attempts end in error?", "select run, theme, policy, errors from pass_rate where errors > 0"),
        (
            "How do policies compare over all runs?",
            """select policy, sum(passed) as passed, round(sum(passed) / sum(attempts - errors), 2) as pass_rate
from pass_rate group by policy order by policy""",
        ),
    ),
    order="run, theme, policy, rollout_group",
)
