"""The page of the public audit: `ENVMILL_REAL_PROGRAMS=FOLDER python -m tests.audit.released >
docs/audit/envscaler-released.md`.

It contains names of tools and classes, ids and numbers, and quotes nothing else of the release.
"""

import ast
import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.base.settings import Settings
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import GateContext
from envmill.interop.bundles import Folder
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest
from envmill.kinds.start import CLOCK
from envmill.pipeline.audit import AuditEntry, audit_folder, audit_set
from envmill.sandbox import CheckSession, Sandbox
from schemas.base import canonical_json
from schemas.scenario import Scenario
from tests.audit.abuse import Abuse, abuse

_RETRIES = 2
_CHANCE = {"clock": r"(date|datetime)\.(now|utcnow|today)|time\.(time|time_ns|strftime|localtime|gmtime)", "ids": r"uuid\.\w+|uuid\d",
           "randomness": r"(random|secrets)\.\w+"}  # fmt: skip
SIGNS: dict[str, str] = {"error": "!", "dropped": "-", "suspected": "~", "corrected": "c", "cleared": "+", "not_measured": "?", "kept": "+",
                         "not_applicable": "."}  # fmt: skip
"""Outcome, the worst first → its sign in a table."""


@dataclass(frozen=True)
class Audited:
    """One environment with all findings."""

    name: str
    folder: Folder
    entries: Sequence[AuditEntry]
    abuse: Abuse
    holding: dict[str, list[int]]
    """Scenario → numbers of the checks that are true at the start."""


async def audit_release(root: Path) -> tuple[Harvest, list[Audited], list[AuditEntry]]:
    """Everything, in the order of the ids."""
    async with Sandbox.open(Settings.read({})) as sandbox:
        harvest = await IMPORTERS["envscaler"](root, sandbox)
        audited: list[Audited] = []
        for name, folder in sorted(harvest.folders.items()):
            holding = {
                scenario.id: await find_holding(scenario, sandbox) for scenario in folder.scenarios
            }
            entries = await audit_steadily(folder, sandbox)
            audited.append(Audited(name, folder, entries, await abuse(folder, sandbox), holding))
            sys.stderr.write(f"{name} audited\n")
    return harvest, audited, audit_set(list(harvest.folders.values()))


async def audit_steadily(folder: Folder, sandbox: Sandbox) -> list[AuditEntry]:
    """Audit a folder. A gate that could not run is more often a fault of the machine than of the
    release, so it runs again in a fresh sandbox."""
    entries = await audit_folder(folder, GateContext(sandbox))
    for _ in range(_RETRIES):
        if not any(entry.finding.outcome == "error" for entry in entries):
            break
        async with Sandbox.open(Settings.read({})) as fresh:
            entries = await audit_folder(folder, GateContext(fresh))
    return entries


async def find_holding(scenario: Scenario, sandbox: Sandbox) -> list[int]:
    """Checks that are true after doing nothing."""
    sources, state = [check.source for check in scenario.verifier.goals], scenario.initial_state
    heard = await sandbox.judge(CheckSession(sources, state, state, CLOCK))
    return [number for number, said in enumerate(heard, 1) if said.holds]


def write_page(
    harvest: Harvest, audited: Sequence[Audited], together: Sequence[AuditEntry]
) -> Iterator[str]:
    yield from _write_head(harvest, audited)
    yield from _write_counts([*(entry for one in audited for entry in one.entries), *together])
    yield from _write_environments(audited)
    yield from _write_findings(audited)
    yield from _write_chance(audited)
    yield from _write_abuse(audited)
    yield from _write_scenarios(audited)
    yield from _write_remarks(harvest)


def _write_head(harvest: Harvest, audited: Sequence[Audited]) -> Iterator[str]:
    rewards = [scenario.do_nothing_reward for one in audited for scenario in one.folder.scenarios]
    paid, mean = sum(reward > 0 for reward in rewards), sum(rewards) / len(rewards)
    yield "# Audit of released EnvScaler environments\n"
    yield (
        f"{len(audited)} environments and {len(rewards)} scenarios of EnvScaler's public release "
        "(RUC-NLPIR, MIT), as kept in the public "
        "repository MurrayTom/ToolHazard (MIT) at commit 544b73b, with that project's additions "
        "removed. "
        "`envmill import envscaler` read them, and every gate of `envmill audit` checked them. "
        "From the release, this page quotes only "
        "names of tools and classes, ids and numbers.\n"
    )
    yield (
        f"**A policy that does nothing is paid in {paid} of {len(rewards)} scenarios; the mean "
        f"over all is {mean:.3f}.** "
    )
    yield "Rewards are those of the release: the fraction of checks that are true.\n"
    yield (
        "This page is generated: `ENVMILL_REAL_PROGRAMS=FOLDER python -m tests.audit.released > "
        "docs/audit/envscaler-released.md`. "
    )
    yield (
        "By hand: `envmill import envscaler FOLDER OUT`, then `envmill audit OUT` (or "
        "`OUT/env_147_rl`; `--json` for the evidence).\n"
    )
    mapped = harvest.report("envscaler")["mapped"]
    yield (
        "Mapped: "
        f"{', '.join(f'{mapped[name]} of {count} {name}' for name, count in harvest.counted.items())}. "
    )
    yield (
        "The end of the page lists what could not be mapped unchanged. No environment has tests and "
        "no scenario has a reference path, so "
        "gates that need one say `not_measured`, and so does W4, which asks models. 17 environments "
        "have no scenario. They were tried on "
        "the state that their constructor makes, and on a state with three *invented* rows a "
        "container, made from the types in their code. "
        "A finding that needs an invented row is weaker than one on a scenario's own "
        "state.\n"
    )


