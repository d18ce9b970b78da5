"""`python -m tests.real_authors [part of an item's name …]`: measure the corpus and write what
becomes of it to `today.json`."""

import asyncio
import sys
import tempfile

from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from tests.real_authors.corpus import list_items
from tests.real_authors.making import make
from tests.real_authors.outcomes import Outcome, measure, write_today


async def main(parts: list[str]) -> None:
    found: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_sandbox(Settings.read({"ENVMILL_HOME": folder})) as sandbox:
            for item in list_items():
                if not parts or any(part in item.id for part in parts):
                    found[item.id] = await measure(item, await make(item, sandbox), sandbox)
    write_today(found)


asyncio.run(main(sys.argv[1:]))
