"""Verify: the gates of a lap's table, cheapest first, stopping at the first drop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import Built, Finding, Means, Posed, fail
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from envmill.passing import look_somewhere, name_content, pass_gates
from schemas.base import digest
from schemas.ledger import Attack, GateOutcome, Lap
from schemas.scenario import Scenario

AGAIN = 10
"""Of so many items one is put to all probes again, and must come to what the loop found."""


async def verify_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:
    """The environments' gates. Models are asked for opinions only where the run wants that."""
    built = Built(subject.record.environment, subject.record.tests)
    found = await _look("environments", built, subject.record.held, mill)
    asked = account if mill.config.review else None
    opinions = [gate for gate in ENVIRONMENT_GATES if gate.asks]
    return Result(findings=tuple(await pass_gates(opinions, built, Means(mill.sandbox, asked, mill.config.seed or 0), found)))


async def verify_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """The scenarios' gates."""
    placed = subject.record
    posed = Posed(placed.record, placed.environment, tuple(one for one in placed.siblings if one.id != placed.record.id))
    found = await _look("scenarios", posed, placed.held, mill)
    return Result(tuple(list_attacks(placed.record, found)), tuple(found))


async def _look(lap: Lap, subject: Built | Posed, held: Mapping[str, GateOutcome], mill: Mill) -> list[Finding]:
    """Judged again in a fresh process. What held in the loop is put to the sealed probes; of one item in ten the loop is repeated."""
    means = Means(mill.sandbox, seed=mill.config.seed or 0, episodes=mill.config.search)
    if held and int(digest(name_content(subject), 8), 16) % AGAIN == 0:
        repeated = await look_somewhere(lap, subject, replace(means, probes="open"), mill.keepers)
        if differing := sorted({one.gate for one in repeated if held.get(one.gate) == "kept" and one.outcome in ("dropped", "error")}):
            words = f"{', '.join(differing)} held in the repair loop and does not hold for the same content now"
            return [*repeated, fail("loop", "not_repeated", words)]
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