def _write_counts(entries: Sequence[AuditEntry]) -> Iterator[str]:
    yield "## Gates\n"
    yield (
        "| gate | asks | kept | dropped | suspected | corrected | not measured | not applicable "
        f"| error |\n|{'---|' * 9}"
    )
    order = [gate.name for gate in (*ENVIRONMENT_GATES, *SCENARIO_GATES)] + ["W10", "F4"]
    for name in sorted(order, key=lambda gate: ("WSF".index(gate[0]), int(gate[1:]))):
        found = [entry for entry in pick_worst(entries) if entry.finding.gate == name]
        count = Counter(entry.finding.outcome for entry in found)
        told = [
            f"{count[outcome]}{_render_reasons(found, outcome)}"
            for outcome in ("dropped", "suspected", "corrected")
        ]
        rest = (count["not_measured"], count["not_applicable"], count["error"])
        yield (
            f"| {name} | {found[0].title if found else ''} | {count['kept']} | "
            f"{' | '.join([*told, *map(str, rest)])} |"
        )
    yield ""


def _render_reasons(entries: Sequence[AuditEntry], outcome: str) -> str:
    reasons = Counter(entry.finding.reason for entry in entries if entry.finding.outcome == outcome)
    return (
        f" ({', '.join(f'`{reason}` {times}' for reason, times in sorted(reasons.items()))})"
        if reasons
        else ""
    )


