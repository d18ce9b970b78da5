"""The judge's process: endings in, verdicts out, one JSON line each. It runs our verifiers as they are, on a bare interpreter.

judge/envmill/verifiers/   the very files that judge in the factory
judge/schemas/             the records they read
judge/*.py                 stand-ins for the libraries these import
"""

import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS = 60
"""Processor time of one verdict: a pattern that takes more decides nothing. The signal then ends this process."""
_ROOM = 4 * 2**30
"""Bytes it may map."""


def adopt() -> None:
    """Import from here; the runtime that lies beside is ours, too."""
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here)]
    import_module("envmill").__path__ = [str(here / "envmill"), str(here.parent)]


def serve() -> None:
    """Until its input ends."""
    for line in sys.stdin.buffer:
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY))
        try:
            reply = {"verdict": decide(json.loads(line))}
        except Exception as error:  # whatever it is, it is said, and no verdict  # noqa: BLE001
            reply = {"broken": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def decide(request: dict[str, Any]) -> dict[str, Any]:
    """The verdict as JSON."""
    judge, ending, scenario = (
        import_module(f"{name}") for name in ("envmill.verifiers.judge", "envmill.verifiers.ending", "schemas.scenario")
    )
    call = import_module("schemas.environment").Call
    told = request["ending"]
    deeds = [ending.Deed(call(**one["call"]), one["outcome"], one["code"], one["parts"]) for one in told["deeds"]]
    end = ending.Ending(told["initial"], told["final"], deeds, told["said"])
    return judge.judge(scenario.Verifier.model_validate(request["verifier"]), end, request["heard"]).model_dump(mode="json")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    adopt()
    serve()
