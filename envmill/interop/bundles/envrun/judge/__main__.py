"""The judge's process: endings in, verdicts out, one JSON line each; dialogues in, the user's words
out. It runs our files as they are.

judge/envmill/verifiers/     the very files that judge in the factory
judge/envmill/agents/users/  those that play its scripted user, and hold it to its contract
judge/schemas/               the records they read
judge/*.py                   stand-ins for the libraries these import
"""

import asyncio
import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

SECONDS = 60
"""Processor time of one verdict: a pattern that takes more decides nothing. The signal then ends
this process."""
HOLLOW = ("envmill", "envmill.agents", "envmill.agents.users")
"""Packages whose members are needed and whose own text is not: it names all that a user's program,
or a policy, may be."""
_ROOM = 4 * 2**30
"""Bytes it may map."""


def adopt() -> None:
    """Import from here; the runtime that lies beside is ours, too. In EnvMill itself the files to
    run are its own."""
    here = Path(__file__).resolve().parent
    home = here if (here / "envmill").is_dir() else here.parents[4]
    sys.path[:0] = [str(here), str(home)]
    for name in HOLLOW:
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [
            str(home.joinpath(*name.split("."))),
            *([str(here.parent)] if name == "envmill" else []),
        ]


def serve() -> None:
    """Until its input ends."""
    for line in sys.stdin.buffer:
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(
            resource.RLIMIT_CPU,
            (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY),
        )
        try:
            asked = json.loads(line)
            reply = (
                {"answer": converse(asked)}
                if "dialogue" in asked
                else {"progress": measure(asked)}
                if asked.get("progress")
                else {"verdict": decide(asked)}
            )
        except Exception as error:  # whatever it is, it is said, and no verdict  # noqa: BLE001
            reply = {"broken": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def decide(request: dict[str, Any]) -> dict[str, Any]:
    """The verdict as JSON."""
    (judge,) = _load("envmill.verifiers.judge")
    return judge.judge(*_read_request(request)).model_dump(mode="json")


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Goals that hold and guards that are broken, by their numbers."""
    (progress,) = _load("envmill.verifiers.progress")
    return progress.find_progress(*_read_request(request))


def _load(*names: str) -> list[Any]:
    """Modules that lie beside, or in EnvMill itself."""
    return [import_module(f"{name}") for name in names]


def _read_request(request: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Verifier, ending, and what generated checks said."""
    ending, scenario = _load("envmill.verifiers.ending", "schemas.scenario")
    call = import_module("schemas.environment").Call
    told = request["ending"]
    made = ending.CompletedCall
    deeds = [
        made(call(**one["call"]), one["outcome"], one["code"], one["parts"], one.get("after", 0))
        for one in told["deeds"]
    ]
    end = ending.Ending(
        told["initial"],
        told["final"],
        deeds,
        told["said"],
        ended=told.get("ended", ()),
        answers=told.get("answers", ()),
    )
    return scenario.Verifier.model_validate(request["verifier"]), end, request["heard"]


def converse(request: dict[str, Any]) -> dict[str, Any]:
    """What the scripted user says to the last line of a dialogue that it took part in; a misstep is
    no answer to go by."""
    names = ("base", "doing", "manners", "missteps", "requests")
    base, doing, manners, missteps, requests = (
        import_module(f"envmill.agents.users.{name}") for name in names
    )
    contract, call = (import_module(f"schemas.{name}") for name in ("scenario", "environment"))
    user = contract.UserContract.model_validate(request["user"])
    deeds = doing.list_deeds(
        [call.Call.model_validate(one) for one in request["oracle"]], user.able
    )
    knowledge = base.UserKnowledge(user, request["request"], deeds, request.get("manner", ""))
    person = requests.make_in_turn(knowledge, manners.make_scripted)
    dialogue = [base.Utterance(one["who"], one["text"]) for one in request["dialogue"]]
    heard = [place for place, line in enumerate(dialogue, 1) if line.who == "agent"]
    answers = [asyncio.run(person.answer(dialogue[:place])) for place in heard]
    misstep = missteps.find_misstep(knowledge, dialogue, answers[-1])
    told = [line.text for line in dialogue if line.who == "agent"]
    lacking = {
        name: doing.find_lacking(name, deeds[name], user, told)
        for name in answers[-1].does
        if not misstep
    }
    does = [
        _describe_deed(name, deeds[name], doing, knowledge) for name in lacking if not lacking[name]
    ]
    unknown = [said for said in lacking.values() if said]
    return {
        "text": answers[-1].text,
        "end": answers[-1].end,
        "misstep": misstep,
        "does": does,
        "lacking": unknown,
    }


def _describe_deed(name: str, call: Any, doing: Any, knowledge: Any) -> dict[str, Any]:
    done, refused = (doing.describe_outcome(name, did, "") for did in (True, False))
    said = {"done": done, "refused": refused, "again": doing.describe_again(name)}
    reads = call.name in knowledge.contract.reports
    return {
        "name": name,
        "call": call.model_dump(mode="json"),
        "reads": reads,
        "repeats": knowledge.repeats,
        **said,
    }


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    adopt()
    serve()
