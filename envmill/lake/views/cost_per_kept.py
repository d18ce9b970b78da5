"""`cost_per_kept`: what a kept thing cost, everything that was thrown away included."""

from envmill.lake.views.base import View, sum_cost

COST_PER_KEPT = View(
    name="cost_per_kept",
    sql=f"""
        select run, recipe, theme, item, kept, seconds, tokens, cost, unpriced,
               seconds / nullif(kept, 0) as seconds_per_kept,
               tokens / nullif(kept, 0) as tokens_per_kept,
               cost / nullif(kept, 0) as cost_per_kept
        from (select run, recipe, theme,
                     case when lap = 'environments' then 'environment' when stage = 'collect' then 'trajectory' else 'scenario' end as item,
                     coalesce(sum(case when stage = 'collect' then children when stage = 'filter' and outcome = 'kept' then 1 end), 0)
                         ::bigint as kept,
                     sum(seconds) as seconds,
                     sum(tokens)::bigint as tokens,
                     {sum_cost()} as cost,
                     sum(unpriced)::bigint as unpriced
              from exits
              where stage <> 'export'
              group by run, recipe, theme, item)""",
    about="""One row per run, recipe, domain and item: what environments, scenarios and trajectories took, per one that was kept.
Dropped candidates and earlier attempts are in it; an item's own steps count, not those of what it was made from.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "theme": "Domain.",
        "item": "Environment, scenario or trajectory.",
        "kept": "Items kept: by their lap's filter, or by collect.",
        "seconds": "Elapsed seconds spent on all candidates.",
        "tokens": "Model tokens spent on all candidates.",
        "cost": "Money spent on all candidates; null when one price is unknown.",
        "unpriced": "Attempts whose price is unknown.",
        "seconds_per_kept": "Seconds per kept item; null when none was kept.",
        "tokens_per_kept": "Tokens per kept item.",
        "cost_per_kept": "Money per kept item.",
    },
    questions=(
        (
            "What does a kept environment cost?",
            "select run, theme, kept, round(cost_per_kept, 4) as cost_per_kept, unpriced from "
            "cost_per_kept where item = 'environment'",
        ),
        (
            "Where were tokens spent and nothing kept?",
            "select run, theme, item, tokens from cost_per_kept where kept = 0 and tokens > 0",
        ),
        (
            "What does each recipe take, per item?",
            """select recipe, item, sum(kept) as kept, round(sum(tokens) / nullif(sum(kept), 0)) as tokens_per_kept
from cost_per_kept group by all order by all""",
        ),
    ),
    order="run, recipe, theme, item",
)
