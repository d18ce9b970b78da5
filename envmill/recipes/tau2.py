"""Recipe `tau2`: a trade with a thing that the user holds → two sides → atoms → composed scenarios.

desk.md: sides, tools, couplings, clauses, goals, personas ─► desk_program.md, desk_tests.md
policy_prose.md: the clauses as a handbook ─► values by code, policy_reading.md ─► the document, or the clauses' sentences
atoms.md: healthy state, what breaks, what mends it ─► PROVED by execution
composer: atoms × personas by seed ─► PROVED ─► words.md: the user's words, facts held ─► scenario
"""

import re
from functools import partial

from envmill.base.errors import BadReply, BuildError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.kinds import kind_of
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.dialogue.composing import add_hidden
from envmill.kinds.dialogue.plan import FILE, read_dialogue
from envmill.kinds.dialogue.prose import (
    find_prose_faults,
    find_reading_faults,
    list_statements,
    write_exam,
)
from envmill.kinds.dialogue.wording import render_clause
from envmill.language.mentions import is_told
from envmill.language.words import find_words, split_words
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.asking import describe_origin
from envmill.recipes.base import PROMPTS, WHOLE, Recipe, Themes
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.themes import read_desks
from envmill.recipes.scenarios import read_source
from envmill.recipes.themes import find_theme, load_theme, pick_themes, seed_theme
from schemas.base import Json
from schemas.choice import NO_PAST, Past
from schemas.dialogue import Dialogue, Repertoire
from schemas.dialogue_prompts import (
    AtomsInput,
    AtomsReply,
    ComposedReply,
    DeskInput,
    DeskProgramInput,
    DeskReply,
    DeskTestsReply,
    PolicyProseInput,
    PolicyProseReply,
    PolicyReadingInput,
    PolicyReadingReply,
    SidedCollection,
    SidedTool,
    WordsInput,
    WordsReply,
)
from schemas.environment import Blueprint, Environment
from schemas.prompts import ProgramReply, ScenarioReply, TestsInput, TestsReply
from schemas.run import RecipeName, RunConfig
from schemas.seed import Seed

NAME: RecipeName = "tau2"
MANNERS = (
    "in two or three short sentences",
    "politely and at some length",
    "as a message with hardly any punctuation",
    "giving names and numbers first, then what is wrong",
    "as a numbered list of what is wrong",
    "annoyed, since it is not the first time",
    "unsure which of it matters, in the order in which it was noticed",
)
"""How users write, in turn; the number of manners and of personas have no common divisor."""
PROSE_TRIES = 2
"""Times that an author is asked for the policy in prose, before the clauses' sentences stand."""
_FOLDER = PROMPTS / NAME
_WORD = re.compile(r"[^\W\d_]{4,}")
_PART = re.compile(r"[,;.]|\band\b|\bso that\b|\bor\b")
_ANY = re.compile(r"[^\W\d_]{3,}")
_PLAIN = frozenset(
    split_words(
        """want would like need wish have has had get got that this these those with without from for
        the and not all any again back now soon properly please help able can could should must will
        work works working worked order once more both everything thing things right fine normal usual
        mine you your our its are was were been being done made make makes somebody someone who knows
        know told tell takes take over hands team case deal deals see look after into about when just
        only still too very well there here them they one ones put mended fixed repaired use used"""
    )
)
"""Words of a wish that promise nothing of their own."""


