"""`pass_rate`: how often a policy passes."""

from envmill.lake.views.base import View

K, MANY = 4, 16
"""Attempts in a group of pass@k and pass^k: what a run makes of each scenario where nothing else is
said; and of pass@16, which needs as many."""
Z = 1.959963984540054
"""Of the standard normal distribution: 95 % lie within."""


def _bound(sign: str) -> str:
    """SQL: one end of Wilson's interval of passed among judged attempts."""
    centre, weight = f"(passed / judged + {Z * Z / 2} / judged)", f"(1 + {Z * Z} / judged)"
    reach = (
        f"{Z} * sqrt(passed / judged * (1 - passed / judged) / judged + {Z * Z / 4} / (judged * "
        "judged))"
    )
    return f"least(1, greatest(0, ({centre} {sign} {reach}) / {weight}))"


def _share(chosen: str, k: int) -> str:
    """SQL: of all groups of k of a scenario's judged attempts, the share that lies wholly in
    `chosen` of them; null for fewer than k."""
    log = (
        f"lgamma({chosen} + 1) - lgamma({chosen} - {k} + 1) + lgamma(judged - {k} + 1) - "
        "lgamma(judged + 1)"
    )
    return f"case when judged < {k} then null when {chosen} < {k} then 0 else exp({log}) end"


PASS_RATE = View(
    name="pass_rate",
    sql=f"""
        select run, theme, policy, form, rollout_group, attempts, passed, attempts - judged as errors,
               passed / nullif(judged, 0) as pass_rate,
               case when judged > 0 then {_bound("-")} end as low, case when judged > 0 then {_bound("+")} end as high,
               pass_at_{K}, pass_all_{K}, pass_at_{MANY}, scenarios, calls / nullif(judged, 0) as steps
        from (select run, theme, policy, form, rollout_group,
                     sum(attempts)::bigint as attempts, sum(passed)::bigint as passed, sum(judged)::bigint as judged,
                     avg(1 - {_share("(judged - passed)", K)}) as pass_at_{K}, avg({_share("passed", K)}) as pass_all_{K},
                     avg(1 - {_share("(judged - passed)", MANY)}) as pass_at_{MANY},
                     count(*) as scenarios, sum(calls) as calls
              from (select rollouts.run, environments.brief ->> 'theme' as theme, policy, form, rollout_group, scenario,
                           count(*) as attempts,
                           count(*) filter (outcome = 'pass') as passed,
                           count(*) filter (outcome <> 'error' or termination = 'user_fault') as judged,
                           sum(steps) filter (outcome <> 'error' or termination = 'user_fault') as calls
                    from rollouts left join environments on environments.id = rollouts.environment and environments.run = rollouts.run
                    group by rollouts.run, theme, policy, form, rollout_group, scenario)
              group by run, theme, policy, form, rollout_group)""",
    about=f"""One row per run, domain, policy, form and group: which share of attempts passes, and how sure that is.
`low` and `high` are Wilson's 95 % interval, which takes attempts for independent of each other: those at one scenario are not, so over
few scenarios it is too narrow. pass@{K} and pass^{K} are means over scenarios of unbiased estimates. Pass rates of `offline` runs show
plumbing, never difficulty.""",
    columns={
        "run": "Run id.",
        "theme": "Domain; null when the environment's row was set aside.",
        "policy": "Who acted.",
        "form": "Whether everything was asked for at once (`single`) or bit by bit (`conversation`).",
        "rollout_group": "Why the attempts were made: probe or teacher.",
        "attempts": "Attempts, errors included.",
        "passed": "Of them, passed.",
        "errors": "Of them, outages and broken environments; they tell nothing of the policy. A "
        "conversation spoilt by its user is judged.",
        "pass_rate": "Passed per attempt that was judged; null when none was.",
        "low": "Lower end of its 95 % interval; null when none was judged.",
        "high": "Upper end of its 95 % interval.",
        f"pass_at_{K}": f"Chance that of {K} attempts at a scenario one passes; null where no scenario has "
        f"{K} judged attempts.",
        f"pass_all_{K}": f"Chance that all of {K} attempts at a scenario pass.",
        f"pass_at_{MANY}": f"Chance that of {MANY} attempts one passes, over scenarios with so many judged; see "
        "`pass_at`.",
        "scenarios": "Scenarios attempted.",
        "steps": "Mean tool calls of a judged attempt.",
    },
    questions=(
        (
            "Which share of probes passes, by domain?",
            "select theme, policy, form, attempts, passed, round(pass_rate, 2) as pass_rate from "
            "pass_rate where rollout_group = 'probe'",
        ),
        (
            "How sure is that, how steady is the policy, and how much ended in error?",
            f"""select policy, round(low, 2) as low, round(high, 2) as high, round(pass_at_{K}, 2) as pass_at_{K},
round(pass_all_{K}, 2) as pass_all_{K}, errors from pass_rate order by policy, low""",
        ),
        (
            "How do policies compare over all runs?",
            """select policy, sum(passed) as passed, round(sum(passed) / sum(attempts - errors), 2) as pass_rate
from pass_rate group by policy order by policy""",
        ),
    ),
    order="run, theme, policy, form, rollout_group",
)
