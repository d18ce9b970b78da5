"""Errands on machines and systems to perturb, multiplied: the items, the operators and the checks
of both recipes.

The errands are recorded (`tests/real_authors/endless_terminals`). No real author wrote a system
yet: the factory's own stand in, as an author would send them.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

from envmill.base.errors import BuildError
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.kinds.terminal.errands.images import read_image
from envmill.kinds.terminal.errands.trying import try_machine, try_solution
from envmill.kinds.terminal.errands.wishes import find_errand_faults
from envmill.kinds.terminal.furnishing import find_system_faults, read_reply
from envmill.models.gateway import ModelSession
from envmill.recipes import perturb
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.exams import find_exam_faults
from envmill.sandbox.machines.files import FINAL, INITIAL
from offline.systems import propose_system
from schemas.environment import Blueprint
from schemas.errand import Errand, ExamReply, Image, SolutionReply
from schemas.run import RunConfig
from schemas.system_prompts import SystemReply
from tests.real_authors.corpus import list_items
from tests.recipes.multiplied.operators import SEED, Dice, Operator, shuffle

Said = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Written:
    """All that an author wrote for one errand."""

    errand: Errand
    image: Image
    initial: str
    final: str
    solution: tuple[str, ...]


def list_errands() -> list[tuple[str, Written]]:
    return [
        (
            item.id,
            Written(
                Errand.model_validate(item.read("errand")),
                Image.model_validate(item.read("image")),
                ExamReply.model_validate(item.read("initial_test")).source,
                ExamReply.model_validate(item.read("final_test")).source,
                tuple(SolutionReply.model_validate(item.read("solution")).commands),
            ),
        )
        for item in list_items()
        if item.recipe == "endless_terminals"
    ]


async def check_errand(written: Written, sandbox: Sandbox, *, live: bool) -> Said:
    """What can be read comes first; machines are built where what they do was changed."""
    said = Counter(("errand", "fault") for _ in find_errand_faults(written.errand))
    said.update(
        ("test", "bad_test")
        for exam in (written.initial, written.final)
        for _ in find_exam_faults(exam)
    )
    try:
        healthy = read_image(written.image, "item", "An item.", "Apache-2.0")
    except BuildError:
        return said + Counter([("image", "bad_image")])
    if said or not live:
        return said
    healthy = healthy._replace(exams={INITIAL: written.initial})
    trial = await try_machine(healthy, written.errand.answers, sandbox, doubted=False)
    if not trial.reason:
        healthy = healthy._replace(exams={INITIAL: written.initial, FINAL: written.final})
        trial = await try_solution(
            healthy, written.errand, written.solution, sandbox, doubted=False
        )
    return Counter([("machine", trial.reason)] if trial.reason else [])


Errands = Callable[[Written, Dice], Iterator[Written]]


def _empty(written: Written, dice: Dice) -> Iterator[Written]:
    for name in shuffle(("request", "at_first", "at_the_end"), dice):
        yield replace(written, errand=written.errand.model_copy(update={name: " \n"}))


def _move_place(move: Callable[[str], str]) -> Errands:
    def vary(written: Written, dice: Dice) -> Iterator[Written]:
        places = written.errand.places
        for number in shuffle(range(len(places)), dice):
            moved = [*places[:number], move(places[number]), *places[number + 1 :]]
            yield replace(written, errand=written.errand.model_copy(update={"places": moved}))

    return vary


def _tell_answer(written: Written, dice: Dice) -> Iterator[Written]:
    for answer in shuffle(written.errand.answers, dice):
        for words in ("It comes to {}.", "My colleague says {}, but look again."):
            told = f"{written.errand.request} {words.format(answer)}"
            yield replace(written, errand=written.errand.model_copy(update={"request": told}))


def _edit_recipe(edit: Callable[[list[str], int], list[str]], *, only: str = "") -> Errands:
    """By line of the image recipe after the first."""

    def vary(written: Written, dice: Dice) -> Iterator[Written]:
        lines = written.image.recipe.strip().splitlines()
        for place in shuffle(
            [place for place, line in enumerate(lines) if place and line.startswith(only)], dice
        ):
            recipe = "\n".join(edit(list(lines), place)) + "\n"
            yield replace(written, image=written.image.model_copy(update={"recipe": recipe}))

    return vary


def _insert(*lines: str) -> Callable[[list[str], int], list[str]]:
    """One of the lines, by the place it goes to."""
    return lambda told, place: [*told[:place], lines[place % len(lines)], *told[place:]]


def _retarget(change: Callable[[str], str]) -> Callable[[list[str], int], list[str]]:
    def edit(lines: list[str], place: int) -> list[str]:
        word, source, target = lines[place].split()
        return [*lines[:place], f"{word} {source} {change(target)}", *lines[place + 1 :]]

    return edit


def _resource(lines: list[str], place: int) -> list[str]:
    word, source, target = lines[place].split()
    return [*lines[:place], f"{word} {source}.of_nobody {target}", *lines[place + 1 :]]


def _spoil_exam(spoil: Callable[[str], str]) -> Errands:
    def vary(written: Written, _: Dice) -> Iterator[Written]:
        yield replace(written, initial=spoil(written.initial))
        yield replace(written, final=spoil(written.final))

    return vary


def _rewrite_file(written: Written, dice: Dice) -> Iterator[Written]:
    """A line of a copied file is another one."""
    for name in shuffle(sorted(written.image.files), dice):
        text = written.image.files[name]
        if "README" not in name and text.strip():
            yield replace(
                written,
                image=written.image.model_copy(
                    update={"files": written.image.files | {name: f"odd\n{text}"}}
                ),
            )


def _leave_answer(written: Written, dice: Dice) -> Iterator[Written]:
    for name in shuffle(sorted(written.image.files), dice)[:2]:
        text = f"{written.image.files[name]}\n{written.errand.answers[0]}\n"
        yield replace(
            written,
            image=written.image.model_copy(update={"files": written.image.files | {name: text}}),
        )


def _leave_out_command(written: Written, dice: Dice) -> Iterator[Written]:
    for place in shuffle(range(len(written.solution)), dice) if len(written.solution) > 1 else ():
        yield replace(written, solution=(*written.solution[:place], *written.solution[place + 1 :]))


def _stray(written: Written, dice: Dice) -> Iterator[Written]:
    for place in shuffle(range(len(written.solution)), dice):
        yield replace(
            written,
            solution=(
                *written.solution[: place + 1],
                "echo left >/srv/left_over.txt",
                *written.solution[place + 1 :],
            ),
        )


def _fail(written: Written, dice: Dice) -> Iterator[Written]:
    for place in shuffle(range(len(written.solution)), dice):
        yield replace(
            written,
            solution=(*written.solution[:place], "cat /srv/of_nobody", *written.solution[place:]),
        )


def _ask_nothing(written: Written, _: Dice) -> Iterator[Written]:
    """The final test asks what is so already."""
    yield replace(written, final=written.initial)


def _reorder(written: Written, dice: Dice) -> Iterator[Written]:
    errand = written.errand
    told = {
        "places": shuffle(errand.places, dice),
        "answers": shuffle(errand.answers, dice),
        "request": f"{errand.request} Thank you.",
    }
    yield replace(written, errand=errand.model_copy(update=told))
    yield replace(
        written, errand=errand.model_copy(update={"request": f"Good morning. {errand.request}\n"})
    )


def _reorder_files(written: Written, dice: Dice) -> Iterator[Written]:
    for _ in range(2):
        files = dict(shuffle(list(written.image.files.items()), dice))
        yield replace(written, image=written.image.model_copy(update={"files": files}))


def _look_first(written: Written, _: Dice) -> Iterator[Written]:
    yield replace(written, solution=("ls /srv", *written.solution))


ERRANDS = (
    Operator("errand", "emptied", False, _empty),
    Operator("errand", "place_relative", False, _move_place(lambda place: place.lstrip("/"))),
    Operator("errand", "place_too_wide", False, _move_place(lambda _: "/srv")),
    Operator("errand", "place_fleeting", False, _move_place(lambda place: f"/tmp{place}")),
    Operator("errand", "place_unnamed", False, _move_place(lambda _: "/opt/of/nobody")),
    Operator("errand", "answer_told", False, _tell_answer),
    Operator(
        "image",
        "forgotten_line",
        False,
        _edit_recipe(_insert("ENV A=b", "WORKDIR /srv", "USER daemon")),
    ),
    Operator(
        "image",
        "network",
        False,
        _edit_recipe(_insert("RUN apt-get install -y jq", "RUN curl -O https://a.example/b")),
    ),
    Operator(
        "image",
        "builder",
        False,
        _edit_recipe(_insert("RUN <<END", "RUN --mount=type=cache true", "FROM envmill/base:1")),
    ),
    Operator(
        "image",
        "target_relative",
        False,
        _edit_recipe(_retarget(lambda target: target[1:]), only="COPY"),
    ),
    Operator(
        "image",
        "target_climbs",
        False,
        _edit_recipe(_retarget(lambda target: f"/srv/..{target}"), only="COPY"),
    ),
    Operator(
        "image",
        "target_fleeting",
        False,
        _edit_recipe(_retarget(lambda target: f"/tmp{target}"), only="COPY"),
    ),
    Operator("image", "source_missing", False, _edit_recipe(_resource, only="COPY")),
    Operator("test", "no_python", False, _spoil_exam(lambda text: f"{text}\ndef f(:\n")),
    Operator("test", "foreign", False, _spoil_exam(lambda text: f"import requests\n{text}")),
    Operator("machine", "file_differs", False, _rewrite_file),
    Operator("machine", "answer_left", False, _leave_answer),
    Operator("machine", "command_left_out", False, _leave_out_command),
    Operator("machine", "strays", False, _stray),
    Operator("machine", "step_fails", False, _fail),
    Operator("machine", "asks_nothing", False, _ask_nothing),
    Operator("errand", "reordered", True, _reorder),
    Operator(
        "image", "commented", True, _edit_recipe(_insert("# as told", "", 'LABEL kept="yes"'))
    ),
    Operator("image", "files_reordered", True, _reorder_files),
    Operator("machine", "looks_first", True, _look_first),
)
LIVE = ("machine",)
"""Parts whose changes show only on a machine."""


# Systems


@dataclass(frozen=True)
class Proposed:
    """A system as an author would send it, and the plan that it is for."""

    reply: SystemReply
    plan: Blueprint


async def plan_system() -> Blueprint:
    recipe = perturb.make([])
    (seed,) = recipe.pick_seeds(
        RunConfig(recipe="perturb", environments=1, systems="written", seed=SEED)
    )
    return await recipe.think_up(
        seed, FIRST, cast(ModelSession, SimpleNamespace(provider="offline", model="offline"))
    )


def list_replies(plan: Blueprint) -> list[tuple[str, Proposed]]:
    return [(name, Proposed(propose_system(load_system(name)), plan)) for name in list_systems()]


async def check_system(proposed: Proposed) -> Said:
    faults = find_system_faults(proposed.reply, read_reply(proposed.reply, proposed.plan))
    return Counter(("system", " ".join(fault.split())[:40]) for fault in faults)


Systems = Callable[[Proposed, Dice], Iterator[Proposed]]


def _change(*changes: Callable[[SystemReply, Dice], dict[str, Any]]) -> Systems:
    def vary(proposed: Proposed, dice: Dice) -> Iterator[Proposed]:
        for change in changes:
            yield replace(
                proposed, reply=proposed.reply.model_copy(update=change(proposed.reply, dice))
            )

    return vary


def _change_check(*changes: Callable[[str], str]) -> Systems:
    return _change(
        *(lambda reply, _, change=change: {"check": change(reply.check)} for change in changes)
    )


def _change_handle(**fields: Any) -> Systems:
    def vary(proposed: Proposed, dice: Dice) -> Iterator[Proposed]:
        handles = proposed.reply.handles
        for place in shuffle(range(len(handles)), dice):
            odd = [
                *handles[:place],
                handles[place].model_copy(update=fields),
                *handles[place + 1 :],
            ]
            yield replace(proposed, reply=proposed.reply.model_copy(update={"handles": odd}))

    return vary


def _drop_complaint(reply: SystemReply, dice: Dice) -> dict[str, Any]:
    gone = dice.choice(sorted(reply.complaints))
    return {"complaints": {name: words for name, words in reply.complaints.items() if name != gone}}


def _shuffle_files(reply: SystemReply, dice: Dice) -> dict[str, Any]:
    files: Any = json.loads(json.dumps(reply.files))
    return {
        "files": dict(shuffle(list(files.items()), dice)),
        "complaints": dict(shuffle(list(reply.complaints.items()), dice)),
    }


SYSTEMS = (
    Operator(
        "system",
        "page_missing",
        False,
        _change(lambda reply, _: {"page": f"{reply.page}.of_nobody"}),
    ),
    Operator(
        "system",
        "bad_place",
        False,
        _change(
            *(
                lambda reply, _, place=place: {"directories": [*reply.directories, place]}
                for place in ("/root/x", "srv/x", "/srv/../etc/x")
            )
        ),
    ),
    Operator(
        "system",
        "all_volatile",
        False,
        _change(
            *(
                lambda reply, _, place=place: {"volatile": [*reply.volatile, place]}
                for place in ("/var/log", "/srv", "/var/lib/")
            )
        ),
    ),
    Operator("check", "probe_silent", False, _change(_drop_complaint)),
    Operator(
        "check",
        "complaint_of_nobody",
        False,
        _change(lambda reply, _: {"complaints": {**reply.complaints, "of_nobody": "It is odd."}}),
    ),
    Operator(
        "check",
        "no_python",
        False,
        _change_check(lambda text: f"def f(:\n{text}", lambda text: f"{text}\n  return ("),
    ),
    Operator(
        "check",
        "foreign",
        False,
        _change_check(
            lambda text: f"import requests\n{text}", lambda text: f"from yaml import load\n{text}"
        ),
    ),
    Operator(
        "check",
        "no_report",
        False,
        _change_check(lambda text: text.rpartition("report()")[0] + "pass\n"),
    ),
    Operator("handle", "text_gone", False, _change_handle(text="a text of nobody")),
    Operator("handle", "file_gone", False, _change_handle(file="/srv/of_nobody")),
    Operator("handle", "unknown_operator", False, _change_handle(can=["melted"])),
    Operator("system", "reordered", True, _change(_shuffle_files, _shuffle_files)),
    Operator(
        "system",
        "told_longer",
        True,
        _change(lambda reply, _: {"about": f"{reply.about} That is all."}),
    ),
    Operator(
        "check",
        "commented",
        True,
        _change_check(
            lambda text: f"# What health means.\n{text}", lambda text: f'"""Health."""\n{text}'
        ),
    ),
    Operator(
        "system",
        "empty_folder",
        True,
        _change(lambda reply, _: {"directories": [*reply.directories, "/srv/kept_empty"]}),
    ),
)
