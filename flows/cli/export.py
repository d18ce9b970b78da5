"""`export`: what runs kept, written again in the forms that are wanted."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envmill.interop.exporters import ExportSet, OutputFolder
    from envmill.interop.tokens.tokenizer import ChatTokenizer
    from envmill.pipeline.exporting import Encode
    from schemas.lock import ExportOptions
    from schemas.rollout import Bundle

ASKED = "_asked"
"""Folder of exports that were asked for by hand, beside those of the runs; no run bears such an
id."""


def export(
    context: typer.Context,
    runs: Annotated[
        list[str], typer.Argument(help="Runs to export together; the beginning of an id will do.")
    ],
    exporter: Annotated[
        list[str] | None,
        typer.Option(
            help="An exporter of docs/catalogue.md; all when left out. May be given several times."
        ),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="train, validation or test; all when left out.")
    ] = None,
    provisional: Annotated[
        bool, typer.Option(help="Also export items that a required gate could not measure.")
    ] = False,
    with_tier: Annotated[
        str,
        typer.Option("--with", help="`suspected` also exports items with an undecided suspicion."),
    ] = "",
    scripted: Annotated[
        bool,
        typer.Option(
            help="Add to `sft` what scripted policies did in environments that a model wrote."
        ),
    ] = False,
    band: Annotated[
        str, typer.Option(help="Pass rates to select scenarios by, as LEAST,MOST: `0.1,0.9`.")
    ] = "",
    for_policy: Annotated[
        str,
        typer.Option(
            help="Policy whose pass rate selects scenarios; the runs' probe policy when left out."
        ),
    ] = "",
    consumer: Annotated[
        list[str] | None,
        typer.Option("--for", help="Consumer to write a folder for (docs/consumers)."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            help="Pay for parts of a job, in rows and consumers' folders, where attackers and "
            "blind search earn nothing (docs/exports.md)."
        ),
    ] = False,
    attempts: Annotated[
        bool,
        typer.Option(help="Write a row of `rl` for each stored attempt, with a log of its turns."),
    ] = False,
    turn_reward: Annotated[
        float,
        typer.Option(
            help="Weight of the reward for turns, on top of the rollout's (docs/exports.md); "
            "needs --attempts and "
            "--partial."
        ),
    ] = 0.0,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="File of terms that says which models' rows may be trained on "
            "(docs/provenance.md)."
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="Tokenizer folder: rows get token ids and masks (docs/tokens.md)."),
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option(help="Chat template to take instead of the tokenizer's own.")
    ] = None,
    template_args: Annotated[
        str, typer.Option(help="Variables for the chat template, as a JSON object.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder to make; one named after the content when left out.")
    ] = None,
) -> None:
    """Export what runs kept. The same rows make the same bytes, and everything left out is
    reported. Only `--attempts` plays rollouts again."""
    from envmill.pipeline.exporting import choose, pack

    asked = {
        "provisional": provisional,
        "scripted": scripted,
        "band": band,
        "for_policy": for_policy,
        "partial": partial,
    }
    asked |= {"attempts": attempts, "turn_reward": turn_reward}
    options = read_options(exporter, split, consumer, with_tier, asked)
    chat = open_tokenizer(tokenizer, chat_template, template_args)
    if chat:
        options = options.model_copy(update={"exporters": choose_encoded(exporter, consumer)})
    meant = find_runs(context.obj, runs)
    outputs = pack(
        choose(context.obj.settings, meant, options, policy, print_text, print_aside).export_set,
        options,
        chat and make_encode(chat),
    )
    if not outputs:
        raise SettingsError(describe_nothing(meant, options))
    for bundle, folder in _write(context.obj, outputs, meant, out):
        print_text(f"{bundle.exporter:12} {folder} ({bundle.rows} rows, {len(bundle.files)} files)")


def read_options(
    exporter: "Sequence[str] | None",
    split: "Sequence[str] | None",
    consumer: "Sequence[str] | None",
    with_tier: str,
    asked: dict[str, Any],
) -> "ExportOptions":
    """What the words of a command line ask for."""
    from envmill.interop.exporters.base import SPLITS
    from envmill.stages.export import SUSPECTED
    from schemas.lock import ExportOptions

    if with_tier not in ("", SUSPECTED):
        raise SettingsError(
            f"There is no tier {with_tier!r} to export: write --with {SUSPECTED}, or leave it out "
            "for clean items alone."
        )
    exporters = _choose_exporters(exporter, consumer)
    _check_rewards(exporters, consumer, asked)
    chosen = {
        "exporters": exporters,
        "consumers": _choose_consumers(consumer),
        "splits": _check("split", split, SPLITS),
        "suspected": bool(with_tier),
    }
    return ExportOptions.model_validate(asked | chosen)


def find_runs(home: Home, runs: "Sequence[str]") -> list[str]:
    """The runs meant, in order; SettingsError for one that may not leave yet."""
    from flows.cli.question import find_run

    meant = sorted({find_run(home, run) for run in runs})
    for run in meant:
        require_expected(home, run)
    return meant


def describe_nothing(runs: "Sequence[str]", options: "ExportOptions") -> str:
    forms = ", ".join([*options.exporters, *options.consumers])
    return (
        f"{', '.join(runs)} kept nothing of split {', '.join(options.splits)} that {forms} can "
        "be made of."
    )


def print_aside(text: str) -> None:
    """What stays at home goes to standard error."""
    print_text(text, err=True)


def require_expected(home: Home, run: str) -> None:
    """A night whose rows were not as expected leaves by no door before somebody accepts it."""
    from envmill.lake.lake import Lake
    from envmill.pipeline.exporting import find_unexpected
    from tasks.night import describe

    if broken := find_unexpected(Lake(home.settings.lake), run):
        raise SettingsError(describe(run, broken))


def _choose_exporters(
    exporter: "Sequence[str] | None", consumer: "Sequence[str] | None"
) -> tuple[str, ...]:
    """Those named; all where neither an exporter nor a consumer is named."""
    from envmill.interop.exporters import EXPORTERS

    return () if consumer and not exporter else _check("exporter", exporter, tuple(EXPORTERS))


def _check_rewards(
    exporters: "Sequence[str]", consumer: "Sequence[str] | None", asked: dict[str, Any]
) -> None:
    """Options about rewards need somebody who writes them."""
    from envmill.stages.export import REWARDED

    if asked["partial"] and not consumer and REWARDED.isdisjoint(exporters):
        raise SettingsError(
            f"--partial is about rewards: of {', '.join(sorted(REWARDED))}, and of consumers' "
            "folders. Name one of them, or leave it out."
        )
    if asked["attempts"] and "rl" not in exporters:
        raise SettingsError(
            "--attempts is about exporter rl. Name it with --exporter, or leave --attempts out."
        )
    if asked["turn_reward"] and not (asked["attempts"] and asked["partial"]):
        raise SettingsError(
            "--turn-reward pays for parts of a job, by the log of turns. Give --attempts and "
            "--partial, too."
        )
    if not 0 <= asked["turn_reward"] <= 1:
        raise SettingsError(
            f"--turn-reward lies between 0 and 1, and {asked['turn_reward']:g} does not."
        )


def choose_encoded(
    exporter: "Sequence[str] | None", consumer: "Sequence[str] | None"
) -> tuple[str, ...]:
    """Those named whose rows have token ids; all of them where none is named."""
    from envmill.interop.tokens.sheet import EXPORTERS

    if consumer:
        raise SettingsError(
            f"--tokenizer is about the rows of {', '.join(EXPORTERS)}. Leave --for out."
        )
    return _check("exporter whose rows have token ids named", exporter, EXPORTERS)


def open_tokenizer(
    folder: Path | None, template: Path | None, given: str
) -> "ChatTokenizer | None":
    """The tokenizer that is named; None where none is."""
    if folder is None:
        if template or given:
            raise SettingsError(
                "--chat-template and --template-args are about token ids. Name a folder with "
                "--tokenizer."
            )
        return None
    from envmill.interop.tokens.tokenizer import read_tokenizer

    return read_tokenizer(folder, template, _read_variables(given))


def make_encode(chat: "ChatTokenizer") -> "Encode":
    """What gives an exporter's rows token ids, and reports the rows that have none."""
    from envmill.interop.tokens.sheet import encode_export_set

    def encode(export_set: "ExportSet", name: str) -> "ExportSet":
        encoded = encode_export_set(export_set, chat, name)
        for reason, ids in sorted(encoded.tokens.left_out.items() if encoded.tokens else ()):
            print_aside(
                f"{name:12} left out {len(ids)} rows without exact token ids ({reason}), "
                f"{', '.join(ids[:3])} among them"
            )
        return encoded

    return encode


