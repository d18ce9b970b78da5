"""The page about releases of others: `python -m tests.audit.others envscaler=FOLDER awm=FOLDER
envfactory=FOLDER > docs/audit/others.md`.

It contains names of tools, ids and numbers, and quotes nothing. Releases without a named folder are
not audited, and the page says so.
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.base.settings import Settings
from envmill.interop.bundles import Folder
from envmill.interop.exporters.scanning import scan
from envmill.interop.importers import IMPORTERS
from envmill.interop.importers.base import Harvest
from envmill.pipeline.audit import AuditEntry, audit_set
from envmill.sandbox import Sandbox
from tests.audit.released import audit_steadily, pick_worst

RELEASES: Mapping[str, str] = {
    "envscaler": "22 environments and 23 scenarios of EnvScaler's public release (RUC-NLPIR, MIT), as "
    "kept in the public repository "
    "MurrayTom/ToolHazard at commit 544b73b, without that project's additions. Tool by tool: "
    "[envscaler-released.md](envscaler-released.md).",
    "awm": "Three scenarios of Agent World Model (Snowflake-Labs) from the sample files of a "
    "public mirror, retyped and shortened: columns "
    "and parameters were left out, some rows made up, one verifier condensed. The importer writes "
    "new tools from the interface, so "
    "much of the audited code is ours.",
    "envfactory": "Some servers of EnvFactory (LARK-AI-Lab), read in public copies and retyped. The "
    "repository names no licence, and "
    "we store nothing of it.",
}
OWN = {
    "envscaler": "Its page counts what each gate found, suspected and could not measure: a policy that "
    "does nothing is paid in 17 of 23 "
    "scenarios, and 11 of the 15 programs that W8 could check have a tool that is declared a "
    "change and changed nothing in any "
    "call."
}
"""Releases with a separate page."""
UNSEEN = """- **τ²-bench** (Sierra, MIT) has [a page of its own](tau2.md). Its tasks are for evaluation: its retail,
  telecom and mock tasks are protected, so no export for training contains a copy of one, and
  [contamination.md](contamination.md) says how well copies are found. The scan that every
  exported row passes finds that three of 114 retail tasks name the address of the person who
  reported an issue; no other row has data that looks like a real person's.
- **BFCL** (package `bfcl-eval`, Apache-2.0) is protected in the same way. It has single functions and no environments, so no
  gate applies.
- **AgentScaler, ScaleEnv and AutoForge** released no environments. **SWE-smith, R2E-Gym** and releases of terminals are Docker
  images, which were not available here."""
HEAD = """An importer read each release ([importing.md](../importing.md)), and every gate of `envmill audit` checked what could be
mapped. The findings answer our questions, which the releases' authors did not ask: a release with many findings may serve its
purpose well. **Found** counts what happened when the program ran. **Suspected** rests on reading or on
a pattern of replies, is not a fault, and is counted separately. A question that needs tests, a reference path or a model's reading is
*not measured* where a release has none. W1 checks for what our consumers need, such as a tool that reads and one that writes.

By hand: `envmill import SYSTEM FOLDER OUT`, then `envmill audit OUT --json`. The page: `python -m tests.audit.others
SYSTEM=FOLDER …`.
"""


@dataclass(frozen=True)
class Looked:
    """A release with all findings of the gates."""

    system: str
    harvest: Harvest
    entries: Sequence[AuditEntry]


async def look(system: str, root: Path) -> Looked:
    async with Sandbox.open(Settings.read({})) as sandbox:
        harvest = await IMPORTERS[system](root, sandbox)
        entries = list(audit_set(list(harvest.folders.values())))
        for name, folder in sorted(harvest.folders.items()):
            entries += await audit_steadily(folder, sandbox)
            sys.stderr.write(f"{system}: {name} audited\n")
    return Looked(system, harvest, entries)


def write_page(looked: Sequence[Looked]) -> Iterator[str]:
    yield "# What our gates find in others' releases\n"
    yield HEAD
    for one in looked:
        yield from _write_release(one)
    named = {one.system for one in looked}
    yield from (
        f"## {system}\n\n{RELEASES[system]} {OWN[system]}\n"
        for system in OWN
        if system not in named
    )
    absent = [system for system in RELEASES if system not in named and system not in OWN]
    yield "## What was not audited\n"
    yield from (
        f"- **{system}**: {RELEASES[system]} No folder of it was available when this page was made."
        for system in absent
    )
    yield UNSEEN


def _write_release(one: Looked) -> Iterator[str]:
    mapped = one.harvest.report(one.system)["mapped"]
    yield f"## {one.system}\n"
    yield f"{RELEASES[one.system]}\n"
    yield (
        "Mapped: "
        f"{', '.join(f'{mapped[name]} of {count} {name}' for name, count in one.harvest.counted.items() if count)}.\n"
    )
    yield (
        "| gate | asks | checked | found | suspected | not measured | an example |\n"
        "|---|---|---|---|---|---|---|"
    )
    worst = pick_worst(one.entries)
    for gate in sorted(
        {entry.finding.gate for entry in worst},
        key=lambda name: ("WSF".index(name[0]), int(name[1:])),
    ):
        own = [entry for entry in worst if entry.finding.gate == gate]
        count = Counter(entry.finding.outcome for entry in own)
        seen = len(own) - count["not_measured"] - count["not_applicable"] - count["error"]
        told = (
            gate,
            own[0].title,
            seen,
            count["dropped"],
            count["suspected"],
            count["not_measured"],
            _show_first(own, one),
        )
        yield f"| {' | '.join(map(str, told))} |"
    yield ""
    flagged = sum(_holds_real_data(folder) for folder in one.harvest.folders.values())
    yield (
        "Environments with addresses, numbers or keys that look real, in themselves or "
        f"in their scenarios: {flagged} of "
        f"{len(one.harvest.folders)}.\n"
    )
    remarks = Counter((remark.weight, remark.code) for remark in one.harvest.remarks)
    told = ", ".join(
        f"`{code}` {times} ({weight})" for (weight, code), times in sorted(remarks.items())
    )
    yield f"What could not be mapped unchanged: {told or 'nothing'}.\n"


def _holds_real_data(folder: Folder) -> bool:
    return any(
        scan(row.model_dump(mode="json"), "MIT") for row in (folder.environment, *folder.scenarios)
    )


def _show_first(entries: Sequence[AuditEntry], one: Looked) -> str:
    """A finding if there is one, otherwise a suspicion: the subject, the reason, and the tools that
    it names."""
    found = (
        entry
        for outcome in ("dropped", "suspected")
        for entry in entries
        if entry.finding.outcome == outcome
    )
    entry = next(found, None)
    if entry is None:
        return ""
    names = {folder.environment.id: name for name, folder in one.harvest.folders.items()}
    cases = {case.id: case for folder in one.harvest.folders.values() for case in folder.scenarios}
    place = names.get(entry.subject) or str(
        cases[entry.subject].features.get("released_as", entry.subject)
    )
    tools = one.harvest.folders[place].environment.tools if place in one.harvest.folders else []
    words = set(re.findall(r"\w+", entry.finding.detail))
    spoken = ", ".join([f"`{tool.name}`" for tool in tools if tool.name in words][:2])
    told = f"{'suspected ' if entry.finding.outcome == 'suspected' else ''}`{entry.finding.reason}`"
    return f"{place}: {told}{f' in {spoken}' if spoken else ''}"


async def main(told: Sequence[str]) -> None:
    named = dict(one.split("=", 1) for one in told)
    looked = [await look(system, Path(named[system])) for system in RELEASES if system in named]
    sys.stdout.write("\n".join(write_page(looked)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
