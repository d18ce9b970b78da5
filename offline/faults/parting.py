"""Mistakes in a part of a program: those of a whole one that show in it, and those that only
somebody makes who writes a part."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from offline.faults import effects, loading, queries, rules
from offline.faults.base import FaultCase, Plant, PlantProgram, Spoilt
from offline.parts import cut_methods, cut_skeleton
from offline.program import name_class, write_program
from schemas.prompts import MethodsReply, ProgramReply

SkeletonCase = FaultCase[ProgramReply]
MethodsCase = FaultCase[MethodsReply]


def leave_method_out(case: MethodsCase, dice: random.Random) -> Spoilt:
    """One tool that was asked for is not written."""
    wanted: list[str] = case.asked["wanted"]
    gone = dice.choice(wanted)
    left = [name for name in wanted if name != gone]
    return _make_spoilt(
        cut_methods(write_program(case.domain), left), "A tool that was asked for is not there."
    )


def change_signature(case: MethodsCase, dice: random.Random) -> Spoilt | None:
    """A parameter is called otherwise than the method goes on to call it."""
    takes = [
        each for each in re.findall(r"def \w+\(self, (\w+):", case.reply.source) if len(each) > 2
    ]
    if not takes:
        return None
    name = dice.choice(takes)
    return _make_spoilt(
        case.reply.source.replace(f"(self, {name}:", f"(self, the_{name}:", 1),
        f"{name} is no parameter any more.",
    )


def write_functions(case: MethodsCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Functions instead of methods: there is no self."""
    return _make_spoilt(
        case.reply.source.replace("(self, ", "(").replace("(self)", "()"),
        "The methods take no self.",
    )


def write_class_again(case: MethodsCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """The methods come in a class of their own, which has no state."""
    return _make_spoilt(f"class Tools:\n{case.reply.source}", "The methods stand in another class.")


def stop_short(case: MethodsCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Somewhere in the middle it says that the rest is alike."""
    lines = case.reply.source.split("\n")
    return _make_spoilt(
        "\n".join([*lines[: len(lines) // 2], "        # ... the rest as above"]),
        "Half of the methods are not there.",
    )


def stub_tools(case: SkeletonCase, dice: random.Random) -> Spoilt:
    """The class holds an empty tool already."""
    name = dice.choice(list(case.domain.operations))
    stub = (
        f'\n    def {name}(self) -> dict[str, Any]:\n        """To be written."""\n        raise '
        "NotImplementedError\n"
    )
    words = "A tool is there twice, once empty."
    return Spoilt(
        case.reply.model_copy(update={"source": case.reply.source + stub}).model_dump(mode="json"),
        words=words,
    )


def in_skeleton(plant: PlantProgram) -> Plant[ProgramReply]:
    """A mistake of a whole program, as far as it lies in the class without its tools."""
    return _in_part(plant, lambda source, _: cut_skeleton(source))


def in_methods(plant: PlantProgram) -> Plant[MethodsReply]:
    """A mistake of a whole program, as far as it lies in the methods that were asked for."""
    return _in_part(plant, lambda source, case: cut_methods(source, case.asked["wanted"]))


def _in_part(plant: PlantProgram, cut: Callable[[str, FaultCase[Any]], str]) -> Plant[Any]:
    def planted(case: FaultCase[Any], dice: random.Random) -> Spoilt | None:
        whole = ProgramReply(source=write_program(case.domain), class_name=name_class(case.domain))
        spoilt = plant(cast("FaultCase[ProgramReply]", replace(case, reply=whole)), dice)
        if spoilt is None:
            return None
        reply = {**case.reply.model_dump(mode="json"), "source": cut(spoilt.reply["source"], case)}
        reply |= {"class_name": spoilt.reply["class_name"]} if "class_name" in reply else {}
        return (
            Spoilt(reply, spoilt.pairs, spoilt.words)
            if reply != case.reply.model_dump(mode="json")
            else None
        )

    return planted


def _make_spoilt(source: str, words: str) -> Spoilt:
    return Spoilt({"source": source}, words=words)


SKELETON: dict[str, Plant[ProgramReply]] = {
    "tool_in_the_skeleton": stub_tools,
    "missing_import": in_skeleton(loading.forget_import),
    "unavailable_import": in_skeleton(loading.import_strange),
    "wrong_class_name": in_skeleton(loading.name_other_class),
    "hidden_state": in_skeleton(loading.hide_state),
    "state_not_json": in_skeleton(loading.hold_set),
    "ignored_state": in_skeleton(loading.ignore_state),
}

METHODS: dict[str, Plant[MethodsReply]] = {
    "missing_method": leave_method_out,
    "wrong_signature": change_signature,
    "functions_for_methods": write_functions,
    "class_around": write_class_again,
    "cut_short": stop_short,
    "renamed_tool": in_methods(loading.rename_tool),
    "untyped_parameter": in_methods(loading.forget_type),
    "unenforced_rule": in_methods(rules.forget_rule),
    "off_by_one": in_methods(rules.miss_by_one),
    "change_before_check": in_methods(rules.change_first),
    "forgotten_effect": in_methods(effects.forget_effect),
    "stale_answer": in_methods(effects.answer_stale),
    "case_sensitive": in_methods(queries.mind_case),
}
