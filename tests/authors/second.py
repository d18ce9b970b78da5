"""A second verifier of a scenario, written from request and policy by a reader who sees neither
reference path nor demands.

request, policy, rules, rows ─► reader ─► check(initial, final, rollout) ─► jail ─┐
ends of ladder and attackers, one per scenario and route ────────────────────────┴─► verdicts of both ─► disagreements, read by hand
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from envmill.base.errors import BadReply
from envmill.gates.reading.evidence import describe_item, list_told, show_tools
from envmill.kinds.findings import ScenarioCase
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.sandbox import CheckSession, Sandbox
from envmill.verifiers.ending import Ending
from schemas.base import Contract, Json, canonical_json, digest
from schemas.suspicion import ToolText

_WHOLE = 24_000
"""Characters up to which a state is shown whole."""


class SecondInput(Contract):
    """What the second author sees."""

    name: str
    rules: list[str]
    policy: str
    tools: list[ToolText]
    date: str
    told: list[str]
    state: Json
    request: str


class SecondReply(Contract):
    """A verifier."""

    source: str
    """Python file that defines `check(initial, final, rollout)`."""


class SecondVerifier(Contract):
    """A verifier by another reading."""

    scenario: str
    source: str


class JudgedEnd(Contract):
    """One end, judged by both verifiers."""

    scenario: str
    end: str
    """Hash of the final state."""
    words: str
    """Digest of what was said."""
    by: str
    """Who reached it first."""
    first: bool
    """Whether the scenario's own verifier accepts it."""
    second: bool | None
    """Whether the other one does; None where it failed."""
    note: str = ""


PROMPT = Prompt.load(Path(__file__).parent / "prompts" / "second.md", SecondInput, SecondReply)


async def write_second(case: ScenarioCase, models: ModelSession) -> SecondVerifier | None:
    item = describe_item(case, case.scenario.request)
    state: Json = case.scenario.initial_state
    shown = SecondInput(
        name=item.name,
        rules=item.rules,
        policy=item.policy,
        tools=show_tools(case.environment),
        date=case.scenario.clock,
        told=list_told(case.scenario),
        state=state if len(canonical_json(state)) <= _WHOLE else item.rows,
        request=item.request,
    )
    try:
        reply = await models.ask(PROMPT, shown, SecondReply, role="judge")
    except BadReply:
        return None
    return SecondVerifier(scenario=case.scenario.id, source=reply.source)


ReachedEnd = tuple[str, Ending, bool]
"""Who reached it, the end, and whether the scenario's own verifier accepts it."""


def list_distinct(ends: Sequence[ReachedEnd]) -> Iterator[ReachedEnd]:
    """Ends of one scenario: each final state with what was said, once."""
    seen: set[str] = set()
    for one in ends:
        if (key := digest([one[1].final, list(one[1].said)])) not in seen:
            seen.add(key)
            yield one


async def judge_twice(
    case: ScenarioCase, verifier: SecondVerifier, ends: Sequence[ReachedEnd], sandbox: Sandbox
) -> list[JudgedEnd]:
    """What both verifiers say of each end."""
    found: list[JudgedEnd] = []
    for by, ending, first in ends:
        asked = CheckSession(
            [verifier.source],
            ending.initial,
            ending.final,
            case.scenario.clock,
            rollout=ending.describe(),
        )
        said = (await sandbox.judge(asked))[0]
        found.append(
            JudgedEnd(
                scenario=case.scenario.id,
                end=digest(ending.final),
                words=digest(list(ending.said)),
                by=by,
                first=first,
                second=said.holds,
                note="" if said.holds is not None else f"{said.code}: {said.message}"[:200],
            )
        )
    return found


def read_second(path: Path) -> Mapping[str, SecondVerifier]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    return {
        one.scenario: one
        for one in (SecondVerifier.model_validate(json.loads(line)) for line in lines)
    }
