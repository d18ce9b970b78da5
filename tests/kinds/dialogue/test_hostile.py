"""What is written to defeat the kind: programs that leave their side, files of bad types, messages
of a megabyte. Each is refused by name or bounded, and what is honest beside it passes."""

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from envmill.agents.users.base import LONGEST, UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.claims import find_claimed, find_marks, gives_all_away
from envmill.agents.users.missteps import find_misstep, list_suspicions
from envmill.agents.users.scripted import ScriptedUser
from envmill.base.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.dialogue.plan import find_dialogue_faults, read_dialogue
from envmill.recipes.drafting.finishing import prepare
from envmill.sandbox import Invoke, Program, Reset, Sandbox
from envmill.verifiers.consent import is_yes
from schemas.environment import Call, Environment
from tests.kinds.dialogue.plans import SCOPE
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import MERCHANT, START, compose
from tests.samples.dialogue.policy import render_dialogue

FILES = dict(load().environment.files)
SOURCE = FILES["program.py"]
LEAVE = "    def leave_flight_mode(self"
PAY = "    def take_payment(self"


def change(old: str, new: str) -> dict[str, str]:
    assert old in SOURCE
    return FILES | {"program.py": SOURCE.replace(old, new, 1)}


def remake(files: dict[str, str]) -> Environment:
    told = load().environment.model_dump(exclude={"id"}) | {"files": files}
    return Environment.model_validate(told)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(
            PAY, f'    @actors("user")\n{PAY}', "take_payment", id="an agent's is the user's"
        ),
        pytest.param(
            PAY, f'    @actors("agent", "user")\n{PAY}', "take_payment", id="both may pay"
        ),
        pytest.param(
            f'    @actors("user")\n{LEAVE}',
            LEAVE,
            "leave_flight_mode",
            id="a user's is the agent's",
        ),
    ],
)
def test_a_tool_of_the_other_side_is_refused(old: str, new: str, told: str) -> None:
    """The program and the plan say the same of each tool."""
    KINDS["dialogue"].derive_tables(FILES, {})
    with pytest.raises(BuildError, match=told):
        KINDS["dialogue"].derive_tables(change(old, new), {})


def body_of(name: str, line: str) -> dict[str, str]:
    """The tool with one more line before all others."""
    place = SOURCE.index(f"    def {name}(self")
    head = SOURCE.index(":\n", SOURCE.index(")", place)) + 2
    text = SOURCE[head:]
    # Behind its docstring.
    after = text.index('"""\n', text.index('"""') + 3) + 4 if text.lstrip().startswith('"""') else 0
    return FILES | {
        "program.py": SOURCE[: head + after] + f"        {line}\n" + SOURCE[head + after :]
    }


@pytest.mark.parametrize(
    ("title", "name", "line"),
    [
        ("flight", "leave_flight_mode", f'self.merchants["{MERCHANT}"]["balance"] = 77'),
        ("flight", "see_display", f'self.merchants["{MERCHANT}"]["note"] = "seen"'),
        ("unpaid", "take_payment", 'self.shop["shop"]["closed"] = True'),
    ],
)
async def test_a_tool_that_writes_the_other_side_is_refused(
    title: str, name: str, line: str, jail: Sandbox
) -> None:
    draft = compose(load().environment, title, 0)
    await prepare(draft, load().environment, jail)
    environment = remake(body_of(name, line))
    with pytest.raises(BuildError, match=f"{name}.* changed"):
        await prepare(draft.model_copy(update={"environment": environment.id}), environment, jail)


async def test_a_coupling_that_crashes_or_loops_is_the_environments_fault(jail: Sandbox) -> None:
    """Never an answer of the tool that was called: a verdict on it is an error."""
    place = SOURCE.index("    @coupling\n    def _")
    head = SOURCE.index(":\n", SOURCE.index("self)", place)) + 2
    for line, code in (("1 / 0", "crash"), ("while True: pass", "")):
        files = FILES | {"program.py": f"{SOURCE[:head]}        {line}\n{SOURCE[head:]}"}
        reset = Reset(START, "2026-03-02T09:00:00+00:00", 0)
        look = Invoke(Call(name="see_display", actor="user"))
        began = time.monotonic()
        seen = await jail.play(Program.of(remake(files)), [reset, look])
        assert seen[-1].outcome == "failure", (line, seen[-1])
        assert code in seen[-1].code
        assert time.monotonic() - began < 120


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(deeper for key, one in inner for deeper in list_places(one, (*path, key)))]


