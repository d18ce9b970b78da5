"""What the first page says, as questions to the views: one literal table, each about `$run`."""

from envmill.lake.views.base import STAGES, sum_cost

_PLACE = f"list_position({STAGES}, stage)"

_LAST = f"""select subject, arg_max(outcome, {_PLACE}) as outcome, arg_max(stage, {_PLACE}) as stage, arg_max(reason, {_PLACE}) as reason,
                   arg_max(stopped_by, {_PLACE}) as gate, sum(seconds) as seconds, sum(tokens)::bigint as tokens
            from exits where run = $run and stage in ('verify', 'filter', 'collect') group by subject"""
"""What became of an environment or scenario at the last step that saw it."""

_FOUND = """select lap, stage, gate, subject, outcome, reason from attrition where run = $run and gate <> 'exit'
            qualify row_number() over (partition by lap, stage, gate, subject order by try_number desc) = 1"""
"""What each gate said of each candidate, the last time it was asked."""

_KEPT = (
    "select subject from exits where run = $run and lap = 'scenarios' and stage = 'filter' and "
    "outcome = 'kept'"
)
_HOMES = (
    "select subject from exits where run = $run and lap = 'environments' and stage = 'filter' "
    "and outcome = 'kept'"
)

OVERVIEW: dict[str, str] = {
    "run": "select * from runs where run = $run",
    "funnel": "select * exclude (run) from funnel where run = $run",
    "failures": "select * exclude (run) from failures where run = $run order by subjects desc, lap, "
    "stage, reason",
    "gates": f"select lap, stage, gate, outcome, reason, count(*) as subjects from ({_FOUND}) group "
    "by all order by all",
    "yields": "select recipe, theme, lap, entered, kept from yield where run = $run order by theme, lap",
    "kinds": f"""with made as (select kind, count(*) as blueprints from blueprints where run = $run group by kind),
                      built as (select kind, count(*) as built, count(*) filter (id in ({_HOMES})) as environments
                                from environments where run = $run group by kind),
                      posed as (select kind, count(*) as scenarios from scenarios join environments
                                on environments.id = scenarios.environment and environments.run = scenarios.run
                                where scenarios.run = $run and scenarios.id in ({_KEPT}) group by kind)
                 select kind, blueprints, coalesce(built, 0) as built, coalesce(environments, 0) as environments,
                        coalesce(scenarios, 0) as scenarios
                 from made left join built using (kind) left join posed using (kind) order by kind""",
    "users": "select * exclude (run) from user_faults where run = $run order by user_faults desc, "
    "conversations desc, person, manner, persona",
    "versions": "select * exclude (run) from versions where run = $run order by lap, stage, recipe, "
    "repair, outcome, fault",
    "repairs": """select lap, stage, gate, reason, sum(subjects)::bigint as subjects, sum(sent_back)::bigint as sent_back,
                         sum(mended)::bigint as mended, sum(given_up)::bigint as given_up, sum(unseen)::bigint as unseen,
                         sum(weakened)::bigint as weakened
                  from repairs where run = $run group by all order by lap, stage, sent_back desc, gate, reason""",
    "costs": f"""select item, sum(kept)::bigint as kept, sum(seconds) as seconds, sum(tokens)::bigint as tokens, {sum_cost()} as cost,
                        sum(unpriced)::bigint as unpriced
                 from cost_per_kept where run = $run group by item
                 order by list_position(['environment', 'scenario', 'trajectory'], item)""",
    "themes": "select * exclude (run, recipe) from cost_per_kept where run = $run order by theme, item",
    "spending": f"""select role, provider, model, prompt, sum(calls)::bigint as calls, sum(reused)::bigint as reused,
                           sum(unusable)::bigint as unusable, sum(unanswered)::bigint as unanswered, sum(tokens_in)::bigint as tokens_in,
                           sum(tokens_out)::bigint as tokens_out, {sum_cost()} as cost, sum(unpriced)::bigint as unpriced
                    from spending where run = $run group by all order by calls desc, role, prompt, model""",
    "pass_rate": "select * exclude (run) from pass_rate where run = $run order by rollout_group, policy, "
    "form, theme",
    "difficulty": """select policy, least(floor(pass_rate * 10), 9)::bigint as tenth, count(*) as scenarios,
                            count(*) filter (trainable >= 0.5) as trainable
                     from trainability where run = $run and pass_rate is not null group by all order by all""",
    "unjudged": "select policy, count(*) as scenarios from trainability where run = $run and pass_rate "
    "is null group by all order by all",
    "bounds": f"""select outcome, reason, count(*) as scenarios, median(false_accept) as false_accept, max(false_accept) as worst_accept,
                         median(false_reject) as false_reject, max(false_reject) as worst_reject,
                         sum(false_accept_n)::bigint as wrong_ends, sum(false_reject_n)::bigint as right_ends
                  from bounds where run = $run and scenario in ({_KEPT}) group by all order by all""",
    "provisional": f"""select gate, reason, count(*) as subjects from ({_FOUND})
                       where outcome = 'not_measured' and subject in (select subject from exits where run = $run and stage = 'filter'
                                                                      and outcome = 'kept')
                       group by all order by all""",
    "tiers": "select lap, tier, count(*) as subjects from tiers where run = $run group by all order "
    "by all",
    "novelty": """with this as (select started, recipe from runs where run = $run),
                       used as (select exits.run, theme, started from exits join runs using (run)
                                where lap = 'environments' and stage = 'generate' and stopped_by <> 'choice'
                                      and exits.recipe = (select recipe from this))
                  select seeds, themes, judged, new_structures, duplicates,
                         (select count(distinct theme) from used where run = $run and theme not in
                             (select theme from used where started < (select started from this))) as new_themes
                  from novelty where run = $run""",
    "rarefaction": "select draws, structures, themes from rarefaction where run = $run order by draws",
    "suspected": f"""select gate, reason, count(*) as subjects from ({_FOUND})
                     where outcome = 'suspected' and subject in (select subject from exits where run = $run and stage = 'filter'
                                                                 and outcome = 'kept')
                     group by all order by all""",
    "coverage": f"""select environments.brief ->> 'theme' as theme, polarity, split, count(*) as scenarios
                    from scenarios left join environments on environments.id = scenarios.environment and environments.run = scenarios.run
                    where scenarios.run = $run and scenarios.id in ({_KEPT}) group by all order by all""",
    "lengths": f"""select (features ->> 'oracle_calls')::bigint as calls, count(*) as scenarios from scenarios
                   where run = $run and id in ({_KEPT}) group by all order by all""",
    "quarantine": """select table_name, promise, count(*) as rows, min("row") as example, min(detail) as detail
                     from quarantine where run = $run group by all order by all""",
    "quality": """select finding from gate_evidence where run = $run and gate = 'quality' and subject = 'run:' || $run
                  order by written_at desc limit 1""",
    "expected": """select finding from gate_evidence where run = $run and gate = 'night' and subject = 'run:' || $run
                   order by written_at desc limit 1""",
    "attacks": "select manner, solves, count(*) as attacks, max(reward) as best from attacks where run "
    "= $run group by all order by all",
    "verdicts": """select gate, outcome_before, outcome, count(*) as subjects from verdicts where run = $run group by all order by all""",
    "reviews": "select judgement, count(*) as subjects from reviews where run = $run group by all order "
    "by all",
    "withdrawals": "select subject, reason, withdrawn_at from withdrawals where run = $run order by "
    "withdrawn_at",
    "bundles": """select exporter, path, rows, len(json_keys(files)) as files from bundles where run = $run order by exporter, path""",
    "again": "select count(*) as candidates from exits where run = $run and attempts > 1",
}
"""Name → question; each answer is a list of rows, each row its columns by name."""

