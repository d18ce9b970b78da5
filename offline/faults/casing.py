"""Mistakes in tests with databases of their own, and in the verdicts on red ones."""

import random

from offline.casing import list_cases
from offline.draw import NOWHERE
from offline.faults.base import FaultCase, Spoilt
from offline.parts import write_methods
from schemas.base import Json
from schemas.tool_prompts import CasesReply, DebugReply, MatchedTest

CasesCase = FaultCase[CasesReply]
DebugCase = FaultCase[DebugReply]


def expect_wrongly(case: CasesCase, dice: random.Random) -> Spoilt:
    """A test expects the contrary of what the rules say."""
    number = dice.randrange(len(case.reply.tests))
    test = case.reply.tests[number]
    other = "rejection" if test.expect == "success" else "success"
    return _replace(
        case, number, test.model_copy(update={"expect": other}), f"{test.name} expects {other}."
    )


def lose_called_row(case: CasesCase, dice: random.Random) -> Spoilt | None:
    """The rows lack what the call is about."""
    takes = [each for each in case.domain.operations[_name_tool(case)].takes if each.row]
    numbers = [
        place for place, test in enumerate(case.reply.tests) if takes and test.expect == "success"
    ]
    if not numbers:
        return None
    number = dice.choice(numbers)
    test, taken = case.reply.tests[number], dice.choice(takes)
    rows = {
        table: {key: row for key, row in held.items() if key != test.call.arguments[taken.name]}
        for table, held in test.rows.items()
    }
    return _replace(
        case,
        number,
        test.model_copy(update={"rows": rows}),
        f"{test.name} has no row {test.call.arguments[taken.name]}.",
    )


def invent_row(case: CasesCase, dice: random.Random) -> Spoilt | None:
    """A call uses a key that its rows do not hold."""
    takes = [each.name for each in case.domain.operations[_name_tool(case)].takes if each.row]
    numbers = [
        place for place, test in enumerate(case.reply.tests) if takes and test.expect == "success"
    ]
    if not numbers:
        return None
    number = dice.choice(numbers)
    test = case.reply.tests[number]
    call = test.call.model_copy(update={"arguments": test.call.arguments | {takes[0]: NOWHERE}})
    return _replace(
        case,
        number,
        test.model_copy(update={"call": call}),
        f"{test.name} calls with a key that is nowhere.",
    )


def omit_value(case: CasesCase, dice: random.Random) -> Spoilt:
    """A row of an instance lacks a column."""
    number = dice.randrange(len(case.reply.tests))
    test = case.reply.tests[number].model_copy(deep=True)
    table = dice.choice(sorted(name for name, held in test.rows.items() if held))
    key = dice.choice(sorted(test.rows[table]))
    column = dice.choice([name for name in test.rows[table][key] if name != "id"])
    del test.rows[table][key][column]
    return _replace(case, number, test, f"{table} {key} has no {column}.")


def forget_argument(case: CasesCase, dice: random.Random) -> Spoilt | None:
    """A call lacks an argument."""
    numbers = [
        place
        for place, test in enumerate(case.reply.tests)
        if test.call.arguments and test.expect == "success"
    ]
    if not numbers:
        return None
    number = dice.choice(numbers)
    test = case.reply.tests[number]
    call = test.call.model_copy(update={"arguments": dict(list(test.call.arguments.items())[:-1])})
    return _replace(
        case, number, test.model_copy(update={"call": call}), f"{test.name} lacks an argument."
    )


def leave_out_part(case: CasesCase, dice: random.Random) -> Spoilt | None:
    """What an accepted call changes is told but for one part of it."""
    numbers = [place for place, test in enumerate(case.reply.tests) if test.after]
    if not numbers:
        return None
    number = dice.choice(numbers)
    test = case.reply.tests[number].model_copy(deep=True)
    table = dice.choice(sorted(test.after))
    key = dice.choice(sorted(test.after[table]))
    del test.after[table][key]
    return _replace(case, number, test, f"{test.name} says nothing of {table} {key}.")


