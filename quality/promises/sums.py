"""How the ledger adds up: within a step, from step to step, and between exits and the rows that
were made."""

from quality.promise import TablePromise

UPSTREAM: dict[str, str] = {
    "environments-generate": "select id from seeds where step = 'environments-mine'",
    "environments-build": "select id from blueprints where step = 'environments-generate'",
    "environments-verify": "select id from environments where step = 'environments-build'",
    "environments-filter": "select subject from finals where step = 'environments-verify' and outcome = 'kept'",
    "scenarios-generate": "select subject from finals where step = 'environments-filter' and outcome = 'kept'",
    "scenarios-build": "select id from drafts where step = 'scenarios-generate'",
    "scenarios-verify": "select id from scenarios where step = 'scenarios-build'",
    "scenarios-filter": "select subject from finals where step = 'scenarios-verify' and outcome = 'kept'",
    "scenarios-collect": "select subject from finals where step = 'scenarios-filter' and outcome = 'kept'",
    "scenarios-export": """select distinct 'run:' || run from attrition
        where step = 'scenarios-filter' and subject in (select subject from finals where step = 'scenarios-filter' and outcome = 'kept')
          and subject not in (select subject from attrition where gate = 'F5' and outcome = 'dropped')""",
}
"""Step → what enters it. Where nothing was mined the first step draws its own seeds; a place is
counted by its environment."""

PRODUCTS: dict[str, str] = {
    "environments-mine": "seeds",
    "environments-generate": "blueprints",
    "environments-build": "environments",
    "scenarios-generate": "drafts",
    "scenarios-build": "scenarios",
    "scenarios-verify": "attacks",
    "scenarios-filter": "rollouts",
    "scenarios-collect": "trajectories",
    "scenarios-export": "bundles",
}
"""Step → the table its exits count as children."""

_ENTERED = (
    "hash(step, case when step = 'scenarios-generate' then split_part(subject, ':', 1) else "
    "subject end)"
)

EXIT_FOR_ALL = TablePromise(
    "entered_is_kept_dropped_error",
    "per step, what entered is what was kept, dropped or in error on final attempts",
    """select distinct subject as id, subject, step, 'met gates and has no exit' as seen from new_attrition
       where gate <> 'exit' and hash(step, subject) not in (select who from finals)
       union all
       select subject, subject, step, 'its exit is ' || outcome from new_finals where outcome not in ('kept', 'dropped', 'error')""",
)

GATES_AGREE = TablePromise(
    "gates_agree",
    "nothing is kept that a gate of the same attempt dropped or could not judge",
    """select stopped.id, subject, step, gate || ' says ' || stopped.outcome || ', the exit says kept' as seen
       from new_attrition stopped join new_finals final using (step, subject, try_number)
       where gate not in ('exit', 'quality') and stopped.outcome in ('dropped', 'error') and final.outcome = 'kept'""",
)

NOTHING_LOST = TablePromise(
    "nothing_lost",
    "what the steps before kept has entered",
    f"""select subject as id, subject, step, 'was kept before and never entered' as seen
        from expected where who not in (select {_ENTERED} from new_finals)""",
)

NOTHING_NEW = TablePromise(
    "nothing_new",
    "nothing entered that the steps before did not keep",
    f"""select subject as id, subject, step, 'entered and was never kept before' as seen from new_finals
        where step not in ('environments-mine', 'environments-generate') and {_ENTERED} not in (select who from expected)
          and subject not in (select "row" from raw_quarantine)
          and subject not in (select subject from finals where reason = 'quality')""",
)

BATCH_WHOLE = TablePromise(
    "batch_whole",
    "a batch that tells of children has rows of them: a file that was lost is not a subject that "
    "made nothing",
    """select '' as id, '' as subject, step, format('bucket {}, attempt {}: {} told, no row there', bucket, try_number, told) as seen
       from (select step, bucket, try_number, sum(children) as told from new_finals
             where outcome = 'kept' and not by_quality group by all having told > 0) batch
       where not exists (from raw_made one
                         where one.step = batch.step and one.bucket = batch.bucket and one.try_number = batch.try_number)""",
)

CHILDREN_TOLD = TablePromise(
    "children_told",
    "no subject has more rows than its exit tells of",
    """select '' as id, subject, step, format('{} told, {} there', final.children, there) as seen
       from new_finals final join made_by using (who) where final.outcome = 'kept' and there > final.children""",
)

CHILDREN_MADE = TablePromise(
    "children_made",
    "a kept subject's children are the rows made of it; what two subjects made alike is the "
    "child of one",
    """select '' as id, subject, step, format('{} told, {} there', final.children, coalesce(there, 0)) as seen
       from new_finals final left join made_by using (who), range(coalesce(there, 0), final.children)
       where final.outcome = 'kept' and final.children > coalesce(there, 0)""",
    severity="claim",
)

SUMS = (
    EXIT_FOR_ALL,
    GATES_AGREE,
    NOTHING_LOST,
    NOTHING_NEW,
    BATCH_WHOLE,
    CHILDREN_TOLD,
    CHILDREN_MADE,
)
"""All that attrition promises of itself as a whole."""
