"""`chains`: what became of sampled chains that authors of scenarios were offered."""

from envmill.lake.views.base import View

CHAINS = View(
    name="chains",
    sql="""
        with offered as (
            select a.run, a.recipe, a.parent, a.subject, a.gate, a.outcome, a.reason, e.finding::json as finding
            from attrition a left join gate_evidence e on e.run = a.run and e.id = a.evidence
            where a.stage = 'generate' and regexp_full_match(a.gate, 'offer_[0-9]+')
            qualify row_number() over (partition by a.run, a.subject, a.gate order by a.try_number desc) = 1),
        finished as (
            select distinct s.run, s.environment || ':' || printf('%03d', s.number) as subject
            from scenarios s join exits x on x.run = s.run and x.subject = s.id and x.stage = 'filter' and x.outcome = 'kept'),
        said as (
            select run, recipe, parent,
                   case when outcome = 'kept' then 'stood' when reason = 'infeasible' then 'infeasible' else 'none' end as outcome,
                   coalesce(finding ->> 'sampler', '') as sampler,
                   coalesce(array_to_string(from_json(finding -> 'links', '["VARCHAR"]'), ', '), '') as links,
                   case when reason = 'infeasible' then coalesce(finding ->> 'node', '') else '' end as node,
                   case when reason = 'infeasible' then coalesce(finding ->> 'tool', '') else '' end as tool,
                   case when reason = 'infeasible' then coalesce(finding ->> 'reason', '') else reason end as reason,
                   1::bigint as times,
                   (outcome = 'kept' and (run, subject) in (select (run, subject) from finished))::bigint as kept
            from offered),
        environment as (
            select run, recipe, parent, any_value(finding -> 'not_offered') as refused from offered group by run, recipe, parent),
        drawn as (
            select run, recipe, parent, unnest(json_keys(refused)) as reason, refused from environment where refused is not null),
        every as (
            from said union all
            select run, recipe, parent, 'not_offered', '', '', '', '', reason, (refused ->> reason)::bigint, 0 from drawn)
        select run, recipe, outcome, sampler, links, node, tool, reason, sum(times)::bigint as times, sum(kept)::bigint as kept
        from every group by run, recipe, outcome, sampler, links, node, tool, reason""",
    about="""One row per run, recipe, outcome, sampler, links, node, tool and reason: sampled chains that were offered to authors of
scenarios, and chains that were drawn and not offered since they could not be carried out.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "outcome": "`stood`: the last chain that an author was offered. `infeasible`: the author said "
        "that no scenario can follow it. "
        "`none`: a place for which there was no chain. `not_offered`: drawn, and not carried out.",
        "sampler": "Sampler that drew the chain; empty where none was offered.",
        "links": "Kinds of links that it has: `list` (a whole list is taken or gone over), `pick` "
        "(one of a list is chosen), `result` "
        "(the id of what the path makes is used). Empty where it has none.",
        "node": "Node that the author calls infeasible.",
        "tool": "Tool of that node.",
        "reason": "What the author says of it; else the reason code.",
        "times": "Chains. `not_offered` counts them once for each environment.",
        "kept": "Scenarios along them that the filter kept.",
    },
    questions=(
        (
            "What do authors call infeasible?",
            "select recipe, tool, reason, sum(times) as times from chains where outcome = "
            "'infeasible' group by all order by times desc",
        ),
        (
            "How many chains are offered, and what is lost before?",
            "select recipe, outcome, reason, sum(times) as times from chains where node = '' "
            "group by all order by recipe, times desc",
        ),
        (
            "What share of the offered chains stood, and what was kept, by the kinds of their "
            "links?",
            """select recipe, sampler, links, sum(times) as offered, sum(times) filter (outcome = 'stood') as stood, sum(kept) as kept
from chains where sampler <> '' group by all order by all""",
        ),
    ),
    order="run, recipe, outcome, times desc, sampler, links, node, tool, reason",
)
