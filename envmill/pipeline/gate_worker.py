"""A keeper: the process that holds one subject after the other against the gates, in a jail of its
own, for the walk that started it."""

import asyncio
import json
import os
import pkgutil
import socket
import sys

from envmill.base.settings import Settings
from envmill.gates.base import GateContext
from envmill.kinds import open_sandbox
from envmill.runtime.jail.layers import die_with_parent
from envmill.sandbox import Sandbox
from envmill.stages.gate_workers import FINDINGS, LINE, SUBJECTS, describe_error, render
from envmill.stages.passing import run_gates
from envmill.verifiers.bounds import FindTruth
from schemas.base import Json


async def serve(host: socket.socket, settings: Settings, find_truth: FindTruth | None) -> None:
    """Until the walk's end closes."""
    reader, writer = await asyncio.open_connection(sock=host, limit=LINE)
    async with open_sandbox(settings, drivers=1) as sandbox:
        while line := await reader.readline():
            writer.write(render(await answer(json.loads(line), sandbox, find_truth)))
            await writer.drain()


async def answer(question: Json, sandbox: Sandbox, find_truth: FindTruth | None = None) -> Json:
    """Findings, or the error they ended with."""
    told = question["means"]
    means = GateContext(
        sandbox,
        seed=told["seed"],
        episodes=told["episodes"],
        probes=told["probes"],
        find_truth=find_truth,
        observes=told["observes"],
        held=frozenset(told["held"]),
    )
    try:
        subject = SUBJECTS[question["lap"]].validate_python(question["subject"])
        return {"findings": FINDINGS.dump_python(await run_gates(subject, means), mode="json")}
    except Exception as error:  # one subject's failure becomes a row of the walk  # noqa: BLE001
        return {"error": describe_error(error)}


def main() -> None:
    descriptor, config = int(sys.argv[1]), json.loads(sys.argv[2])
    if config["guard"]:
        die_with_parent(config["parent"])
    # Its jail is on the same one: they take turns.
    os.sched_setaffinity(0, {config["core"]})
    find_truth = pkgutil.resolve_name(config["truth"]) if config["truth"] else None
    asyncio.run(
        serve(socket.socket(fileno=descriptor), Settings.read(config["settings"]), find_truth)
    )


if __name__ == "__main__":
    main()
