"""Writer of a consumer's folder: its package with the adapter, the sessions it is built on, public
rows and sealed bundles.

NAME/manifest.json  versions, and what was left out and why      NAME/README.md, NOTICE, LICENSE, SHA256SUMS, the consumer's own papers
NAME/PACKAGE/       the adapter           PACKAGE/sessions/      the module that opens the set; the jail and the judge in its `envrun/`
PACKAGE/public/     one row per scenario and form: all that a policy may read
PACKAGE/sealed/     a bundle folder per environment, without reference paths: tools and rewards read it
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from envmill.agents.transcript import list_tools
from envmill.base.settings import ROOT
from envmill.interop.bundles.carrying import list_same
from envmill.interop.bundles.digests import render_digests
from envmill.interop.bundles.envrun.digests import DIGESTS
from envmill.interop.bundles.envrun.layout import CARRIED
from envmill.interop.bundles.portable import find_unjudged
from envmill.interop.consumers.base import Consumer
from envmill.interop.consumers.sessions import ScenarioRow
from envmill.interop.consumers.sessions.rows import LAYOUT, PUBLIC, SEALED
from envmill.interop.exporters.base import (
    TRANSFER,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
    render_lines,
)
from envmill.interop.exporters.bundle import NAME as BUNDLE
from envmill.interop.exporters.bundle import pack_environment
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.exporters.pages import describe_bounds, describe_contamination, fill
from envmill.interop.exporters.rl import RlRow, pose
from envmill.kinds import kind_of
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

_SESSIONS = Path(__file__).parent / "sessions"
_SKIPPED = (f"{CARRIED}/", "README.md", "NOTICE", "tests.json", "SHA256SUMS")
"""What a sealed bundle does without: one copy of the code serves all, and no test of its tools is
run there."""


def export_for(consumer: Consumer, export_set: ExportSet) -> Iterator[OutputFolder]:
    """The consumer's folder; none where it has no place for anything of the export set."""
    homes = {one.id: one for one in export_set.environments}
    rows, left = _choose(consumer, export_set, homes)
    if not rows:
        return
    ids = sorted({row.scenario for row in rows})
    kept = [one for one in export_set.scenarios if one.id in set(ids)]
    environments = sorted({row.environment for row in rows})
    canary = make_canary(ids)
    package = {
        **_list_adapter(consumer),
        **_list_sessions(),
        PUBLIC: render_lines([asdict(row) for row in rows]),
    }
    for home in environments:
        package |= {
            f"{SEALED}/{home}/{path}": content for path, content in seal(homes[home], kept).items()
        }
    files = {f"{consumer.package}/{path}": content for path, content in package.items()}
    files |= {
        path: paper.encode() if isinstance(paper, str) else paper
        for path, paper in consumer.papers(rows).items()
    }
    files["manifest.json"] = render_json({
        "exporter": consumer.name,
        "layout": LAYOUT,
        "versions": dict(consumer.versions),
        "rows": {row.id: {"environment": row.environment, "kind": row.kind, "form": row.form, "split": row.split} for row in rows},
        "left_out": left,
        "licences": sorted({row.licence for row in rows}),
        "tiers": export_set.describe_tiers(ids),
        "contamination": export_set.describe_contamination(ids),
        "rewards": {"partial": sorted(row.id for row in rows if row.rewards == "partial"), "others": "binary"},
        "transfer": TRANSFER,
        "canary": canary,
    })  # fmt: skip
    files["README.md"] = _write_page(
        consumer, rows, left, kept, export_set.describe_contamination(ids), canary
    ).encode()
    files["NOTICE"] = fill(
        "notice", licence=", ".join(sorted({row.licence for row in rows})), canary=canary
    ).encode()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[DIGESTS] = render_digests(files)
    yield OutputFolder(
        consumer.name,
        consumer.name,
        dict(sorted(files.items())),
        len(rows),
        tuple(environments),
        tuple(ids),
    )


def find_left_out(consumer: Consumer, export_set: ExportSet) -> dict[str, str]:
    """Rows that the consumer has no place for, and why."""
    return _choose(consumer, export_set, {one.id: one for one in export_set.environments})[1]


