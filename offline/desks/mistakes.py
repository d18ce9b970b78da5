"""Mistakes of the offline author of desks, each as what it does to a faultless reply."""

from collections.abc import Callable, Mapping
from typing import Any

from schemas.base import Contract, Json
from schemas.dialogue_prompts import AtomsReply, DeskReply, WordsReply
from schemas.prompts import ProgramReply


def _change_desk(reply: DeskReply, change: Callable[[dict[str, Any]], None]) -> DeskReply:
    told = reply.model_dump(mode="json")
    change(told)
    return DeskReply.model_validate(told)


def _change_atoms(reply: AtomsReply, change: Callable[[dict[str, Any]], None]) -> AtomsReply:
    told = reply.model_dump(mode="json")
    change(told)
    return AtomsReply.model_validate(told)


def _contradict(told: dict[str, Any]) -> None:
    call: Json = {"name": "verify_customer"}
    told["clauses"].append({"id": "never_verify", "effect": "forbid", "call": call})


def _add_idle_tool(told: dict[str, Any]) -> None:
    told["tools"].append(
        {
            "name": "shake_gently",
            "side": "user",
            "effect": "query",
            "description": "Shake it. Returns what is heard.",
            "reads": ["unit"],
        }
    )


def _still_coupling(told: dict[str, Any]) -> None:
    told["couplings"].append(
        {"name": "cases_follow_moon", "reads": [], "writes": ["unit"], "says": "Nothing ever."}
    )


def _lose_access(told: dict[str, Any]) -> None:
    told["personas"][0]["cannot"] = ["see_display"]


def _drop_last_step(told: dict[str, Any]) -> None:
    atom = next(one for one in told["atoms"] if not one["unfixable"] and len(one["fix"]) > 1)
    atom["fix"] = atom["fix"][:-1]


def _break_nothing(told: dict[str, Any]) -> None:
    atom = told["atoms"][0]
    row, field = atom["breaks"][0]["row"].split("/"), atom["breaks"][0]["field"]
    atom["breaks"] = [atom["breaks"][0] | {"value": told["state"][row[0]][row[1]][field]}]


def _forget_verifying(told: dict[str, Any]) -> None:
    for atom in told["atoms"]:
        atom["fix"] = [step for step in atom["fix"] if step["tool"] != "verify_customer"]


def _drop_coupling(reply: ProgramReply) -> ProgramReply:
    """A coupling that does nothing."""
    head, mark, rest = reply.source.partition("    def _service_follows_plan(self):\n")
    return reply.model_copy(update={"source": f"{head}{mark}        return\n{rest}"})


def _lie(reply: ProgramReply) -> ProgramReply:
    """A look that tells what is not so."""
    return reply.model_copy(
        update={
            "source": reply.source.replace(
                'return {"seal": self.unit["unit"]["seal"]}', 'return {"seal": "broken"}'
            )
        }
    )


MISTAKES: Mapping[str, Mapping[str, Callable[[Any], Contract]]] = {
    "desk": {
        "contradicts": lambda reply: _change_desk(reply, _contradict),
        "idle_tool": lambda reply: _change_desk(reply, _add_idle_tool),
        "still_coupling": lambda reply: _change_desk(reply, _still_coupling),
        "persona_cannot": lambda reply: _change_desk(reply, _lose_access),
    },
    "desk_program": {"coupling_lost": _drop_coupling, "lies": _lie},
    "atoms": {
        "fix_too_short": lambda reply: _change_atoms(reply, _drop_last_step),
        "breaks_nothing": lambda reply: _change_atoms(reply, _break_nothing),
        "policy_broken": lambda reply: _change_atoms(reply, _forget_verifying),
    },
    "words": {
        "fact_lost": lambda reply: _reword(
            reply, lambda words: words.replace("TR-5081", "my device")
        ),
        "tells_hidden": lambda reply: _reword(
            reply, lambda words: f"{words} The code is kestrel-41."
        ),
    },
}
"""Prompt → mistakes, each as what it does to a faultless reply."""


def _reword(reply: WordsReply, change: Callable[[str], str]) -> WordsReply:
    return reply.model_copy(update={"opening": change(reply.opening)})
