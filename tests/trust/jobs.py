"""One job of the confusion table: a candidate is made, put to its gates, and attacked from outside
where it is kept.

place ──make──► candidate ──gates, up to the first drop──► named rightly? ──no──► the other gates ──► Outcome
                                                     └─ kept, clean ──► outsiders, domain truth ──┘
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from envmill.base.errors import EnvMillError
from envmill.base.settings import ROOT
from envmill.gates import ENVIRONMENT_GATES, GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, Gate, GateContext, ScenarioCase
from envmill.gates.exploring.ends import list_ends
from envmill.gates.reading.calibrations import read_calibrations
from envmill.gates.reading.suspicions import rule_on_suspicions
from envmill.sandbox import Sandbox
from envmill.stages.passing import settle
from offline.faults import KINDS
from offline.truth import find_truth
from schemas.base import Contract
from schemas.run import RecipeName
from tests.offline.questions import SEED
from tests.trust import tabled
from tests.trust.expected import is_right
from tests.trust.fingerprints import Part
from tests.trust.kept import measure_kept
from tests.trust.making import make_clean, make_faulty, make_mutant
from tests.trust.posing import ANYTHING, Spot, pose_at
from tests.trust.readers import open_readers

CLEAN, MUTANT, REVIEWED = "clean", "mutant", "reviewed"
SCENARIO_PROMPTS = ("scenario", "chain", "topology", "dag", "checks")
TRIES = 3
"""Attempts at a job that ends in an outage."""
SEARCHED = 10
"""Of so many clean scenarios one is put to the search attacker, which costs as much as everything
else together."""
READERS = ("forgotten_effect", "overwritten_total", "applied_twice", "off_by_one")
"""Faults in what a change amounts to, and on which side its limits lie: nothing but the rules says
that, and W4 is who reads them."""
TABLED_READERS = (*READERS, "misspelt_attribute", "forgotten_filter")
"""The same over tables, where a value under a wrong name never gets to its table, and a limit may
count rows that it should not."""
CORRECTED = ("undeclared_read",)
"""Faults in what is derived: a gate notes what it saw instead, and the item stays."""
ASKING = ("W4",)
"""Gates that want opinions, and are asked about these faults and a part of the honest work."""
_LOAD = re.compile(r"time ?limit|timed? ?out|deadline|did not answer|was killed", re.IGNORECASE)
"""Words of a drop that a loaded machine may bring about: it is tried again before it counts."""


@dataclass(frozen=True)
class Job:
    """What to make, and where."""

    prompt: str
    """`program` and `tests` for environments, `scenario` and `checks` for scenarios: which reply is
    spoilt."""
    kind: str
    """Planted fault; `clean`, `reviewed`, a polarity or `checks` for honest work; `mutant` for an
    operator on the code."""
    theme: str
    number: int
    place: int = 0
    """Place of a scenario in its environment, or which mutant."""
    polarity: Any = "achieve"
    recipe: RecipeName = "envscaler"
    """Whose functions make it; those of recipes over tables are all `tabled`."""

    @property
    def key(self) -> str:
        whose = () if self.recipe == "envscaler" else (self.recipe,)
        return "/".join(
            map(
                str,
                (
                    *whose,
                    self.prompt,
                    self.kind,
                    self.theme,
                    self.number,
                    self.place,
                    self.polarity,
                ),
            )
        )

    @property
    def is_scenario(self) -> bool:
        return self.prompt in SCENARIO_PROMPTS

    @property
    def is_reviewed(self) -> bool:
        return self.kind in (REVIEWED, *(READERS if self.recipe == "envscaler" else TABLED_READERS))

    @property
    def is_clean(self) -> bool:
        return self.kind in (CLEAN, REVIEWED, "checks", *ANYTHING)

    @property
    def part(self) -> Part:
        return find_part(self.prompt, self.kind, self.recipe)


def find_part(prompt: str, kind: str, recipe: RecipeName) -> Part:
    """What a candidate goes through."""
    if recipe != "envscaler":
        return "desks" if recipe == "tau2" else "tables"
    if prompt in ("scenario", "checks"):
        return "scenarios"
    return "review" if kind in (*READERS, REVIEWED) else "environments"


class Outcome(Contract):
    """What came of a job."""

    key: str
    recipe: RecipeName = "envscaler"
    prompt: str
    kind: str
    """As asked for; of a mutant, the operator."""
    code: str = ""
    """Fingerprint of the code and knowledge that made and judged it."""
    made: bool = True
    """False where the fault has no place or shows nowhere: these count for nothing."""
    outage: str = ""
    """What could not be decided, after all tries: it counts for nothing, and is told."""
    drops: tuple[tuple[str, str, str], ...] = ()
    """Gate, reason and detail of what was reported, the first first: suspicions too, which drop
    nothing without a judge."""

    corrected: tuple[tuple[str, str, str], ...] = ()
    """The same of what a gate corrected: derived metadata that was incomplete."""

    @property
    def is_reported(self) -> bool:
        """Whether some step or gate says so: it drops it, suspects it, or corrects it where nothing
        but derived metadata is wrong."""
        return bool(self.drops) or (self.kind in CORRECTED and bool(self.corrected))

    @property
    def is_proved(self) -> bool:
        """Whether it is dropped without a judge: by a step, or by a gate that saw it happen."""
        return any(
            gate not in GATES or GATES[gate].classify(reason) != "suspicion"
            for gate, reason, _ in self.drops
        )

    confirmed: int = 0
    """Suspicions among them that the embedded judge confirms: a count that shows the plumbing, and
    nothing of a real judge."""

    @property
    def is_ruled(self) -> bool:
        """Whether it is dropped where the embedded judge is asked."""
        return self.is_proved or self.confirmed > 0

    unmeasured: tuple[str, ...] = ()
    """Gates that could not say."""
    again: int = 0
    """Times it was tried again."""
    nothing: float = 0.0
    """Reward of doing nothing, where it was kept."""
    best: float = 0.0
    """Best reward of an outsider."""
    won: tuple[str, ...] = ()
    """Outsiders that passed."""
    attacks: int = 0
    """Outsiders' attempts."""
    searched: bool = False
    """Whether the search attacker looked at it."""
    wrong: tuple[int, int] = (0, 0)
    """Ends that the domain's truth calls wrong, and how many of them the verifier accepts."""
    right: tuple[int, int] = (0, 0)
    """Ends that it calls right, and how many of them the verifier refuses."""

    @property
    def part(self) -> Part:
        return find_part(self.prompt, self.kind, self.recipe)

    @property
    def is_named(self) -> bool:
        """Whether the first drop names the fault, in the order of production."""
        return bool(self.drops) and is_right(self.prompt, self.kind, *self.drops[0])

    @property
    def is_named_later(self) -> bool:
        """Whether any drop does."""
        return any(is_right(self.prompt, self.kind, *drop) for drop in self.drops)


