"""W4: two reader models find that the program keeps its rules. One tries calls; the other judges
their results.

The second reader errs, too. So known faults and work that is known to be right are added to the
cases, and its opinions on them correct the estimate.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.gates.base import EnvironmentCase, Finding, GateContext, doubt, keep, skip
from envmill.gates.error_corrected_rate import Estimate, Proportion, correct
from envmill.gates.exploring.boundary_calls import BoundaryCase
from envmill.gates.exploring.boundary_states import find_boundary_case, list_comparisons
from envmill.gates.exploring.earlier_values import find_earlier_values
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.faulty_tools import (
    DOUBT,
    FLAGS,
    CaseOpinion,
    find_broken,
    find_explored_calls,
    find_further,
    list_suspects,
    list_thin,
    weigh_corner,
)
from envmill.gates.mutating.mutants import Mutant, sample_mutants
from envmill.gates.review import (
    Opinion,
    Plan,
    ReviewedCall,
    StateCall,
    ask_checker,
    ask_more,
    make_plan,
    play,
)
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.sandbox import Program, Sandbox
from schemas.base import Json, canonical_json
from schemas.environment import Environment
from schemas.ledger import ReasonClass
from schemas.prompts import CheckerInput, CheckerReply, TesterInput, TesterReply

GATE = "W4"
CODES: Mapping[str, ReasonClass] = {
    # Readers' opinions about rules, however many agree.
    "tool_broken": "suspicion",
    "rules_broken": "suspicion",
}

_PROMPTS = Path(__file__).parent / "prompts"
TESTER = Prompt.load(_PROMPTS / "tester.md", TesterInput, TesterReply)
CHECKER = Prompt.load(_PROMPTS / "checker.md", CheckerInput, CheckerReply)

LEAST_CALLS, CALLS_PER_TOOL = 30, 4
NOT_FAIL = 0.85
_TRIED_MUTANTS = 24
"""Maximal number of mutants tried. Each costs loading it in the jail."""
_LEAST_SALT, _MOST_SALT = 8, 20
_LEAST_CONTROLS, _MOST_CONTROLS = 8, 20
_MORE_CALLS = 12
"""Number of further calls of a flagged tool. It suffices to distinguish a fault on every second
call from false alarms."""
_CORNER, _MOST_CORNERS, _BASES = 5, 4, 6
"""Maximal number of calls of one boundary case, of boundary cases examined after a flag, and of the
exploration's calls from which they are made."""
_GAIN = 0.5
"""Minimal difference between the checker's share of flagged faults and of flagged right work. Below
it, the correction is wider than the measured value."""

Opinions = Sequence[tuple[Opinion, str]]


