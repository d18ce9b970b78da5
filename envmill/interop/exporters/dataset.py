"""Exporter `dataset`: a folder that `datasets.load_dataset` opens by config and split, with a card
that describes its origin.

README.md                 the card: front matter for loaders, then funnel, costs, bounds, models, licences, fields
data/CONFIG/SPLIT.parquet sft, rl, preferences, environments
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from envmill.agents import is_scripted
from envmill.agents.transcript import list_tools
from envmill.interop.exporters import preferences, rl, sft
from envmill.interop.exporters.base import (
    SPLITS,
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    StepCount,
    make_canary,
    render_json,
)
from envmill.interop.exporters.columns import ExportColumn, stream_parquet
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.pages import (
    describe_bounds,
    describe_contamination,
    describe_sources,
    describe_tiers,
    fill,
)
from envmill.interop.exporters.sources import Sources, make_column
from schemas.base import Json
from schemas.environment import Environment
from schemas.stored import list_ids, order

NAME = "dataset"

COLUMNS: tuple[ExportColumn[Environment], ...] = (
    ExportColumn("environment", "string", "Environment id.", lambda one: one.id),
    ExportColumn("name", "string", "Title.", lambda one: one.name),
    ExportColumn("summary", "string", "Description of the environment.", lambda one: one.summary),
    ExportColumn("theme", "string", "Working-life domain.", lambda one: one.brief.theme),
    ExportColumn("kind", "string", "Kind of environment.", lambda one: one.kind),
    ExportColumn("rules", "list<string>", "Rules the tools enforce.", lambda one: one.rules),
    ExportColumn(
        "policy_document",
        "string",
        "Policy document for the agent.",
        lambda one: one.policy_document,
    ),
    ExportColumn(
        "tools", "json", "Interface: name, description, JSON Schema of the arguments.", list_tools
    ),
    ExportColumn(
        "files",
        "json",
        "Path → source text. It runs only in a jail; exporter `bundle` exports one.",
        lambda one: one.files,
    ),
    ExportColumn(
        "entry", "string", "`module:Class` that a session constructs.", lambda one: one.entry
    ),
    ExportColumn("recipe", "string", "Recipe that made it.", lambda one: one.origin.recipe),
    ExportColumn(
        "provider",
        "string",
        "Provider of the author model; `offline` is a procedural author.",
        lambda one: one.origin.provider,
    ),
    ExportColumn("model", "string", "Author model.", lambda one: one.origin.model),
    ExportColumn("licence", "string", "Licence.", lambda one: one.licence),
)

CONFIGS: Mapping[str, str] = {
    "sft": "trajectories that passed, with loss flags",
    "rl": "scenarios as they are put to a policy",
    "preferences": "pairs of a passed and a failed attempt that begin alike",
    "environments": "the environments all of it was made in; always split `train`, whatever the split of "
    "their scenarios",
}


def list_columns(sources: Sources) -> dict[str, Sequence[ExportColumn[Any]]]:
    """Config → its columns, with the sources of each row."""
    own = make_column(sources)
    return {
        "sft": (*sft.COLUMNS, own),
        "rl": rl.list_columns(sources),
        "preferences": (*preferences.COLUMNS, own),
        "environments": (*COLUMNS, own),
    }


def export_dataset(export_set: ExportSet) -> list[OutputFolder]:
    """One folder. The card is not part of the hash, because what the run spent may differ between
    equal exports."""
    if not export_set.scenarios:
        return []
    grouped: dict[str, Mapping[str, Sequence[Any]]] = {
        "sft": sft.group_trajectories(export_set),
        "rl": rl.group_posings(export_set),
        "preferences": preferences.group_pairs(export_set),
        "environments": {"train": order(export_set.environments)},
    }
    columns = list_columns(export_set.sources)
    contents = Contents()
    for config, splits in grouped.items():
        for split, rows in splits.items():
            stream_parquet(columns[config], rows, sink := contents.open())
            contents.take(f"data/{config}/{split}.parquet", sink)
    ids = tuple(sorted(export_set.homes))
    canary = make_canary(ids)
    counts = {
        config: {split: len(rows) for split, rows in splits.items()}
        for config, splits in grouped.items()
        if splits
    }
    contents.files["provenance.json"] = render_json(_describe_provenance(export_set, canary))
    card = _write_card(export_set, counts, canary).encode()
    environments = tuple(sorted(list_ids(export_set.environments)))
    rows = sum(sum(splits.values()) for splits in counts.values())
    files, staged, beside = contents.files, contents.staged, {"README.md": card}
    return [OutputFolder(NAME, NAME, files, rows, environments, ids, staged, beside)]


def _describe_provenance(export_set: ExportSet, canary: str) -> dict[str, Any]:
    made = {
        one.id: {"licence": one.licence, **one.origin.model_dump(mode="json")}
        for one in export_set.environments
    }
    posed = {one.id: one.origin.model_dump(mode="json") for one in export_set.scenarios}
    told = {
        "tiers": export_set.describe_tiers(),
        "contamination": export_set.describe_contamination(),
        "sources": describe_rows(export_set),
    }
    return {"environments": made, "scenarios": posed, **told, "canary": canary}


def _write_card(export_set: ExportSet, counts: Mapping[str, Mapping[str, int]], canary: str) -> str:
    licences = Counter(one.licence for one in export_set.environments)
    made = Counter(
        f"{one.origin.provider} {one.origin.model}".strip()
        for one in chain(export_set.environments, export_set.scenarios)
    )
    policies = Counter(one.policy for one in export_set.trajectories)
    return fill(
        "dataset",
        front=_write_front(counts, sorted(licences)),
        configs="\n".join(
            f"| `{config}` | {', '.join(f'{number} {split}' for split, number in splits.items())} "
            f"| {CONFIGS[config]} |"
            for config, splits in counts.items()
        ),
        first=next(iter(counts)),
        funnel="\n".join(_describe_step(one) for one in export_set.counts),
        spent=_describe_spent(export_set),
        bounds=describe_bounds(export_set.scenarios),
        models=_describe_counts(made),
        policies=_describe_counts(policies) or "none",
        licences=_describe_counts(licences),
        tiers=describe_tiers(export_set.describe_tiers()),
        contamination=describe_contamination(export_set.describe_contamination()),
        sources=describe_sources(describe_rows(export_set)),
        polarities=_describe_counts(Counter(one.polarity for one in export_set.scenarios)),
        scripted=" Scripts acted in environments that a model wrote: what they pass says nothing "
        "about difficulty."
        if any(is_scripted(one.policy) for one in export_set.trajectories)
        and any(one.origin.provider != "offline" for one in export_set.environments)
        else "",
        offline=" What `offline` made shows that the plumbing works; its pass rates say nothing "
        "about difficulty."
        if "offline" in str(made)
        else "",
        fields="\n\n".join(
            f"### {config}\n{describe_fields(list_columns({})[config])}" for config in counts
        ),
        transfer=TRANSFER,
        canary=canary,
    )


def describe_rows(export_set: ExportSet) -> Json:
    """Sources of its scenarios, trajectories and pairs."""
    rows = (export_set.scenarios, export_set.trajectories, export_set.pairs)
    return export_set.describe_sources([name for some in rows for name in list_ids(some)])


def describe_fields(columns: Sequence[ExportColumn[Any]]) -> str:
    """The field table."""
    rows = [f"| `{column.name}` | {column.type} | {column.meaning} |" for column in columns]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def _describe_step(count: StepCount) -> str:
    reasons = ", ".join(f"{reason} {number}" for reason, number in count.reasons.items())
    told = (
        count.step,
        count.kept + count.dropped,
        count.kept,
        count.dropped,
        reasons,
        count.tokens,
        describe_cost(count.cost),
    )
    return f"| {' | '.join(map(str, told))} |"


def _describe_spent(export_set: ExportSet) -> str:
    costs = [one.cost for one in export_set.counts]
    whole = None if None in costs else sum(one or 0.0 for one in costs)
    each = None if whole is None else whole / len(export_set.scenarios)
    return (
        f"{sum(one.tokens for one in export_set.counts)} tokens, cost {describe_cost(whole)}; per "
        f"scenario kept {describe_cost(each)}"
    )


def describe_cost(cost: float | None) -> str:
    """An amount of money, in the currency of the price file."""
    return "unknown" if cost is None else f"{cost:.4f}"


def _describe_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in sorted(counts.items()))


def _write_front(counts: Mapping[str, Mapping[str, int]], licences: Sequence[str]) -> str:
    """Front matter for loaders. If there is one licence, it is named there; several are listed
    below."""
    lines = [
        "license: other" if len(licences) != 1 else f"license: {licences[0].lower()}",
        "tags:",
        "- tool-use",
        "- synthetic",
        "configs:",
    ]
    for config, splits in counts.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        lines += [
            part
            for split in SPLITS
            if split in splits
            for part in (f"  - split: {split}", f"    path: data/{config}/{split}.parquet")
        ]
    return "\n".join(lines)


EXPORTER = Exporter(NAME, export_dataset, rows=("scenarios", "trajectories", "pairs"), rewards=True)
