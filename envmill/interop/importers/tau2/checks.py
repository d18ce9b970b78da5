"""Texts of the checks that mean what τ²-bench's evaluator means, each for the judge's jail.

Each check's name begins with the name of its component, so that a verdict's evidence tells which component failed.
"""

from collections.abc import Sequence

from envmill.interop.importers.tau2.release import ReleasedAction, ReleasedAssertion
from schemas.base import Json, canonical_json
from schemas.scenario import Check

NAMES = ("ENV_ASSERTION", "ACTION", "COMMUNICATE")
"""Components that are generated checks. The rest of goals and frame is DB."""
_IMPORT = "from envmill.runtime import "
WITHOUT_RUNTIME = '''
class Rejection(Exception):
    """A refusal."""

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}")


def actors(*names):
    return lambda tool: tool


def coupling(method):
    return method


discoverable = coupling


def new_id(prefix=""):
    return f"{prefix}_00000000"
'''
_ASSERT = """

def check(initial, final):
    import json

    world = $CLASS(json.loads(json.dumps(final)))
    said = getattr(world, $NAME)(**$ARGUMENTS)
    if said is not True and said is not False:
        raise TypeError($NAME + " returned " + type(said).__name__ + " instead of bool")
    return said is $VALUE
"""
_ACTION = '''
import json

WANTED = json.loads($WANTED)
BEFORE = json.loads($BEFORE)


def read(value):
    """Arguments that are JSON as text are compared as what they say."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return read(json.loads(value))
        except ValueError:
            return value
    if isinstance(value, dict):
        return {key: read(item) for key, item in value.items()}
    return [read(item) for item in value] if isinstance(value, list) else value


def fits(call):
    """`compare_args` absent compares the arguments that the call has; a list those that it names; an empty one none."""
    given, compared = call["arguments"], WANTED["compare_args"]
    compared = list(given) if compared is None else compared
    left, right = ({key: read(one[key]) for key in compared if key in one} for one in (given, WANTED["arguments"]))
    return call["name"] == WANTED["name"] and left == right


def check(initial, final, rollout):
    return any(fits(call) for call in [*BEFORE, *rollout["calls"]])
'''
_COMMUNICATE = """
import json

WANTED, BEFORE = json.loads($WANTED), json.loads($BEFORE)


def check(initial, final, rollout):
    return any(WANTED.lower() in text.lower().replace(",", "") for text in [*BEFORE, *rollout["said"]])
"""
_UNCHANGED = """

def check(initial, final):
    return initial == final
"""
_NOTHING = """

def check(initial, final):
    return True
"""


def check_assertion(
    number: int, assertion: ReleasedAssertion, alone: str, class_name: str, method: str
) -> Check:
    """The function runs on the final state, in a copy of the program that stands alone."""
    told = ", ".join(
        f"{name}={canonical_json(value)}" for name, value in assertion.arguments.items()
    )
    rendered = canonical_json(assertion.arguments)
    asked = _fill(
        _ASSERT,
        CLASS=class_name,
        NAME=repr(method),
        ARGUMENTS=f'__import__("json").loads({rendered!r})',
        VALUE=repr(assertion.assert_value),
    )
    wanted = "" if assertion.assert_value else " is false"
    name = f"ENV_ASSERTION {number}: {assertion.env_type} {assertion.func_name}({told}){wanted}"
    return Check(name=name, op="generated", path=[], source=alone + asked)


def check_action(number: int, action: ReleasedAction, before: Sequence[Json]) -> Check:
    """Some call has the name and the compared arguments, whoever made it and whatever came of it."""
    wanted = {
        "name": action.name,
        "arguments": action.arguments,
        "compare_args": action.compare_args,
    }
    source = _fill(
        _ACTION, WANTED=repr(canonical_json(wanted)), BEFORE=repr(canonical_json(list(before)))
    )
    return Check(
        name=f"ACTION {number}: {action.name}({canonical_json(action.arguments)})"[:300],
        op="generated",
        path=[],
        source=source,
    )


def check_words(number: int, words: str, before: Sequence[str]) -> Check:
    """The words stand in some message of the agent, whose commas are left out."""
    source = _fill(
        _COMMUNICATE, WANTED=repr(canonical_json(words)), BEFORE=repr(canonical_json(list(before)))
    )
    return Check(
        name=f"COMMUNICATE {number}: {words}"[:300], op="generated", path=[], source=source
    )


def check_unchanged() -> Check:
    """Where the reference path changes nothing, nothing may change."""
    return Check(name="DB: the state ends as it began", op="generated", path=[], source=_UNCHANGED)


def check_nothing() -> Check:
    """Where nothing at all is asked for, everybody passes, as there."""
    return Check(name="nothing is asked for", op="generated", path=[], source=_NOTHING)


def stand_alone(program: str) -> str:
    """A program without the runtime's names: the judge has no runtime."""
    lines = [line for line in program.split("\n") if not line.startswith(_IMPORT)]
    head = next(
        (place for place, line in enumerate(lines) if line.startswith(("import ", "from "))), 0
    )
    return "\n".join([*lines[:head], WITHOUT_RUNTIME, *lines[head:]])


def _fill(text: str, **slots: str) -> str:
    for name, value in slots.items():
        text = text.replace(f"${name}", value)
    return text