def make(_themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; it has trades of its own, or finds them in a corpus."""
    theme = load_theme()
    desk = Prompt.load(_FOLDER / "desk.md", DeskInput, DeskReply)
    prose = Prompt.load(_FOLDER / "policy_prose.md", PolicyProseInput, PolicyProseReply)
    reading = Prompt.load(_FOLDER / "policy_reading.md", PolicyReadingInput, PolicyReadingReply)
    program = Prompt.load(_FOLDER / "desk_program.md", DeskProgramInput, ProgramReply)
    tests = Prompt.load(_FOLDER / "desk_tests.md", TestsInput, DeskTestsReply)
    atoms = Prompt.load(_FOLDER / "atoms.md", AtomsInput, AtomsReply)
    words = Prompt.load(_FOLDER / "words.md", WordsInput, WordsReply)
    return Recipe(
        name=NAME,
        prompts={
            "environments-mine": (theme,),
            "environments-generate": (desk, prose, reading),
            "environments-build": (program, tests, atoms),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (words,),
        },
        pick_seeds=_pick_trades,
        find_theme=partial(find_theme, theme),
        make_seed=partial(seed_theme, NAME),
        think_up=partial(_ask_desk, desk, prose, reading),
        write_program=partial(_ask_program, program),
        write_tests=partial(_ask_tests, tests),
        write_atoms=partial(_ask_atoms, atoms),
        pose=partial(_ask_words, words),
    )


def _pick_trades(config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    trades = [(name, told["text"]) for name, told in read_desks().items()]
    return pick_themes(NAME, trades, config, past)


async def _ask_desk(
    prompt: Prompt,
    prose: Prompt,
    reading: Prompt,
    seed: Seed,
    repair: Repair,
    models: ModelSession,
    _before: Blueprint | None = None,
) -> Blueprint:
    """The plan of both sides; where nothing is wrong with it, its policy in prose."""
    asked = DeskInput(brief=seed.brief)
    reply = await models.ask(prompt, asked, DeskReply, complaint=repair.render())
    plan = Blueprint(
        kind="dialogue",
        brief=seed.brief,
        name=reply.name,
        summary=reply.summary,
        collections={name: held.attributes for name, held in reply.collections.items()},
        rules=reply.rules,
        tools=[tool.plan for tool in reply.tools],
        policy_document="",
        files={FILE: reply.dialogue.model_dump_json(indent=1)},
        signatures={tool.name: tool.signature for tool in reply.tools},
        licence=seed.licence,
        origin=describe_origin(seed, models, prompt),
    )
    if kind_of(plan).find_plan_faults(plan):
        return plan
    return await _word_policy(prose, reading, plan, models)


async def _word_policy(
    prose: Prompt, reading: Prompt, plan: Blueprint, models: ModelSession
) -> Blueprint:
    """The plan with its policy in prose that states each clause and nothing else; where two tries do
    not, the clauses' sentences stand, which the kind writes."""
    dialogue = read_dialogue(plan.files)
    inputs = PolicyProseInput(
        brief=plan.brief,
        name=plan.name,
        summary=plan.summary,
        statements=list_statements(dialogue.clauses),
    )
    faults, document = list[str](), ""
    for _ in range(PROSE_TRIES):
        told = "\n".join(f"{place}. {fault}" for place, fault in enumerate(faults, 1))
        try:
            reply = await models.ask(prose, inputs, PolicyProseReply, complaint=told)
            document = f"{reply.document.strip()}\n"
            faults = find_prose_faults(document, dialogue.clauses)
            faults = faults or await _read_policy(reading, plan, document, models)
        except BadReply as error:
            faults = [error.message]
        if not faults:
            return _settle_policy(plan, dialogue.model_copy(update={"policy": "prose"}), document)
    return _settle_policy(plan, dialogue.model_copy(update={"unworded": faults[0]}), "")


async def _read_policy(
    prompt: Prompt, plan: Blueprint, document: str, models: ModelSession
) -> list[str]:
    """What a second reading, of the prose alone, has against it."""
    exam = write_exam(read_dialogue(plan.files).clauses, f"{plan.brief.theme}/{plan.name}")
    inputs = PolicyReadingInput(
        brief=plan.brief, document=document, statements=dict(exam.statements)
    )
    reading = await models.ask(prompt, inputs, PolicyReadingReply, role="judge")
    return find_reading_faults(document, exam, reading)


def _settle_policy(plan: Blueprint, dialogue: Dialogue, document: str) -> Blueprint:
    files = {**plan.files, FILE: dialogue.model_dump_json(indent=1)}
    return Blueprint.model_validate(
        plan.model_dump(mode="json") | {"id": "", "files": files, "policy_document": document}
    )


async def _ask_program(
    prompt: Prompt,
    blueprint: Blueprint,
    before: ProgramReply | None,
    repair: Repair,
    models: ModelSession,
) -> ProgramReply:
    dialogue = read_dialogue(blueprint.files)
    inputs = DeskProgramInput(
        brief=blueprint.brief,
        name=blueprint.name,
        summary=blueprint.summary,
        collections=_list_collections(blueprint),
        rules=blueprint.rules,
        tools=_list_tools(blueprint),
        couplings=dialogue.couplings,
        policy=[render_clause(clause) for clause in dialogue.clauses],
    )
    told = repair.render()
    return await models.ask(prompt, inputs, ProgramReply, complaint=told, stands=before)


def _list_collections(blueprint: Blueprint) -> dict[str, SidedCollection]:
    sides = read_dialogue(blueprint.files).sides
    return {
        name: SidedCollection(side=sides[name], attributes=attributes)
        for name, attributes in blueprint.collections.items()
    }


def _list_tools(blueprint: Blueprint) -> list[SidedTool]:
    """The tools of a plan as their author wrote them."""
    dialogue, known = read_dialogue(blueprint.files), blueprint.signatures
    words = {"string": "text", "integer": "number", "boolean": "yes_no"}
    return [
        SidedTool.model_validate(
            tool.model_dump()
            | dialogue.touches[tool.name].model_dump()
            | {
                "side": "user" if tool.name in dialogue.user_tools else "agent",
                "takes": {
                    name: words[schema["type"]]
                    for name, schema in known[tool.name].inputs["properties"].items()
                },
                "unlocked_by": {
                    "tool": found.by.name,
                    "arguments": found.by.arguments,
                    "document": found.document,
                }
                if (found := dialogue.discoverable.get(tool.name))
                else None,
            }
        )
        for tool in blueprint.tools
    ]


async def _ask_tests(
    prompt: Prompt,
    environment: Environment,
    _before: TestsReply | None,
    repair: Repair,
    models: ModelSession,
    _rows: Json = None,
) -> TestsReply:
    """From several starts, each with all collections: an empty one is easily forgotten."""
    inputs = TestsInput(
        brief=environment.brief,
        summary=environment.summary,
        rules=environment.rules,
        tools=environment.tools,
        source=read_source(environment),
    )
    reply = await models.ask(prompt, inputs, DeskTestsReply, complaint=repair.render())
    empty: dict[str, Json] = {name: {} for name in read_dialogue(environment.files).sides}
    return reply.model_copy(update={"initial_state": empty | reply.initial_state})


async def _ask_atoms(
    prompt: Prompt,
    environment: Environment,
    before: Repertoire | None,
    repair: Repair,
    models: ModelSession,
) -> Repertoire:
    """Over the program as it is written."""
    dialogue = read_dialogue(environment.files)
    inputs = AtomsInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        rules=environment.rules,
        sides=dialogue.sides,
        tools=environment.tools,
        goals=dialogue.goals,
        clauses=[f"{clause.id}: {render_clause(clause)}" for clause in dialogue.clauses],
        source=read_source(environment),
    )
    stands = AtomsReply.model_validate(before.model_dump()) if before else None
    told = repair.render()
    reply = await models.ask(prompt, inputs, AtomsReply, complaint=told, stands=stands)
    return reply.repertoire


