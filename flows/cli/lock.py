"""`lock`, `rebuild` and `diff`: an export pinned in one file, written again to the same bytes, and
compared with another one."""

from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text


def lock(
    context: typer.Context,
    runs: Annotated[
        list[str], typer.Argument(help="Runs to lock together; the beginning of an id will do.")
    ],
    out: Annotated[Path, typer.Option(help="File to write, which must not exist yet.")],
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
        bool, typer.Option(help="Also lock items that a required gate could not measure.")
    ] = False,
    with_tier: Annotated[
        str,
        typer.Option("--with", help="`suspected` also locks items with an undecided suspicion."),
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
        typer.Option("--for", help="Consumer to lock a folder of (docs/consumers)."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            help="Pay for parts of a job, where attackers and blind search earn nothing (docs/exports.md)."
        ),
    ] = False,
    attempts: Annotated[
        bool,
        typer.Option(help="Take a row of `rl` for each stored attempt, with a log of its turns."),
    ] = False,
    turn_reward: Annotated[
        float,
        typer.Option(
            help="Weight of the reward for turns, on top of the rollout's (docs/exports.md); needs --attempts and "
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
) -> None:
    """Write a lock: one file with all that decides an export's bytes, and the SHA-256 of each file
    that it would write.

    `envmill rebuild` writes the same bytes from it. Nothing is exported here.
    """
    from envmill.pipeline.locking import describe_counts, make_lock, render_lock
    from flows.cli.export import (
        choose_encoded,
        find_runs,
        open_tokenizer,
        print_aside,
        read_options,
    )

    if out.exists():
        raise SettingsError(
            f"{out} exists already, and a lock is never changed. Name a file that does not, or "
            "compare: `envmill diff`."
        )
    asked = {
        "provisional": provisional,
        "scripted": scripted,
        "band": band,
        "for_policy": for_policy,
        "partial": partial,
    }
    asked |= {"attempts": attempts, "turn_reward": turn_reward}
    options = read_options(exporter, split, consumer, with_tier, asked)
    if chat := open_tokenizer(tokenizer, chat_template, template_args):
        options = options.model_copy(update={"exporters": choose_encoded(exporter, consumer)})
    found = make_lock(
        context.obj.settings,
        find_runs(context.obj, runs),
        options,
        policy,
        print_text,
        print_aside,
        chat,
    )
    part = out.with_name(f".{out.name}-part")
    part.write_bytes(render_lock(found))
    part.replace(out)
    print_text(
        f"{out}: {', '.join(f'{count} {name}' for name, count in describe_counts(found).items())}"
    )


def rebuild(
    context: typer.Context,
    lock: Annotated[Path, typer.Argument(help="File that `envmill lock` wrote.")],
    out: Annotated[Path, typer.Option(help="Folder to make; it must not exist yet.")],
    other_versions: Annotated[
        bool,
        typer.Option(
            help="Try with other versions of EnvMill or its libraries than locked it; the bytes must still be the same."
        ),
    ] = False,
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="Tokenizer folder, where the lock is of rows with token ids."),
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option(help="Chat template, where the lock was made with one.")
    ] = None,
) -> None:
    """Write a locked export again, byte for byte, from the runs in the lake.

    Exits with 1 when it cannot, names all that is missing or changed, and writes nothing.
    """
    from envmill.interop.tokens.tokenizer import read_tokenizer
    from envmill.pipeline.locking import read_lock
    from envmill.pipeline.rebuilding import read_arguments, write_rebuilt
    from envmill.pipeline.rebuilding import rebuild as build
    from flows.cli.export import print_aside, record_bundles, require_expected

    locked = read_lock(lock)
    if out.exists():
        raise SettingsError(
            f"{out} exists already. Name a folder that does not, or remove it first."
        )
    chat = read_tokenizer(tokenizer, chat_template, read_arguments(locked)) if tokenizer else None
    done = build(context.obj.settings, locked, other_versions=other_versions, chat=chat)
    for problem in done.problems:
        print_aside(problem)
    if done.problems:
        print_aside(
            f"{lock} cannot be rebuilt here: {len(done.problems)} differences. Nothing was written."
        )
        raise typer.Exit(1)
    for run in locked.runs:
        require_expected(context.obj, run)
    for remark in done.remarks:
        print_aside(f"{remark}; the bytes are the same")
    bundles = write_rebuilt(done.folders, out)
    record_bundles(context.obj, bundles, list(locked.runs), f"rebuild-{uuid4().hex}")
    print_text(f"{out}: {sum(len(one.files) for one in locked.folders)} files, all as in the lock")


def diff(
    before: Annotated[Path, typer.Argument(help="A lock.")],
    after: Annotated[Path, typer.Argument(help="The lock to compare it with.")],
) -> None:
    """Show how two locks differ: scenarios that were added, were removed or have another verifier, and the cause.

    Exits with 1 when they differ.
    """
    from envmill.pipeline.comparing import explain_difference
    from envmill.pipeline.locking import read_lock

    groups = explain_difference(read_lock(before), read_lock(after))
    for title, lines in groups.items():
        print_text(f"{title}:")
        for line in lines:
            print_text(f"  {line}")
    if groups:
        raise typer.Exit(1)
    print_text("The locks say the same.")
