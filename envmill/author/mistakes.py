"""Mistakes that models really make, planted by rate and seed, and always the same for the same question.

prose_around     words and a code fence around the JSON                any prompt
truncated_json   the reply stops early                                 any prompt
syntax_error     the program does not parse                            program
unenforced_rule  one rule is missing; a stored test shows it           program
rejected_oracle  the reference path holds a call that is rejected      scenario
"""

import ast
import random
from dataclasses import replace

from envmill.author.dice import make_dice
from envmill.author.domain import Domain
from envmill.author.draw import draw_arguments
from envmill.author.program import write_program
from envmill.author.tests import Trial, try_operations
from envmill.author.world import World
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ProgramInput, ScenarioReply

ANYWHERE = ("prose_around", "truncated_json")
CATALOGUE: dict[str, tuple[str, ...]] = {
    "blueprint": ANYWHERE,
    "program": (*ANYWHERE, "syntax_error", "unenforced_rule"),
    "tests": ANYWHERE,
    "scenario": (*ANYWHERE, "rejected_oracle"),
}
MENDED = 0.8
"""How often a repair mends the fault it is shown."""


def pick_mistake(prompt: str, inputs: Json, seed: int, sample: int, rate: float) -> str:
    """The mistake for a first try; empty when there is none."""
    dice = make_dice("mistake", prompt, inputs, seed, sample)
    return dice.choice(CATALOGUE[prompt]) if dice.random() < rate else ""


def keeps_fault(asked: ProgramInput, seed: int, sample: int, rate: float) -> bool:
    """Whether a repair sends the failed version once more."""
    dice = make_dice("repair", asked.model_dump(mode="json"), seed, sample)
    return rate > 0 and bool(asked.failed_source) and dice.random() >= MENDED


def name_fault(source: str, clean: str) -> str:
    """Which of our own faults a program carries."""
    try:
        ast.parse(source)
    except SyntaxError:
        return "syntax_error"
    return "" if source == clean else "unenforced_rule"


def break_syntax(source: str, dice: random.Random) -> str:
    """Lose the colon at the end of one `def` line."""
    lines = source.split("\n")
    spot = dice.choice([number for number, line in enumerate(lines) if line.lstrip().startswith("def ")])
    lines[spot] = lines[spot].removesuffix(":")
    return "\n".join(lines)


def forget_rule(domain: Domain, seed: int, dice: random.Random) -> str:
    """The program without one rule; a stored test witnesses that it is gone."""
    witnesses = [each for each in try_operations(domain, seed)[1] if _find_rule(each, domain)]
    trial = dice.choice(witnesses)
    operation = domain.operations[trial.call.name]
    forgetful = replace(operation, must=tuple(each for each in operation.must if each.code != trial.code))
    # The rules in the class's docstring stay: a model that forgets a check has still read the rules.
    return write_program(domain, {**domain.operations, operation.name: forgetful})


def _find_rule(trial: Trial, domain: Domain) -> bool:
    return any(each.code == trial.code for each in domain.operations[trial.call.name].must)


def reject_oracle(reply: ScenarioReply, domain: Domain, world: World, dice: random.Random) -> ScenarioReply:
    """Slip a change into the reference path that the rules forbid at the start and at the end."""
    end = world.copy()
    for call in reply.oracle:
        operation = domain.operations[call.name]
        if operation.effect == "change":
            end.apply(operation, call.arguments)
    while True:
        operation = dice.choice(domain.changes)
        arguments = draw_arguments(operation, world, world.state, dice, wild=0.1)
        if operation.takes and not world.allows(operation, arguments) and not end.allows(operation, arguments):
            return reply.model_copy(update={"oracle": [*reply.oracle, Call(name=operation.name, arguments=arguments)]})


def add_prose(text: str, dice: random.Random) -> str:
    """Wrap the JSON the way chatty models do."""
    before = dice.choice(("Sure! Here is what you asked for:", "I thought about the rules first. The result:", "Here you go."))
    return f"{before}\n\n```json\n{text}\n```\n\nLet me know if anything should be different."


def truncate(text: str, dice: random.Random) -> str:
    """Stop early, as at a token limit."""
    return text[: dice.randrange(len(text) * 4 // 10, len(text) * 9 // 10)]
