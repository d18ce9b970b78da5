"""One attack on a jail, what was seen of it, and whether it was contained."""

from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from envmill.sandbox import Invoke, Observation, Program, Reset
from envmill.sandbox.plan import Step
from schemas.environment import Call, Tool
from tests.hostile.corpus import Attack
from tests.hostile.outside import watch

TARGETS = {"port": {"type": "integer"}, "path": {"type": "string"}, "name": {"type": "string"}}
TOOLS = [
    Tool(
        name="attack",
        description="Attack.",
        parameters={"type": "object", "properties": TARGETS},
        effect="change",
    ),
    Tool(
        name="work",
        description="Work.",
        parameters={"type": "object", "properties": {}},
        effect="change",
    ),
]
_EXCUSED = ("timeout", "killed")
"""On a busy machine any attack that fails may fail so."""
_WORDS = 64 * 1024
"""Bytes that an attack may get into a message, and so into journals and tables."""
_REFUSALS = ([{"type": "json", "value": False}], [{"type": "json", "value": None}])


class Jail(Protocol):
    """Whatever plays plans: the sandbox, or an exported folder's own jail."""

    async def play(self, program: Program, steps: list[Step], /) -> list[Observation]: ...


@dataclass
class Seen:
    """What came of an attack, in a form that travels."""

    outcome: str = ""
    code: str = ""
    parts: Any = None
    words: int = 0
    worked: Any = None
    """What the next session answered to honest work."""
    clean: bool = False
    """Whether the next session began in the state this one began in."""
    touched: bool = False
    trouble: str = ""
    """What the sandbox itself raised."""
    denied: list[str] = field(default_factory=list[str])

    def tell(self) -> dict[str, Any]:
        return asdict(self)


async def assault(jail: Jail, attack: Attack) -> Seen:
    """Attack, then start over and work. A sandbox that breaks is attacked again: a machine out of
    breath does not break it twice."""
    seen = await _assault(jail, attack)
    return await _assault(jail, attack) if seen.trouble else seen


async def _assault(jail: Jail, attack: Attack) -> Seen:
    program, start = (
        Program(attack.files, "world:World", TOOLS),
        Reset(attack.state, "2026-03-01T09:00:00Z", 7),
    )
    with watch() as outside:
        steps: list[Step] = [start, Invoke(Call(name="attack", arguments=outside.arguments))]
        try:
            reset, attacked = await jail.play(program, steps)
            again, worked = await jail.play(program, [start, Invoke(Call(name="work"))])
        except Exception as error:  # a broken sandbox is what an attack wants  # noqa: BLE001
            return Seen(
                trouble=f"{type(error).__name__}: {str(error)[:1000]}", touched=outside.is_touched()
            )
        return Seen(
            attacked.outcome, attacked.code, attacked.parts if len(str(attacked.parts)) < 200 else "long", len(attacked.message),
            worked.parts, (reset.outcome, again.outcome, again.state_hash) == ("ok", "ok", reset.state_hash), outside.is_touched(),
            denied=attacked.denied,
        )  # fmt: skip


def find_breach(attack: Attack, seen: Seen) -> str:
    """In what way an attack was not contained; empty when it was."""
    if seen.trouble:
        return f"it broke the sandbox: {seen.trouble}"
    if seen.touched:
        return "it reached the outside"
    if seen.worked != [{"type": "json", "value": 1}] or not seen.clean:
        return f"it spoiled the next session: {seen.worked}, clean {seen.clean}"
    if seen.words > _WORDS:
        return f"it wrote {seen.words} characters into a message"
    if attack.own:
        return ""
    if attack.codes and (seen.outcome == "ok" or seen.code not in (*attack.codes, *_EXCUSED)):
        return f"it ended otherwise than expected: {seen.outcome} {seen.code} {seen.parts}"
    if seen.outcome == "ok" and seen.parts not in _REFUSALS:
        return f"it got what it wanted: {seen.parts}"
    return ""
