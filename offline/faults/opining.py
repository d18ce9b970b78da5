"""Mistakes of those who try and judge: calls that show nothing, opinions that miss a breach or see
one where there is none."""

import random
from collections.abc import Callable

from offline.draw import NOWHERE
from offline.faults.base import FaultCase, Spoilt
from schemas.prompts import CheckerReply, TesterCall, TesterReply
from schemas.ruling import RulingReply
from schemas.suspicion import SuspicionReply

TesterCase = FaultCase[TesterReply]
CheckerCase = FaultCase[CheckerReply]
RulingCase = FaultCase[RulingReply]
AnswerCase = FaultCase[SuspicionReply]


def call_unknown_tool(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """A call of a tool that does not exist."""
    return _spoil_call(
        case, dice, lambda each: _recall(each, name=f"{each.call.name}_now"), "{0} does not exist."
    )


def forget_argument(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """A call lacks an argument."""
    return _spoil_call(
        case,
        dice,
        lambda each: _recall(each, arguments=dict([*each.call.arguments.items()][:-1])),
        "{0} lacks an argument.",
    )


def invent_row(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """A call names a row that the state does not hold, and is expected to succeed."""

    def invent(each: TesterCall) -> TesterCall:
        operation = case.domain.operations[each.call.name]
        ids = [parameter.name for parameter in operation.takes if parameter.row]
        return (
            _recall(each, arguments=each.call.arguments | {ids[0]: NOWHERE})
            if ids and each.expect == "success"
            else each
        )

    return _spoil_call(case, dice, invent, "{0} names a row that is not there.")


def expect_wrongly(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """A call is expected to end as the rules say it must not."""
    other = {"success": "rejection", "rejection": "success"}
    return _spoil_call(
        case,
        dice,
        lambda each: each.model_copy(update={"expect": other[each.expect]}),
        "{0} is expected to end the wrong way.",
    )


def pass_tool_over(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """One tool that was wanted is not called."""
    names = sorted({each.call.name for each in case.reply.calls})
    if not names:
        return None
    name = dice.choice(names)
    return _keep(
        case,
        [each for each in case.reply.calls if each.call.name != name],
        f"{name} is not called.",
    )


def break_nothing(case: TesterCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """No call breaks a rule."""
    return _keep(
        case, [each for each in case.reply.calls if each.expect == "success"], "No rule is tried."
    )


def repeat_call(case: TesterCase, dice: random.Random) -> Spoilt | None:
    """One call stands for all of its tool."""
    if not case.reply.calls:
        return None
    first = dice.choice(case.reply.calls)
    calls = [first if each.call.name == first.call.name else each for each in case.reply.calls]
    return _keep(case, calls, f"All calls of {first.call.name} are the same.")


def overlook(case: CheckerCase, dice: random.Random) -> Spoilt | None:
    """A breach is not seen."""
    reason = dice.choice(
        ("Looks right.", "The outcome is in line with the rules.", "No rule was broken.")
    )
    return (
        _judge(case, "pass", reason, "A breach is passed.")
        if case.reply.opinion == "fail"
        else None
    )


def raise_alarm(case: CheckerCase, dice: random.Random) -> Spoilt | None:
    """A breach is seen where there is none."""
    rules = [case.domain.render_rule(rule) for each in case.domain.changes for rule in each.must]
    reason = f"This breaks a rule: {dice.choice(rules)}" if rules else "This looks wrong."
    return (
        _judge(case, "fail", reason, "A right call is failed.")
        if case.reply.opinion == "pass"
        else None
    )


def hedge(case: CheckerCase, dice: random.Random) -> Spoilt | None:
    """No opinion is given where there is one to give."""
    reason = dice.choice(
        (
            "Hard to say from what is shown.",
            "It might be right, it might not.",
            "I would look at the program.",
        )
    )
    return (
        _judge(case, "warning", reason, "A clear case is left open.")
        if case.reply.opinion != "warning"
        else None
    )


def give_no_reason(case: CheckerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The opinion is right and comes without a reason."""
    return (
        _judge(case, case.reply.opinion, "", "There is no reason.") if case.reply.reason else None
    )


def contradict_oneself(case: CheckerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The reason says the contrary of the opinion."""
    other = {"pass": "fail", "fail": "pass"}.get(case.reply.opinion)
    return (
        _judge(case, other, case.reply.reason, "Opinion and reason contradict each other.")
        if other
        else None
    )


def rule_kindly(case: RulingCase, dice: random.Random) -> Spoilt | None:
    """An end that lacks something is called complete."""
    reason = dice.choice(
        (
            "It looks done.",
            "The calls are those that the request asks for.",
            "The agent says that it is done.",
        )
    )
    return (
        _rule(case, "complete", reason, "A wrong end is called complete.")
        if case.reply.outcome != "complete"
        else None
    )


def rule_harshly(case: RulingCase, dice: random.Random) -> Spoilt | None:
    """A right end is called incomplete."""
    reason = dice.choice(
        (
            "The person was not told enough.",
            "One of the calls was not needed.",
            "The ids are others than on the right way.",
        )
    )
    return (
        _rule(case, "incomplete", reason, "A right end is called incomplete.")
        if case.reply.outcome == "complete"
        else None
    )


def blame_environment(case: RulingCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The environment is blamed."""
    return _rule(
        case, "server_error", "A tool seems not to have worked.", "The environment is blamed."
    )


def blame_agent(case: RulingCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The agent is blamed for a breach of rules that was none."""
    return _rule(
        case,
        "agent_error",
        "The agent should have asked before it wrote.",
        "A breach is seen that was none.",
    )


def rule_without_reason(case: RulingCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The ruling is right and comes without a reason."""
    return _rule(case, case.reply.outcome, "", "There is no reason.")


def overlook_fault(case: AnswerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """A suspicion that is right is not confirmed."""
    return (
        _answer(case, "It was not confirmed.", answer="no") if case.reply.answer == "yes" else None
    )


def suspect_honest(case: AnswerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """An honest item is found at fault."""
    return _answer(case, "It was confirmed.", answer="yes") if case.reply.answer == "no" else None


def invent_quote(case: AnswerCase, dice: random.Random) -> Spoilt | None:
    """The quote does not occur in the item."""
    return _answer(
        case,
        "The quote is invented.",
        quotes=[f"as paragraph {dice.randint(20, 99)}b of the house rules has it"],
    )


def quote_nothing(case: AnswerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """There is no quote."""
    return _answer(case, "Nothing is quoted.", quotes=[])


def answer_without_reason(case: AnswerCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The answer comes without a reason."""
    return _answer(case, "There is no reason.", reason="")


def _answer(case: AnswerCase, words: str, **changed: object) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | changed, words=words)


def _recall(each: TesterCall, **changed: object) -> TesterCall:
    return each.model_copy(update={"call": each.call.model_copy(update=changed)})


def _spoil_call(
    case: TesterCase, dice: random.Random, spoil: Callable[[TesterCall], TesterCall], words: str
) -> Spoilt | None:
    numbers = list(range(len(case.reply.calls)))
    dice.shuffle(numbers)
    for number in numbers:
        spoilt = spoil(case.reply.calls[number])
        if spoilt != case.reply.calls[number]:
            calls = [
                spoilt if index == number else each for index, each in enumerate(case.reply.calls)
            ]
            return _keep(case, calls, words.format(spoilt.call.name))
    return None


def _keep(case: TesterCase, calls: list[TesterCall], words: str) -> Spoilt | None:
    if calls == case.reply.calls:
        return None
    return Spoilt(
        case.reply.model_copy(update={"calls": calls}).model_dump(mode="json"), words=words
    )


def _judge(case: CheckerCase, opinion: str, reason: str, words: str) -> Spoilt:  # noqa: ARG001
    return Spoilt({"opinion": opinion, "reason": reason}, words=words)


def _rule(case: RulingCase, outcome: str, reason: str, words: str) -> Spoilt:  # noqa: ARG001
    return Spoilt({"outcome": outcome, "reason": reason}, words=words)
