"""`novelty` and `rarefaction`: how much of what a run made had never been there before, and how
soon it repeats itself."""

from envmill.lake.views.base import View

_ENTERED = """
            select exits.run, exits.recipe, exits.subject, exits.theme, (seeds.brief ->> 'number')::bigint as number
            from exits left join seeds on seeds.run = exits.run and seeds.id = exits.subject
            where exits.lap = 'environments' and exits.stage = 'generate' and exits.stopped_by <> 'choice'"""
"""Seeds that a run started from, those of mined themes that were not chosen left out."""

_JUDGED = """
            select run, subject, finding -> 'sketch' ->> 'structure' as structure, finding ->> 'twin' as twin,
                   coalesce(finding ->> 'known', '') as known
            from gate_evidence where gate = 'W10'
            qualify row_number() over (partition by run, subject order by try_number desc) = 1"""
"""What W10 said of each environment, the last time."""


def _expect_distinct(table: str) -> str:
    """SQL: distinct classes expected in `draws` of all candidates, drawn without putting back;
    `size` candidates are of each class."""
    left = (
        "lgamma(total - size + 1) - lgamma(total - size - draws + 1) - lgamma(total + 1) + "
        "lgamma(total - draws + 1)"
    )
    missed = f"case when draws > total - size then 0 else exp({left}) end"
    return f"""select run, recipe, draws, sum(1 - {missed}) as expected
            from (select *, sum(size) over (partition by run) as total from {table}), drawn
            where draws <= total group by run, recipe, draws"""


_SIZES = "[1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 200, 500, 1000, 2000, 5000, 10000]"

NOVELTY = View(
    name="novelty",
    sql=f"""
        with entered as ({_ENTERED}),
        judged as ({_JUDGED}),
        started as (
            select run, recipe, count(*) as seeds, count(distinct theme) as themes,
                   count(distinct theme) filter (number = 0) as first_variations
            from entered group by run, recipe),
        compared as (
            select run, count(*) as judged, count(distinct structure) filter (known = '') as new_structures,
                   count(*) filter (twin is not null) as duplicates
            from judged group by run)
        select run, recipe, seeds, themes, first_variations, coalesce(judged, 0) as judged, coalesce(new_structures, 0) as new_structures,
               coalesce(duplicates, 0) as duplicates, duplicates / nullif(judged, 0) as duplicate_share
        from started left join compared using (run)""",
    about="""One row per run: how many themes it started from, and how many structures it brought that no earlier run of the lake had kept.
A structure is what gate W10 compares: a program without names and literals.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "seeds": "Seeds that it started from.",
        "themes": "Distinct themes among them.",
        "first_variations": "Of these themes, those under their first variation. With fresh seeds, no earlier "
        "run of the recipe used them.",
        "judged": "Environments that W10 compared.",
        "new_structures": "Distinct structures among those kept that no earlier run had kept.",
        "duplicates": "Environments that W10 called duplicates or near-duplicates, of the run itself or of "
        "earlier ones.",
        "duplicate_share": "Duplicates per environment compared; null when there is none.",
    },
    questions=(
        (
            "What did each night bring?",
            """with met as (select exits.recipe, theme, min(started) as first from exits join runs using (run)
             where lap = 'environments' and stage = 'generate' and stopped_by <> 'choice' group by all)
select run, seeds, count(theme) as new_themes, new_structures, duplicates from novelty join runs using (run)
left join met on met.first = started and met.recipe = novelty.recipe
group by all order by run""",
        ),
        (
            "Which recipes repeat themselves?",
            """select novelty.recipe, sum(seeds) as seeds, sum(first_variations) as first_variations, sum(new_structures) as new_structures,
       round(sum(duplicates) / nullif(sum(judged), 0), 2) as duplicate_share
from novelty group by all order by all""",
        ),
        (
            "How many structures were there after each night?",
            """select day, new, sum(new) over (order by day) as so_far
from (select started::date as day, sum(new_structures) as new from novelty join runs using (run) group by all) order by day""",
        ),
    ),
    order="run",
)

RAREFACTION = View(
    name="rarefaction",
    sql=f"""
        with entered as ({_ENTERED}),
        judged as ({_JUDGED}),
        named as (
            select judged.run, judged.subject, coalesce(judged.structure, like_it.structure, judged.twin) as structure
            from judged left join judged as like_it on like_it.run = judged.run and like_it.subject = judged.twin),
        structures as (
            select run, recipe, structure, count(*) as size
            from named join (select distinct run, recipe from entered) using (run) group by all),
        themes as (select run, recipe, theme, count(*) as size from entered group by all),
        drawn as (select unnest({_SIZES}) as draws),
        of_structures as ({_expect_distinct("structures")}),
        of_themes as ({_expect_distinct("themes")})
        select of_themes.run, of_themes.recipe, draws, of_structures.expected as structures, of_themes.expected as themes
        from of_themes left join of_structures using (run, recipe, draws)""",
    about="""One row per run and number of draws: how many distinct structures and themes are expected among so many of its environments
and seeds, drawn without putting back. A curve that flattens early belongs to a run that repeats itself. Curves of runs of different
sizes are compared at the same number of draws.""",
    columns={
        "run": "Run id.",
        "recipe": "Recipe.",
        "draws": "How many are drawn, up to all of them.",
        "structures": "Distinct structures expected among so many environments that W10 compared; null "
        "when there are fewer.",
        "themes": "Distinct themes expected among so many seeds.",
    },
    questions=(
        (
            "How many distinct themes and structures do ten draws hold?",
            """select run, max_by(round(themes, 2), draws) as themes, max_by(round(structures, 2), draws) as structures, max(draws) as draws
from rarefaction where draws <= 10 group by all order by all""",
        ),
        (
            "How does the curve of one run go?",
            """select draws, round(structures, 2) as structures, round(themes, 2) as themes from rarefaction
where run = (select min(run) from rarefaction) order by draws""",
        ),
        (
            "How many distinct structures do all runs of a recipe hold together?",
            """select recipe, count(*) as compared,
       count(distinct coalesce(finding -> 'sketch' ->> 'structure', finding ->> 'twin')) as structures
from gate_evidence join runs using (run) where gate = 'W10' group by all order by all""",
        ),
    ),
    order="run, draws",
)
