"""Several recipes: a run each with the same settings, one after another, and what became of them
side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from envmill.base.errors import SettingsError
from envmill.lake.views.base import STAGES
from flows.cli.order import Ordered, make_config, run_factory
from flows.cli.printing import print_text
from flows.cli.question import ask
from flows.cli.table import show
from flows.local.home import Home
from flows.spread.names import RunnerName

_ONE_ONLY = ("resume", "dry_run", "preview", "record", "recording", "reuse")
"""Options that speak of one run."""
_STEPS = (
    f"select run, lap || '-' || stage as step, kept, entered from funnel where run in ({{}}) "
    f"order by lap, list_position({STAGES}, stage)"
)


def run_recipes(
    home: Home,
    given: Mapping[str, Any],
    asked: Mapping[str, Any],
    wait: bool,
    remote: bool,
    runner: RunnerName = "local",
) -> bool:
    """Whether all completed; one that did not is said, and the others have their turn."""
    if taken := [name for name in _ONE_ONLY if asked.get(name)]:
        named = ", ".join(
            "-n" if name == "preview" else f"--{name.replace('_', '-')}" for name in taken
        )
        raise SettingsError(
            f"Each recipe gets a run of its own. Leave out {named}, or name one recipe."
        )
    recipes = read_recipes(given["recipe"])
    configs = [make_config({**given, "recipe": recipe}, None, home) for recipe in recipes]
    ordered = [run_factory(home, config, wait, remote, runner) for config in configs]
    if wait and not remote:
        _show_side_by_side(home, recipes, ordered)
    return all(one.completed for one in ordered)


def read_recipes(named: str) -> list[str]:
    """Names between commas, each once."""
    recipes = [name.strip() for name in named.split(",") if name.strip()]
    if not recipes or len(set(recipes)) < len(recipes):
        raise SettingsError(
            f"--recipe {named!r} names a recipe twice, or none. Name each once, with commas "
            "between."
        )
    return recipes


def compare(
    recipes: Sequence[str], runs: Sequence[str], steps: Sequence[tuple[str, str, int, int]]
) -> tuple[list[str], list[list[str]]]:
    """Step by step, of each run how many were kept of those that entered."""
    told = {(run, step): f"{kept}/{entered}" for run, step, kept, entered in steps}
    return ["step", *recipes], [
        [step, *(told.get((run, step), "") for run in runs)]
        for step in dict.fromkeys(step for _, step, _, _ in steps)
    ]


def _show_side_by_side(home: Home, recipes: Sequence[str], ordered: Sequence[Ordered]) -> None:
    runs = [one.run for one in ordered]
    _, rows = ask(home, _STEPS.format(", ".join("?" * len(runs))), runs)
    print_text("\nkept of what entered, by recipe")
    show(*compare(recipes, runs, [(run, step, kept, entered) for run, step, kept, entered in rows]))
