"""The ruling: the opinion of a judge model on an end that the verifier passed. It lowers the
reward, within a cap, and never raises it.

verifier ─► fail, error ────────────────────────────────────────────► as it is; the judge is not asked
        └─► pass ─► request, calls, changes, words ─► judge ─┬─► complete ────────────────────────────► as it is
                                                             ├─► incomplete, agent_error ─────────────► reward × (1 - weight)
                                                             └─► server_error, unreadable, unreached ─► error
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.base.errors import BadReply, Outage
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.evidence import Failing
from envmill.verifiers.judge import make_error
from schemas.base import Json, canonical_json, is_object
from schemas.environment import Environment
from schemas.rollout import Calibration, Ruling, Verdict
from schemas.ruling import MadeCall, RulingInput, RulingReply
from schemas.scenario import Change, Scenario

PROMPT = Prompt.load(Path(__file__).parent / "prompts" / "ruling.md", RulingInput, RulingReply)

COMPONENT = "judge"
CAP = 0.3
"""Share of the reward that a judge may take away. A judge is used only if it misjudges at most a
quarter of the right ends, so a right end loses less than a tenth on average. An end that the judge
rejects still earns 0.7, which is more than any attack may earn."""
_LONGEST = 2000
"""Characters of a tool's reply that the judge sees. The hundredth row of a large search result adds
nothing."""
_NO_RULING = ("unreadable", "unreached")


@dataclass(frozen=True)
class CalibratedJudge:
    """A judge with its calibration on one scenario."""

    models: ModelSession
    expected: Sequence[Change]
    """Changes of the reference path."""
    calibration: Calibration

    @property
    def weight(self) -> float:
        return 0.0 if self.calibration.told else CAP

    async def rule(self, scenario: Scenario, environment: Environment, ending: Ending) -> Ruling:
        """The ruling on an ending. A judge without a weight is not asked, because its opinion would
        change nothing."""
        if not self.weight:
            return self._make("unasked", self.calibration.told)
        return self._make(
            *await ask_judge(scenario, environment, ending, self.expected, self.models)
        )

    def _make(self, outcome: str, reason: str) -> Ruling:
        model = self.models.name_model("judge") or self.models.name_provider("judge")
        told = {
            "outcome": outcome,
            "reason": reason[:2000],
            "weight": self.weight,
            "calibration": self.calibration,
        }
        return Ruling.model_validate({"model": model, "prompt_hash": PROMPT.hash, **told})


async def ask_judge(
    scenario: Scenario,
    environment: Environment,
    ending: Ending,
    expected: Sequence[Change],
    models: ModelSession,
) -> tuple[str, str]:
    """The outcome and the reason of the judge. The judge sees the end of the reference path, but
    not the verdict of the verifier."""
    unminded = _list_unminded(environment, scenario)
    inputs = RulingInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        request=scenario.request,
        calls=[_describe_call(deed) for deed in ending.deeds],
        changes=list(
            _settle(diff_states(ending.initial, ending.final, ending.serialised), unminded)
        ),
        said=list(ending.said),
        expected=list(_settle(expected, unminded)),
        answer=scenario.say,
        facts=[fact.model_copy(update={"rivals": []}) for fact in scenario.verifier.facts],
    )
    try:
        reply = await models.ask(PROMPT, inputs, RulingReply, role="judge")
    except BadReply as error:
        return "unreadable", error.message
    except Outage as error:
        return "unreached", error.message
    return reply.outcome, reply.reason


def weigh(verdict: Verdict, ruling: Ruling | None) -> Verdict:
    """The verdict after a ruling. A verdict that is not a pass stays unchanged."""
    if ruling is None or verdict.outcome != "pass" or verdict.reward is None or not ruling.weight:
        return verdict
    if ruling.outcome in _NO_RULING:
        return make_error(f"the judge gave no ruling ({ruling.outcome}): {ruling.reason}")
    if ruling.outcome == "server_error":
        return make_error(
            f"the environment failed, says the judge ({ruling.model}): {ruling.reason}"
        )
    if ruling.outcome == "complete":
        return verdict.model_copy(update={"components": {**verdict.components, COMPONENT: 1.0}})
    words = f"{ruling.outcome}, says the judge ({ruling.model}): {ruling.reason}"
    found = Failing(
        COMPONENT,
        ruling.model,
        "complete",
        {"found": f"{ruling.outcome}: {ruling.reason}"},
        words,
        ruling.weight,
    )
    return Verdict(
        outcome="pass",
        reward=verdict.reward * (1 - ruling.weight),
        components={**verdict.components, COMPONENT: 0.0},
        reason=words[:2000],
        evidence=[*verdict.evidence, found.describe()],
    )


def _describe_call(deed: CompletedCall) -> MadeCall:
    parts = list(deed.parts)
    text = canonical_json(parts)
    shown = (
        parts
        if len(text) <= _LONGEST
        else [{"type": "text", "text": f"{text[:_LONGEST]} … and so on"}]
    )
    called = deed.call
    return MadeCall(
        name=called.name,
        arguments=called.arguments,
        actor=called.actor,
        outcome=deed.outcome,
        code=deed.code,
        parts=shown,
    )


def _list_unminded(environment: Environment, scenario: Scenario) -> Mapping[str, frozenset[str]]:
    """Table → columns whose values do not matter."""
    exempt = {
        (table.name, column.name)
        for table in environment.tables
        for column in table.columns
        if column.policy == "exempt"
    }
    free = {
        (table, column)
        for table, _, column in (place.partition(".") for place in scenario.verifier.free)
    }
    places = exempt | free
    return {
        name: frozenset(column for table, column in places if table == name) for name, _ in places
    }


def _settle(changes: Sequence[Change], unminded: Mapping[str, frozenset[str]]) -> Iterator[Change]:
    for change in changes:
        columns = unminded.get(change.path[0], frozenset()) if change.path else frozenset[str]()
        if len(change.path) > 2 and change.path[2] in columns:
            continue
        yield change.model_copy(
            update={
                "before": _strip(change.before, columns),
                "after": _strip(change.after, columns),
            }
        )


def _strip(row: Json, columns: frozenset[str]) -> Json:
    return (
        {name: value for name, value in row.items() if name not in columns}
        if columns and is_object(row)
        else row
    )
