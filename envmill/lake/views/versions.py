"""`versions`: what became of the versions of each repair number, and whose fault their failures
were."""

from envmill.lake.views.base import View

VERSIONS = View(
    name="versions",
    sql="""
        with tried as (
            select *, content_hash = lag(content_hash) over (partition by run, subject order by repair) as same from builds),
        lineage as (select run, subject, lap, stage, recipe from exits where stage in ('generate', 'build'))
        select tried.run, lap, stage, recipe, repair, tried.outcome, fault,
               count(*) as versions,
               count(*) filter (same) as unchanged,
               min(tried.failure) filter (tried.outcome = 'failed') as example
        from tried left join lineage on lineage.run = tried.run and lineage.subject = tried.subject
        group by tried.run, lap, stage, recipe, repair, tried.outcome, fault""",
    about="One row per run, lap, stage, recipe, repair number, outcome and fault: repair 0 is the "
    "first version, then one per repair.",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "stage": "Build: programs with their tests, and checklists. Generate: those blueprints and "
        "drafts that had to be sent back.",
        "recipe": "Recipe.",
        "repair": "0 is the first version.",
        "outcome": "Built or failed.",
        "fault": "Whom a failure is attributed to: code, test, state, spec; none when it ran.",
        "versions": "Versions that ended so.",
        "unchanged": "Of them, versions that are the one before again: the author changed nothing.",
        "example": "One failure, as quoted to the author; null when it ran.",
    },
    questions=(
        (
            "How many repairs does a build need?",
            "select repair, sum(versions) as built from versions where stage = 'build' and "
            "outcome = 'built' group by all order by repair",
        ),
        (
            "Whose fault are failures?",
            "select fault, sum(versions) as failures from versions where outcome = 'failed' "
            "group by fault order by fault",
        ),
        (
            "Where did the author send the same again?",
            "select run, recipe, repair, unchanged from versions where unchanged > 0",
        ),
    ),
    order="run, lap, stage, recipe, repair, outcome, fault",
)
