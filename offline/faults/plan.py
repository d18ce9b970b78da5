"""Mistakes in a blueprint: what it plans cannot be built as it stands, or would be another thing
than was meant."""

import random
import re
from collections.abc import Iterable
from dataclasses import replace

from offline.blueprint import write_blueprint
from offline.domain import Domain, Operation
from offline.faults.base import FaultCase, Spoilt, is_refused, shuffle
from offline.program import write_program
from offline.tests import RuleTrial
from schemas.base import Json
from schemas.prompts import BlueprintReply

BlueprintCase = FaultCase[BlueprintReply]


def omit_rule(case: BlueprintCase, dice: random.Random) -> Spoilt | None:
    """A rule is not told, so whoever builds by the blueprint does not enforce it."""
    for operation in shuffle(case.domain.changes, dice):
        for rule in operation.must:
            met = case.find_trials(operation.name, lambda code, wanted=rule.code: code == wanted)
            lax = _without_rule(case.domain, rule.rule)
            rules = [each for each in case.reply.rules if each in set(write_blueprint(lax).rules)]
            if met and len(rules) < len(case.reply.rules):
                return _build(case, {"rules": rules}, lax, met)
    return None


def contradict_rule(case: BlueprintCase, dice: random.Random) -> Spoilt | None:
    """A rule is told twice, with another number the second time."""
    numbered = [each for each in case.reply.rules if re.search(r"\d+", each)]
    if not numbered:
        return None
    rule = dice.choice(numbered)
    other = re.sub(r"\d+", lambda found: str(int(found[0]) + 2), rule, count=1)
    return _make_spoilt(
        case, {"rules": [*case.reply.rules, other]}, f"Both are told: {rule!r} and {other!r}."
    )


def change_limit(case: BlueprintCase, dice: random.Random) -> Spoilt | None:
    """A limit in the rules is higher than was meant."""
    names = [
        name
        for name in case.domain.limits
        if write_blueprint(_raise_limit(case.domain, name)).rules != case.reply.rules
    ]
    dice.shuffle(names)
    for name in names:
        lax = _raise_limit(case.domain, name)
        met = [
            each
            for each in case.tried[1]
            if each.code and _mentions(case.domain.operations[each.call.name], name, each.code)
        ]
        if met:
            return _build(case, {"rules": write_blueprint(lax).rules}, lax, met)
    return None


def plan_nameless(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """A tool bears a name that consumers use themselves."""
    name = dice.choice(("reset", "state", "verify", "close", "_lookup", "get__all"))
    tools = _dump_tools(case)
    dice.choice(tools)["name"] = name
    return _make_spoilt(case, {"tools": tools}, f"A tool is called {name!r}.")


def plan_twice(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """One tool is planned two times."""
    tools = _dump_tools(case)
    twin = dice.choice(tools)
    return _make_spoilt(case, {"tools": [*tools, twin]}, f"{twin['name']} is planned twice.")


def plan_more(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """A tool is planned for something that no collection and no rule speaks of."""
    name = dice.choice(
        ("send_notification", "export_report", "generate_invoice_pdf", "sync_external_system")
    )
    tool = {"name": name, "description": "Does what the office needs besides.", "effect": "change"}
    return _make_spoilt(
        case,
        {"tools": [*_dump_tools(case), tool]},
        f"No collection holds anything that {name} could change.",
    )


def swap_effect(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """A tool that writes is planned as one that reads."""
    name = dice.choice([each.name for each in case.domain.changes])
    tools = [
        each | {"effect": "query"} if each["name"] == name else each for each in _dump_tools(case)
    ]
    return _make_spoilt(
        case, {"tools": tools}, f"{name} changes records and is planned as a query."
    )


def omit_collection(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """The tools work on records that no collection holds."""
    name = dice.choice(list(case.reply.collections))
    left = {key: value for key, value in case.reply.collections.items() if key != name}
    return _make_spoilt(case, {"collections": left}, f"Tools change {name}, which is not planned.")


def omit_attribute(case: BlueprintCase, dice: random.Random) -> Spoilt:
    """A record lacks an attribute that rules ask for."""
    name = dice.choice([key for key, value in case.reply.collections.items() if len(value) > 1])
    attribute = dice.choice(case.reply.collections[name][1:])
    left = [each for each in case.reply.collections[name] if each != attribute]
    return _make_spoilt(
        case,
        {"collections": case.reply.collections | {name: left}},
        f"{name} have no {attribute}, which the operations use.",
    )


def plan_reads_only(case: BlueprintCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Nothing can be changed, so no scenario has a goal."""
    tools = [each for each in _dump_tools(case) if each["effect"] == "query"]
    return _make_spoilt(case, {"tools": tools}, "No tool changes anything.")


def _dump_tools(case: BlueprintCase) -> list[dict[str, str]]:
    return [each.model_dump(mode="json") for each in case.reply.tools]


def _make_spoilt(case: BlueprintCase, update: Json, words: str) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | update, words=words)


def _build(case: BlueprintCase, update: Json, lax: Domain, met: Iterable[RuleTrial]) -> Spoilt:
    """The blueprint, and the program that keeps to it, on calls that the rule as it was meant
    refuses."""
    version = case.render(write_program(lax))
    return Spoilt(
        case.reply.model_dump(mode="json") | update,
        case.pair(version, map(case.trace, filter(_is_met, met))),
    )


def _is_met(trial: RuleTrial) -> bool:
    return is_refused(trial.code)


def _without_rule(domain: Domain, told: str) -> Domain:
    operations = {
        name: replace(each, must=tuple(rule for rule in each.must if rule.rule != told))
        for name, each in domain.operations.items()
    }
    return replace(domain, operations=operations)


def _raise_limit(domain: Domain, name: str) -> Domain:
    return replace(domain, limits=domain.limits | {name: (domain.limits[name][0] + 2,)})


def _mentions(operation: Operation, limit: str, code: str) -> bool:
    in_rules = any(each.code == code and limit in each.that for each in operation.must)
    return in_rules or any(
        limit in (each.between or ()) and code == f"{each.name}_out_of_range"
        for each in operation.takes
    )
