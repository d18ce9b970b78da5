"""An order: options made into a run's one parameter, given to the server, followed to its end."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from envmill.base.errors import BudgetReached, SettingsError
from envmill.lake.lake import Lake
from envmill.models.recording import is_file
from envmill.models.role_models import check_specs, find_warnings
from envmill.stages.corpus import OWN
from flows.cli.live import follow
from flows.cli.options import render_option
from flows.cli.printing import print_text
from flows.cli.progress import FINAL
from flows.local.api import Api, connect
from flows.local.home import Home
from flows.local.service import find_server, read_named
from flows.spread.names import RunnerName
from schemas.run import RunConfig

_RENEWED = ("budget", "budget_tokens")
"""What a run may be given anew while it goes on."""


# seconds; the worker looks for runs to cancel every few, and the run's process has some to end in
_ENDING = 60.0


def make_config(given: dict[str, Any], resume: str | None, home: Home) -> RunConfig:
    """Options as the run's one parameter; what was not given keeps its default."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if resume is not None:
        _check_resume(resume, [name for name in chosen if name not in _RENEWED], home)
        chosen = {"run": resume} | chosen
    for name in ("record", "recording", "corpus"):
        if (place := chosen.get(name)) and (
            name == "record" or is_file(place) or (name == "corpus" and place != OWN)
        ):
            chosen[name] = str(Path(place).absolute())  # the worker has another working folder
    if rates := chosen.get("rates"):
        chosen["rates"] = str(Path(rates).absolute())
    if origin := chosen.get("harden") or chosen.get("environments_of"):
        chosen = _read_origin(origin.partition(",")[0], home) | chosen
    if documents := chosen.get("documents"):
        chosen["documents"] = ",".join(map(_place_document, documents.split(",")))
    try:
        config = RunConfig.model_validate(chosen)
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(problem) for problem in error.errors())) from error
    check_specs(config)
    if config.enlarge:
        from envmill.recipes import check_recipe  # a second of imports, for one option

        check_recipe(config)
    return config


def _read_origin(run: str, home: Home) -> dict[str, Any]:
    """Recipe and number of the run that environments come from: what writes their scenarios is what
    wrote them."""
    stored = Lake(home.settings.lake).find_fixed(run, "config") or {}
    return {name: stored[name] for name in ("recipe", "seed") if stored.get(name) is not None}


def _place_document(source: str) -> str:
    """A file by its whole path; a service keeps its name."""
    reader, _, place = source.partition(":")
    return (
        f"{reader}:{Path(place).absolute()}"
        if reader != "botocore" and place and Path(place).exists()
        else source
    )


def _check_resume(resume: str, chosen: list[str], home: Home) -> None:
    if chosen:
        named = ", ".join(map(render_option, chosen))
        raise SettingsError(
            f"A resumed run keeps the settings it started with. Leave out {named}, or start a new "
            "run."
        )
    known = Lake(home.settings.lake).runs()
    if resume not in known:
        raise SettingsError(
            f"No run {resume} in {home.settings.lake}. Known runs: "
            f"{', '.join(known[-10:]) or 'none'}."
        )


def _explain(problem: Any) -> str:
    name = ".".join(map(str, problem["loc"]))
    if problem["type"] == "literal_error":
        return f"Unknown {name} {problem['input']!r}. Known: {problem['ctx']['expected']}."
    return (
        f"{render_option(name)} is {problem['input']!r}: "
        f"{problem['msg'][0].lower()}{problem['msg'][1:]}."
    )


@dataclass(frozen=True)
class Ordered:
    """A run that was asked for."""

    run: str
    completed: bool
    """Or, when nobody waits, created."""


def run_factory(
    home: Home,
    config: RunConfig,
    wait: bool = True,
    remote: bool = False,
    runner: RunnerName = "local",
) -> Ordered:
    """Create a flow run of the factory and follow it. A remote server is PREFECT_API_URL's."""
    for warning in find_warnings(config):
        print_text(f"warning: {warning}", err=True)
    url = read_named(home) if remote else find_server(home)
    with connect(home, url) as api:
        deployment = api.find_deployment("factory/factory")
        parameters: dict[str, Any] = {"config": config.model_dump(mode="json", exclude_unset=True)}
        if runner != "local":
            parameters["runner"] = runner
        # The key keeps a request that is sent twice, after a lost answer, from becoming two runs.
        asked = {
            "parameters": parameters,
            "state": {"type": "SCHEDULED"},
            "idempotency_key": str(uuid4()),
        }
        created = api.post(f"/deployments/{deployment}/create_flow_run", asked)
        link, run = f"{url}/runs/flow-run/{created['id']}", config.run or created["id"]
        print_text(f"run {run}: {link}")
        if not wait:
            return Ordered(run, True)
        try:
            ended = follow(api, created["id"], home, run)
        except KeyboardInterrupt:
            _interrupt(api, created["id"], run)
            raise
    completed = ended["state_type"] == "COMPLETED"
    if not completed:
        _explain_end(ended, run, link)
    return Ordered(run, completed)


def _interrupt(api: Api, flow_run: str, run: str) -> None:
    """End the run as its page's Cancel does; what it has is saved. A second Ctrl-C leaves without
    waiting for that."""
    print_text(
        "\nEnding the run; what is finished is saved. Go on later with `envmill run --resume "
        f"{run}`.",
        err=True,
    )
    state = {"type": "CANCELLING", "message": "Ctrl-C at the command line."}
    api.post(f"/flow_runs/{flow_run}/set_state", {"state": state, "force": False})
    until = time.monotonic() + _ENDING
    while (found := api.get(f"/flow_runs/{flow_run}"))[
        "state_type"
    ] not in FINAL and time.monotonic() < until:
        time.sleep(0.5)
    print_text(f"{found['state_name']}.", err=True)


def _explain_end(ended: dict[str, Any], run: str, link: str) -> None:
    message = (ended["state"] or {}).get("message") or "no message"
    print_text(f"{ended['state_name']}: {message}", err=True)
    advice = (
        f"A Retry has the same budget: run `envmill run --resume {run} --budget MORE`, the new "
        "total."
        if BudgetReached.__name__ in message
        else f"Press Retry at {link}\nor run `envmill run --resume {run}`."
    )
    print_text(f"Everything finished is saved. {advice}", err=True)
