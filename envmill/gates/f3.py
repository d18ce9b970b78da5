"""F3: not contaminated: no text of the subject repeats a protected text, as far as a check of
measured power can tell.

texts ─► index of protected sets ─► hit: dropped
planted copies, clones, shuffles, rewordings ─► the same index ─► rates; too low, and nothing is measured
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from envmill.gates.base import Finding, drop, keep, skip
from envmill.gates.protected_texts import read_protected
from envmill.gates.protecting.interface import ComparedWorld
from envmill.gates.protecting.same_task import AskedTask, TaskMatch
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

GATE = "F3"
_LONGEST = 3000
"""Characters of a benchmark's task that a judge is shown."""

LEAST: Mapping[str, float] = {"copied": 0.98, "renamed": 0.9, "shuffled": 0.9, "reworded": 0.8}
"""Share of planted texts of each kind that must be found."""


def check_for_contamination(
    texts: Mapping[str, str],
    *folders: Path,
    asked: AskedTask | None = None,
    world: ComparedWorld | None = None,
) -> Finding:
    """`texts` maps a name for the message to each text. If no text is protected, or the check is
    blind, the finding says so and claims nothing."""
    protected = read_protected(*folders)
    if protected is None:
        return skip(
            GATE,
            "no_protected_set",
            f"Nothing is protected: put texts or sketches of benchmarks into {folders[0]}.",
        )
    power = protected.power
    told: dict[str, Json] = {
        "sets": protected.sets,
        "digest": protected.digest,
        "too_short": protected.short,
        "power": power,
    }
    for what, text in sorted(texts.items()):
        if hit := protected.find(text):
            seen = told | {
                "what": what,
                "source": hit.source,
                "shared": hit.shared,
                "words": hit.words,
            }
            return drop(
                GATE,
                hit.reason,
                f"its {what} has {hit.shared:.0%} in common with {hit.source}: "
                f"{hit.words or text[:120]!r}",
                seen,
            )
    if world is not None:
        told["near_domain"] = protected.find_domains(world)
    if asked is not None and (same := protected.find_task(asked)) is not None:
        return _report(same, told, protected.texts.get(same.source, ""))
    if weak := [
        f"{name} {power.get(name, 0):.0%} of {least:.0%}"
        for name, least in LEAST.items()
        if power.get(name, 0.0) < least
    ]:
        return skip(
            GATE,
            "weak_check",
            f"Too few planted copies of the protected texts are found: {', '.join(weak)}.",
            told,
        )
    return keep(GATE, told)


def _report(same: TaskMatch, told: dict[str, Json], text: str) -> Finding:
    """The same task is dropped; a possible copy is suspected. A judge can decide about it if the
    benchmark's own text is available."""
    seen: dict[str, Json] = told | {"what": "task", **vars(same)}
    shares = f"{same.calls:.0%} of the calls and {same.values:.0%} of the rare values"
    if same.reason == "same_task":
        return drop(GATE, "same_task", f"its solution has {shares} of {same.source}", seen)
    words = f"its words are near those of {same.source}, and its solution has {shares}"
    return replace(
        drop(GATE, "like_task", words, seen),
        outcome="suspected",
        question=ask_whether_same(text) if text else "",
    )


def ask_whether_same(text: str) -> str:
    """The question about a request and a task of a benchmark."""
    told = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    return (
        "Does the request ask for the same work as this other request, step by step, so that who "
        "has done one knows how to do the other? "
        "Other words, names, ids and amounts make no other work; another step, or one less, "
        f"does. The other request: {told!r}"
    )


def list_environment_texts(environment: Environment) -> dict[str, str]:
    """Texts of an environment that an agent reads."""
    tools: Sequence[str] = [tool.description for tool in environment.tools]
    return {
        "summary": environment.summary,
        "policy document": environment.policy_document,
        "rules": "\n".join(environment.rules),
        "tools": "\n".join(tools),
    }


def list_scenario_texts(scenario: Scenario) -> dict[str, str]:
    """Texts that are said in a scenario."""
    user = scenario.user
    return {
        "request": scenario.request,
        "opening": user.opening,
        "goals": "\n".join([user.persona, *user.goals]),
        "last words": scenario.say,
    }
