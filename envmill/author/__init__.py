"""The offline author: answers the factory's prompts from domain knowledge instead of a model, with a model's mistakes.

    brief ──compose──► model of the domain ──► blueprint · program · tests · scenario ──faults──► reply text

It is plumbing and a generator in its own right; its pass rates say nothing about difficulty.
"""

from collections.abc import Callable
from typing import Any

from envmill.author.blueprint import write_blueprint
from envmill.author.compose import compose_domain
from envmill.author.dice import make_dice
from envmill.author.domain import Domain
from envmill.author.faults import ANYWHERE, Case, Fault, pick_fault, plant_kind, spell_reply
from envmill.author.faults.repair import end_repair
from envmill.author.knowledge import themes
from envmill.author.program import name_class, write_program
from envmill.author.scenario import write_scenario
from envmill.author.tests import write_tests
from envmill.errors import SettingsError
from schemas.base import Contract, Json
from schemas.prompts import BlueprintInput, ProgramInput, ProgramReply, ScenarioInput, TestsInput
from schemas.seed import Brief

__all__ = ["answer", "plant", "planted", "themes"]


def answer(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """The reply text of a prompt: JSON of its reply record, unless a mistake is planted. Same arguments, same bytes."""
    case = _open_case(prompt, inputs, seed, sample)
    fault = _find_fault(prompt, case, inputs, sample, mistakes)
    return fault.text if fault else spell_reply(case.reply)


def planted(prompt: str, inputs: Json, seed: int, sample: int, mistakes: float) -> str:
    """Name of the mistake that `answer` plants for the same arguments; empty when the reply is clean."""
    fault = _find_fault(prompt, _open_case(prompt, inputs, seed, sample), inputs, sample, mistakes)
    return fault.kind if fault else ""


def plant(prompt: str, kind: str, inputs: Json, seed: int, sample: int) -> Fault | None:
    """A mistake of one kind, whatever chance says; none where this reply has no place for it."""
    return plant_kind(prompt, kind, _open_case(prompt, inputs, seed, sample))


def _open_case(prompt: str, inputs: Json, seed: int, sample: int) -> Case[Any]:
    if prompt not in WRITERS:
        raise SettingsError(f"The offline author knows no prompt {prompt!r}: use one of {', '.join(sorted(WRITERS))}.", prompt=prompt)
    brief = Brief.model_validate(inputs["brief"])
    domain = compose_domain(brief, seed)
    key = f"{brief.number}/{seed}/{inputs.get('number', '')}/{sample}"
    return Case(brief, domain, seed, key, WRITERS[prompt](inputs, domain, seed, sample))


def _find_fault(prompt: str, case: Case[Any], inputs: Json, sample: int, mistakes: float) -> Fault | None:
    if prompt == "program" and inputs.get("failure"):
        return _repair(case, ProgramInput.model_validate(inputs), sample) if mistakes > 0 else None
    dice = make_dice("mistake", prompt, inputs, case.seed, sample)
    return pick_fault(prompt, case, dice) if dice.random() < mistakes else None


def _repair(case: Case[Any], asked: ProgramInput, sample: int) -> Fault | None:
    """What is wrong with a repaired program: nothing, what was wrong before, or something else."""
    dice = make_dice("repair", asked.model_dump(mode="json"), case.seed, sample)
    ending = end_repair(asked.failure, dice)
    if ending == "mended" or asked.failed_source == case.reply.source:
        return None
    if ending == "mended_wrongly":
        return pick_fault("program", case, dice, without=frozenset(ANYWHERE))
    clean = spell_reply(case.reply)
    return Fault("unmended", spell_reply(case.reply.model_copy(update={"source": asked.failed_source})), clean)


def _answer_blueprint(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    BlueprintInput.model_validate(inputs)
    return write_blueprint(domain)


def _answer_program(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    ProgramInput.model_validate(inputs)
    return ProgramReply(source=write_program(domain), class_name=name_class(domain))


def _answer_tests(inputs: Json, domain: Domain, seed: int, _sample: int) -> Contract:
    TestsInput.model_validate(inputs)
    return write_tests(domain, seed)


def _answer_scenario(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    asked = ScenarioInput.model_validate(inputs)
    return write_scenario(domain, f"{asked.brief.number}/{seed}/{asked.number}/{sample}", asked.number)


WRITERS: dict[str, Callable[[Json, Domain, int, int], Contract]] = {
    "blueprint": _answer_blueprint,
    "program": _answer_program,
    "tests": _answer_tests,
    "scenario": _answer_scenario,
}
