"""A keeper: the process that holds one subject after the other against the gates, in a jail of its own, for the walk that started it."""

import asyncio
import json
import os
import socket
import sys

from envmill.gates.base import Means
from envmill.keepers import FINDINGS, LINE, SUBJECTS, spell, tell_error
from envmill.passing import look
from envmill.runtime.jail.layers import die_with_parent
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from schemas.base import Json


async def serve(host: socket.socket, settings: Settings) -> None:
    """Until the walk's end closes."""
    reader, writer = await asyncio.open_connection(sock=host, limit=LINE)
    async with Sandbox.open(settings, drivers=1) as sandbox:
        while line := await reader.readline():
            writer.write(spell(await answer(json.loads(line), sandbox)))
            await writer.drain()


async def answer(question: Json, sandbox: Sandbox) -> Json:
    """Findings, or the error they ended with."""
    told = question["means"]
    means = Means(sandbox, seed=told["seed"], episodes=told["episodes"], probes=told["probes"], held=frozenset(told["held"]))
    try:
        subject = SUBJECTS[question["lap"]].validate_python(question["subject"])
        return {"findings": FINDINGS.dump_python(await look(subject, means), mode="json")}
    except Exception as error:  # one subject's failure becomes a row of the walk  # noqa: BLE001
        return {"error": tell_error(error)}


def main() -> None:
    descriptor, config = int(sys.argv[1]), json.loads(sys.argv[2])
    if config["guard"]:
        die_with_parent(config["parent"])
    # Its jail is on the same one: they take turns.
    os.sched_setaffinity(0, {config["core"]})
    asyncio.run(serve(socket.socket(fileno=descriptor), Settings.read(config["settings"])))


if __name__ == "__main__":
    main()