def replace(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replace(copied[path[0]], path[1:], new)
    return copied


BAD: list[Any] = [
    None,
    0,
    -1,
    1.5,
    True,
    "",
    "x",
    "é\u200b",
    [],
    {},
    [[]],
    {"": ""},
    "$",
    "../..",
    "a" * 10_000,
    10**400,
    ["x", 1],
]


def read(files: dict[str, str]) -> str | list[str]:
    """Why it is refused, or what is wrong with it."""
    try:
        return find_dialogue_faults(read_dialogue(files), SCOPE)
    except BuildError as error:
        return str(error)


def test_a_file_of_bad_types_is_refused_in_words() -> None:
    """Whatever stands where: words for the author, and no crash."""
    known, chance, refused = render_dialogue(), random.Random(5), 0
    places = list_places(known)
    for place in chance.sample(places, 400):
        bad = replace(known, place, chance.choice(BAD))
        told = read({"dialogue.json": json.dumps(bad)})
        refused += isinstance(told, str)
        assert "dialogue.json" in told if isinstance(told, str) else all(told), told
    assert refused > 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        '{"sides": {}}',
        "[" * 100_000,
        '{"a":' * 50_000,
        "NaN",
        "\x00",
        '"' + "x" * 10**6,
    ],
    ids=range(10),
)
def test_a_file_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BuildError, match=r"dialogue\.json"):
        read_dialogue({"dialogue.json": text})


LONG = 1_000_000
PARTS = (
    "a",
    "?",
    "please ",
    "which one and ",
    "yes ",
    "ab1 ",
    "x\n",
    "<",
    '{"name',
    "12 ",
    "2026-03-04 ",
    "you have to see display. ",
    "e\u0301",
    "or which ",
)


@pytest.mark.long(cases=3)
@pytest.mark.parametrize("part", PARTS)
async def test_a_megabyte_takes_no_longer_than_a_page(part: str) -> None:
    """Of either side. Nobody hears more than a few pages."""
    text = part * (LONG // len(part))
    knowledge = UserKnowledge.of(load().scenarios[5])
    dialogue = [Utterance("user", knowledge.contract.opening), Utterance("agent", text)]
    asked = [dialogue[0], Utterance("agent", "Could you please see display yourself?")]
    began = time.process_time()
    heard: list[Callable[[], object]] = [
        lambda: find_misstep(knowledge, dialogue, UserAnswer("All right.")),
        lambda: list_suspicions(knowledge, dialogue, UserAnswer("All right.")),
        lambda: list_suspicions(knowledge, asked, UserAnswer(text)),
        lambda: find_marks(knowledge, UserAnswer(text)),
        lambda: gives_all_away(knowledge, dialogue, UserAnswer(text)),
        lambda: find_claimed(knowledge, asked, UserAnswer(text), ()),
        lambda: is_yes(text),
    ]
    for ask in heard:
        ask()
    await ScriptedUser(knowledge).answer(dialogue)
    assert time.process_time() - began < 10
    assert len(dialogue[1].text) == LONGEST


async def test_a_long_message_is_heard_as_far_as_people_listen() -> None:
    """A question on the first pages is answered."""
    knowledge = UserKnowledge.of(load().scenarios[5])
    for padding, heard in (("Thank you. " * 300, True), ("Thank you. " * 3_000, False)):
        said = f"{padding} What is your support code?"
        dialogue = [Utterance("user", "Hello."), Utterance("agent", said)]
        answer = await ScriptedUser(knowledge).answer(dialogue)
        assert ("kestrel-41" in answer.text) is heard
