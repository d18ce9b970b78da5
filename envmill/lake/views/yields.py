"""`yield`: how much of what entered a lap came out of it."""

from envmill.lake.views.base import View

YIELD = View(
    name="yield",
    sql="""
        select run, recipe, theme, lap,
               count(*) filter (stage = 'generate') as entered,
               count(*) filter (stage = 'filter' and outcome = 'kept') as kept,
               kept / nullif(entered, 0) as share
        from exits
        where stage in ('generate', 'filter')
        group by run, recipe, theme, lap""",
    about="""One row per run, recipe, domain and lap: candidates that entered `generate`, and those that `filter` kept.
What is still on its way in a run that goes on has entered and is not kept yet.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "theme": "Domain.",
        "lap": "Environments or scenarios.",
        "entered": "Candidates that entered the lap: seeds, or places for a scenario.",
        "kept": "Environments or scenarios that its filter kept.",
        "share": "Kept per entered.",
    },
    questions=(
        (
            "Which domains yield least?",
            "select theme, lap, entered, kept, round(share, 2) as share from yield order by "
            "share, theme, lap limit 3",
        ),
        (
            "What does each recipe yield?",
            "select lap, recipe, round(sum(kept) / sum(entered), 2) as share from yield group by "
            "all order by all",
        ),
        (
            "Does the yield move from run to run?",
            "select run, lap, round(sum(kept) / sum(entered), 2) as share from yield group by "
            "all order by all",
        ),
    ),
    order="run, recipe, theme, lap",
)
