"""`sealed`: whether what held in the repair loop also holds for the probes that no author is told
about."""

from envmill.lake.views.base import View

_PASSES = "('kept', 'cleared', 'corrected')"
_MEASURED = "('kept', 'cleared', 'corrected', 'suspected', 'observed', 'dropped')"

SEALED = View(
    name="sealed",
    sql=f"""
        with rehearsed as (
            select attrition.run, attrition.lap, attrition.subject, finding ->> '$.content' as content, finding -> '$.gates' as gates
            from attrition join gate_evidence on gate_evidence.run = attrition.run and gate_evidence.id = attrition.evidence
            where attrition.gate = 'loop' and attrition.outcome = 'kept'
            qualify attrition.try_number = max(attrition.try_number) over (partition by attrition.run, attrition.lap, attrition.subject)),
        items as (
            select rehearsed.run, lap, environments.id as item, gates
            from rehearsed join environments on environments.run = rehearsed.run and environments.blueprint = rehearsed.subject
            where lap = 'environments'
            union all
            select rehearsed.run, lap, scenarios.id as item, gates
            from rehearsed join scenarios on scenarios.run = rehearsed.run and scenarios.id = rehearsed.content
            where lap = 'scenarios'),
        named as (select run, lap, item, gates, unnest(json_keys(gates)) as gate from items),
        opened as (select run, lap, item, gate, gates ->> ('$.' || gate) as outcome from named),
        verified as (
            select attrition.run, attrition.subject, attrition.gate, attrition.outcome, coalesce(finding ->> '$.probes', '') as probes
            from attrition left join gate_evidence on gate_evidence.run = attrition.run and gate_evidence.id = attrition.evidence
            where attrition.stage = 'verify'
            qualify attrition.try_number = max(attrition.try_number) over (partition by attrition.run, attrition.subject))
        select opened.run, opened.lap, opened.gate,
               count(*) as looked,
               count(*) filter (opened.outcome = 'kept') as held,
               count(*) filter (opened.outcome in {_PASSES}) / count(*) as open_share,
               count(*) filter (opened.outcome = 'kept' and verified.outcome is not null) as asked,
               count(*) filter (opened.outcome = 'kept' and verified.outcome in ('observed', 'dropped')) as dropped,
               count(*) filter (opened.outcome = 'kept' and verified.outcome = 'suspected') as suspected,
               if(asked = 0, null, 1 - (dropped + suspected) / asked) as sealed_share
        from opened left join verified on verified.run = opened.run and verified.subject = opened.item and verified.gate = opened.gate
             and verified.outcome in {_MEASURED} and verified.probes <> 'open'
        where opened.outcome in {_MEASURED}
        group by opened.run, opened.lap, opened.gate""",
    about="""One row per run, lap and gate of the repair loop: how many items passed its open probes, and how many of those passed its
sealed probes in `verify`. A sealed share far below the open one says that authors repair what they are told and nothing else. `verify`
stops at the first drop, so it asks later gates about fewer items. W2, W3, S1, S2 and S7 run all their probes again.""",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "gate": "Gate.",
        "looked": "Items whose version that went on was measured by the open probes, in the loop.",
        "held": "Of them, items that the gate kept there.",
        "open_share": "Share of the looked at that was neither dropped nor suspected there.",
        "asked": "Of those that held, items that `verify` put to sealed probes.",
        "dropped": "Of them, dropped by the gate in `verify`, or observed where the run drops nothing.",
        "suspected": "Of them, suspected by the gate in `verify`.",
        "sealed_share": "Share of the asked that was neither dropped nor suspected; null where none was "
        "asked.",
    },
    questions=(
        (
            "Do sealed probes find what open ones do not?",
            "select gate, looked, held, open_share, asked, sealed_share from sealed where asked "
            "> 0 order by sealed_share, gate",
        ),
        (
            "How do open and sealed probes compare in each lap?",
            """select lap, sum(looked) as looked, sum(held) as held, sum(asked) as asked, sum(dropped + suspected) as found
from sealed group by lap order by lap""",
        ),
        (
            "Which gates had no sealed probe to add?",
            "select gate, sum(held) as held from sealed group by gate having sum(asked) = 0 "
            "order by gate",
        ),
    ),
    order="run, lap, gate",
)
