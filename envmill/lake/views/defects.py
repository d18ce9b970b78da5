"""`defects`: what verify said of items, by how many repairs they took."""

from envmill.lake.views.base import View

DEFECTS = View(
    name="defects",
    sql="""
        with tried as (select run, subject, max(repair) as repairs from builds group by run, subject),
        origins as (
            select run, id as item, [blueprint] as sources from environments
            union all
            select run, id as item, [environment || ':' || format('{:03d}', number), draft] as sources from scenarios),
        spread as (select run, item, unnest(sources) as source from origins),
        counted as (
            select spread.run, item, coalesce(sum(repairs), 0)::bigint as repairs
            from spread left join tried on tried.run = spread.run and tried.subject = source
            group by spread.run, item),
        verified as (select run, lap, subject, outcome, stopped_by from exits where stage = 'verify')
        select verified.run, lap, repairs,
               count(*) as entered,
               count(*) filter (outcome = 'kept') as kept,
               count(*) filter (outcome = 'dropped') as dropped,
               count(*) filter (outcome = 'error') as error,
               if(kept + dropped = 0, null, kept / (kept + dropped)) as share,
               mode(stopped_by) filter (outcome = 'dropped') as most_often
        from verified join counted on counted.run = verified.run and counted.item = verified.subject
        group by verified.run, lap, repairs""",
    about="""One row per run, lap and number of repairs: what `verify` said of items that took so many. Repairs of a scenario are
those of its draft and of its checks; a fresh attempt counts as one.""",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "repairs": "Versions after the first.",
        "entered": "Items that `verify` has worked on.",
        "kept": "Of them, kept.",
        "dropped": "Of them, dropped.",
        "error": "Of them, ended in error.",
        "share": "Kept of those kept or dropped; null where there is none.",
        "most_often": "Gate that dropped most of them; null where none was dropped.",
    },
    questions=(
        (
            "Does repairing pay?",
            """select lap, repairs, sum(entered) as entered, round(sum(kept) / sum(kept + dropped), 2) as share
from defects group by lap, repairs order by lap, repairs""",
        ),
        (
            "Which gate drops what was repaired?",
            "select lap, repairs, dropped, most_often from defects where dropped > 0",
        ),
        (
            "How many of those kept were never repaired?",
            """select lap, coalesce(sum(kept) filter (repairs = 0), 0) as unrepaired, sum(kept) as kept
from defects group by lap order by lap""",
        ),
    ),
    order="run, lap, repairs",
)
