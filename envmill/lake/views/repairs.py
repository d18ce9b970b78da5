"""`repairs`: what each complaint of the repair loop came to."""

from envmill.lake.views.base import View

_FIRST = "['W1', 'W2', 'W3', 'W4', 'S1']"
"""Gates that are asked before the others: a version that one of them stops was not put to the
rest."""

_OF_TESTS = "['write_not_seen', 'not_exercised']"
"""Codes of W8 that the author of the tests mends. They are not told while the program itself is at
fault."""

REPAIRS = View(
    name="repairs",
    sql=f"""
        with tried as (
            select run, subject, repair, outcome, fault, sent_back::json::struct(gate varchar, reason varchar)[] as codes from builds),
        placed as (
            select *, repair = max(repair) over (partition by run, subject) as ends,
                   lead(codes) over (partition by run, subject order by repair) as next_codes
            from tried),
        ending as (
            select run, subject, fault as last_fault, outcome = 'built' as holds,
                   len([code for code in codes
                        if not regexp_full_match(code.gate, '[WS][0-9]+') or list_contains({_FIRST}, code.gate)]) = 0 as looked
            from placed where ends),
        complaint as (select run, subject, repair, ends, next_codes, unnest(codes) as code from placed),
        told as (
            select run, subject, code.gate as gate, code.reason as reason,
                   count(*) filter (not ends) as times,
                   bool_or(ends) as remains,
                   count(*) filter (list_contains([after.reason for after in next_codes], 'weakened')) as weaker
            from complaint group by all),
        ended as (
            select told.*, holds or (looked and not (gate = 'W8' and list_contains({_OF_TESTS}, reason) and last_fault = 'code')) as known
            from told join ending on ending.run = told.run and ending.subject = told.subject),
        lineage as (select run, subject, lap, stage, recipe from exits where stage in ('generate', 'build'))
        select ended.run, lap, stage, recipe, gate, reason,
               count(*) as subjects,
               sum(times)::bigint as sent_back,
               count(*) filter (not remains and known) as mended,
               count(*) filter (remains) as given_up,
               count(*) filter (not remains and not known) as unseen,
               sum(weaker)::bigint as weakened
        from ended left join lineage on lineage.run = ended.run and lineage.subject = ended.subject
        group by ended.run, lap, stage, recipe, gate, reason""",
    about="""One row per run, lap, stage, recipe, gate and reason code: how often versions were sent back with this complaint, and what
became of it. Subjects = mended + given up + unseen.""",
    columns={
        "run": "Run id.",
        "lap": "Environments or scenarios.",
        "stage": "Stage whose author was told.",
        "recipe": "Recipe.",
        "gate": "Gate or stage that complained; `loop` with the reason `weakened` refuses a repair "
        "that has less in it.",
        "reason": "Reason code.",
        "subjects": "Blueprints, places or drafts of which at least one version had it.",
        "sent_back": "Versions that were sent back with it; a last version is not sent back.",
        "mended": "Subjects whose last version no longer has it.",
        "given_up": "Subjects whose last version has it. Another version may go on: `verify` has the "
        "last word.",
        "unseen": "Subjects whose last version failed before it could be found again.",
        "weakened": "Versions with this complaint whose repair was refused as weakened.",
    },
    questions=(
        (
            "Which complaints do authors mend, and which do they give up?",
            """select gate, reason, sum(sent_back) as sent_back, sum(mended) as mended, sum(given_up) as given_up, sum(unseen) as unseen
from repairs group by all order by sent_back desc, gate, reason""",
        ),
        (
            "What does a recipe's author get wrong most often?",
            """select recipe, lap, arg_max(gate || ' ' || reason, subjects) as complaint, max(subjects) as subjects
from repairs group by all order by all""",
        ),
        (
            "Which complaints are answered with less work?",
            "select gate, reason, sent_back, weakened from repairs where weakened > 0",
        ),
    ),
    order="run, lap, stage, recipe, gate, reason",
)
