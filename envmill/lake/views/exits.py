"""`exits`: what became of each candidate at each step."""

from envmill.lake.views.base import View

EXITS = View(
    name="exits",
    sql="""
        select run, lap, stage, subject, last.id, last.parent, last.outcome, last.reason, last.detail, last.children,
               last.recipe, last.theme, 'exit' as gate, if(stop.try_number = last.try_number, stop.gate, '') as stopped_by,
               last.try_number, attempts, seconds, tokens, cost, unpriced
        from (select run, lap, stage, subject,
                     max_by({id: id, parent: parent, outcome: outcome, reason: reason, detail: detail, children: children, recipe: recipe,
                             theme: theme, try_number: try_number}, try_number) filter (gate = 'exit') as last,
                     coalesce(max_by({gate: gate, try_number: try_number}, try_number) filter (gate <> 'exit'),
                              {gate: '', try_number: 0}) as stop,
                     count(*) filter (gate = 'exit') as attempts,
                     sum(seconds) filter (gate = 'exit') as seconds,
                     (sum(tokens) filter (gate = 'exit'))::bigint as tokens,
                     case when count(cost) filter (gate = 'exit') = attempts then sum(cost) filter (gate = 'exit') end as cost,
                     count(*) filter (gate = 'exit' and cost is null) as unpriced
              from attrition
              where gate = 'exit' or outcome in ('dropped', 'error')
              group by run, lap, stage, subject
              having attempts > 0)""",
    about="One row per candidate and step: the outcome of its latest attempt, and what all attempts together took.",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "stage": "Stage of the line.",
        "subject": "Candidate id.",
        "id": "Id of the attrition row that decides.",
        "parent": "What the candidate was made from.",
        "outcome": "Kept, dropped or error, in the latest attempt.",
        "reason": "Reason code, empty when kept.",
        "detail": "What happened, in words.",
        "children": "Records the step made of it.",
        "recipe": "Recipe of its lineage.",
        "theme": "Domain of its lineage.",
        "gate": "Always `exit`.",
        "stopped_by": "Gate that stopped it in the latest attempt; empty when it went on, or the step itself stopped it.",
        "try_number": "Latest attempt.",
        "attempts": "Attempts there were.",
        "seconds": "Elapsed seconds over all attempts; candidates share the machine, so sums exceed the wall clock.",
        "tokens": "Model tokens over all attempts.",
        "cost": "Money over all attempts; null when one price is unknown.",
        "unpriced": "Attempts whose price is unknown.",
    },
    questions=(
        (
            "What became of one candidate?",
            "select lap, stage, outcome, reason, detail from exits where subject = (select max(subject) from exits)",
        ),
        ("Which candidates took more than one attempt?", "select run, stage, subject, attempts, outcome from exits where attempts > 1"),
        (
            "What did each domain cost so far?",
            "select theme, count(*) as exits, sum(tokens) as tokens from exits group by theme order by theme",
        ),
    ),
)
