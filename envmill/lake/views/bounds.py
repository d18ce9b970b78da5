"""`bounds`: how often a scenario's verifier may be wrong, with what that is known from."""

from envmill.lake.views.base import View

BOUNDS = View(
    name="bounds",
    sql="""
        with told as (
            select run, subject, recipe, theme, outcome, reason, evidence from attrition where gate = 'bounds'
            qualify row_number() over (partition by run, subject order by try_number desc) = 1),
        found as (select run, id, finding from gate_evidence where gate = 'bounds')
        select told.run, told.recipe, told.theme, told.subject as scenario, told.outcome, told.reason,
               (finding ->> '$.false_accept')::double as false_accept,
               (finding ->> '$.false_accept_n')::bigint as false_accept_n,
               (finding ->> '$.false_reject')::double as false_reject,
               (finding ->> '$.false_reject_n')::bigint as false_reject_n
        from told left join found on found.run = told.run and found.id = told.evidence""",
    about="One row per run and scenario that went through its gates: the bounds on its verifier's "
    "errors, or why there are none. "
    "See [bounds](../bounds.md).",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "theme": "Domain.",
        "scenario": "Scenario id.",
        "outcome": "`kept` where bounds were measured, `not_measured` elsewhere.",
        "reason": "Why they were not.",
        "false_accept": "ρ0: upper end of the one-sided 95 % interval, from 0, of accepting a wrong end.",
        "false_accept_n": "Wrong ends it was asked about.",
        "false_reject": "ρ1: the same of rejecting a right end.",
        "false_reject_n": "Right ends it was asked about.",
    },
    questions=(
        (
            "How sure is each verifier?",
            "select scenario, false_accept, false_accept_n, false_reject, false_reject_n from "
            "bounds where outcome = 'kept' "
            "order by false_accept",
        ),
        (
            "Why are there none?",
            "select reason, count(*) as scenarios from bounds where outcome <> 'kept' group by "
            "reason order by reason",
        ),
        (
            "How many trials stand behind a run?",
            "select run, count(*) filter (outcome = 'kept') as measured, count(*) filter (outcome "
            "<> 'kept') as unmeasured, "
            "sum(false_accept_n)::bigint as wrong_ends, sum(false_reject_n)::bigint as "
            "right_ends from bounds group by run order by run",
        ),
    ),
    order="run, recipe, theme, scenario",
)
