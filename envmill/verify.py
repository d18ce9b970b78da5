"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.gates import ENVIRONMENT_GATES, GATES, s17
from envmill.gates.base import Built, Finding, Means, Posed, fail
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from envmill.passing import is_over, look_somewhere, name_content, pass_gates
from envmill.rehearsing import LOOP, hear_judge
from schemas.base import digest
from schemas.ledger import Attack, GateOutcome, Lap
from schemas.scenario import Scenario

AGAIN = 10
"""Of so many items one is put to all probes again, and must come to what the loop found."""


async def verify_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:
    """The environments' gates. Models are asked for opinions only where the run wants that."""
    built = Built(subject.record.environment, subject.record.tests)
    found = await _look("environments", built, subject.record.held, mill)
    if not is_over(found):  # of an item that is dropped anyway the judge is asked nothing
        found = await hear_judge(found, built, mill, account)
    asked = account if mill.config.review else None
    opinions = [gate for gate in ENVIRONMENT_GATES if gate.asks]
    reviewed = (await pass_gates(opinions, built, Means(mill.sandbox, asked, mill.config.seed or 0), found))[len(found) :]
    return Result(findings=(*found, *await hear_judge(reviewed, built, mill, account)))


async def verify_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:
    """The scenarios' gates. A model is asked about suspicions, and where one plays the user."""
    placed = subject.record
    posed = Posed(placed.record, placed.environment, tuple(one for one in placed.siblings if one.id != placed.record.id))
    found = await _look("scenarios", posed, placed.held, mill)
    if not is_over(found):
        found = await hear_judge(found, posed, mill, account)
    if mill.config.person == "model" and mill.config.form != "single" and not is_over(found):
        found = await _ask_user(posed, mill, account, found)
    return Result(tuple(list_attacks(placed.record, found)), tuple(found))


async def _ask_user(posed: Posed, mill: Mill, account: Account, found: Sequence[Finding]) -> list[Finding]:
    """What the scripted user tells is said of exports that carry it; what the model tells is said of this run's conversations."""
    means = Means(mill.sandbox, account, mill.config.seed or 0)
    others = [one for one in found if one.gate != s17.GATE or one.outcome == "suspected"]
    asked = await pass_gates([GATES[s17.GATE]], posed, means, [])
    return [*others, *(one for one in asked if one.outcome != "suspected")]


async def _look(lap: Lap, subject: Built | Posed, held: Mapping[str, GateOutcome], mill: Mill) -> list[Finding]:
    """Judged again in a fresh process. What held in the loop is put to the sealed probes; of one item in ten the loop is repeated."""
    means = Means(mill.sandbox, seed=mill.config.seed or 0, episodes=mill.config.search)
    if held and int(digest(name_content(subject), 8), 16) % AGAIN == 0:
        repeated = await look_somewhere(lap, subject, replace(means, probes="open"), mill.keepers)
        if differing := sorted({one.gate for one in repeated if held.get(one.gate) == "kept" and one.outcome in ("dropped", "error")}):
            words = f"{', '.join(differing)} held in the repair loop and does not hold for the same content now"
            return [*repeated, fail(LOOP, "not_repeated", words)]
    passed = frozenset(gate for gate, outcome in held.items() if outcome == "kept")
    return await look_somewhere(lap, subject, replace(means, held=passed), mill.keepers)


def list_attacks(scenario: Scenario, findings: Sequence[Finding]) -> Iterator[Attack]:
    """What the search attacker was paid for. A machine is attacked by forgers that are known by name: there is nothing to remember."""
    found: dict[str, Attack] = {}
    searched = [finding.evidence for finding in findings if finding.gate == "S13" and finding.evidence]
    for attack in (each for evidence in searched for each in evidence.get("attacks", ())):
        told = {name: attack[name] for name in ("manner", "calls", "said", "reward", "solves", "final_state_hash")}
        one = Attack.model_validate({"environment": scenario.environment, "scenario": scenario.id} | told)
        found.setdefault(one.id, one)
    yield from found.values()
