"""`failures`: why candidates did not go on."""

from envmill.lake.views.base import LINE_ORDER, View, sum_cost

FAILURES = View(
    name="failures",
    sql=f"""
        select run, lap, stage, outcome, reason,
               stopped_by as gate,
               count(*) as subjects,
               min(subject) as example_subject,
               arg_min(detail, subject) as example,
               sum(seconds) as seconds,
               {sum_cost()} as cost,
               sum(unpriced)::bigint as unpriced
        from exits
        where outcome <> 'kept'
        group by run, lap, stage, outcome, reason, stopped_by""",
    about="One row per run, step, outcome, reason and gate: how many candidates ended so, and one "
    "of them.",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "stage": "Stage of the line.",
        "outcome": "Dropped or error.",
        "reason": "Reason code.",
        "gate": "Gate that stopped them; empty when the step itself did.",
        "subjects": "Candidates that ended so.",
        "example_subject": "One of them; `envmill show ID` tells more.",
        "example": "What happened to that one, in words.",
        "seconds": "Elapsed seconds spent on them at this step.",
        "cost": "Money spent on them at this step; null when one price is unknown.",
        "unpriced": "Attempts whose price is unknown.",
    },
    questions=(
        (
            "What drops most?",
            "select lap, stage, reason, gate, subjects from failures where outcome = 'dropped' "
            "order by subjects desc, reason limit 5",
        ),
        (
            "What would a Retry work on?",
            "select run, lap, stage, reason, subjects from failures where outcome = 'error'",
        ),
        (
            "How does one of each look?",
            "select reason, example_subject, example from failures order by reason",
        ),
    ),
    order=f"{LINE_ORDER}, subjects desc, reason, gate",
)
