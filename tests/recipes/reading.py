"""Keeps what readers replied to a printed prompt as recordings: `python -m tests.recipes.reading
FOLDER`, a folder inside it per reader.

A reader gets what `envmill prompt NAME --example` prints and nothing else; the reply lies in
`NAME.txt`, or in `NAME-POLARITY.txt` where the example was asked with another polarity (`python -m
tests.recipes.reading --print scenario-clarify`).
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Completion, Request, Role
from envmill.models.gateway import Gateway
from envmill.models.prompt import Prompt
from envmill.models.recording import write_recording
from envmill.models.redaction import Redactor
from envmill.models.showing import show_request
from flows.cli.prompt import collect_prompts
from schemas.base import Contract

READERS = Path(__file__).parent / "readers"
ROLES: dict[str, Role] = {"tester": "critic", "checker": "judge"}


class Reader:
    """A provider that answers with the text that lies in a file of the subject's name."""

    name = "reader"

    def __init__(self, folder: Path) -> None:
        self.model, self._folder = f"reader-{folder.name}", folder

    async def complete(self, request: Request) -> Completion:
        return Completion((self._folder / f"{request.subject}.txt").read_text(encoding="utf-8"))

    async def close(self) -> None:
        return


def fill(asked: str) -> tuple[str, Prompt, Contract]:
    """The step that asks, the prompt, and its example under the polarity named."""
    name, _, polarity = asked.partition("-")
    step, prompt = collect_prompts()[f"envscaler/{name}"]
    inputs = prompt.exemplify()
    inputs = type(inputs).model_validate(
        inputs.model_dump() | ({"polarity": polarity} if polarity else {})
    )
    return step, replace(prompt, example=inputs.model_dump_json()), inputs


async def keep(folder: Path, recording: Path) -> int:
    """All replies of one reader through the door, into a recording; how many calls that took: more
    than one a reply is a repair."""
    with TemporaryDirectory() as home:
        journal = Journal(Path(home))
        door = Gateway(Reader(folder), journal, {}, 0)
        for path in sorted(folder.glob("*.txt")):
            step, prompt, inputs = fill(path.stem)
            assert prompt.gives
            await door.open_session(step, path.stem).ask(
                prompt, inputs, prompt.gives, role=ROLES.get(prompt.name, "author")
            )
        await journal.close()
        return write_recording(recording, folder.name, read_calls(Path(home)), Redactor())


def main() -> None:
    if sys.argv[1] == "--print":
        sys.stdout.write(
            "".join(message.text for message in show_request(fill(sys.argv[2])[1]).messages)
        )
        return
    for folder in sorted(path for path in Path(sys.argv[1]).iterdir() if any(path.glob("*.txt"))):
        path = READERS / f"{folder.name}.jsonl"
        sys.stdout.write(f"{path}: {asyncio.run(keep(folder, path))} calls\n")


if __name__ == "__main__":
    main()
