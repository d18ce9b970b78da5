"""`exits`: what became of each candidate at each step."""

from envmill.lake.views.base import View

_DECIDED = ("id", "parent", "outcome", "reason", "detail", "children", "recipe", "theme")
"""What the exit of the latest attempt decides. Column by column: those that a question leaves out
are then not read."""

_LAST_COLUMNS = ", ".join(_DECIDED)
_LAST = ", ".join(
    f"arg_max({column}, try_number) filter (gate = 'exit') as {column}" for column in _DECIDED
)

EXITS = View(
    name="exits",
    sql=f"""
        select run, lap, stage, subject, {_LAST_COLUMNS}, 'exit' as gate, if(stopped_at = try_number, stopper, '') as stopped_by,
               try_number, attempts, seconds, tokens, cost, unpriced
        from (select run, lap, stage, subject,
                     {_LAST},
                     max(try_number) filter (gate = 'exit') as try_number,
                     coalesce(arg_max(gate, try_number) filter (gate <> 'exit'), '') as stopper,
                     coalesce(max(try_number) filter (gate <> 'exit'), 0) as stopped_at,
                     count(*) filter (gate = 'exit') as attempts,
                     sum(seconds) filter (gate = 'exit') as seconds,
                     (sum(tokens) filter (gate = 'exit'))::bigint as tokens,
                     case when count(cost) filter (gate = 'exit') = attempts then sum(cost) filter (gate = 'exit') end as cost,
                     count(*) filter (gate = 'exit' and cost is null) as unpriced
              from attrition
              where gate = 'exit' or outcome in ('dropped', 'error')
              group by run, lap, stage, subject
              having attempts > 0)""",
    about="One row per candidate and step: the outcome of its latest attempt, and what all "
    "attempts together took.",
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
        "stopped_by": "Gate that stopped it in the latest attempt; empty when it went on, or the step "
        "itself stopped it.",
        "try_number": "Latest attempt.",
        "attempts": "Attempts there were.",
        "seconds": "Elapsed seconds over all attempts; candidates share the machine, so sums exceed the "
        "wall clock.",
        "tokens": "Model tokens over all attempts.",
        "cost": "Money over all attempts; null when one price is unknown.",
        "unpriced": "Attempts whose price is unknown.",
    },
    questions=(
        (
            "What became of one candidate?",
            "select lap, stage, outcome, reason, detail from exits where subject = (select "
            "max(subject) from exits)",
        ),
        (
            "Which candidates took more than one attempt?",
            "select run, stage, subject, attempts, outcome from exits where attempts > 1",
        ),
        (
            "What did each domain cost so far?",
            "select theme, count(*) as exits, sum(tokens) as tokens from exits group by theme "
            "order by theme",
        ),
    ),
)
