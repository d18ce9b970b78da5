"""`spending`: what was asked of models, by whom and in which role, and what it cost."""

from envmill.lake.views.base import View, sum_cost

SPENDING = View(
    name="spending",
    sql=f"""
        select run, any_value(recipe) as recipe, step, role, provider, model, any_value(family) as family, prompt,
               count(*) as calls,
               count(*) filter (reused) as reused,
               count(*) filter (outcome = 'failure') as unusable,
               count(*) filter (outcome in ('outage', 'refused')) as unanswered,
               sum(retries)::bigint as retries,
               sum(tokens_in)::bigint as tokens_in,
               sum(tokens_cached)::bigint as tokens_cached,
               sum(tokens_out)::bigint as tokens_out,
               sum(tokens_reasoning)::bigint as tokens_reasoning,
               {sum_cost()} as cost,
               count(*) - count(cost) as unpriced,
               sum(possibly_paid)::bigint as possibly_paid,
               sum(possibly_paid_tokens)::bigint as possibly_paid_tokens,
               case when count(possibly_paid_cost) = count(*) then sum(possibly_paid_cost) end as possibly_paid_cost,
               count(*) filter (repair) as repairs,
               coalesce(sum(tokens_in + tokens_out) filter (repair), 0)::bigint as repair_tokens,
               case when count(*) filter (repair and cost is null) = 0 then coalesce(sum(cost) filter (repair), 0) end as repair_cost,
               sum(latency) as latency,
               sum(waited) as waited
        from model_calls left join (select run, recipe from runs) using (run)
        group by run, step, role, provider, model, prompt""",
    about="""One row per run, step, role, model and prompt: model calls, what became of them, and what they took.
A call that was sent is a row of `model_calls` whatever came of it. Latency is summed over calls that run side by side.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe of the run.",
        "step": "Step that asked.",
        "role": "Whom the model played.",
        "provider": "Provider; `offline` is plumbing, and free.",
        "model": "Model.",
        "family": "Whose model it is; empty when unknown.",
        "prompt": "Prompt name.",
        "calls": "Calls, those answered by a reused reply included.",
        "reused": "Calls answered by a reply that was there already.",
        "unusable": "Replies that could not become the record asked for.",
        "unanswered": "Outages and refusals.",
        "retries": "Retries within calls.",
        "tokens_in": "Input tokens, cached ones included.",
        "tokens_cached": "Input tokens read from a cache.",
        "tokens_out": "Output tokens, reasoning included.",
        "tokens_reasoning": "Output tokens that were reasoning.",
        "cost": "Money; null when one price is unknown.",
        "unpriced": "Calls whose price is unknown.",
        "possibly_paid": "Sendings that the server had whole and gave no usable answer to; the vendor may "
        "charge for them.",
        "possibly_paid_tokens": "Tokens those may have taken, an estimate; part of no other column.",
        "possibly_paid_cost": "Money those may have taken, an estimate; null when one price is unknown.",
        "repairs": "Calls that asked again after a reply that was no use or that a gate complained "
        "about; 0 in runs before this was told.",
        "repair_tokens": "Tokens of those, input and output; part of the columns before.",
        "repair_cost": "Money of those; null when one price is unknown.",
        "latency": "Seconds calls took.",
        "waited": "Seconds calls were held back by limits or a budget.",
    },
    questions=(
        (
            "What did each model cost, in which role?",
            """select model, role, sum(calls) as calls, sum(tokens_in) as tokens_in, sum(tokens_out) as tokens_out,
       case when sum(unpriced) = 0 then round(sum(cost), 4) end as cost
from spending group by model, role order by model, role""",
        ),
        (
            "Which prompts come back unusable?",
            """select prompt, model, sum(unusable) as unusable, round(sum(unusable) / sum(calls - reused), 2) as share
from spending group by prompt, model having sum(calls) > sum(reused) order by share desc, prompt""",
        ),
        (
            "What does each recipe spend, run by run?",
            "select recipe, run, sum(tokens_in + tokens_out) as tokens, sum(unpriced) as "
            "unpriced from spending group by all order by all",
        ),
    ),
    order="run, step, role, provider, model, prompt",
)
