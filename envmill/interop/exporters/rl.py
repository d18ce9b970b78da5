"""Exporter `rl`: one row per scenario and form, with prompt, tools and the verifier's place, for
trainers that make their own rollouts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from envmill.agents.briefing import brief_agent
from envmill.agents.transcript import list_tools
from envmill.agents.users.doing import needs_user
from envmill.agents.users.manners import list_manners
from envmill.interop.exporters.advantages import RewardGroup, group_attempts, measure_environments
from envmill.interop.exporters.attempts import describe_attempts, group_rows, write_rows
from envmill.interop.exporters.base import (
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
    stream_lines,
)
from envmill.interop.exporters.columns import ExportColumn, describe_row, stream_parquet
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.exporters.rows import MadeRows, group_by_split
from envmill.interop.exporters.sources import Sources, make_column
from envmill.interop.tokens.rows import TokenSheet
from envmill.kinds import kind_of
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario
from schemas.stored import find_by_id

NAME = "rl"


@dataclass(frozen=True)
class RlRow:
    """A scenario as a policy gets it, in one form."""

    scenario: Scenario
    environment: Environment
    form: Literal["single", "conversation"]
    limits: Mapping[str, float]
    group: RewardGroup = field(default_factory=RewardGroup)
    """Stored attempts at the scenario in this form."""

    @property
    def prompt(self) -> list[Json]:
        """First messages for the policy. In a conversation the user does not say everything at
        once."""
        told = brief_agent(self.environment, self.scenario.clock)
        asked = self.scenario.request if self.form == "single" else self.scenario.user.opening
        return [
            *([{"role": "system", "content": told}] if told else []),
            {"role": "user", "content": asked},
        ]

    @property
    def tools(self) -> list[Json]:
        """The interface in OpenAI's format."""
        return describe_tools(list_tools(self.environment))

    @property
    def verifier(self) -> Json:
        """Place of the verifier. The row never contains the verifier itself, because a policy's
        process must not have it."""
        return kind_of(self.environment).locate_verifier(self.environment, self.scenario)


COLUMNS: tuple[ExportColumn[RlRow], ...] = (
    ExportColumn(
        "data_source",
        "string",
        "`envmill/` and the recipe.",
        lambda one: f"envmill/{one.scenario.origin.recipe}",
    ),
    ExportColumn("scenario", "string", "Scenario id.", lambda one: one.scenario.id),
    ExportColumn("environment", "string", "Environment id.", lambda one: one.environment.id),
    ExportColumn(
        "form",
        "string",
        "`single`: the prompt asks for everything at once; `conversation`: a user says the rest "
        "when asked.",
        lambda one: one.form,
    ),
    ExportColumn("prompt", "json", "First messages of the rollout.", lambda one: one.prompt),
    ExportColumn("tools", "json", "Interface in OpenAI's format.", lambda one: one.tools),
    ExportColumn(
        "verifier",
        "json",
        "Folder of the exported environment that judges, and the scenario in it; for a machine, "
        "its Harbor folder.",
        lambda one: one.verifier,
    ),
    ExportColumn(
        "seed", "int64", "Seed of the session's ids and randomness.", lambda one: one.scenario.seed
    ),
    ExportColumn("clock", "string", "Virtual time at the start.", lambda one: one.scenario.clock),
    ExportColumn(
        "limits",
        "json",
        "Limits of a rollout in the factory: steps, turns, tokens, seconds, errors.",
        lambda one: one.limits,
    ),
    ExportColumn(
        "manners",
        "list<string>",
        "Manners that the user may have, for `person` of the folder's sessions: those of the "
        "row's split; empty in the form `single`.",
        lambda one: list_manners(one.scenario.split) if one.form == "conversation" else [],
    ),
    ExportColumn("polarity", "string", "What success means.", lambda one: one.scenario.polarity),
    ExportColumn("features", "json", "Difficulty features.", lambda one: one.scenario.features),
    ExportColumn(
        "bounds",
        "json",
        "Error bounds of the verifier; null where not measured.",
        lambda one: _describe_bounds(one.scenario),
    ),
    ExportColumn(
        "licence", "string", "Licence of the environment.", lambda one: one.environment.licence
    ),
    ExportColumn(
        "group",
        "string",
        "What attempts in this form earned: `mixed`; `all_passed`, `all_failed`, `all_equal`, "
        "which teach nothing; `untried`.",
        lambda one: one.group.state,
    ),
    ExportColumn(
        "attempts",
        "json",
        "Attempts: rollout, group, attempt, policy, checkpoint, termination, mask, reward, "
        "turn_reward, advantage. "
        "`mask` says why one is excluded "
        "(`user_fault`, `outage`, `environment_error`, `unjudged`, `rejudged`); its reward and "
        "advantage are null.",
        lambda one: one.group.describe(),
    ),
    ExportColumn("masked", "int64", "Number of masked attempts.", lambda one: one.group.masked),
    ExportColumn(
        "reward_mean",
        "double",
        "Mean reward of the valid attempts; null without any.",
        lambda one: one.group.mean,
    ),
    ExportColumn(
        "environment_mean",
        "double",
        "Mean reward of all valid attempts in the environment.",
        lambda one: one.group.spread.mean,
    ),
    ExportColumn(
        "environment_deviation",
        "double",
        "Standard deviation of these rewards: an advantage is (reward - reward_mean) / "
        "environment_deviation, 0 where it is 0.",
        lambda one: one.group.spread.deviation,
    ),
)
"""Columns of JSONL and Parquet."""