def _read_variables(given: str) -> dict[str, Any]:
    try:
        found = json.loads(given or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise SettingsError(
            f"--template-args is a JSON object, for example '{{\"enable_thinking\": false}}', and "
            f"{given!r} is not."
        )
    return found


def _choose_consumers(consumer: "Sequence[str] | None") -> tuple[str, ...]:
    """Those named; none where none is."""
    from envmill.interop.consumers import CONSUMERS, harbor

    return _check("consumer", consumer, (*CONSUMERS, harbor.NAME)) if consumer else ()


def _check(what: str, given: "Sequence[str] | None", known: tuple[str, ...]) -> tuple[str, ...]:
    if strange := [one for one in given or () if one not in known]:
        raise SettingsError(f"There is no {what} {strange[0]!r}. Known: {', '.join(known)}.")
    return tuple(one for one in known if one in given) if given else known


def _write(
    home: Home, outputs: "list[OutputFolder]", runs: list[str], out: Path | None
) -> "list[tuple[Bundle, Path]]":
    """The folders, and a row for each run that what left was made from."""
    from envmill.interop.exporters import write_outputs
    from schemas.base import digest

    if out and out.exists():
        raise SettingsError(
            f"{out} exists already. Name a folder that does not, or remove it first."
        )
    name = digest([[output.name, output.content_hash] for output in outputs], 12)
    folder = out or home.settings.bundles / ASKED / name
    bundles = write_outputs(outputs, folder, str(out.resolve()) if out else f"{ASKED}/{name}")
    record_bundles(home, bundles, runs, f"export-{name}")
    return [(bundle, folder / output.name) for bundle, output in zip(bundles, outputs, strict=True)]


def record_bundles(
    home: Home, bundles: "Sequence[Bundle]", runs: "Sequence[str]", stem: str
) -> None:
    """A row for each run that what left was made from. A copy of what left already is the same
    bundle."""
    from envmill.base.version import __version__
    from envmill.lake.arrow import Stamp
    from envmill.lake.lake import Lake
    from schemas.rollout import Bundle

    now, lake = datetime.now(UTC).isoformat(), Lake(home.settings.lake)
    for run in runs:
        known = {one.id for one in lake.read(Bundle, run)}
        if fresh := [one for one in bundles if one.id not in known]:
            lake.put(Bundle, fresh, stem, Stamp(run, "export", "", 0, 1, __version__, now))
