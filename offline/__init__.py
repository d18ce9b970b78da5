"""The offline author: answers the factory's prompts from domain knowledge instead of a model, with
a model's mistakes.

    brief ──compose──► model of the domain ──► blueprint · program · tests · scenario · checks · opinions ──faults──► reply text

It is plumbing and a generator in its own right; its pass rates say nothing about difficulty.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from envmill.base.errors import SettingsError
from envmill.toolgraph.references import walk_nodes
from offline import desks, errands, growing, linking, rewording, sketching, systems, tabling
from offline.blueprint import write_blueprint
from offline.chaining import find_whole, is_whole, list_touched, spread_samples, write_chain
from offline.compose import compose_domain
from offline.consent import lead
from offline.dice import make_dice
from offline.domain import Domain
from offline.faults import ANYWHERE, FaultCase, PlantedFault, pick_fault, plant_kind, render_reply
from offline.faults.repair import end_repair, find_full, find_variant
from offline.following import follow, lead_along
from offline.graphs import write_graph
from offline.mining import judge_text, place_text
from offline.opinions import (
    answer_coverage,
    answer_suspicion,
    judge_call,
    map_request,
    read_request,
    rule_on,
    write_calls,
    write_checks,
)
from offline.parts import write_methods, write_skeleton
from offline.planning import keep_to_line, write_errands, write_harder
from offline.polarities import Twins, make_twins, write_polar
from offline.program import name_class, write_program
from offline.renderings import RENDERINGS
from offline.requests import share_wishes, write_requests
from offline.scenario import LADDER
from offline.serving import claim_identities
from offline.tests import write_tests
from schemas.base import Contract, Json
from schemas.chain import Chain, ChainStep, Infeasible
from schemas.document_prompts import WalkInput, WalkReply
from schemas.fairness import MapperInput
from schemas.prompts import (
    BlueprintInput,
    CheckerInput,
    ChecksInput,
    MethodsInput,
    ProgramInput,
    ProgramReply,
    ScenarioInput,
    ScenarioReply,
    SkeletonInput,
    TesterInput,
    TestsInput,
    ThemeInput,
)
from schemas.reading import ReaderInput
from schemas.ruling import RulingInput
from schemas.seed import Brief
from schemas.suspicion import SuspicionInput
from schemas.tool_prompts import ChainInput, ChainReply, SampledReply
from schemas.typed_prompts import TopologyInput, TopologyReply

_APART = 1_000_000
"""Between two variants of a reply: each is as another sample would be. What is wrong with a clean
scenario may lie in its state."""
_TRIES, _FURTHER = 12, 1_000 * _APART
"""A variant is thought of again, that far on, until it has as much in it as the first: a repair
with less is refused."""

_PLANNED = ("errand", "taken", "requests", "servers", "shared")
"""What a plan adds to the prompt of a scenario: whether a mistake is made does not depend on it."""
_MACHINES: dict[str, Any] = dict.fromkeys(errands.WRITERS, errands) | dict.fromkeys(
    systems.WRITERS, systems
)
_NO_CHANCE = ("policy", "results", *_PLANNED)
"""The same of a first version; the policy document came from here."""
_TOLD_LATER = (
    "tests",
    "trials",
    "scenario",
    "errands",
    "harder",
    "walk",
    "chain",
    "dag",
    "topology",
)
"""Prompts that got the summary of the place later than others. Chance does not depend on it there,
so that a run makes the same mistakes as before."""

__all__ = ["answer", "plant", "planted", "twin"]


def answer(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """The reply text of a prompt: JSON of its reply record, unless a mistake is planted. Same
    arguments, same bytes.

    `talk` is the conversation after the prompt: earlier replies and what was complained about them, in turn.
    """
    if apart := _find_apart(prompt, inputs):
        return apart.answer(prompt, inputs, seed, sample, mistakes, talk)
    case = _open_case(prompt, inputs, seed, sample, talk)
    fault = _find_fault(prompt, case, inputs, sample, mistakes, talk)
    return fault.text if fault else render_reply(case.reply)


def planted(
    prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
) -> str:
    """Name of the mistake that `answer` plants for the same arguments; empty when the reply is
    clean."""
    if apart := _find_apart(prompt, inputs):
        return apart.planted(prompt, inputs, seed, sample, mistakes, talk)
    fault = _find_fault(
        prompt, _open_case(prompt, inputs, seed, sample, talk), inputs, sample, mistakes, talk
    )
    return fault.kind if fault else ""


def _find_apart(prompt: str, inputs: Json) -> Any:
    """The author of machines or of desks, where a prompt is theirs."""
    return desks if desks.is_asked(prompt, inputs) else _MACHINES.get(prompt)


def plant(prompt: str, kind: str, inputs: Json, seed: int, sample: int) -> PlantedFault | None:
    """A mistake of one kind, whatever chance says; none where this reply has no place for it."""
    case = _open_case(prompt, inputs, seed, sample)
    return None if _is_infeasible(case.reply) else plant_kind(prompt, kind, case)


def twin(inputs: Json, seed: int, sample: int) -> Twins | None:
    """Both sides of a scenario in which nothing may change: what `answer` writes, and the twin that
    differs in one fact."""
    asked = ScenarioInput.model_validate(inputs)
    domain = compose_domain(asked.brief, seed)
    return make_twins(
        domain, asked.polarity, f"{asked.brief.number}/{seed}/{asked.number}/{sample}"
    )


def _open_case(
    prompt: str, inputs: Json, seed: int, sample: int, talk: Sequence[str] = ()
) -> FaultCase[Any]:
    if prompt not in WRITERS:
        raise SettingsError(
            f"The offline author knows no prompt {prompt!r}: use one of "
            f"{', '.join(sorted(WRITERS))}.",
            prompt=prompt,
        )
    brief = _find_brief(prompt, inputs)
    domain = compose_domain(brief, seed)
    domain = replace(domain, kind="sql") if tabling.speaks_of_tables(prompt, inputs) else domain
    key = f"{brief.number}/{seed}/{inputs.get('number', '')}/{sample}"

    def write(variant: int) -> Contract:
        tried = (
            WRITERS[prompt](inputs, domain, seed, sample + variant * _APART + again * _FURTHER)
            for again in range(_TRIES)
        )
        return find_full(write(0), tried) if variant else next(tried)

    variant = find_variant(talk, lambda number: render_reply(write(number))) if talk else 0
    return FaultCase(brief, domain, seed, key, write(variant), inputs)


def _find_brief(prompt: str, inputs: Json) -> Brief:
    """What is asked about; before there is a brief the place a text comes from, or any, as for
    questions about texts alone."""
    if prompt in ("theme", "names", "label", "suspicion", "reader", "mapper", "coverage"):
        return place_text(inputs.get("text", ""))
    return Brief.model_validate(inputs["brief"])


def _find_fault(
    prompt: str,
    case: FaultCase[Any],
    inputs: Json,
    sample: int,
    mistakes: float,
    talk: Sequence[str],
) -> PlantedFault | None:
    if not case.domain.changes or _is_infeasible(case.reply):
        # documents of which no tool that writes could be written, or no scenario: nothing is left
        # to spoil
        return None
    if talk:
        return _repair(prompt, case, inputs, sample, talk) if mistakes > 0 else None
    dice = make_dice("mistake", prompt, _leave_out(prompt, inputs, _NO_CHANCE), case.seed, sample)
    return (
        pick_fault(prompt, case, dice)
        if dice.random() < mistakes ** _lean(prompt, case.seed)
        else None
    )


def _leave_out(prompt: str, inputs: Json, names: Sequence[str]) -> dict[str, Json]:
    """What chance depends on."""
    left = (*names, "summary") if prompt in _TOLD_LATER else names
    return {name: value for name, value in inputs.items() if name not in left}


def _is_infeasible(reply: Contract) -> bool:
    return isinstance(reply, SampledReply) and reply.infeasible is not None


def _lean(prompt: str, seed: int) -> float:
    """How much less or more often than others this one errs: judges differ, and whoever asks them
    has to find out."""
    return 0.6 + make_dice("lean", prompt, seed).random() if prompt == "checker" else 1.0


def _repair(
    prompt: str, case: FaultCase[Any], inputs: Json, sample: int, talk: Sequence[str]
) -> PlantedFault | None:
    """What is wrong with a repaired reply: nothing, what was wrong before, or something else. A
    clean one is not made worse."""
    clean, before = _open_case(prompt, inputs, case.seed, sample, talk[:-2]), talk[-2]
    if before == render_reply(clean.reply):
        return None
    dice = make_dice(
        "repair",
        _leave_out(prompt, inputs, _PLANNED),
        list(talk),
        case.seed,
        sample,
    )
    ending = end_repair(dice)
    if ending == "mended":
        return None
    fault = (
        pick_fault(prompt, case, dice, without=frozenset(ANYWHERE))
        if ending == "mended_wrongly"
        else None
    )
    # Another fault drawn may be the one that was there.
    same = ending == "unmended" or (fault is not None and fault.text == before)
    return PlantedFault("unmended", before, render_reply(case.reply)) if same else fault


def _answer_theme(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    return judge_text(ThemeInput.model_validate(inputs).text)


def _answer_blueprint(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    BlueprintInput.model_validate(inputs)
    return write_blueprint(domain)


def _answer_program(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    ProgramInput.model_validate(inputs)
    return ProgramReply(source=write_program(domain), class_name=name_class(domain))


def _answer_skeleton(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    SkeletonInput.model_validate(inputs)
    return write_skeleton(domain)


def _answer_methods(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    return write_methods(domain, MethodsInput.model_validate(inputs).wanted)


def _answer_tests(inputs: Json, _domain: Domain, seed: int, _sample: int) -> Contract:
    return write_tests(TestsInput.model_validate(inputs).brief, seed)


def _answer_errands(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    return write_errands(_write_scenario, inputs, domain, seed, sample, _APART)


def _answer_harder(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    return write_harder(_write_scenario, inputs, domain, seed, sample, _APART)


def _answer_scenario(inputs: Json, domain: Domain, seed: int, sample: int) -> ScenarioReply:
    return keep_to_line(_write_scenario, inputs, domain, seed, sample)


def _write_scenario(inputs: Json, domain: Domain, seed: int, sample: int) -> ScenarioReply:
    asked = ScenarioInput.model_validate(inputs)
    key = f"{asked.brief.number}/{seed}/{asked.number}/{sample}"
    reply = write_polar(domain, asked.polarity, key, asked.number, results=asked.results)
    return reply.model_copy(
        update={"initial_state": RENDERINGS[domain.kind].settle(domain, reply.initial_state)}
    )


def _answer_chain(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    told, asked = cut_offer(inputs), ChainInput.model_validate(inputs)
    if not asked.binding or asked.sampled is None:
        return write_chain(_answer_scenario(told, domain, seed, sample), domain)
    return _follow_chain(told, asked.sampled, domain, seed, sample)


def _answer_walk(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    told, asked = cut_offer(inputs), WalkInput.model_validate(inputs)
    try:
        if not asked.binding or asked.sampled is None:
            walk = tuple(_list_tools(asked.sampled) if asked.sampled else ())
            return _answer_scenario(told, replace(domain, walk=walk), seed, sample)
        found = _find_following(told, asked.sampled, domain, seed, sample)
    except SettingsError as error:
        # Nobody wrote these domains with scenarios in mind: where one allows none, the draft goes
        # as any does that achieves nothing.
        return ScenarioReply(
            initial_state={name: {} for name in domain.collections}, request=str(error), oracle=[]
        )
    return (
        found
        if isinstance(found, ScenarioReply)
        else WalkReply(initial_state={}, request="", oracle=[], infeasible=found)
    )


def _answer_topology(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    """The changes of the sampled chain, in its order; lookups as somebody needs them who knows only
    names."""
    told, asked = cut_offer(inputs), TopologyInput.model_validate(inputs)
    reply = _write_topology(told, asked, inputs, domain, seed, sample)
    if not domain.servers or not isinstance(reply, ChainReply) or asked.polarity != "achieve":
        return reply
    return TopologyReply.model_validate(
        reply.model_dump() | {"identities": claim_identities(domain, reply.initial_state)}
    )


def _write_topology(
    told: Json, asked: TopologyInput, inputs: Json, domain: Domain, seed: int, sample: int
) -> Contract:
    if asked.requests > 1:
        return _ask_in_turn(told, asked, domain, seed, sample)
    steps = _list_tools(asked.sampled) if asked.sampled else []
    try:
        if asked.binding and asked.sampled is not None:
            return _follow_chain(told, asked.sampled, domain, seed, sample, inputs["tools"])
        led = replace(domain, walk=lead(domain, steps, asked.number))
        tried = (
            write_chain(_answer_scenario(told, led, seed, each), domain)
            for each in spread_samples(sample)
        )
        return find_whole(tried, inputs["tools"])
    except SettingsError as error:
        return _write_no_chain(str(error), domain)


def _answer_dag(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    return write_graph(_answer_topology, inputs, domain, seed, sample)


def _ask_in_turn(
    told: Json, asked: TopologyInput, domain: Domain, seed: int, sample: int
) -> Contract:
    """Several requests, each for some of the wishes. A sampled chain leads where it can, and is
    given up where it would bind."""
    led = domain
    if asked.binding and asked.sampled is not None:
        found = lead_along(domain, asked.sampled)
        if isinstance(found, Infeasible):
            return _write_no_chain("", domain).model_copy(update={"infeasible": found})
        led = found
    # The number says how many servers are used, too: it is changed by whole turns of that.
    numbers = range(asked.number, asked.number + 4 * len(LADDER), max(1, len(domain.servers) - 1))
    enough = [each for each in numbers if LADDER[each % len(LADDER)] >= asked.requests] or [
        asked.number
    ]
    reply: Contract = _write_no_chain("There are too few wishes.", domain)
    for number, each in product(enough, spread_samples(sample)):
        try:
            written = _answer_scenario(told | {"number": number, "results": False}, led, seed, each)
        except SettingsError:
            continue
        found = (
            follow(written, asked.sampled, led)
            if asked.binding and asked.sampled is not None
            else written
        )
        if isinstance(found, Infeasible):
            reply = _write_no_chain("", domain).model_copy(update={"infeasible": found})
        elif shares := share_wishes(written, found.oracle, domain, asked.requests):
            return write_requests(write_chain(found, domain), shares)
    return reply


def _follow_chain(
    told: Json, sampled: Chain, domain: Domain, seed: int, sample: int, tools: Sequence[Json] = ()
) -> Contract:
    """A chain of its own that contains the sampled one, and is of one piece where tools are
    given."""
    found = _find_following(told, sampled, domain, seed, sample, tools)
    if isinstance(found, ScenarioReply):
        return write_chain(found, domain)
    return _write_no_chain("", domain).model_copy(update={"infeasible": found})


def _find_following(
    told: Json, sampled: Chain, domain: Domain, seed: int, sample: int, tools: Sequence[Json] = ()
) -> ScenarioReply | Infeasible:
    """The first of a few scenarios whose path contains the chain; else why the last one does
    not."""
    led = lead_along(domain, sampled)
    if isinstance(led, Infeasible):
        return led
    touched, found = list_touched(tools), None
    for each in spread_samples(sample):
        try:
            found = follow(_answer_scenario(told, led, seed, each), sampled, led)
        except SettingsError:
            continue
        if isinstance(found, ScenarioReply) and (
            not tools or is_whole(write_chain(found, led), touched)
        ):
            return found
    return (
        found
        if isinstance(found, Infeasible)
        else Infeasible(node=_list_steps(sampled)[-1].id, reason=_APART_WORDS)
    )


_APART_WORDS = "What the person wants has parts that nothing ties to each other."


def _write_no_chain(words: str, domain: Domain) -> ChainReply:
    return ChainReply(
        initial_state={name: {} for name in domain.collections},
        request=words,
        chain=Chain(sampler="author", nodes=[]),
    )


def cut_offer(inputs: Json) -> Json:
    """What is told apart from the chain that is offered: the same place has the same state,
    whatever is offered."""
    return {
        name: value
        for name, value in inputs.items()
        if name not in ("sampled", "binding", "carried_out", "requests", "servers", "shared")
    }


def _list_steps(chain: Chain) -> list[ChainStep]:
    return [one.node for one in walk_nodes(chain.nodes) if isinstance(one.node, ChainStep)]


def _list_tools(chain: Chain) -> list[str]:
    return [step.tool for step in _list_steps(chain)]


def _answer_checks(inputs: Json, domain: Domain, _seed: int, _sample: int) -> Contract:
    return write_checks(ChecksInput.model_validate(inputs), domain)


def _answer_tester(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    return write_calls(TesterInput.model_validate(inputs), domain, f"{seed}/{sample}")


def _answer_checker(inputs: Json, domain: Domain, seed: int, sample: int) -> Contract:
    return judge_call(CheckerInput.model_validate(inputs), domain, f"{seed}/{sample}")


def _answer_ruling(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    return rule_on(RulingInput.model_validate(inputs))


def _answer_suspicion(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    return answer_suspicion(SuspicionInput.model_validate(inputs))


def _answer_reader(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    return read_request(ReaderInput.model_validate(inputs))


def _answer_mapper(inputs: Json, _domain: Domain, _seed: int, _sample: int) -> Contract:
    return map_request(MapperInput.model_validate(inputs))


WRITERS: dict[str, Callable[[Json, Domain, int, int], Contract]] = {
    "theme": _answer_theme,
    "blueprint": _answer_blueprint,
    "program": _answer_program,
    "skeleton": _answer_skeleton,
    "methods": _answer_methods,
    "tests": _answer_tests,
    "errands": _answer_errands,
    "harder": _answer_harder,
    "scenario": _answer_scenario,
    "chain": _answer_chain,
    "walk": _answer_walk,
    "topology": _answer_topology,
    "dag": _answer_dag,
    "reword": rewording.answer_reword,
    "grow": growing.answer_grow,
    "natural": growing.answer_natural,
    "checks": _answer_checks,
    "tester": _answer_tester,
    "checker": _answer_checker,
    "ruling": _answer_ruling,
    "suspicion": _answer_suspicion,
    "reader": _answer_reader,
    "mapper": _answer_mapper,
    "coverage": answer_coverage,
    "label": linking.answer_label,
    "names": tabling.answer_names,
    "requirements": tabling.answer_requirements,
    "schema": tabling.answer_schema,
    "rows": tabling.answer_rows,
    "interface": tabling.answer_interface,
    "code": tabling.answer_code,
    "trials": tabling.answer_trials,
    "errors": tabling.answer_errors,
    "toolset": tabling.answer_toolset,
    "cases": tabling.answer_cases,
    "debug": tabling.answer_debug,
    "sketch": sketching.answer_sketch,
    "state": sketching.answer_state,
    "metadata": sketching.answer_metadata,
}
