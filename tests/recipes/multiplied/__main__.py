"""`python -m tests.recipes.multiplied [RECIPE…]`: judge all cases, write `results.json` and the
page; `page` writes it alone."""

import asyncio
import os
import sys
import tempfile
import time
from typing import cast, get_args

from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from schemas.run import RecipeName
from tests.recipes.multiplied.multiplying import (
    MORE,
    MOST,
    RESULTS,
    Court,
    Result,
    list_cases,
    list_subjects,
    read_results,
    write_results,
)
from tests.recipes.multiplied.page import PAGE, write_page


def save(found: dict[str, list[Result]]) -> None:
    found = (read_results() if RESULTS.exists() else {}) | found
    write_results(found)
    PAGE.write_text(write_page(found), encoding="utf-8")


async def main(recipes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_sandbox(Settings.read({**os.environ, "ENVMILL_HOME": folder})) as sandbox:
            for recipe in recipes or get_args(RecipeName):
                begun, court = time.monotonic(), Court(sandbox)
                cases = list_cases(
                    await list_subjects(cast(RecipeName, recipe), sandbox), MORE.get(recipe, MOST)
                )
                results = await court.judge_all(cases)
                save({recipe: results})
                missed = [
                    f"{one.item} {one.part}/{one.operator} {one.said}"
                    for one in results
                    if one.honest is bool(one.said) and not one.idle
                ]
                sys.stdout.write(
                    f"{recipe}: {len(cases)} cases in {time.monotonic() - begun:.0f} s, wrong:\n  "
                    + "\n  ".join(missed)
                    + "\n"
                )
                sys.stdout.flush()


if sys.argv[1:] == ["page"]:
    save({})
else:
    asyncio.run(main(sys.argv[1:]))