async def do(job: Job, sandbox: Sandbox) -> Outcome:
    """What came of it; an outage is tried again, and never a drop."""
    outcome = Outcome(key=job.key, recipe=job.recipe, prompt=job.prompt, kind=job.kind)
    for again in range(TRIES):
        try:
            outcome = await _try(job, sandbox, again)
        except EnvMillError as error:
            outcome = Outcome(
                key=job.key,
                recipe=job.recipe,
                prompt=job.prompt,
                kind=job.kind,
                outage=error.message[:300],
            )
        outcome = outcome.model_copy(update={"again": again})
        if not outcome.outage and not any(_LOAD.search(detail) for _, _, detail in outcome.drops):
            break
    return outcome


async def _try(job: Job, sandbox: Sandbox, again: int) -> Outcome:
    means, named = GateContext(sandbox, seed=SEED), job
    if job.is_scenario:
        made = await _pose(job, sandbox)
        if isinstance(made, ScenarioCase) and again:
            # Gates keep what they played of a scenario: another try begins anew.
            made = ScenarioCase(
                made.scenario.model_copy(
                    update={"features": {**made.scenario.features, "again": again}}
                ),
                made.environment,
                made.siblings,
            )
    elif job.kind == MUTANT:
        found = await _mutate(job, sandbox)
        named, made = (replace(job, kind=found[0]), found[1]) if found else (job, None)
    else:
        made = await _make(job, sandbox)
    prompt = MUTANT if job.kind == MUTANT else job.prompt
    outcome = Outcome(
        key=job.key, recipe=job.recipe, prompt=prompt, kind=named.kind, made=made is not None
    )
    if isinstance(made, str):
        step, (reason, _, words) = "draft" if job.is_scenario else "build", made.partition(": ")
        return outcome.model_copy(update={"drops": ((step, reason, words[:300]),)})
    if isinstance(made, EnvironmentCase):
        return await _judge_environment(job, outcome, made, means)
    return await _judge_scenario(job, outcome, made, means) if made else outcome


async def _pose(job: Job, sandbox: Sandbox) -> ScenarioCase | str | None:
    spot, kind = (
        Spot(job.theme, job.number, job.place, job.polarity),
        "" if job.kind in ANYTHING else job.kind,
    )
    if job.recipe == "envscaler":
        return await pose_at(spot, kind, sandbox)
    return await tabled.pose_at(
        job.recipe,
        spot,
        job.prompt,
        kind.removeprefix("checks") if kind == "checks" else kind,
        sandbox,
    )


async def _make(job: Job, sandbox: Sandbox) -> EnvironmentCase | str | None:
    if job.recipe != "envscaler":
        if job.is_clean:
            return await tabled.make(job.recipe, job.theme, job.number, tabled.Planted(), sandbox)
        return await tabled.make_faulty(
            job.recipe, job.theme, job.number, job.prompt, job.kind, sandbox
        )
    if job.is_clean:
        return await make_clean(job.theme, job.number, sandbox)
    return await make_faulty(job.theme, job.number, job.prompt, job.kind, sandbox)