@dataclass(frozen=True)
class _Salt:
    """A case of known fault."""

    mutant: Mutant
    case: ReviewedCall


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Not measured if no reviewer can be asked, if too little could be tried, or if the checker
    cannot distinguish faults from right work."""
    models = means.models
    if models is None:
        return skip(
            GATE,
            "no_reviewer",
            "nobody was asked: give the run `review` (envmill run --review), which costs a "
            "hundred calls and more",
        )
    states = _list_states(built)
    if not states:
        return skip(
            GATE,
            "no_state",
            "there is no state to call tools on: add tests, or states to the bundle folder",
        )
    try:
        return await _review(built, states, means, models)
    except SettingsError as error:
        if "prompt" not in error.facts:
            raise
        return skip(GATE, "no_reviewer", error.message)


async def _review(
    built: EnvironmentCase, states: list[dict[str, Json]], means: GateContext, models: ModelSession
) -> Finding:
    environment, sandbox = built.environment, means.sandbox
    goal = means.reviewed or max(LEAST_CALLS, CALLS_PER_TOOL * len(environment.tools))
    plan = await make_plan(environment, states, goal, TESTER, models)
    asked = list(plan.asked.values())
    if len(asked) < min(LEAST_CALLS, goal):
        return skip(
            GATE,
            "too_few_calls",
            f"{len(asked)} calls of {goal} after {plan.rounds} rounds",
            _describe_plan(plan),
        )
    cases, exploration = (
        await play(Program.of(environment), asked, sandbox),
        await explore(built, means),
    )
    rechecker = _Rechecker(plan, states, exploration, sandbox, models)
    explored = [
        one
        for tool, most in list_thin(cases, exploration)
        for one in await rechecker.find_explored_calls(tool, most)
        if one.key not in plan.asked
    ]
    cases += await play(Program.of(environment), explored, sandbox) if explored else []
    salt = await _make_salt(environment, cases, sandbox, means.seed)
    controls = await _make_controls(built, sandbox)
    heard = await ask_checker(
        environment, [*_sound(cases), *(one.case for one in salt), *controls], CHECKER, models
    )
    finding = judge(plan, cases, salt, heard)
    if finding.outcome != "kept":
        return finding
    sound = _sound(cases)
    ours, alarms = _pair(sound, heard[: len(sound)]), _count(heard[len(sound) + len(salt) :])
    return await _check_flagged(finding, rechecker, ours, alarms)


@dataclass(frozen=True)
class _Rechecker:
    """Gets further calls for flagged tools, and opinions on them."""

    plan: Plan
    states: list[dict[str, Json]]
    exploration: ExplorationRun
    sandbox: Sandbox
    models: ModelSession

    async def find_explored_calls(self, tool: str, most: int) -> list[StateCall]:
        return await find_explored_calls(
            self.exploration, tool, most, Program.of(self.plan.environment), self.sandbox
        )

    async def ask_opinions(
        self, tools: Sequence[str], heard: Sequence[CaseOpinion]
    ) -> list[CaseOpinion]:
        """Opinions on further calls of some tools: from the tester, from the exploration, and on
        further states."""
        environment, wanted = self.plan.environment, dict.fromkeys(tools, _MORE_CALLS)
        asked, known = (
            await ask_more(self.plan, self.states, wanted, TESTER, self.models),
            {one.case.asked.key for one in heard},
        )
        explored = [
            one
            for tool in tools
            for one in await self.find_explored_calls(tool, _MORE_CALLS)
            if one.key not in known
        ]
        asked += [one for one in explored if one.key not in self.plan.asked]
        cases = _sound(await play(Program.of(environment), asked, self.sandbox)) if asked else []
        cases += [
            case
            for tool in tools
            for case in await self._find_further(tool, [*(one.case for one in heard), *cases])
        ]
        return _pair(cases, await ask_checker(environment, cases, CHECKER, self.models))

    async def find_corners(self, cases: Sequence[ReviewedCall]) -> list[BoundaryCase]:
        """Calls where both sides of a comparison in the code are equal, and where a number that is
        set was another one before."""
        environment, program = self.plan.environment, Program.of(self.plan.environment)
        changes = [name for name in self.exploration.tools if not self.exploration.is_query(name)]
        explored = [one for name in changes for one in await self.find_explored_calls(name, _BASES)]
        ours = [case for case in cases if case.asked.call.name in changes] + (
            await play(program, explored, self.sandbox) if explored else []
        )
        found = [
            await find_boundary_case(each, ours, _CORNER, program, self.sandbox)
            for each in list_comparisons(environment)
        ]
        return [
            *(edge for edge in found if edge),
            *await find_earlier_values(ours, _CORNER, program, self.sandbox),
        ]

    async def judge(self, asked: Sequence[StateCall]) -> list[CaseOpinion | None]:
        """An opinion on each call; None for a call that crashes."""
        cases = await play(Program.of(self.plan.environment), asked, self.sandbox) if asked else []
        sound = _sound(cases)
        opinions = iter(
            _pair(sound, await ask_checker(self.plan.environment, sound, CHECKER, self.models))
        )
        return [None if case.seen.outcome == "failure" else next(opinions) for case in cases]

    async def _find_further(self, tool: str, cases: Sequence[ReviewedCall]) -> list[ReviewedCall]:
        """Calls of a change that is seldom possible, which succeed on states of the exploration."""
        done = [
            case.asked
            for case in cases
            if case.asked.call.name == tool and case.seen.outcome == "ok"
        ]
        if self.exploration.is_query(tool) or not 0 < len(done) < _MORE_CALLS // 2:
            return []
        return await find_further(
            self.exploration,
            done,
            _MORE_CALLS // 2,
            Program.of(self.plan.environment),
            self.sandbox,
        )


async def _check_flagged(
    finding: Finding, rechecker: _Rechecker, heard: list[CaseOpinion], alarms: Proportion
) -> Finding:
    """One tool of twenty hardly changes a share of all calls. So flagged tools are tried again, and
    each is judged on its own."""
    suspects = list_suspects(heard)
    if not suspects:
        return await _check_corners(finding, rechecker, heard, alarms)
    more = await rechecker.ask_opinions(suspects, heard)
    broken = find_broken([*heard, *more], alarms)
    evidence: dict[str, Json] = finding.evidence | {
        "suspects": suspects,
        "more_calls": len(more),
        "broken": [one.describe() for one in broken],
    }
    if not broken:
        return await _check_corners(keep(GATE, evidence), rechecker, heard, alarms)
    first = broken[0]
    flagged = [
        one for one in (*heard, *more) if one.flagged and one.way == (first.tool, first.outcome)
    ]
    failures = _list_failures(
        [one.case for one in flagged], [(one.opinion, one.reason) for one in flagged]
    )
    words = (
        f"{first.tool}: {first.flagged.hits} of {first.flagged.n} calls that ended in "
        f"{first.outcome} break the rules"
    )
    return _doubt("tool_broken", words, failures, evidence | {"failures": failures[:10]})


async def _check_corners(
    finding: Finding, rechecker: _Rechecker, heard: list[CaseOpinion], alarms: Proportion
) -> Finding:
    """Judges boundary cases that calls rarely reach, by one call each. If it is flagged, the other
    calls and the neighbouring ones are judged, too."""
    corners = await rechecker.find_corners([one.case for one in heard])
    first = await rechecker.judge([corner.asked[0] for corner in corners])
    flagged = [
        (corner, one) for corner, one in zip(corners, first, strict=True) if one and one.flagged
    ]
    evidence: dict[str, Json] = finding.evidence | {
        "corners": len(corners),
        "corners_flagged": [corner.render() for corner, _ in flagged],
    }
    for corner, one in flagged[:_MOST_CORNERS]:
        ours = [one, *filter(None, await rechecker.judge(corner.asked[1:]))]
        beside = [*filter(None, await rechecker.judge(corner.beside))]
        broken = weigh_corner(ours, beside, heard, alarms)
        if broken.chance <= DOUBT / len(corners):
            failures = _list_failures(
                [each.case for each in ours], [(each.opinion, each.reason) for each in ours]
            )
            words = (
                f"{corner.tool}: {broken.flagged.hits} of {broken.flagged.n} calls that ended in "
                f"{broken.outcome} break the rules"
            )
            more: dict[str, Json] = {"broken": [broken.describe()], "failures": failures[:10]}
            return _doubt("tool_broken", f"{words} where {corner.what}", failures, evidence | more)
    return keep(GATE, evidence)


def _pair(cases: Sequence[ReviewedCall], heard: Opinions) -> list[CaseOpinion]:
    return [
        CaseOpinion(case, opinion, reason)
        for case, (opinion, reason) in zip(cases, heard, strict=True)
    ]


def judge(
    plan: Plan, cases: Sequence[ReviewedCall], salt: Sequence[_Salt], heard: Opinions
) -> Finding:
    """The finding from the opinions, which come in the order: sound cases, salt, controls."""
    sound, ends = _sound(cases), len(_sound(cases)) + len(salt)
    ours, caught, alarms = (
        heard[: len(sound)],
        _count(heard[len(sound) : ends]),
        _count(heard[ends:]),
    )
    failures = [
        *(_describe_crash(case) for case in cases if case.seen.outcome == "failure"),
        *_list_failures(sound, ours),
    ]
    evidence = _describe_plan(plan) | {
        "calls": len(cases),
        "crashed": len(cases) - len(sound),
        "opinions": dict(Counter(opinion for opinion, _ in ours)),
        "checker": {
            "caught": vars(caught),
            "false_alarms": vars(alarms),
            "missed": _list_missed(salt, heard[len(sound) : ends]),
        },
        "failures": failures[:10],
    }
    if caught.n < _LEAST_SALT:
        return skip(
            GATE,
            "too_few_mutants",
            f"{caught.n} faults could be shown on these calls, {_LEAST_SALT} are needed",
            evidence,
        )
    if caught.share - alarms.share < _GAIN:
        detail = (
            f"the checker flags {caught.hits} of {caught.n} known faults and {alarms.hits} of "
            f"{alarms.n} right calls"
        )
        return skip(GATE, "checker_insensitive", detail, evidence)
    known = alarms.n >= _LEAST_CONTROLS
    # Without controls, no alarm counts as false. A program that is kept now would be kept with any
    # controls.
    faulty = _estimate(cases, ours, caught, alarms if known else Proportion(0, alarms.n))
    evidence["not_fail"] = {
        "share": 1 - faulty.share,
        "low": 1 - faulty.high,
        "high": 1 - faulty.low,
        "n": len(cases),
    }
    if faulty.share <= 1 - NOT_FAIL:
        return keep(GATE, evidence)
    if not known:
        return skip(
            GATE,
            "no_controls",
            f"{alarms.n} anticipated rejections do not tell how often the checker is alarmed for "
            "nothing",
            evidence,
        )
    return _doubt(
        "rules_broken",
        f"{1 - faulty.share:.2f} of {len(cases)} calls keep the rules",
        failures,
        evidence,
    )


def _doubt(reason: str, words: str, failures: Sequence[dict[str, Json]], evidence: Json) -> Finding:
    call, outcome = failures[0]["call"], failures[0]["outcome"]
    asked = (
        f"Do the rules or descriptions say that `{call['name']}` with {call['arguments']} has to "
        f"end otherwise than in {outcome} as it did?"
    )
    return doubt(GATE, reason, f"{words}; {render_failure(failures[0])}", asked, evidence)


def _estimate(
    cases: Sequence[ReviewedCall], ours: Opinions, caught: Proportion, alarms: Proportion
) -> Estimate:
    """A crash needs no opinion; the share of the rest is corrected."""
    certain = 1 - len(ours) / len(cases)
    behind = correct(_count(ours), caught, alarms)
    return Estimate(
        *(certain + (1 - certain) * share for share in (behind.share, behind.low, behind.high))
    )


def _count(heard: Opinions) -> Proportion:
    """The share of fails. An unreadable opinion approves of nothing and counts as a fail on every
    side."""
    return Proportion(sum(opinion in FLAGS for opinion, _ in heard), len(heard))


def _sound(cases: Sequence[ReviewedCall]) -> list[ReviewedCall]:
    """Cases that need an opinion."""
    return [case for case in cases if case.seen.outcome != "failure"]


def _list_states(built: EnvironmentCase) -> list[dict[str, Json]]:
    states = [*(test.initial_state for test in built.tests), *built.examples]
    return list({canonical_json(state): state for state in states if state}.values())


async def _make_salt(
    environment: Environment, cases: Sequence[ReviewedCall], sandbox: Sandbox, seed: int
) -> list[_Salt]:
    """Mutants that behave differently from the original on a call of the review, with at most two
    calls each, so that there are many."""
    salt: list[_Salt] = []
    clean = {case.asked.key: case.told for case in _sound(cases)}
    for mutant in islice(sample_mutants(environment, seed), _TRIED_MUTANTS):
        asked = [case.asked for case in _sound(cases) if case.asked.call.name == mutant.tool]
        if len(salt) >= _MOST_SALT or not asked:
            continue
        played = await play(replace(Program.of(environment), files=mutant.files), asked, sandbox)
        salt += [
            _Salt(mutant, case) for case in _sound(played) if case.told != clean[case.asked.key]
        ][:2]
    return salt[:_MOST_SALT]


async def _make_controls(built: EnvironmentCase, sandbox: Sandbox) -> list[ReviewedCall]:
    """Expected rejections that happened and changed nothing. The authors of those tests knew
    everything that can be seen of them.

    A success is no control: an expected success does not show that the call did the right thing.
    """
    known = {tool.name for tool in built.environment.tools}
    tests = [
        test
        for test in built.tests
        if test.expect == "rejection" and not test.setup and test.call.name in known
    ]
    asked = [StateCall(test.initial_state, test.call) for test in tests]
    played = await play(Program.of(built.environment), asked, sandbox) if asked else []
    green = [case for case in played if case.seen.outcome == "rejection" and not case.changes]
    return green[:: max(1, len(green) // _MOST_CONTROLS)][:_MOST_CONTROLS]


def _describe_plan(plan: Plan) -> dict[str, Json]:
    tried = {one.call.name for one in plan.asked.values()}
    untried = [tool.name for tool in plan.environment.tools if tool.name not in tried]
    return {
        "wanted": plan.goal,
        "asked": len(plan.asked),
        "rounds": plan.rounds,
        "lost": dict(plan.lost),
        "untried": untried,
    }


def _list_missed(salt: Sequence[_Salt], heard: Opinions) -> list[Json]:
    missed = [one for one, (opinion, _) in zip(salt, heard, strict=True) if opinion not in FLAGS]
    return [
        {"kind": one.mutant.kind, "tool": one.mutant.tool, "line": one.mutant.line}
        for one in missed
    ]


def _list_failures(cases: Sequence[ReviewedCall], heard: Opinions) -> list[dict[str, Json]]:
    flagged = [(case, said) for case, said in zip(cases, heard, strict=True) if said[0] in FLAGS]
    return [
        _describe_case(case) | {"opinion": opinion, "reason": reason}
        for case, (opinion, reason) in flagged
    ]


def _describe_crash(case: ReviewedCall) -> dict[str, Json]:
    return _describe_case(case) | {"opinion": "crash", "reason": case.seen.message[-300:]}


def _describe_case(case: ReviewedCall) -> dict[str, Json]:
    seen = case.seen
    changes = [change.model_dump(mode="json") for change in case.changes[:5]]
    return {
        "call": case.asked.call.model_dump(mode="json"),
        "outcome": seen.outcome,
        "code": seen.code,
        "changes": changes,
    }


def render_failure(failure: dict[str, Json]) -> str:
    """One failure of the dossier, in a line."""
    return (
        f"{failure['call']['name']}({failure['call']['arguments']}) ended in "
        f"{failure['outcome']}: {failure['reason']}"
    )[:500]