def pick_worst(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """One entry for each subject and gate: the gate's worst finding."""
    ranked = sorted(
        entries, key=lambda entry: list(SIGNS).index(entry.finding.outcome), reverse=True
    )
    return list({(entry.subject, entry.finding.gate): entry for entry in ranked}.values())


def _write_environments(audited: Sequence[Audited]) -> Iterator[str]:
    names = sorted((gate.name for gate in ENVIRONMENT_GATES), key=lambda gate: int(gate[1:]))
    yield "## Environments\n"
    yield (
        "`+` kept, `-` dropped, `~` suspected, `c` corrected, `?` not measured, `.` not "
        "applicable, `!` the gate failed.\n"
    )
    yield f"| id | class | tools | {' | '.join(names)} |\n|{'---|' * (3 + len(names))}"
    for one in audited:
        environment = one.folder.environment
        yield (
            f"| {one.name} | `{_class_name(one)}` | {len(environment.tools)} | "
            f"{render_row(one.entries, environment.id, names)} |"
        )
    yield ""


def render_row(entries: Sequence[AuditEntry], subject: str, names: Sequence[str]) -> str:
    found = {
        entry.finding.gate: SIGNS[entry.finding.outcome]
        for entry in pick_worst(entries)
        if entry.subject == subject
    }
    return " | ".join(found.get(name, " ") for name in names)


def _class_name(one: Audited) -> str:
    found = re.search(
        r"from program import (\w+) as Theirs", one.folder.environment.files["adapter.py"]
    )
    return found[1] if found else ""


def _write_findings(audited: Sequence[Audited]) -> Iterator[str]:
    yield "### What was found in them\n"
    for one in audited:
        environment = one.folder.environment
        dropped = [
            entry
            for entry in one.entries
            if entry.subject == environment.id and entry.finding.outcome == "dropped"
        ]
        told = [
            f"{entry.finding.gate} `{entry.finding.reason}`{_name_tools(one, entry)}"
            for entry in dropped
        ]
        doubted = [
            entry
            for entry in one.entries
            if entry.subject == environment.id and entry.finding.outcome == "suspected"
        ]
        told += [
            f"suspected {entry.finding.gate} `{entry.finding.reason}`{_name_tools(one, entry)}"
            for entry in doubted
        ]
        yield (
            f"- {one.name}: "
            f"{'; '.join([*told, *_tell_errors(one, environment.id)]) or 'nothing found'}."
        )
    yield ""


def _tell_errors(one: Audited, subject: str) -> list[str]:
    """Gates that could not run."""
    failed = [
        entry.finding
        for entry in one.entries
        if entry.subject == subject and entry.finding.outcome == "error"
    ]
    return [f"{finding.gate} could not run (`{finding.reason}`)" for finding in failed]


def _name_tools(one: Audited, entry: AuditEntry) -> str:
    """Tools that the finding names."""
    spoken = set(re.findall(r"\w+", entry.finding.detail + canonical_json(entry.finding.evidence)))
    names = [
        tool.name
        for tool in one.folder.environment.tools
        if tool.name in spoken and tool.name in entry.finding.detail
    ]
    return (
        f" ({', '.join(f'`{name}`' for name in names[:6])}{', …' if len(names) > 6 else ''})"
        if names
        else ""
    )


def _write_chance(audited: Sequence[Audited]) -> Iterator[str]:
    used = {one.name: find_chance(one.folder.environment.files["program.py"]) for one in audited}
    some = sum(bool(found) for found in used.values())
    yield "## Clock, ids and randomness\n"
    yield (
        f"{some} of {len(audited)} programs take the time, ids or randomness from the machine; "
        "here the session's seed determines these.\n"
    )
    yield "| id | calls in its code |\n|---|---|"
    for name, found in used.items():
        told = ", ".join(f"`{call}` × {times}" for call, times in sorted(found.items()))
        yield f"| {name} | {told or 'nothing found'} |"
    yield ""


def find_chance(source: str) -> Counter[str]:
    """Calls that read the time, ids or randomness from the machine."""
    called = [
        ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
    ]
    return Counter(
        name
        for name in called
        if any(re.search(rf"(^|\.)({words})$", name) for words in _CHANCE.values())
    )


def _write_abuse(audited: Sequence[Audited]) -> Iterator[str]:
    crashing, tools = (
        sum(len(one.abuse.crashing) for one in audited),
        sum(one.abuse.tools for one in audited),
    )
    yield "## Wrong types\n"
    yield (
        f"If one argument has a wrong type and nothing validates it, {crashing} of "
        f"{tools} tools with parameters raise. In the "
        "release, that ends an episode with a reward of 0. The interface of the bundle "
        "folder refuses such calls before they "
        "reach the code. W6 above counts crashes on arguments that fit the released schema.\n"
    )
    yield "| id | tools that raise | of | exceptions |\n|---|---|---|---|"
    for one in audited:
        told = ", ".join(f"{name} × {times}" for name, times in one.abuse.errors.most_common())
        yield (
            f"| {one.name} | {len(one.abuse.crashing)} | {one.abuse.tools} | "
            f"{told or 'nothing found'} |"
        )
    yield ""


def _write_scenarios(audited: Sequence[Audited]) -> Iterator[str]:
    names = sorted((gate.name for gate in SCENARIO_GATES), key=lambda gate: int(gate[1:]))
    yield "## Scenarios\n"
    yield (
        "The reward for doing nothing, and the numbers of the checks that are true at the start.\n"
    )
    yield (
        f"| id | checks | do-nothing | true at the start | {' | '.join(names)} |\n"
        f"|{'---|' * (4 + len(names))}"
    )
    for one in audited:
        for scenario in one.folder.scenarios:
            task, held = scenario.features["released_as"], one.holding[scenario.id]
            told = (
                f"{len(scenario.verifier.goals)} | {scenario.do_nothing_reward:.3f} | "
                f"{', '.join(map(str, held)) or 'none'}"
            )
            yield f"| {task} | {told} | {render_row(one.entries, scenario.id, names)} |"
    yield "\n### What was found in them\n"
    for one in audited:
        for scenario in one.folder.scenarios:
            dropped = [
                entry.finding
                for entry in one.entries
                if entry.subject == scenario.id and entry.finding.outcome == "dropped"
            ]
            told = [f"{finding.gate} `{finding.reason}`" for finding in dropped]
            yield (
                f"- {scenario.features['released_as']}: "
                f"{'; '.join([*told, *_tell_errors(one, scenario.id)]) or 'nothing found'}."
            )
    yield ""


def _write_remarks(harvest: Harvest) -> Iterator[str]:
    yield "## What could not be mapped unchanged\n"
    yield "| subject | part | weight | reason |\n|---|---|---|---|"
    yield from (
        f"| {one.subject} | {one.part} | {one.weight} | `{one.code}` |" for one in harvest.remarks
    )


if __name__ == "__main__":
    page = write_page(*asyncio.run(audit_release(Path(os.environ["ENVMILL_REAL_PROGRAMS"]))))
    sys.stdout.write("\n".join(page) + "\n")
