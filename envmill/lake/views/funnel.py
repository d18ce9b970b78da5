"""`funnel`: what entered each step, and what became of it."""

from envmill.lake.views.base import LINE_ORDER, View, sum_cost

FUNNEL = View(
    name="funnel",
    sql=f"""
        select run, lap, stage,
               count(*) as entered,
               count(*) filter (outcome = 'kept') as kept,
               count(*) filter (outcome = 'dropped') as dropped,
               count(*) filter (outcome = 'error') as error,
               sum(children)::bigint as made,
               sum(seconds) as seconds,
               sum(tokens)::bigint as tokens,
               {sum_cost()} as cost,
               sum(unpriced)::bigint as unpriced
        from exits
        group by run, lap, stage""",
    about="One row per run and step: what entered it = kept + dropped + error.",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "stage": "Stage of the line.",
        "entered": "Candidates the step has worked on.",
        "kept": "Of them, kept.",
        "dropped": "Of them, dropped; `failures` says why.",
        "error": "Of them, ended in error: nothing is known about them, and Retry works on them again.",
        "made": "Records the step made: one candidate may become many, or none.",
        "seconds": "Elapsed seconds summed over candidates and attempts; they share the machine, so "
        "this exceeds the wall clock.",
        "tokens": "Model tokens, dropped candidates and earlier attempts included.",
        "cost": "Money; null when one price is unknown.",
        "unpriced": "Attempts whose price is unknown.",
    },
    questions=(
        (
            "Where do candidates leave the line?",
            "select lap, stage, entered, kept, dropped, error from funnel where run = 'nightly-1'",
        ),
        (
            "At which step do recipes lose how much, side by side?",
            """select lap, stage, recipe, count(*) as entered, round(count(*) filter (outcome = 'kept') / count(*), 2) as share,
       mode(reason) filter (outcome <> 'kept') as most_often
from exits group by lap, stage, recipe order by lap, stage, recipe""",
        ),
        (
            "Does anything wait for a Retry?",
            "select run, lap, stage, error from funnel where error > 0",
        ),
    ),
    order=LINE_ORDER,
)