def seal(environment: Environment, scenarios: list[Scenario]) -> dict[str, bytes]:
    """An environment's bundle folder, without reference paths and whatever else only a reader of
    the whole folder needs."""
    own = [
        _strip(one)
        for one in sorted(scenarios, key=lambda one: one.number)
        if one.environment == environment.id
    ]
    packed = pack_environment(environment, own).files
    kept = {path: content for path, content in packed.items() if not path.startswith(_SKIPPED)}
    kept[f"{CARRIED}/environment.json"] = packed[f"{CARRIED}/environment.json"]
    return kept | {DIGESTS: render_digests(kept)}


def _strip(scenario: Scenario) -> Scenario:
    """Without the reference path. The user's own calls stay: the scripted user makes them."""
    theirs = [call for call in scenario.oracle if call.actor != "agent"]
    return scenario.model_copy(update={"oracle": theirs, "say": "", "features": {}})


def _choose(
    consumer: Consumer, export_set: ExportSet, homes: Mapping[str, Environment]
) -> tuple[list[ScenarioRow], dict[str, str]]:
    """Rows with a place there, in the order of ids, and why the others have none."""
    rows: list[ScenarioRow] = []
    left: dict[str, str] = {}
    for scenario in sorted(export_set.scenarios, key=lambda one: one.id):
        home = homes[scenario.environment]
        why = _find_formless(home, scenario) or find_unjudged(scenario.verifier)
        for posed in pose(scenario, home, export_set.limits):
            row = _describe_row(posed, "partial" if scenario.id in export_set.partial else "binary")
            if reason := why or consumer.refuse(row):
                left[row.id] = reason
            else:
                rows.append(row)
    return rows, left


def _find_formless(environment: Environment, scenario: Scenario) -> str:
    """Why no bundle holds it, and which exporter has a form for it."""
    kind = kind_of(environment)
    why = kind.find_formless(BUNDLE, scenario)
    return (
        f"{why}; `--exporter harbor` exports it as a Harbor folder"
        if why and not kind.find_formless("harbor", scenario)
        else why
    )


def _describe_row(posed: RlRow, rewards: str) -> ScenarioRow:
    scenario, environment = posed.scenario, posed.environment
    return ScenarioRow(
        layout=LAYOUT,
        id=scenario.id if posed.form == "single" else f"{scenario.id}-conversation",
        scenario=scenario.id,
        environment=environment.id,
        kind=environment.kind,
        number=f"{scenario.number:03d}",
        form=posed.form,
        split=scenario.split,
        seed=scenario.seed,
        prompt=posed.prompt,
        tools=describe_tools(list_tools(environment)),
        limits={name: posed.limits[name] for name in ("steps", "turns") if name in posed.limits},
        licence=environment.licence,
        rewards=rewards,
    )


def _list_adapter(consumer: Consumer) -> dict[str, bytes]:
    return _read_sources(consumer.adapter)


@cache
def _list_sessions() -> dict[str, bytes]:
    """The sessions, with the code that opens a bundle in place of the file that stands for it
    here."""
    own = {
        f"{_SESSIONS.name}/{path}": content
        for path, content in _read_sources(_SESSIONS).items()
        if path != f"{CARRIED}.py"
    }
    return own | {f"{_SESSIONS.name}/{path}": content for path, content in list_same().items()}


def _read_sources(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.py"))
    }


def _describe_rewards(rows: Sequence[ScenarioRow]) -> str:
    whole = "Rewards are binary: 1 where the verifier passes the whole job, else 0."
    if not (count := sum(row.rewards == "partial" for row in rows)):
        return whole
    return (
        f"{whole} In {count} rows, whose `rewards` are `partial`, the verifier also pays parts, "
        "between 0 and 1. "
        "Attackers and a blind search earned at most 0.05 on average there."
    )


def _write_page(
    consumer: Consumer,
    rows: Sequence[ScenarioRow],
    left: Mapping[str, str],
    scenarios: Sequence[Scenario],
    contamination: Json,
    canary: str,
) -> str:
    counts = Counter((row.kind, row.form, row.split) for row in rows)
    return fill(
        "consumer",
        name=consumer.name,
        about=consumer.about.strip(),
        package=consumer.package,
        versions=", ".join(f"{name} {version}" for name, version in consumer.versions.items()),
        rows="\n".join(
            f"| {kind} | {form} | {split} | {count} |"
            for (kind, form, split), count in sorted(counts.items())
        ),
        rewards=_describe_rewards(rows),
        left="\n".join(f"- {row}: {why}" for row, why in left.items()) or "None.",
        bounds=describe_bounds(scenarios),
        contamination=describe_contamination(contamination),
        transfer=TRANSFER,
        canary=canary,
    )
