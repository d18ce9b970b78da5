"""`export`: what runs kept, written again in the forms that are wanted."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.errors import SettingsError
from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.gates.base import Finding
    from envmill.interop.exporters import ExportSet, OutputFolder
    from envmill.interop.exporters.base import Band
    from envmill.stages.context import ExportInput
    from schemas.rollout import Bundle
    from schemas.run import RunConfig

BAND = "0.1,0.9"
"""Pass rates that a policy learns from, where only the policy is named."""
ASKED = "_asked"
"""Folder of exports that were asked for by hand, beside those of the runs; no run bears such an id."""


def export(
    context: typer.Context,
    runs: Annotated[list[str], typer.Argument(help="Runs to export together; the beginning of an id will do.")],
    exporter: Annotated[list[str] | None, typer.Option(help="One of the README's exporters; all when left out.")] = None,
    split: Annotated[list[str] | None, typer.Option(help="train, validation or test; all when left out.")] = None,
    provisional: Annotated[bool, typer.Option(help="Export items too that a required gate could not measure.")] = False,
    with_tier: Annotated[str, typer.Option("--with", help="`suspected` exports items with an undecided suspicion too.")] = "",
    scripted: Annotated[bool, typer.Option(help="Give `sft` what scripts did in environments that a model wrote, too.")] = False,
    band: Annotated[str, typer.Option(help="Pass rates to select scenarios by, as LEAST,MOST: `0.1,0.9`.")] = "",
    for_policy: Annotated[str, typer.Option(help="Policy whose pass rate selects scenarios; the runs' probe policy when left out.")] = "",
    consumer: Annotated[list[str] | None, typer.Option("--for", help="Consumer to write a folder for (docs/consumers).")] = None,
    partial: Annotated[
        bool, typer.Option(help="Let verifiers that pay for parts do so in a consumer's folder, where nobody earns blindly.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(help="File of terms that says which models' rows may be trained on (docs/provenance.md).")
    ] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Tokenizer folder: rows get token ids and masks (docs/tokens.md).")] = None,
    chat_template: Annotated[Path | None, typer.Option(help="Chat template to take instead of the tokenizer's own.")] = None,
    template_args: Annotated[str, typer.Option(help="Variables for the chat template, as a JSON object.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder to make; one named after the content when left out.")] = None,
) -> None:
    """Export what runs kept. Nothing is judged or played again; the same rows make the same bytes, and what stays at home is told."""
    from envmill.interop.exporters.base import SPLITS
    from envmill.stages.export import keep_splits, pack_cargo
    from flows.cli.question import find_run

    encode = _open_tokenizer(tokenizer, chat_template, template_args)
    exporters, splits = _choose_exporters(exporter, consumer, tokens=encode is not None), _check("split", split, SPLITS)
    consumers = _choose_consumers(consumer, partial)
    meant = sorted({find_run(context.obj, run) for run in runs})
    cargo = _choose_rows(context.obj, meant, policy, provisional, _wants_suspected(with_tier))
    if band or for_policy:
        cargo = _select(context.obj, meant, cargo, band or BAND, for_policy)
    chosen = keep_splits(_pay_parts(context.obj, meant, cargo) if partial else cargo, splits)
    parcels = [*pack_cargo(chosen, exporters, scripted=scripted, encode=encode), *_pack_for(consumers, chosen)]
    if not parcels:
        raise _find_nothing(meant, splits, [*exporters, *consumers])
    for bundle, folder in _write(context.obj, parcels, meant, out):
        print_text(f"{bundle.exporter:12} {folder} ({bundle.rows} rows, {len(bundle.files)} files)")


def _wants_suspected(tier: str) -> bool:
    from envmill.stages.export import SUSPECTED

    if tier not in ("", SUSPECTED):
        raise SettingsError(f"There is no tier {tier!r} to export: write --with {SUSPECTED}, or leave it out for clean items alone.")
    return bool(tier)


def _find_nothing(runs: list[str], splits: tuple[str, ...], forms: list[str]) -> SettingsError:
    return SettingsError(f"{', '.join(runs)} kept nothing of split {', '.join(splits)} that {', '.join(forms)} can be made of.")


def _choose_rows(home: Home, runs: list[str], policy: Path | None, provisional: bool, suspected: bool) -> "ExportSet":
    """Those that may leave, for what they are and under the terms that they are held to; the others are reported."""
    from envmill.gates.protected_texts import read_protected
    from envmill.interop.exporters.licence_terms import read_terms
    from envmill.stages.export import choose_cargo, unite_loads

    loads = unite_loads([_read_load(home, run) for run in runs])
    protected = read_protected(home.settings.protected, home.settings.sketches)
    cargo, findings = choose_cargo(
        loads, provisional=provisional, suspected=suspected, protected=protected, terms=read_terms(policy or home.settings.terms)
    )
    _report_findings(findings)
    return cargo


def _require_expected(home: Home, run: str) -> None:
    """A night whose rows were not as expected leaves by no door before somebody accepts it."""
    from flows.cli.question import ask
    from tasks.night import describe

    question = """select arg_max(finding, written_at) ->> 'broken' from gate_evidence where run = $run and gate = 'night'
                  and not coalesce((select arg_max(judgement, reviewed_at) = 'accept' from reviews
                                    where judgement <> 'note' and subject = 'run:' || $run), false)"""
    broken = json.loads(ask(home, question, {"run": run})[1][0][0] or "{}")
    if broken:
        raise SettingsError(describe(run, broken))


def _report_findings(findings: "list[Finding]") -> None:
    """What stays at home, and an error where nothing is left."""
    for finding in findings:
        if finding.evidence:
            describe = _DESCRIPTIONS.get(finding.gate, _count)
            print_text(f"{finding.gate}: {describe(finding.evidence)}", err=True)
    if findings[-1].outcome == "dropped":
        raise SettingsError(f"Nothing was exported: {findings[-1].detail}.")


def _choose_exporters(exporter: list[str] | None, consumer: list[str] | None, *, tokens: bool) -> tuple[str, ...]:
    """Those named; all where neither an exporter nor a consumer is named. With a tokenizer only those whose rows have token ids."""
    from envmill.interop.exporters import EXPORTERS

    if not tokens:
        return () if consumer and not exporter else _check("exporter", exporter, tuple(EXPORTERS))
    from envmill.interop.tokens.sheet import EXPORTERS as ENCODED

    if consumer:
        raise SettingsError("--tokenizer is about the rows of sft, rl and preferences. Leave --for out.")
    return _check("exporter whose rows have token ids named", exporter, ENCODED)


def _open_tokenizer(folder: Path | None, template: Path | None, given: str) -> "Callable[[ExportSet, str], ExportSet] | None":
    """What gives an exporter's rows token ids, and reports the rows that have none."""
    if folder is None:
        if template or given:
            raise SettingsError("--chat-template and --template-args are about token ids. Name a folder with --tokenizer.")
        return None
    from envmill.interop.tokens.sheet import encode_cargo
    from envmill.interop.tokens.tokenizer import read_tokenizer

    chat = read_tokenizer(folder, template, _read_variables(given))

    def encode(cargo: "ExportSet", name: str) -> "ExportSet":
        encoded = encode_cargo(cargo, chat, name)
        for reason, ids in sorted(encoded.tokens.left_out.items() if encoded.tokens else ()):
            print_text(f"{name:12} left out {len(ids)} rows without exact token ids ({reason}), {', '.join(ids[:3])} among them", err=True)
        return encoded

    return encode


