"""Mistakes in chains: a value that nobody gives, one from the wrong place, a step that nothing
needs."""

import random
from typing import Any

from offline.faults.base import FaultCase, Spoilt
from schemas.tool_prompts import ChainReply

ChainCase = FaultCase[ChainReply]


def leave_unsaid(case: ChainCase, dice: random.Random) -> Spoilt | None:
    """A value that the user gives is not told."""
    if not case.reply.filling.said:
        return None
    reply = case.reply.model_dump(mode="json")
    place = dice.choice(sorted(reply["filling"]["said"]))
    del reply["filling"]["said"][place]
    return Spoilt(reply, words=f"Nobody says what {place} is.")


def misspell_path(case: ChainCase, dice: random.Random) -> Spoilt | None:
    """A value is taken from where the reply has none."""
    reply = case.reply.model_dump(mode="json")
    found = [one for one in _list_sources(reply) if one["kind"] == "node" and one["path"]]
    if not found:
        return None
    dice.choice(found)["path"] += "_code"
    return Spoilt(reply, words="A path that leads nowhere.")


def pick_nobody(case: ChainCase, dice: random.Random) -> Spoilt | None:
    """What one of many is picked by fits none of them."""
    reply = case.reply.model_dump(mode="json")
    if not reply["filling"]["picks"]:
        return None
    name = dice.choice(sorted(reply["filling"]["picks"]))
    reply["filling"]["picks"][name]["equals"] = "somebody else"
    return Spoilt(reply, words=f"{name} picks nobody.")


def recite_key(case: ChainCase, dice: random.Random) -> Spoilt | None:
    """What has to be chosen is said by the user, who cannot know it; carried out, nothing is
    amiss."""
    reply = case.reply.model_dump(mode="json")
    picks = {
        name: (pick["path"].rpartition(".")[2], pick["equals"])
        for name, pick in reply["filling"]["picks"].items()
    }
    rows = [(key, row) for held in case.reply.initial_state.values() for key, row in held.items()]
    found = [
        (step, path, keys[0], source["node"])
        for step in reply["chain"]["nodes"]
        if step["kind"] == "step"
        for path, source in step["arguments"].items()
        if source["kind"] == "node" and source["node"] in picks
        for name, wanted in (picks[source["node"]],)
        if len(keys := [key for key, row in rows if row.get(name) == wanted]) == 1
    ]
    if not found:
        return None
    step, path, key, chosen = dice.choice(found)
    step["arguments"][path] = {"kind": "user"}
    reply["filling"]["said"][f"{step['id']}.{path}"] = key
    if not any(one.get("node") == chosen for one in _list_sources(reply)):
        reply["chain"]["nodes"] = [node for node in reply["chain"]["nodes"] if node["id"] != chosen]
        del reply["filling"]["picks"][chosen]
    return Spoilt(
        reply, words=f"The user is to say {step['id']}.{path}, which only a lookup tells."
    )


def forget_step(case: ChainCase, dice: random.Random) -> Spoilt | None:
    """A step that later ones take a value from is left out."""
    reply = case.reply.model_dump(mode="json")
    named = {one["node"] for one in _list_sources(reply) if one["kind"] == "node"}
    nodes = [node for node in reply["chain"]["nodes"] if node["id"] in named]
    if not nodes:
        return None
    reply["chain"]["nodes"].remove(dice.choice(nodes))
    return Spoilt(reply, words="A value from a node that is not there.")


def call_unknown_tool(case: ChainCase, dice: random.Random) -> Spoilt:
    """A step calls a tool that there is not."""
    reply = case.reply.model_dump(mode="json")
    step = dice.choice([node for node in reply["chain"]["nodes"] if node["kind"] == "step"])
    step["tool"] += "_record"
    return Spoilt(reply, words=f"There is no tool {step['tool']}.")


def _list_sources(reply: Any) -> list[dict[str, Any]]:
    return [
        one
        for node in reply["chain"]["nodes"]
        for one in (node["arguments"].values() if node["kind"] == "step" else node["takes"])
    ]
