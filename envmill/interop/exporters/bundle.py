"""Exporter `bundle`: one folder per environment, with its scenarios and verifiers. It runs and
judges without installed packages."""

from collections import Counter
from collections.abc import Iterator, Sequence

from envmill.interop.bundles.carrying import list_carried
from envmill.interop.bundles.digests import render_digests
from envmill.interop.bundles.envrun.digests import DIGESTS
from envmill.interop.bundles.envrun.layout import PROVENANCE
from envmill.interop.bundles.folder import Folder
from envmill.interop.bundles.portable import find_unjudged
from envmill.interop.bundles.writing import render_folder
from envmill.interop.exporters.base import (
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
)
from envmill.interop.exporters.pages import (
    describe_bounds,
    describe_contamination,
    describe_tiers,
    fill,
)
from envmill.sandbox import Program
from schemas.base import Json
from schemas.environment import Environment, Test
from schemas.scenario import Scenario
from schemas.stored import find_by_owner, order

NAME = "bundle"


def export_bundle(export_set: ExportSet) -> Iterator[OutputFolder]:
    """An output for each environment that has scenarios, named after the environment."""
    find_scenarios = find_by_owner(export_set.scenarios, "environment")
    find_tests = find_by_owner(export_set.tests, "environment")
    for environment in order(export_set.environments):
        scenarios = sorted(find_scenarios(environment.id), key=lambda one: one.number)
        if scenarios:
            tests = sorted(find_tests(environment.id), key=lambda one: one.id)
            ids = {one.id for one in scenarios}
            tiers, compared = export_set.describe_tiers(ids), export_set.describe_contamination(ids)
            yield pack_environment(environment, scenarios, tests, tiers, compared)


def pack_environment(
    environment: Environment,
    scenarios: Sequence[Scenario],
    tests: Sequence[Test] = (),
    tiers: Json = None,
    contamination: Json = None,
) -> OutputFolder:
    """The folder of one environment. Without `tiers` its manifest has no tiers: no gate raised or
    looked for suspicions."""
    canary = make_canary([environment.id, *(one.id for one in scenarios)])
    texts = render_folder(Folder(environment, tuple(tests), tuple(scenarios)))
    files = {path: text.encode() for path, text in texts.items()} | list_carried(
        Program.shown(environment)
    )
    told = {"tiers": tiers, "contamination": contamination}
    files[PROVENANCE] = render_json(
        _describe_provenance(environment, scenarios, canary)
        | {name: value for name, value in told.items() if value}
    )
    files["README.md"] = _write_card(environment, scenarios, canary, tiers, contamination).encode()
    files["NOTICE"] = fill("notice", licence=environment.licence, canary=canary).encode()
    files[DIGESTS] = render_digests(files)
    ids = tuple(one.id for one in scenarios)
    return OutputFolder(
        NAME,
        f"{NAME}/{environment.id}",
        dict(sorted(files.items())),
        len(scenarios),
        (environment.id,),
        ids,
    )


def _describe_provenance(
    environment: Environment, scenarios: Sequence[Scenario], canary: str
) -> Json:
    """Sources of environment and scenarios, and the ids that a recall would name."""
    return {
        "environment": {
            "id": environment.id,
            "licence": environment.licence,
            **environment.origin.model_dump(mode="json"),
        },
        "scenarios": {
            f"{one.number:03d}": {"id": one.id, **one.origin.model_dump(mode="json")}
            for one in scenarios
        },
        "not_judged_here": {
            f"{one.number:03d}": why for one in scenarios if (why := find_unjudged(one.verifier))
        },
        "transfer": TRANSFER,
        "canary": canary,
    }


def _write_card(
    environment: Environment,
    scenarios: Sequence[Scenario],
    canary: str,
    tiers: Json,
    contamination: Json,
) -> str:
    tools = [
        f"| `{tool.name}` | {tool.effect} | {_flat(tool.description)} |"
        for tool in environment.shown
    ]
    asked = [
        f"| {one.number:03d} | {one.split} | {one.polarity} | {_flat(one.request)} |"
        for one in scenarios
    ]
    unjudged = {
        f"{one.number:03d}": why for one in scenarios if (why := find_unjudged(one.verifier))
    }
    return fill(
        "bundle",
        name=environment.name,
        summary=environment.summary,
        tools="\n".join(tools),
        scenarios="\n".join(asked),
        first=f"{scenarios[0].number:03d}",
        bounds=describe_bounds(scenarios),
        tiers=describe_tiers(tiers),
        contamination=describe_contamination(contamination),
        splits=", ".join(
            f"{count} {split}"
            for split, count in sorted(Counter(one.split for one in scenarios).items())
        ),
        models=", ".join(
            sorted(
                {f"{one.origin.provider} {one.origin.model}" for one in (environment, *scenarios)}
            )
        ),
        unjudged="".join(f"\n- {name}: {why}" for name, why in unjudged.items())
        or "\nNone: every scenario is judged here as it is in the factory.",
        licence=environment.licence,
        transfer=TRANSFER,
        canary=canary,
    )


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


EXPORTER = Exporter(NAME, export_bundle)