async def _mutate(job: Job, sandbox: Sandbox) -> tuple[str, EnvironmentCase | None] | None:
    if job.recipe == "envscaler":
        return await make_mutant(job.theme, job.number, job.place, sandbox)
    return await tabled.make_mutant(job.recipe, job.theme, job.number, job.place, sandbox)


async def _judge_environment(
    job: Job, outcome: Outcome, built: EnvironmentCase, means: GateContext
) -> Outcome:
    if not job.is_reviewed:
        return await judge(
            outcome, [gate for gate in ENVIRONMENT_GATES if gate.name not in ASKING], built, means
        )
    async with open_readers(means.seed) as models:
        return await judge(outcome, ENVIRONMENT_GATES, built, replace(means, models=models))


async def _judge_scenario(
    job: Job, outcome: Outcome, posed: ScenarioCase, means: GateContext
) -> Outcome:
    """The search attacker looks at a sample of clean work; what is kept is attacked by
    outsiders."""
    searched = job.is_clean and (job.number * 7 + job.place + len(job.theme)) % SEARCHED == 0
    gates = [gate for gate in SCENARIO_GATES if gate.name != "S13" or searched]
    outcome = await judge(outcome.model_copy(update={"searched": searched}), gates, posed, means)
    if outcome.drops or outcome.outage or not job.is_clean:
        return outcome
    attacks = [attack async for attack in measure_kept(posed, means.sandbox)]
    idle = max((attack.reward for attack in attacks if attack.name == "do_nothing"), default=0.0)
    told = {
        "nothing": idle,
        "best": max(attack.reward for attack in attacks),
        "won": tuple(
            sorted({attack.name for attack in attacks if attack.trial.verdict.outcome == "pass"})
        ),
        "attacks": len(attacks),
    }
    return outcome.model_copy(update=told | await _measure_truth(posed, means))


async def _measure_truth(posed: ScenarioCase, means: GateContext) -> dict[str, tuple[int, int]]:
    """Ends by what the domain's truth says of them, where it says anything, with the verifier's
    errors."""
    truth = find_truth(posed.scenario, posed.environment, means.seed)
    if isinstance(truth, str) or any(
        check.op == "generated" for check in posed.scenario.verifier.goals
    ):
        return {}
    judged = [(truth(ending.final), accepted) for ending, accepted in await list_ends(posed, means)]
    wrong, right = (
        [accepted for sound, accepted in judged if not sound],
        [accepted for sound, accepted in judged if sound],
    )
    return {"wrong": (len(wrong), sum(wrong)), "right": (len(right), len(right) - sum(right))}


async def judge(
    outcome: Outcome, gates: Sequence[Gate[Any]], subject: Any, means: GateContext
) -> Outcome:
    """Gates in the order of production up to the first drop, which a suspicion is not; all where no
    right name was among what they said."""
    drops, corrected, suspected = (
        list[tuple[str, str, str]](),
        list[tuple[str, str, str]](),
        list[Finding](),
    )
    unmeasured = list[str]()
    known = outcome.recipe == "envscaler" and outcome.kind in KINDS.get(outcome.prompt, {})
    for gate in gates:
        look: Callable[[Any, GateContext], Awaitable[Finding]] = gate.check
        found = [settle(gate, one) for one in (await look(subject, means)).spread()]
        for finding in found:
            if finding.outcome == "error" and not drops:
                return outcome.model_copy(
                    update={"outage": f"{gate.name} {finding.reason}: {finding.detail}"[:300]}
                )
            if finding.outcome == "not_measured":
                unmeasured.append(f"{gate.name} {finding.reason}")
            if finding.outcome in ("dropped", "suspected", "corrected"):
                told = corrected if finding.outcome == "corrected" else drops
                told.append((gate.name, finding.reason, finding.detail[:300]))
            if finding.outcome == "suspected":
                suspected.append(finding)
        if any(one.outcome == "dropped" for one in found) and (
            not known or any(is_right(outcome.prompt, outcome.kind, *one) for one in drops)
        ):
            break
    confirmed = await _count_confirmed(suspected, subject, means)
    ended = {
        "drops": tuple(drops),
        "corrected": tuple(corrected),
        "unmeasured": tuple(unmeasured),
        "confirmed": confirmed,
    }
    return outcome.model_copy(update=ended)


async def _count_confirmed(suspected: Sequence[Finding], subject: Any, means: GateContext) -> int:
    """How many of them the embedded judge confirms."""
    if not suspected:
        return 0
    async with open_readers(means.seed) as models:
        ruled = await rule_on_suspicions(
            suspected, subject, models, list(read_calibrations(ROOT / "data/calibration"))
        )
    return sum(one.outcome == "dropped" for one in ruled)
