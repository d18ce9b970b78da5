"""What is settled of a dialogue environment before its program is written: sides, couplings, and
its policy as clauses."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Contract, Json
from schemas.database import Touch
from schemas.scenario import CallPattern

Side = Literal["agent", "user"]
ClauseEffect = Literal["allow", "forbid", "first", "confirm", "say", "hand_over"]


class StateCondition(Contract):
    """A field of a row has, or has not, a value when the conversation starts."""

    on: Literal["state"] = "state"
    """Marks the sort of condition."""
    row: str
    """`$name` of a row that the clause declares, or `collection/key`."""
    field: str
    """Field of that row."""
    op: Literal["is", "is_not", "at_least", "below"] = "is"
    """How it is compared; the last two need a number."""
    value: Json
    """What it is compared with."""


class WordsCondition(Contract):
    """The user says, or never says, one of these wordings: what their contract knows decides."""

    on: Literal["words"] = "words"
    """Marks the sort of condition."""
    words: list[str] = Field(min_length=1)
    """Wordings, any of which is meant."""
    said: bool = True
    """False: they say none of them."""


class CallCondition(Contract):
    """A call was made before. Only a clause that forbids may rest on one; what must come first says
    so itself."""

    on: Literal["call"] = "call"
    """Marks the sort of condition."""
    call: CallPattern
    """The earlier call."""


Condition = Annotated[StateCondition | WordsCondition | CallCondition, Field(discriminator="on")]


class Told(Contract):
    """A value of a row that the user must be told."""

    row: str
    """`$name` of a row that the clause declares."""
    field: str
    """Field of that row."""


class PolicyClause(Contract):
    """One rule of a policy: under which conditions which calls are allowed, forbidden, come second,
    need a yes, or oblige the agent."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """Name by which faults, verifiers and evidence call it."""
    effect: ClauseEffect
    """`allow`: the call is made only where a clause that allows it applies. `forbid`: never where
    it applies. `first`: after the call
    `first`. `confirm`: after a yes of the user to a message that names `names`. `say`: where it is made, the user is told. `hand_over`:
    it must be made where the clause applies, and nowhere else."""
    call: CallPattern
    """The calls it is about. An argument `$name` is the key of a row that `rows` declares."""
    rows: dict[str, str] = {}
    """`$name` → collection. Names are nouns: the policy document speaks of "the line"."""
    when: list[Condition] = []
    """Conditions, all of which must hold."""
    first: CallPattern | None = None
    """What must come earlier (`first`)."""
    names: list[str] = []
    """Arguments that the message names to which the user says yes (`confirm`)."""
    words: list[str] = []
    """Wordings, one of which the user is told (`say`)."""
    told: Told | None = None
    """Value that the user is told (`say`)."""


class Coupling(Contract):
    """What the world does by itself after a call: one side's state follows the other's."""

    name: str
    """Method of the program, `@coupling`."""
    reads: list[str]
    """Collections it looks at."""
    writes: list[str]
    """Collections it changes."""
    says: str = ""
    """What it makes of what it reads, in words, for the program's author."""


class Goal(Contract):
    """What people want here, and the tools of both sides without which it is not reached."""

    name: str
    """What is wanted, in words."""
    needs: list[str]
    """Tools."""


class Persona(Contract):
    """A sort of user."""

    name: str
    """Who they are and how they speak."""
    cannot: list[str] = []
    """Tools of the user that this one does not use."""
    goals: list[str] = []
    """Goals they come with; empty for any."""


class Discovery(Contract):
    """How a tool that is not offered at first comes to be offered."""

    by: CallPattern
    """The call that unlocks it."""
    document: str = ""
    """Key of the document that speaks of it, where reading that unlocks it."""


class Dialogue(Contract):
    """`dialogue.json`: the two sides of a dialogue environment, what couples them, and its
    policy."""

    sides: dict[str, Side]
    """Collection → whose it is."""
    user_tools: list[str]
    """Tools of the user alone; all others are the agent's."""
    touches: dict[str, Touch]
    """Tool → collections it reads and writes, those of its own side."""
    couplings: list[Coupling] = []
    """What happens after each call, in order."""
    discoverable: dict[str, Discovery] = {}
    """Tool → what unlocks it."""
    clauses: list[PolicyClause]
    """The policy."""
    policy: Literal["clauses", "prose"] = "clauses"
    """How the policy document says them: one sentence each, or an author's prose that was checked."""
    unworded: str = ""
    """Why it is not prose though an author wrote some; empty where nobody was asked."""
    goals: list[Goal] = []
    """What people want."""
    personas: list[Persona] = []
    """Who they are."""
    composed: bool = False
    """Whether scenarios are composed of atoms, which are written over the program."""


class AtomStep(Contract):
    """A call of an atom, as its author writes it: whose tool it is says who makes it."""

    tool: str
    """Tool of either side."""
    arguments: dict[str, Json] = {}
    """Arguments object."""
    asks: str = ""
    """What the agent asks the user before it, and goes on after a yes."""


class Break(Contract):
    """A field of a record of the healthy state that is otherwise."""

    row: str
    """`collection/key`."""
    field: str
    """Field of that record."""
    value: Json
    """What it holds instead."""


class Atom(Contract):
    """One fault that scenarios are composed of: what breaks, what mends it, and what shows that it is mended."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    """Name by which faults and evidence call it."""
    group: str = ""
    """Exclusive set: a scenario has one of a set at most. Empty for a set of its own."""
    apart: list[str] = []
    """Atoms of other sets that are never beside it: mending them would be pointless or forbidden."""
    goal: str
    """The goal of the dialogue that it stands in the way of."""
    symptom: str
    """What the user notices of it, in their words, without the cause."""
    breaks: list[Break] = Field(min_length=1)
    """What is otherwise than in the healthy state."""
    fix: list[AtomStep] = Field(min_length=1)
    """Calls of both sides that mend it, looks included, in order."""
    mended: list[StateCondition] = Field(min_length=1)
    """Fields that hold so where it is mended, and not all of them where it is broken."""
    unfixable: bool = False
    """Nobody mends it here: the fix ends in handing the case over."""
    say: str = ""
    """What the user is told at the end because of it; empty where nothing is."""


class Repertoire(Contract):
    """`atoms.json`: what the scenarios of a dialogue environment are composed of."""

    state: dict[str, Json]
    """The healthy state."""
    facts: dict[str, Json] = {}
    """What the user knows: name in words → value."""
    hidden: list[str] = []
    """Names of those that are told only when asked for."""
    begins: list[AtomStep]
    """Looks with which each conversation begins: they find the user's records."""
    ends: list[AtomStep] = []
    """Looks by which both make sure that all is well."""
    say: str
    """Last words where all was mended."""
    needs: dict[str, list[str]] = {}
    """Tool of the user → arguments whose values the agent must name first."""
    atoms: list[Atom] = Field(min_length=1)
    """Faults, in an order in which mending one undoes none before."""
