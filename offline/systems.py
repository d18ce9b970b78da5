"""The offline author of systems: the factory's own under other sorts, and operators that set files
aside. With a model's mistakes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from offline.dice import make_dice
from offline.faults.repair import end_repair
from schemas.base import Contract, Json, digest
from schemas.system import FileLine
from schemas.system_prompts import FaultsInput, FaultsReply, ProposedFault, SystemInput, SystemReply

MOST = 5
"""Operators of a reply."""
_VALUED = """
import probing

VALUES = {values!r}
for name, test in list(probing.PROBES.items()):
    probing.PROBES[name] = (lambda test: lambda _: test(VALUES))(test)
report()
"""


def _write_system(inputs: Json, seed: int) -> SystemReply:
    """One of the factory's own, with its values written into the check."""
    brief = SystemInput.model_validate(inputs).brief
    names = list_systems()
    return propose_system(
        load_system(names[int(digest([brief.theme, seed])[:8], 16) % len(names)], brief.number)
    )


def propose_system(healthy: Healthy) -> SystemReply:
    """A system of the factory as an author would send it."""
    told = healthy.system.model_dump(include=set(SystemReply.model_fields) - {"handles"})
    handles = [each for each in healthy.system.handles if isinstance(each, FileLine)]
    files = {path: content.decode() for path, content in healthy.files.items() if path != SERVICES}
    check = (
        healthy.check.rpartition("report()")[0].rstrip()
        + "\n"
        + _VALUED.format(values=healthy.values)
    )
    return SystemReply.model_validate(told | {"handles": handles, "files": files, "check": check})


def _write_operators(inputs: Json, _seed: int) -> FaultsReply:
    """Files that handles are about, and others of the system, set aside under another name."""
    asked = FaultsInput.model_validate(inputs)
    handled = [
        str(getattr(each, "file", "") or getattr(each, "path", "")) for each in asked.handles
    ]
    others = [path for path in asked.files if path != asked.page]
    files = list(
        dict.fromkeys(
            path for path in (*handled, *others) if path in asked.files and path != asked.page
        )
    )[:MOST]
    return FaultsReply(operators=[_set_aside(path) for path in files])


def _set_aside(path: str) -> ProposedFault:
    return ProposedFault(
        operator="set_aside",
        places=[path, f"{path}.old"],
        break_script=f"mv {path} {path}.old",
        mend_script=f"mv {path}.old {path}",
    )


def _spoil_check(reply: SystemReply) -> SystemReply:
    """A check that its own system fails."""
    probe = '@probe\ndef calm(_: Values) -> None:\n    want(False, "it is not calm")\n\n\n'
    name = next(iter(reply.complaints))
    check = reply.check.replace("\nimport probing\n", f"\n{probe}import probing\n")
    return reply.model_copy(
        update={"check": check, "complaints": {"calm": reply.complaints[name], **reply.complaints}}
    )


def _change(
    reply: FaultsReply, change: Callable[[ProposedFault], Mapping[str, str]]
) -> FaultsReply:
    return FaultsReply(operators=[each.model_copy(update=change(each)) for each in reply.operators])


WRITERS: dict[str, Callable[[Json, int], Contract]] = {
    "system": _write_system,
    "faults": _write_operators,
}
"""Prompt → what a faultless author answers."""
MISTAKES: dict[str, dict[str, Callable[[Any], Contract]]] = {
    "system": {
        "unwell": _spoil_check,
        "forgets_page": lambda reply: reply.model_copy(update={"page": "/opt/nowhere/README"}),
    },
    "faults": {
        "does_nothing": lambda reply: _change(
            reply, lambda _: {"break_script": "true", "mend_script": "true"}
        ),
        "stays_broken": lambda reply: _change(reply, lambda _: {"mend_script": "true"}),
        "breaks_more": lambda reply: _change(
            reply, lambda each: {"break_script": f"{each.break_script}\ntouch /srv/left_over"}
        ),
    },
}
"""Prompt → mistakes, each as what it does to a faultless reply."""


def answer(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """The reply text, with a mistake by seed and rate. Same arguments, same bytes."""
    name, clean = (
        planted(prompt, inputs, seed, sample, mistakes, talk),
        WRITERS[prompt](inputs, seed),
    )
    if name == "unmended":
        return talk[-2]
    return (MISTAKES[prompt][name](clean) if name else clean).model_dump_json()


def planted(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """Name of the mistake that `answer` makes for the same arguments; empty where there is none."""
    if not talk:
        dice = make_dice("system", prompt, inputs, seed, sample)
        return dice.choice(sorted(MISTAKES[prompt])) if dice.random() < mistakes else ""
    if not mistakes or talk[-2] == WRITERS[prompt](inputs, seed).model_dump_json():
        return ""
    again = make_dice("repair", prompt, inputs, list(talk), seed, sample)
    return {
        "mended": "",
        "unmended": "unmended",
        "mended_wrongly": again.choice(sorted(MISTAKES[prompt])),
    }[end_repair(again)]
