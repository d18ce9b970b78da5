"""The composer: which atoms meet in a scenario, and what their user knows and can do. The same seed gives the same scenarios.

atoms ─► one of a set at most, 2 to 10 together ─► a change on each side, one case handed over at most ─► in turn by size, personas in turn
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest

from envmill.kinds.dialogue.atoms import make_calls, name_group
from schemas.base import Json
from schemas.dialogue import Atom, Dialogue, Persona, Repertoire
from schemas.dialogue_prompts import ComposedReply
from schemas.environment import Call, Tool

SIZES = range(2, 11)
"""Atoms of a scenario."""
_DRAWS, _KEPT = 300, 40
"""Selections drawn for one size, and kept of them."""
_QUESTIONS = (
    "What is your {}?",
    "Could you tell me your {}?",
    "Which {} do you have?",
    "I need your {}, please.",
    "May I have the {}?",
)
_TURN = 97
"""A further turn of a number takes a selection that far on."""


@dataclass(frozen=True)
class AtomSelection:
    """What one scenario is composed of."""

    atoms: tuple[Atom, ...]
    persona: Persona

    @property
    def mendable(self) -> tuple[Atom, ...]:
        return tuple(atom for atom in self.atoms if not atom.unfixable)

    @property
    def handed(self) -> tuple[Atom, ...]:
        return tuple(atom for atom in self.atoms if atom.unfixable)


def select(
    repertoire: Repertoire,
    dialogue: Dialogue,
    tools: Sequence[Tool],
    number: int,
    seed: int,
    turn: int,
) -> AtomSelection | None:
    """The n-th selection; None where atoms and personas allow none."""
    personas = dialogue.personas or [Persona(name="Somebody in a hurry.")]
    persona = personas[number % len(personas)]
    changes = frozenset(tool.name for tool in tools if tool.effect == "change")
    able = tuple(atom for atom in repertoire.atoms if _can_meet(atom, persona))
    found = _list_selections(able, changes, frozenset(dialogue.user_tools), seed)
    if not found:
        return None
    return AtomSelection(found[(number + turn * _TURN) % len(found)], persona)


def break_state(repertoire: Repertoire, atoms: Sequence[Atom]) -> dict[str, Json]:
    """The healthy state with these faults."""
    state = deepcopy(repertoire.state)
    for one in (each for atom in atoms for each in atom.breaks):
        collection, _, key = one.row.partition("/")
        state[collection][key][one.field] = one.value
    return state


def list_path(repertoire: Repertoire, atoms: Sequence[Atom], dialogue: Dialogue) -> list[Call]:
    """The looks at the beginning, the fixes one after the other, and the looks at the end where nothing is handed over."""
    handed = any(atom.unfixable for atom in atoms)
    ordered = sorted(atoms, key=lambda atom: atom.unfixable)
    steps = [*repertoire.begins, *(step for atom in ordered for step in atom.fix)]
    return make_calls([*steps, *(() if handed else repertoire.ends)], dialogue)


def list_able(
    path: Sequence[Call], dialogue: Dialogue, tools: Sequence[Tool], persona: Persona
) -> list[Call]:
    """What the user can do besides: their tools that take nothing, without those that this persona
    does not use."""
    made = {call.name for call in path}
    return [
        Call(name=tool.name, actor="user")
        for tool in tools
        if tool.name in dialogue.user_tools
        and tool.name not in (*made, *persona.cannot)
        and not tool.parameters.get("properties")
    ]


def write_reply(
    selection: AtomSelection,
    state: dict[str, Json],
    path: Sequence[Call],
    repertoire: Repertoire,
    dialogue: Dialogue,
    tools: Sequence[Tool],
) -> ComposedReply:
    """The scenario in plain words; an author may word it otherwise."""
    facts, hidden = repertoire.facts, repertoire.hidden
    told = "; ".join(f"{name}: {facts[name]}" for name in facts if name not in hidden)
    symptoms = " ".join(_end_sentence(atom.symptom) for atom in selection.atoms)
    opening = f"Hello. {symptoms} {_end_sentence(told)}" if told else f"Hello. {symptoms}"
    goals = list(dict.fromkeys(atom.goal for atom in selection.atoms))
    looks = [tool.name for tool in tools if tool.effect == "query"]
    return ComposedReply(
        initial_state=state,
        request=add_hidden(opening, facts, hidden),
        oracle=list(path),
        facts=facts,
        opening=opening,
        hidden=hidden,
        persona=selection.persona.name,
        goals=goals,
        stop="the agent says that it works again, or who takes the case over",
        wordings={name: [question.format(name) for question in _QUESTIONS] for name in hidden},
        say=_list_last_words(selection, repertoire),
        able=list_able(path, dialogue, tools, selection.persona),
        needs=name_needs(repertoire, path),
        reports=[name for name in looks if name in dialogue.user_tools],
        symptoms=[atom.symptom for atom in selection.mendable],
        handed=[atom.symptom for atom in selection.handed],
        atoms=[atom.id for atom in selection.atoms],
    )


def add_hidden(opening: str, facts: Mapping[str, Json], hidden: Sequence[str]) -> str:
    """The whole request: what the user says at once, and what they say when asked."""
    return " ".join([opening, *(f"My {name} is {facts[name]}." for name in hidden)])


def _list_last_words(selection: AtomSelection, repertoire: Repertoire) -> str:
    said = [] if selection.handed else [repertoire.say]
    return " ".join([*(atom.say for atom in selection.atoms if atom.say), *said])


def _end_sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."


def name_needs(repertoire: Repertoire, path: Sequence[Call]) -> dict[str, list[str]]:
    """Deed of the path → what the agent must name first."""
    made = {call.name for call in path}
    return {
        name.replace("_", " "): needed
        for name, needed in repertoire.needs.items()
        if name in made and needed
    }


def _can_meet(atom: Atom, persona: Persona) -> bool:
    """Whether this user comes with it and does what mends it."""
    wanted = not persona.goals or atom.goal in persona.goals
    return wanted and not any(step.tool in persona.cannot for step in atom.fix)


@lru_cache(maxsize=64)
def _list_from(
    seed: int, size: int, groups: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    """Different choices of one atom from each of `size` groups, in the order in which they were drawn."""
    dice = random.Random(f"{seed}/{size}/{groups}")
    drawn = (
        tuple(sorted(dice.choice(group) for group in dice.sample(groups, size)))
        for _ in range(_DRAWS)
    )
    return tuple(dict.fromkeys(drawn))


def _list_selections(
    able: Sequence[Atom], changes: frozenset[str], user_tools: frozenset[str], seed: int
) -> list[tuple[Atom, ...]]:
    """All selections, sizes in turn."""
    by_group = defaultdict[str, list[str]](list)
    for atom in able:
        by_group[name_group(atom)].append(atom.id)
    groups, known = tuple(map(tuple, by_group.values())), {atom.id: atom for atom in able}
    order = [atom.id for atom in able]
    by_size = list[list[tuple[Atom, ...]]]()
    for size in SIZES:
        if size > len(groups):
            break
        drawn = (
            tuple(known[name] for name in sorted(ids, key=order.index))
            for ids in _list_from(seed, size, groups)
        )
        fit = (atoms for atoms in drawn if _fits(atoms, changes, user_tools))
        by_size.append([*islice(fit, _KEPT)])
    return [atoms for row in zip_longest(*by_size) for atoms in row if atoms is not None]


def _fits(atoms: Sequence[Atom], changes: frozenset[str], user_tools: frozenset[str]) -> bool:
    """Something is mended, both sides change something, one case at most is handed over, and no
    atom makes another one pointless."""
    made = {step.tool for atom in atoms for step in atom.fix} & changes
    handed = sum(atom.unfixable for atom in atoms)
    apart = {name for atom in atoms for name in atom.apart}
    return (
        not apart & {atom.id for atom in atoms}
        and handed <= 1
        and handed < len(atoms)
        and bool(made & user_tools)
        and bool(made - user_tools)
    )
