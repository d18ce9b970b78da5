"""Mistakes in procedural tests: they expect the wrong thing, rest on what is not there, or try
nothing that matters."""

import random
from collections.abc import Callable, Iterable, Iterator

from offline.domain import TODAY, Domain, State
from offline.draw import NOWHERE
from offline.faults.base import FaultCase, Spoilt
from offline.witness import Pair, Play, Trace
from offline.world import DomainWorld
from schemas.prompts import PlannedTest, TestsReply

TestsCase = FaultCase[TestsReply]


def expect_wrongly(case: TestsCase, dice: random.Random) -> Spoilt:
    """A test expects the contrary of what the rules say."""
    number = dice.randrange(len(case.reply.tests))
    test = case.reply.tests[number]
    other = "rejection" if test.expect == "success" else "success"
    return _replace(case, number, test.model_copy(update={"expect": other}))


def skip_setup(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """A test leaves out the calls that bring its situation about."""

    def skip(test: PlannedTest) -> PlannedTest | None:
        # Only where the outcome depends on the setup: elsewhere nothing would be wrong.
        allowed = DomainWorld(case.domain, case.reply.initial_state, TODAY, case.key).allows(
            case.domain.operations[test.call.name], test.call.arguments
        )
        return (
            test.model_copy(update={"setup": []})
            if test.setup and allowed != (test.expect == "success")
            else None
        )

    return _replace_any(case, dice, skip)


def invent_row(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """A test uses an id that its state does not hold."""

    def invent(test: PlannedTest) -> PlannedTest | None:
        ids = [each.name for each in case.domain.operations[test.call.name].takes if each.row]
        if not ids or test.expect == "rejection":
            return None
        return test.model_copy(
            update={
                "call": test.call.model_copy(
                    update={"arguments": test.call.arguments | {ids[0]: NOWHERE}}
                )
            }
        )

    return _replace_any(case, dice, invent)


def forget_argument(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """A call lacks an argument."""

    def forget(test: PlannedTest) -> PlannedTest | None:
        if not test.call.arguments or test.expect == "rejection":
            return None
        kept = dict(list(test.call.arguments.items())[:-1])
        return test.model_copy(update={"call": test.call.model_copy(update={"arguments": kept})})

    return _replace_any(case, dice, forget)


def call_unknown_tool(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """A test calls a tool that does not exist."""

    def rename(test: PlannedTest) -> PlannedTest | None:
        if test.expect == "rejection":
            return None
        return test.model_copy(
            update={"call": test.call.model_copy(update={"name": f"{test.call.name}_now"})}
        )

    return _replace_any(case, dice, rename)


def lose_row(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """The state names a row that it does not hold."""
    for collection, row_id in list_named(case.reply.initial_state, case.domain, dice):
        rows = {
            key: row for key, row in case.reply.initial_state[collection].items() if key != row_id
        }
        reply = case.reply.model_copy(
            update={"initial_state": case.reply.initial_state | {collection: rows}}
        )
        tests = sorted(
            range(len(reply.tests)),
            key=lambda number: row_id not in str(reply.tests[number].call.arguments),
        )
        return Spoilt(
            reply.model_dump(mode="json"), tuple(_pair_tests(case, case.reply, reply, tests))
        )
    return None


def skip_tool(case: TestsCase, dice: random.Random) -> Spoilt:
    """One tool is not tested at all."""
    name = dice.choice(list(case.domain.operations))
    return _keep_tests(
        case, (each for each in case.reply.tests if each.call.name != name), f"{name} has no test."
    )


def expect_no_rejection(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """What a tool must refuse is not tried."""
    names = sorted({each.call.name for each in case.reply.tests if each.expect == "rejection"})
    if not names:
        return None
    name = dice.choice(names)
    kept = (each for each in case.reply.tests if each.call.name != name or each.expect == "success")
    return _keep_tests(case, kept, f"No test of {name} expects a rejection.")


def reject_types_only(case: TestsCase, dice: random.Random) -> Spoilt | None:
    """Rejections are provoked by wrong types alone, so no rule of the program is ever asked."""
    changes = [each for each in case.domain.changes if each.takes]
    if not changes:
        return None
    operation = dice.choice(changes)

    def weaken(test: PlannedTest) -> PlannedTest:
        if test.call.name != operation.name or test.expect == "success":
            return test
        arguments = test.call.arguments | {operation.takes[0].name: [1]}
        return test.model_copy(
            update={"setup": [], "call": test.call.model_copy(update={"arguments": arguments})}
        )

    return _keep_tests(
        case, map(weaken, case.reply.tests), f"Every rejection of {operation.name} is one of types."
    )


def repeat_test(case: TestsCase, dice: random.Random) -> Spoilt:
    """One test stands for all of its tool: the same call again under other names."""
    name = dice.choice(list(case.domain.operations))
    first = next(each for each in case.reply.tests if each.call.name == name)
    others = [each for each in case.reply.tests if each.call.name != name]
    twins = [first.model_copy(update={"name": f"{first.name} ({number})"}) for number in range(3)]
    return _keep_tests(case, [*others, *twins], f"All tests of {name} are the same.")


def list_named(state: State, domain: Domain, dice: random.Random) -> Iterator[tuple[str, str]]:
    """Rows that other rows refer to, in an order that chance decides."""
    found = [
        (source.ref, row[name])
        for owner, collection in domain.collections.items()
        for name, source in collection.attributes.items()
        for row in (state[owner].values() if source.ref else ())
        if row[name] in state.get(source.ref, {})
    ]
    mixed = list(dict.fromkeys(found))
    dice.shuffle(mixed)
    return iter(mixed)


def _replace_any(
    case: TestsCase, dice: random.Random, spoil: Callable[[PlannedTest], PlannedTest | None]
) -> Spoilt | None:
    """Spoil the first test that has a place for it, in an order that chance decides."""
    numbers = list(range(len(case.reply.tests)))
    dice.shuffle(numbers)
    return next(
        (
            _replace(case, each, spoilt)
            for each in numbers
            if (spoilt := spoil(case.reply.tests[each]))
        ),
        None,
    )


def _replace(case: TestsCase, number: int, test: PlannedTest) -> Spoilt:
    tests = [test if index == number else each for index, each in enumerate(case.reply.tests)]
    reply = case.reply.model_copy(update={"tests": tests})
    return Spoilt(
        reply.model_dump(mode="json"), tuple(_pair_tests(case, case.reply, reply, [number]))
    )


def _pair_tests(
    case: TestsCase, clean: TestsReply, faulty: TestsReply, numbers: Iterable[int]
) -> Iterator[Pair]:
    """A test as it was and as it is, both played on the clean program."""
    for number in list(numbers)[:16]:
        yield Play(case.version, _trace(clean, number)), Play(case.version, _trace(faulty, number))


def _trace(reply: TestsReply, number: int) -> Trace:
    test = reply.tests[number]
    return Trace(reply.initial_state, (*test.setup, test.call), test.expect)


def _keep_tests(case: TestsCase, tests: Iterable[PlannedTest], words: str) -> Spoilt:
    return Spoilt(
        case.reply.model_copy(update={"tests": list(tests)}).model_dump(mode="json"), words=words
    )
