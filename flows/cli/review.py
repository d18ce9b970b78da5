"""`review`: what a person should look at first, and what they say of it."""

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.lake.lake import Lake
    from envmill.stages.review import Judgement


def review(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            help="Id of an environment, scenario or run to judge. With no other option: run whose queue is shown, the latest when left out."
        ),
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Judge it as right.")] = False,
    reject: Annotated[
        bool,
        typer.Option(
            "--reject",
            help="Judge it as wrong: no filter keeps it and no export holds it from now on.",
        ),
    ] = False,
    note: Annotated[
        str, typer.Option(help="Words of the judgement. Alone, they are stored and decide nothing.")
    ] = "",
    same_as: Annotated[
        str,
        typer.Option(
            help="Another scenario that is the same task: no export has one in split train and "
            "one in another. --reject takes it back."
        ),
    ] = "",
    lock: Annotated[
        list[str] | None,
        typer.Option(help="Name of a rule, fact or check that no repair may change; repeatable."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="Name of the reviewer; your login name when left out.")
    ] = "",
    bundle: Annotated[
        str,
        typer.Option(
            help="Bundle id or path: its scenarios in sampling order, and the bound on its "
            "defects so far."
        ),
    ] = "",
    run: Annotated[
        str, typer.Option(help="Run to look in; the latest that holds the record when left out.")
    ] = "",
) -> None:
    """Show the queue, riskiest first; or judge one environment or scenario. `envmill show ID` and
    `envmill play ID` show what it is.

    The latest judgement of an id counts, in every run. A rejected scenario of a finished run is
    left out when the run is exported again.
    """
    from envmill.lake.lake import Lake

    lake = Lake(context.obj.settings.lake)
    if bundle:
        _show_sample(lake, bundle)
    elif same_as:
        _judge_pair(
            lake,
            what or "",
            same_as,
            "reject" if reject else "accept",
            note,
            by or getpass.getuser(),
        )
    elif accept or reject or note or lock:
        _judge(
            lake,
            what or "",
            run,
            _choose(accept, reject, note),
            note,
            lock or [],
            by or getpass.getuser(),
        )
    else:
        _show_queue(context.obj, lake, what or run)


def _choose(accept: bool, reject: bool, note: str) -> "Judgement":
    if accept and reject:
        raise SettingsError("--accept and --reject exclude each other. Give one.")
    if not (accept or reject or note):
        raise SettingsError(
            "A lock stands beside a judgement or a note: give --accept, --reject or --note too."
        )
    return "accept" if accept else "reject" if reject else "note"


def _judge(
    lake: "Lake", what: str, run: str, judgement: "Judgement", note: str, locks: list[str], by: str
) -> None:
    from envmill.lake.lineage import WHOLE, find
    from envmill.lake.sql import open_lake
    from envmill.stages.review import write_review

    if what in lake.runs():
        _judge_night(lake, what, judgement, note, locks, by)
        return
    with open_lake(lake, question=WHOLE) as opened:
        found = find(opened, what, run)
    if found.table not in ("environments", "scenarios"):
        raise SettingsError(
            f"{found.id} is a row of {found.table}. Review an environment or a scenario."
        )
    written = write_review(lake, found.run, found.id, by, judgement, note, locks)
    print_text(
        f"{written.id}: {by} "
        f"{'accepts' if judgement == 'accept' else 'rejects' if judgement == 'reject' else 'notes'} "
        f"{found.id}"
    )


def _judge_pair(
    lake: "Lake", what: str, other: str, judgement: "Judgement", note: str, by: str
) -> None:
    """Two scenarios, of one run or of two."""
    from envmill.lake.lineage import WHOLE, find
    from envmill.lake.sql import open_lake
    from envmill.stages.review import name_pair, write_review

    with open_lake(lake, question=WHOLE) as opened:
        one, two = find(opened, what, ""), find(opened, other, "")
    if one.id == two.id or {one.table, two.table} != {"scenarios"}:
        raise SettingsError(f"{what} and {other} are not two scenarios: name two whose ids differ.")
    write_review(lake, one.run, name_pair(one.id, two.id), by, judgement, note)
    print_text(
        f"{by} says that {one.id} and {two.id} are "
        f"{'the same task' if judgement == 'accept' else 'two tasks'}"
    )


def _judge_night(
    lake: "Lake", run: str, judgement: "Judgement", note: str, locks: list[str], by: str
) -> None:
    """A run as a whole: whether what its suites did not expect is right all the same."""
    from envmill.stages.review import write_review

    if locks:
        raise SettingsError(
            f"{run} is a run. Rules, facts and checks are locked in an environment or a scenario."
        )
    if judgement == "accept" and not note.strip():
        raise SettingsError(f"Say why run {run} is right as it is: give --accept a --note.")
    written = write_review(lake, run, f"run:{run}", by, judgement, note)
    print_text(f"{written.id}: {by} {judgement}s run {run}")


def _show_queue(home: Home, lake: "Lake", run: str) -> None:
    from envmill.stages.review import list_queue
    from flows.cli.question import find_run
    from flows.cli.table import show

    items = list_queue(lake, find_run(home, run or None))
    show(
        ["subject", "risk", "why", "reviewed", "title"],
        [(one.subject, round(one.risk, 2), one.why, one.reviewed, one.title[:80]) for one in items],
    )


def _show_sample(lake: "Lake", name: str) -> None:
    from envmill.stages.review import sample_bundle
    from flows.cli.table import show
    from schemas.rollout import Bundle

    held = [
        one
        for run in lake.runs()
        for one in lake.read(Bundle, run)
        if one.path == name or one.id.startswith(name)
    ]
    if not held:
        raise SettingsError(
            f"No bundle {name}. `envmill sql 'select id, path from bundles'` lists them."
        )
    found = sample_bundle(lake, held[-1])
    show(
        ["place", "scenario", "reviewed"],
        [
            (place + 1, one, "yes" if place < found.reviewed else "")
            for place, one in enumerate(found.order)
        ],
    )
    print_text(
        f"{found.reviewed} of {found.size} reviewed in this order, {found.rejected} rejected: "
        "with 95 % confidence at most "
        f"{100 * found.bound:.1f} % of {found.bundle} are defective.",
        err=True,
    )
