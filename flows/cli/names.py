"""`names`: how the pool of themes that models named grew, run by run, and where it repeats
itself."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.printing import print_text

_NAMED = """
    with named as (
        select seeds.recipe, seeds.run, brief ->> 'theme' as theme, coalesce(field, '') as field, started,
               row_number() over (partition by seeds.recipe order by started, seeds.run, seeds.source, seeds.id) as number
        from seeds join runs using (run) where seeds.source <> '' and (? = '' or seeds.recipe = ?)),
    placed as (select *, row_number() over (partition by recipe, theme order by number) = 1 as is_new from named)"""
"""Themes in the order of their runs; within a run in an order of chance. Those that came with the
factory are not named by anybody."""
NIGHTS = f"""{_NAMED},
    nights as (
        select recipe, run, min(started) as started, count(*) as names, count(*) filter (is_new) as new, min(number) as place,
               count(distinct field) filter (field <> '') as fields
        from placed group by recipe, run)
    select recipe, run, names, new, sum(new) over (partition by recipe order by place)::bigint as so_far, fields
    from nights order by recipe, place"""
CURVE = f"""{_NAMED}
    select recipe, number, count(*) filter (is_new) over (partition by recipe order by number) as so_far
    from placed order by recipe, number"""


def names(
    context: typer.Context,
    recipe: Annotated[str, typer.Option(help="Recipe; all that named themes when left out.")] = "",
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg", metavar="FILE", help="Draw the curve of distinct names to an SVG file, too."
        ),
    ] = None,
) -> None:
    """List themes that models named or that were mined, run by run: how many, how many of them new in the lake, and fields of work."""
    from envmill.report.curve import render_curve
    from flows.cli.question import ask
    from flows.cli.table import show

    show(*ask(context.obj, NIGHTS, [recipe, recipe]))
    if svg is not None:
        series: dict[str, list[tuple[int, int]]] = {}
        for name, number, so_far in ask(context.obj, CURVE, [recipe, recipe])[1]:
            series.setdefault(name, []).append((number, so_far))
        svg.write_text(render_curve(series, "names", "distinct names"), encoding="utf-8")
        print_text(f"The curve is in {svg}.", err=True)