def test_nothing(case: CasesCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """The tool is not tried at all."""
    return Spoilt({"tests": []}, words=f"{_name_tool(case)} has no test.")


def blame_test(case: DebugCase, dice: random.Random) -> Spoilt | None:
    """A test that is right is turned round to agree with the method."""
    tests: dict[int, MatchedTest] = {
        one["number"]: MatchedTest.model_validate(one["test"]) for one in case.asked["red"]
    }
    blamed = [one for one in case.reply.verdicts if one.blame == "tool"]
    if not blamed:
        return None
    one = dice.choice(blamed)
    test = tests[one.number]
    turned = test.model_copy(
        update={"expect": "rejection" if test.expect == "success" else "success"}
    )
    verdicts = [
        each.model_copy(update={"blame": "instance", "mended": turned}) if each is one else each
        for each in case.reply.verdicts
    ]
    return _make_spoilt(
        case.reply.model_copy(update={"verdicts": verdicts}), f"{test.name} was right."
    )


def blame_tool(case: DebugCase, dice: random.Random) -> Spoilt | None:
    """The method is blamed for a test that is wrong."""
    blamed = [one for one in case.reply.verdicts if one.blame == "instance"]
    if not blamed:
        return None
    one = dice.choice(blamed)
    verdicts = [
        each.model_copy(update={"blame": "tool", "mended": None}) if each is one else each
        for each in case.reply.verdicts
    ]
    source = write_methods(case.domain, [case.asked["tool"]["name"]]).source
    return _make_spoilt(
        case.reply.model_copy(update={"verdicts": verdicts, "source": source}),
        f"Test {one.number} is wrong, not the method.",
    )


def leave_method(case: DebugCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The method comes back as it was."""
    if not case.reply.source or case.asked["source"] == case.reply.source:
        return None
    return _make_spoilt(
        case.reply.model_copy(update={"source": case.asked["source"]}),
        "The method is as wrong as before.",
    )


def mend_other_tool(case: DebugCase, dice: random.Random) -> Spoilt | None:
    """The method of another tool is sent."""
    others = [name for name in case.domain.operations if name != case.asked["tool"]["name"]]
    if not case.reply.source:
        return None
    other = dice.choice(others)
    return _make_spoilt(
        case.reply.model_copy(update={"source": write_methods(case.domain, [other]).source}),
        f"{other} was not to blame.",
    )


def pass_over(case: DebugCase, dice: random.Random) -> Spoilt:
    """A red test gets no verdict."""
    one = dice.choice(case.reply.verdicts)
    return _make_spoilt(
        case.reply.model_copy(
            update={"verdicts": [each for each in case.reply.verdicts if each is not one]}
        ),
        "A test is left red.",
    )


def mend_as_other(case: DebugCase, dice: random.Random) -> Spoilt | None:
    """In the place of a wrong test comes another one of the tool, which is there already."""
    blamed = [one for one in case.reply.verdicts if one.blame == "instance" and one.mended]
    if not blamed:
        return None
    one = dice.choice(blamed)
    known = list_cases(case.brief, case.domain, case.asked["tool"]["name"], case.seed)
    others = [each for each in known if each != one.mended]
    if not others:
        return None
    mended = dice.choice(others)
    verdicts = [
        each.model_copy(update={"mended": mended}) if each is one else each
        for each in case.reply.verdicts
    ]
    return _make_spoilt(
        case.reply.model_copy(update={"verdicts": verdicts}), f"{mended.name} is tried twice."
    )


def _name_tool(case: CasesCase) -> str:
    return str(case.asked["tool"]["name"])


def _replace(case: CasesCase, number: int, test: MatchedTest, words: str) -> Spoilt:
    tests = [test if place == number else each for place, each in enumerate(case.reply.tests)]
    return Spoilt(CasesReply(tests=tests).model_dump(mode="json"), words=words)


def _make_spoilt(reply: DebugReply, words: str) -> Spoilt:
    said: Json = reply.model_dump(mode="json")
    return Spoilt(said, words=words)
