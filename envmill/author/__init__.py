"""The offline author: answers the factory's prompts from domain knowledge instead of a model, with a model's mistakes.

    brief ──compose──► model of the domain ──► blueprint · program · tests · scenario ──mistakes──► reply text

It is plumbing and a generator in its own right; its pass rates say nothing about difficulty.
"""

import json
from collections.abc import Callable
from datetime import date

from envmill.author import mistakes as faults
from envmill.author.blueprint import write_blueprint
from envmill.author.compose import compose_domain
from envmill.author.dice import make_dice
from envmill.author.domain import Domain
from envmill.author.knowledge import themes
from envmill.author.program import name_class, write_program
from envmill.author.scenario import write_scenario
from envmill.author.tests import write_tests
from envmill.author.world import World
from envmill.errors import SettingsError
from schemas.base import Json
from schemas.prompts import BlueprintInput, ProgramInput, ProgramReply, ScenarioInput, TestsInput

__all__ = ["answer", "planted", "themes"]


def answer(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """The reply text of a prompt: JSON of its reply record, unless a mistake is planted. Same arguments, same bytes."""
    mistake = planted(prompt, inputs, seed, sample, mistakes)
    dice = make_dice("spoil", prompt, inputs, seed, sample)
    text = json.dumps(WRITERS[prompt](inputs, seed, sample, mistake), ensure_ascii=False)
    if mistake == "prose_around":
        return faults.add_prose(text, dice)
    return faults.truncate(text, dice) if mistake == "truncated_json" else text


def planted(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """Name of the mistake that `answer` plants for the same arguments; empty when the reply is clean."""
    if prompt not in WRITERS:
        raise SettingsError(f"The offline author knows no prompt {prompt!r}: use one of {', '.join(sorted(WRITERS))}.", prompt=prompt)
    if prompt == "program" and inputs.get("failure"):
        asked = ProgramInput.model_validate(inputs)
        clean = write_program(compose_domain(asked.brief, seed))
        return faults.name_fault(asked.failed_source, clean) if faults.keeps_fault(asked, seed, sample, mistakes) else ""
    return faults.pick_mistake(prompt, inputs, seed, sample, mistakes)


def _answer_blueprint(inputs: Json, seed: int, _sample: int, _mistake: str) -> Json:
    return write_blueprint(compose_domain(BlueprintInput.model_validate(inputs).brief, seed)).model_dump(mode="json")


def _answer_program(inputs: Json, seed: int, sample: int, mistake: str) -> Json:
    asked = ProgramInput.model_validate(inputs)
    domain = compose_domain(asked.brief, seed)
    source = asked.failed_source if mistake and asked.failure else _write_source(domain, mistake, seed, sample)
    return ProgramReply(source=source, class_name=name_class(domain)).model_dump(mode="json")


def _write_source(domain: Domain, mistake: str, seed: int, sample: int) -> str:
    dice = make_dice("source", domain.theme, seed, sample)
    if mistake == "syntax_error":
        return faults.break_syntax(write_program(domain), dice)
    return faults.forget_rule(domain, seed, dice) if mistake == "unenforced_rule" else write_program(domain)


def _answer_tests(inputs: Json, seed: int, _sample: int, _mistake: str) -> Json:
    return write_tests(compose_domain(TestsInput.model_validate(inputs).brief, seed), seed).model_dump(mode="json")


def _answer_scenario(inputs: Json, seed: int, sample: int, mistake: str) -> Json:
    asked = ScenarioInput.model_validate(inputs)
    domain = compose_domain(asked.brief, seed)
    key = f"{asked.brief.number}/{seed}/{asked.number}/{sample}"
    reply = write_scenario(domain, key)
    if mistake == "rejected_oracle":
        world = World(domain, reply.initial_state, date.min, key)
        reply = faults.reject_oracle(reply, domain, world, make_dice("oracle", key))
    return reply.model_dump(mode="json")


WRITERS: dict[str, Callable[[Json, int, int, str], Json]] = {
    "blueprint": _answer_blueprint,
    "program": _answer_program,
    "tests": _answer_tests,
    "scenario": _answer_scenario,
}