HEADLINE = ("run", "funnel", "failures", "costs", "pass_rate", "bounds")
"""What is asked of the run before as well, to say what changed."""

BEFORE = """with this as (select started, recipe, provider from runs where run = $run)
            select run from runs where recipe = (select recipe from this) and provider = (select provider from this)
                   and started < (select started from this) order by started desc limit 1"""
"""The run before: of the same recipe, with the same provider; others would be compared to something
else."""

INDEXES: dict[str, str] = {
    "candidates": f"""select subject, lap, stage, outcome, reason, stopped_by as gate, theme, recipe, attempts, seconds, tokens,
                            cost, detail
                     from exits where run = $run
                     order by lap, list_position({STAGES}, stage), subject""",
    "findings": f"""select subject, lap, stage, gate, outcome, reason, subject in ({_KEPT} union all {_HOMES}) as kept from ({_FOUND})
                    order by lap, stage, gate, subject""",
    "environments": f"""select environments.id, name, summary, kind, brief ->> 'theme' as theme, licence, origin ->> 'recipe' as recipe,
                               json_array_length(tools)::bigint as tools, json_array_length(rules)::bigint as rules,
                               coalesce(held.tests, 0) as tests, last.outcome, last.stage, last.gate, last.reason,
                               coalesce(posed.scenarios, 0) as scenarios, coalesce(posed.kept, 0) as scenarios_kept,
                               environments.id in ({_HOMES}) as kept
                        from environments left join ({_LAST}) as last on last.subject = environments.id
                        left join (select environment, count(*) as tests from tests where run = $run group by all) as held
                             on held.environment = environments.id
                        left join (select environment, count(*) as scenarios, count(*) filter (id in ({_KEPT})) as kept
                                   from scenarios where run = $run group by all) as posed on posed.environment = environments.id
                        where run = $run order by name, environments.id""",
    "scenarios": f"""select scenarios.id, environment, homes.kind, homes.brief ->> 'theme' as theme, request, polarity, split,
                            (features ->> 'oracle_calls')::bigint as calls,
                            last.outcome, last.stage, last.gate, last.reason, played.attempts, played.passes,
                            limits.false_accept, limits.false_reject, limits.outcome as bounds, scenarios.id in ({_KEPT}) as kept
                     from scenarios left join environments as homes on homes.run = $run and homes.id = scenarios.environment
                     left join ({_LAST}) as last on last.subject = scenarios.id
                     left join (select scenario, count(*) filter (outcome <> 'error') as attempts,
                                       count(*) filter (outcome = 'pass') as passes
                                from rollouts where run = $run and rollout_group = 'probe' group by scenario) as played
                          on played.scenario = scenarios.id
                     left join (select scenario, outcome, false_accept, false_reject from bounds where run = $run) as limits
                          on limits.scenario = scenarios.id
                     where scenarios.run = $run order by environment, number, scenarios.id""",
    "attempts": """with played as (select id, scenario, environment, policy, rollout_group, form, attempt, outcome, reward, steps,
                                          termination, reason, id in (select rollout from trajectories where run = $run) as kept
                                   from rollouts where run = $run),
                        ranked as (select *, row_number() over (partition by kept, outcome, termination, policy, rollout_group, form,
                                                                             environment order by md5(id)) as place from played),
                        numbered as (select *, row_number() over (order by place, md5(id)) as number from ranked)
                   select numbered.* exclude (place, number), homes.brief ->> 'theme' as theme, number <= $attempts as shown
                   from numbered left join environments as homes on homes.run = $run and homes.id = numbered.environment
                   order by scenario, rollout_group, policy, form, attempt, numbered.id""",
}
"""Name → question; each answer is a list that the page filters, sorts and searches."""
