"""`validate` and `grade`: Harbor folders, whoever wrote them, held to the format and graded for
real."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.interop.harbor.grading import Grade


def validate(
    folders: Annotated[list[Path], typer.Argument(help="Harbor folders, or tarballs of them.")],
) -> None:
    """Check Harbor folders against the format. Unknown keys are faults here; Harbor ignores them.
    Exits with 1 when a folder is wrong."""
    from envmill.base.errors import SettingsError
    from envmill.interop.harbor.tree import read_tree
    from envmill.interop.harbor.validating import find_faults

    wrong = 0
    for folder in folders:
        try:
            faults = find_faults(read_tree(folder))
        except SettingsError as error:
            faults = [error.message]
        wrong += bool(faults)
        for each in faults or ["as it should be"]:
            print_text(f"{folder}: {each}")
    if wrong:
        raise typer.Exit(1)


def grade(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A Harbor folder, or a tarball of one.")],
    solution: Annotated[bool, typer.Option("--solution", help="Run its solution first.")] = False,
    engine: Annotated[
        str, typer.Option(help="box or docker; the first that works when left out.")
    ] = "",
) -> None:
    """Grade a Harbor folder in a container, untouched or after its solution. Exits with 1 when
    there is no reward; that is not a reward of 0."""
    found = asyncio.run(_grade(context.obj, folder, solution, engine))
    print_text("no reward" if found.reward is None else f"reward {found.reward:g}")
    if found.reward is None:
        print_text(f"{found.reason}\n{found.output}".strip(), err=True)
        raise typer.Exit(1)


async def _grade(home: Home, folder: Path, solution: bool, name: str) -> "Grade":
    from envmill.interop.harbor.grading import grade as grade_tree
    from envmill.interop.harbor.tree import read_tree
    from envmill.sandbox.containers import find_base, lend, open_engine

    tree, image = read_tree(folder), find_base(home.settings.images)
    async with open_engine(home.settings, name) as engine:
        return await grade_tree(lambda: lend(engine, image), tree, solution=solution)