async def _ask_words(
    prompt: Prompt, brief: ScenarioBrief, repair: Repair, models: ModelSession
) -> ScenarioReply:
    """The composed scenario in the words of one user."""
    composed = brief.composed
    if not isinstance(composed, ComposedReply):
        words = "The environment has no atoms that scenarios could be composed of."
        raise BuildError(words, reason="nothing_composed")
    environment, facts, hidden = brief.environment, composed.facts, composed.hidden
    inputs = WordsInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        persona=composed.persona,
        manner=MANNERS[brief.number % len(MANNERS)],
        symptoms=composed.symptoms,
        handed=composed.handed,
        facts={name: value for name, value in facts.items() if name not in hidden},
        hidden={name: facts[name] for name in hidden},
        number=brief.number,
    )
    reply = await models.ask(prompt, inputs, WordsReply, complaint=repair.render())
    if fault := find_word_fault(reply, composed):
        raise BuildError(fault, reason="words")
    told = reply.model_dump() | {"request": add_hidden(reply.opening, facts, hidden)}
    return composed.model_copy(update=told)


def find_word_fault(reply: WordsReply, composed: ComposedReply) -> str:
    """What the user's words leave out, give away or add; empty where nothing."""
    facts, opening = composed.facts, reply.opening
    for name, value in facts.items():
        told = find_words(opening, str(value)) or is_told(value, opening)
        if name in composed.hidden and told:
            return f"The opening tells {name!r}, which is told only when asked for."
        if name not in composed.hidden and not told:
            return f"The opening does not tell {name!r} ({value!r})."
    plain = _list_stems(opening)
    for symptom in (*composed.symptoms, *composed.handed):
        words = _list_stems(symptom)
        if words and not words & plain:
            return f"The opening does not tell the symptom {symptom!r}."
    for name in composed.hidden:
        asked = reply.wordings.get(name, ())
        if len(asked) < 5:
            return f"`wordings` has fewer than five questions for {name!r}."
        if not _list_stems(name) & _list_stems(" ".join(asked)):
            words = "asks for it by a word of its name"
            return f"None of the questions in `wordings` for {name!r} {words}."
    return _find_told_later(reply, composed) or _find_strange_wish(reply, composed)


def _find_told_later(reply: WordsReply, composed: ComposedReply) -> str:
    """What gives a hidden fact to whoever asks for something else."""
    later = {"fallbacks": [*reply.fallbacks.values()], "goals": reply.goals, "stop": [reply.stop]}
    for name in composed.hidden:
        value = composed.facts[name]
        for field, told in later.items():
            if any(find_words(words, str(value)) or is_told(value, words) for words in told):
                return f"`{field}` tells {name!r}, which is told only when asked for."
    return ""


def _find_strange_wish(reply: WordsReply, composed: ComposedReply) -> str:
    """A part of a wish of which neither a symptom nor the opening has a word: nothing of it is
    broken, and nobody could tell the agent of it."""
    told = " ".join([reply.opening, reply.persona, *composed.symptoms, *composed.handed])
    known = {word[:4] for word in _ANY.findall(told.casefold())}
    for wish in reply.goals:
        for part in _PART.split(wish.casefold()):
            words = [word for word in _ANY.findall(part) if word not in _PLAIN]
            if len(words) > 1 and not any(word[:4] in known for word in words):
                return (
                    f"`goals` has {wish!r}, and no symptom speaks of {part.strip()!r}: wish that "
                    "what the symptoms tell is over, with words of theirs."
                )
    return ""


def _list_stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text.casefold())}