def _read_variables(given: str) -> dict[str, Any]:
    try:
        found = json.loads(given or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SettingsError(f"--template-args is a JSON object, for example '{{\"enable_thinking\": false}}', and {given!r} is none.")
    return found


def _choose_consumers(consumer: list[str] | None, partial: bool) -> tuple[str, ...]:
    """Those named; none where none is."""
    from envmill.interop.consumers import CONSUMERS

    if partial and not consumer:
        raise SettingsError("--partial is about the folders of consumers. Name one with --for, or leave --partial out.")
    return _check("consumer", consumer, tuple(CONSUMERS)) if consumer else ()


def _check(what: str, given: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if strange := [one for one in given or () if one not in known]:
        raise SettingsError(f"There is no {what} {strange[0]!r}. Known: {', '.join(known)}.")
    return tuple(one for one in known if one in given) if given else known


def _pack_for(consumers: tuple[str, ...], cargo: "ExportSet") -> "list[OutputFolder]":
    """The folders of consumers; what one has no place for is reported, by name and reason."""
    from envmill.interop.consumers import CONSUMERS, export_for, find_left_out

    for name in consumers:
        for row, why in find_left_out(CONSUMERS[name], cargo).items():
            print_text(f"{name:12} left out {row}: {why}")
    return [parcel for name in consumers for parcel in export_for(CONSUMERS[name], cargo)]


def _pay_parts(home: Home, runs: list[str], cargo: "ExportSet") -> "ExportSet":
    """The cargo with the verifiers named that may pay for parts; the others pay all or nothing, and are told with what was earned."""
    from envmill.stages.partial import find_partial
    from flows.cli.question import ask

    question = (
        "select subject, gate, finding from gate_evidence where list_contains(?, run) and gate in ('S2', 'S13') and finding is not null"
    )
    paid, left = find_partial(
        cargo.scenarios, [(str(subject), str(gate), finding) for subject, gate, finding in ask(home, question, [runs])[1]]
    )
    for scenario, why in left.items():
        print_text(f"partial: {scenario} pays all or nothing: {why}", err=True)
    return replace(cargo, partial=paid)


def _select(home: Home, runs: list[str], cargo: "ExportSet", band: str, policy: str) -> "ExportSet":
    """The scenarios whose pass rate is within the band; the others are told."""
    from envmill.stages.export import keep_band

    chosen = _read_band(home, runs, band, policy)
    kept, left = keep_band(cargo, chosen, _read_rates(home, runs, chosen.policy))
    if left:
        print_text(f"band: {_count(left)}", err=True)
    if not kept.scenarios:
        raise SettingsError(f"Nothing was exported: {chosen.policy} passes no scenario in the band {chosen.least:g} to {chosen.most:g}.")
    return kept


def _read_band(home: Home, runs: list[str], band: str, policy: str) -> "Band":
    """Of the policy named, or of the one that all the runs probed with."""
    from envmill.interop.exporters.base import Band

    try:
        least, most = (float(part) for part in band.split(","))
    except ValueError as error:
        raise SettingsError(f"A band of pass rates is written LEAST,MOST, for example {BAND}, and {band!r} is none.") from error
    if not 0 <= least <= most <= 1:
        raise SettingsError(f"Pass rates lie between 0 and 1, the least first: {band!r} is no band of them.")
    probes = sorted({_read_config(home, run).probe for run in runs})
    if not policy and len(probes) > 1:
        raise SettingsError(f"The runs probed with {', '.join(probes)}: name one with --for-policy.")
    return Band(policy or probes[0], least, most)


def _read_rates(home: Home, runs: list[str], policy: str) -> dict[str, float]:
    """Scenario → the share of the policy's attempts that passed, over all the runs."""
    from flows.cli.question import ask

    question = """select scenario, policy, sum(passes) / sum(attempts + user_faults) from trainability
                  where list_contains(?, run) group by all having sum(attempts + user_faults) > 0"""
    rows = ask(home, question, [runs])[1]
    acted = sorted({str(acting) for _, acting, _ in rows})
    if policy not in acted:
        known = f"Those that did: {', '.join(acted)}." if acted else "Nobody did."
        raise SettingsError(f"No attempt of policy {policy!r} was judged in {', '.join(runs)}. {known}")
    return {str(scenario): float(rate) for scenario, acting, rate in rows if acting == policy}


def _count(evidence: Any) -> str:
    """The ids are in the ledger; here their number and the first of them."""
    return "; ".join(
        f"{len(ids)} scenarios {what.replace('_', ' ')}, {', '.join(ids[:3])} among them" for what, ids in evidence.items() if ids
    )


def _describe_terms(evidence: Any) -> str:
    """How many rows stay at home, by what the terms say; and of whom nothing is known."""
    strangers = evidence["no_terms_of"]
    told = [f"{len(ids)} {what.replace('_', ' ')}" for what, ids in evidence.items() if what != "no_terms_of"]
    advice = f". No entry is about {', '.join(strangers)}: add one with `train = true` or `train = false`" if strangers else ""
    return f"left at home: {', '.join(told)}{advice}"


def _describe_flagged(evidence: Any) -> str:
    from envmill.interop.exporters.scanning import ScanFinding
    from envmill.stages.holding import describe_flagged

    return describe_flagged({name: [ScanFinding(**one) for one in seen] for name, seen in evidence["flagged"].items()})


_DESCRIPTIONS: Mapping[str, Callable[[Any], str]] = {"terms": _describe_terms, "scan": _describe_flagged}


def _read_config(home: Home, run: str) -> "RunConfig":
    """The settings that a run began with."""
    from envmill.lake.lake import Lake
    from schemas.ledger import RunEvent
    from schemas.run import RunConfig

    started = next(row for row in Lake(home.settings.lake).read(RunEvent, run) if row.event == "started")
    return RunConfig.read(started.detail)


def _read_load(home: Home, run: str) -> "ExportInput":
    """Everything a run has to export, as its last steps left it."""
    from envmill.agents.limits import RolloutLimits
    from envmill.lake.lake import Fingerprint, Lake
    from envmill.pipeline.inputs import StepInputs, enter_load
    from envmill.pipeline.line import STEPS
    from envmill.recipes import RECIPES
    from envmill.recipes.drafting.themes import read_themes
    from flows.cli.question import ask

    _require_expected(home, run)
    lake, config = Lake(home.settings.lake), _read_config(home, run)
    question = "select step, arg_max(fingerprint, written_at) from attrition where run = ? group by step"
    found = dict(ask(home, question, [run])[1])
    marks = {step.name: Fingerprint(step.name, found[step.name]) for step in STEPS if step.name in found}
    if lacking := [step for step in ("scenarios-build", "scenarios-filter", "scenarios-collect") if step not in marks]:
        raise SettingsError(f"Run {run} has not come to {lacking[0]} yet. Go on with it: `envmill run --resume {run}`.")
    entered = enter_load(StepInputs(lake, run, marks, config, RECIPES[config.recipe](read_themes())))
    if not entered:
        raise SettingsError(f"Run {run} collected nothing. `envmill funnel {run}` tells what died where.")
    load = entered[0].record
    return replace(load, cargo=replace(load.cargo, limits=RolloutLimits.of(config).describe()))


def _write(home: Home, parcels: "list[OutputFolder]", runs: list[str], out: Path | None) -> "list[tuple[Bundle, Path]]":
    """The folders, and a row for each run that what left was made from."""
    from envmill import __version__
    from envmill.interop.exporters import write_parcels
    from envmill.lake.arrow import Stamp
    from envmill.lake.lake import Lake
    from schemas.base import digest
    from schemas.rollout import Bundle

    if out and out.exists():
        raise SettingsError(f"{out} exists already. Name a folder that does not, or remove it first.")
    name = digest([[parcel.name, parcel.content_hash] for parcel in parcels], 12)
    folder = out or home.settings.bundles / ASKED / name
    bundles = write_parcels(parcels, folder, str(out.resolve()) if out else f"{ASKED}/{name}")
    now = datetime.now(UTC).isoformat()
    lake = Lake(home.settings.lake)
    for run in runs:
        # A copy of what left already is the same bundle.
        known = {one.id for one in lake.read(Bundle, run)}
        if fresh := [one for one in bundles if one.id not in known]:
            lake.put(Bundle, fresh, f"export-{name}", Stamp(run, "export", "", 0, 1, __version__, now))
    return [(bundle, folder / parcel.name) for bundle, parcel in zip(bundles, parcels, strict=True)]
