"""Mistakes in what a query finds: order left to chance, words compared too strictly, rows passed
over, a read that writes."""

import random
import re
from collections.abc import Callable
from dataclasses import replace

from offline.faults.base import FaultCase, Spoilt, shuffle, succeeds
from offline.faults.method import INDENT, Method, cut_methods, put_method
from offline.faults.rules import finish, finish_on
from offline.faults.search import ask_widely
from offline.tests import RuleTrial
from schemas.prompts import ProgramReply

ProgramCase = FaultCase[ProgramReply]
ASKED = 16
"""Calls drawn for a query."""
_ALL_ROWS = re.compile(r"for row in self\.(\w+)\.values\(\)")
_MATCH = re.compile(r"\.strip\(\)\.lower\(\) in (row\[\"\w+\"\])\.lower\(\)")


def order_by_chance(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """Rows come in the order of a set, which another process has otherwise."""
    return _spoil_ending(
        case,
        dice,
        lambda line: _ALL_ROWS.sub(r"for row in [self.\1[key] for key in set(self.\1)]", line),
    )


def pass_over_last(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """The last row is never looked at."""
    return _spoil_ending(
        case, dice, lambda line: _ALL_ROWS.sub(r"for row in list(self.\1.values())[:-1]", line)
    )


def find_first_only(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """Of many rows that fit, one is given."""
    return _spoil_ending(case, dice, lambda line: f"{line}[:1]" if line.endswith("]") else line)


def mind_case(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A search finds words only in the very case they were entered in."""
    return _spoil_search(case, dice, r" in \1", str.swapcase)


def match_whole(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A search for a part of a name finds nothing."""
    return _spoil_search(case, dice, r".strip().lower() == \1.lower()", lambda text: text[:3])


def write_on_read(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A query leaves a note in what it looks at."""
    for method, trials in _list_queries(case, dice):
        found = _ALL_ROWS.search(method.ending)
        if found:
            note = (f"{INDENT}{found[0]}:", f'{INDENT}    row["seen"] = True')
            return finish(case, replace(method, effects=(*method.effects, *note)), trials)
    return None


def _spoil_ending(
    case: ProgramCase, dice: random.Random, spoil: Callable[[str], str]
) -> Spoilt | None:
    for method, _ in _list_queries(case, dice):
        ending = spoil(method.ending)
        if ending != method.ending:
            traces = ask_widely(case.domain.operations[method.name], case.start, dice, ASKED)
            return finish_on(case, replace(method, ending=ending), traces)
    return None


def _spoil_search(
    case: ProgramCase, dice: random.Random, pattern: str, ask: Callable[[str], str]
) -> Spoilt | None:
    """Spoil how a text is compared, and ask for it in another spelling than the one it has."""
    for method, trials in _list_queries(case, dice):
        source = put_method(case.version.source, _search_otherwise(method, pattern))
        if source != case.version.source:
            return finish(
                case, _search_otherwise(method, pattern), [_respell(each, ask) for each in trials]
            )
    return None


def _search_otherwise(method: Method, pattern: str) -> Method:
    guards = tuple(
        replace(each, condition=_MATCH.sub(pattern, each.condition)) for each in method.guards
    )
    return replace(method, guards=guards, ending=_MATCH.sub(pattern, method.ending))


def _respell(trial: RuleTrial, ask: Callable[[str], str]) -> RuleTrial:
    arguments = {
        name: ask(value) if isinstance(value, str) else value
        for name, value in trial.call.arguments.items()
    }
    return replace(trial, call=trial.call.model_copy(update={"arguments": arguments}))


def _list_queries(case: ProgramCase, dice: random.Random) -> list[tuple[Method, list[RuleTrial]]]:
    methods = cut_methods(case.version.source)
    queries = (each for each in case.domain.operations.values() if each.effect == "query")
    return [
        (methods[each.name], case.find_trials(each.name, succeeds))
        for each in shuffle(queries, dice)
    ]
