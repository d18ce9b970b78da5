"""`tiers`: which of what was kept is clean, which is suspected, and which was only observed."""

from envmill.lake.views.base import View

TIERS = View(
    name="tiers",
    sql="""
        with found as (
            select run, lap, subject, gate, outcome from attrition
            where stage in ('verify', 'filter') and gate <> 'exit'
            qualify try_number = max(try_number) over (partition by run, lap, stage, subject)),
        counted as (
            select run, subject,
                   count(*) filter (outcome = 'observed') as observed,
                   count(*) filter (outcome = 'suspected') as suspected,
                   count(*) filter (outcome = 'cleared') as cleared,
                   string_agg(distinct gate, ', ' order by gate) filter (outcome in ('suspected', 'observed')) as gates
            from found group by run, subject),
        kept as (
            select exits.run, exits.lap, exits.subject, coalesce(environment, '') as environment
            from exits left join scenarios on scenarios.run = exits.run and scenarios.id = exits.subject
            where stage = 'filter' and outcome = 'kept')
        select kept.run, lap, kept.subject,
               case when coalesce(own.observed, 0) + coalesce(home.observed, 0) > 0 then 'observed'
                    when coalesce(own.suspected, 0) + coalesce(home.suspected, 0) > 0 then 'suspected' else 'clean' end as tier,
               coalesce(own.suspected, 0) as suspicions,
               coalesce(home.suspected, 0) as inherited,
               coalesce(own.cleared, 0) as cleared,
               coalesce(own.observed, 0) as would_drop,
               coalesce(own.gates, '') as gates
        from kept
        left join counted as own on own.run = kept.run and own.subject = kept.subject
        left join counted as home on home.run = kept.run and home.subject = kept.environment""",
    about="""One row per environment and scenario that its filter kept: its tier. An item is suspected while a suspicion about it, or about
its environment, was decided by no judge. It is observed where a gate would have dropped it or its environment, and the run only observes
(`--observe`).""",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "subject": "Environment or scenario.",
        "tier": "Clean, suspected or observed. Exports take clean items; `--with suspected` adds the "
        "suspected, and nothing the observed.",
        "suspicions": "Gates that left an undecided suspicion about it.",
        "inherited": "Gates that left one about its environment.",
        "cleared": "Gates whose suspicion the judge did not confirm.",
        "would_drop": "Gates that would have dropped it, in a run that observes.",
        "gates": "Gates that left an undecided suspicion about it or would have dropped it, by name.",
    },
    questions=(
        (
            "How much of what is kept is clean?",
            "select lap, tier, count(*) as items from tiers group by all order by all",
        ),
        (
            "Which gates suspect most, and what would they have dropped where a run observes?",
            """select outcome, gate, reason, count(*) as subjects from attrition where outcome in ('suspected', 'observed')
group by all order by subjects desc, gate, reason""",
        ),
        (
            "Which items did a judge clear?",
            "select lap, subject, cleared from tiers where cleared > 0 order by all",
        ),
    ),
    order="run, lap, subject",
)