def _make_token_column(tokens: TokenSheet) -> ExportColumn[RlRow]:
    """The column that a tokenizer adds."""
    meaning = "The prompt in the tokenizer's template, up to the policy's first message."
    return ExportColumn(
        "prompt_ids", "list<int32>", meaning, lambda row: tokens.prompts[row.scenario.id, row.form]
    )


def list_columns(sources: Sources) -> tuple[ExportColumn[RlRow], ...]:
    """The columns, with the sources of each scenario."""
    column = make_column(sources)

    def describe(row: RlRow) -> Json:
        return column.tell(row.scenario)

    return (*COLUMNS, replace(column, tell=describe))


def export_rl(export_set: ExportSet) -> list[OutputFolder]:
    """One folder. Its rows refer to the folders of exporters `bundle` and `harbor` beside it."""
    if not export_set.scenarios:
        return []
    contents = Contents()
    rows, columns = group_posings(export_set), list_columns(export_set.sources)
    if export_set.tokens is not None:
        columns = (*columns, _make_token_column(export_set.tokens))
    for split, found in rows.items():
        contents.put(f"{split}.jsonl", stream_lines(describe_row(columns, row) for row in found))
        stream_parquet(columns, found, sink := contents.open())
        contents.take(f"{split}.parquet", sink)
    for split, found in group_rows(export_set).items():
        write_rows(export_set, found, sink := contents.open())
        contents.take(f"attempts/{split}.parquet", sink)
    contents.files["manifest.json"] = render_json(_describe_manifest(export_set, rows))
    environments = tuple(sorted({*export_set.homes.values()}))
    scenarios, count = tuple(sorted(export_set.homes)), sum(map(len, rows.values()))
    files, staged = contents.files, contents.staged
    return [OutputFolder(NAME, NAME, files, count, environments, scenarios, staged)]


def group_posings(export_set: ExportSet) -> dict[str, Sequence[RlRow]]:
    """Rows by split, in the order of scenario ids."""
    find_home = find_by_id(export_set.environments)
    groups, spreads = group_attempts(export_set), measure_environments(export_set)

    def describe(one: Scenario) -> Iterator[RlRow]:
        home = find_home(one.environment)
        untried = RewardGroup(spread=spreads[home.id])
        for row in pose(one, home, export_set.limits) if is_posed(home, one) else ():
            if export_set.tokens is None or (one.id, row.form) in export_set.tokens.prompts:
                yield replace(row, group=groups.get((one.id, row.form), untried))

    def make(scenarios: Sequence[Scenario]) -> Sequence[RlRow]:
        count = sum(1 for one in scenarios for _ in describe(one))
        return MadeRows(count, lambda: (row for one in scenarios for row in describe(one)))

    found = {split: make(rows) for split, rows in group_by_split(export_set.scenarios).items()}
    return {split: rows for split, rows in found.items() if rows}


def is_posed(environment: Environment, scenario: Scenario) -> bool:
    """Whether an exported folder can judge the scenario."""
    return not kind_of(environment).find_formless(NAME, scenario)


def pose(
    scenario: Scenario, environment: Environment, limits: Mapping[str, float]
) -> Iterator[RlRow]:
    """Forms of a scenario. `conversation` needs a hidden fact; `single` is impossible if the user
    must act."""
    if not needs_user(scenario):
        yield RlRow(scenario, environment, "single", limits)
    if scenario.user.hidden or needs_user(scenario):
        yield RlRow(scenario, environment, "conversation", limits)


def _describe_bounds(scenario: Scenario) -> Json:
    return scenario.bounds.model_dump(mode="json") if scenario.bounds else None


def _describe_manifest(export_set: ExportSet, rows: Mapping[str, Sequence[RlRow]]) -> Json:
    return {
        "exporter": NAME,
        "scenarios": sorted(export_set.homes),
        "licences": sorted({one.licence for one in export_set.environments}),
        "tiers": export_set.describe_tiers(),
        "contamination": export_set.describe_contamination(),
        "sources": export_set.describe_sources([*export_set.homes]),
        "groups": _count_groups(rows),
        "rewards": export_set.describe_rewards(),
        **describe_attempts(export_set),
        **export_set.describe_tokens(),
        "transfer": TRANSFER,
        "canary": make_canary([*export_set.homes]),
    }


def _count_groups(rows: Mapping[str, Sequence[RlRow]]) -> Json:
    """Environment → number of groups by state. The manifest counts groups that teach nothing,
    too."""
    states: dict[str, Counter[str]] = defaultdict(Counter)
    for row in (row for found in rows.values() for row in found):
        states[row.environment.id][row.group.state] += 1
    return {home: dict(sorted(counted.items())) for home, counted in sorted(states.items())}


EXPORTER = Exporter(NAME, export_rl, rewards=True)
