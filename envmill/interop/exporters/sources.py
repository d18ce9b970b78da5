"""Sources of a row: its seed, and the models that wrote it, judged it, played the user and acted.

origins of environment and scenario ─┐
the run's cast, by role ─────────────┴─► row id ─► sources ─► columns, manifests, the card, terms, recall by source
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeAlias

from envmill.agents import is_scripted
from envmill.interop.exporters.columns import ExportColumn
from schemas.base import Json
from schemas.environment import Environment
from schemas.origin import Origin
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Scenario

SourceRole = Literal["seed", "author", "judge", "user", "teacher"]
Cast: TypeAlias = Mapping[SourceRole, Collection[str]]
"""Role → the models that played it in a run."""
Sources: TypeAlias = Mapping[str, tuple["RowSource", ...]]
"""Id of an environment, scenario, trajectory or pair → its sources."""
SCRIPT = "script:"
"""Prefixes of the names of policies that no model plays."""


@dataclass(frozen=True, order=True)
class RowSource:
    """One source."""

    role: SourceRole
    name: str
    """`provider:model@server` for a model, `script:policy` for a script, the id for a seed."""
    licence: str = ""
    """Licence of a seed."""

    def describe(self) -> dict[str, Json]:
        told = {"role": self.role, "name": self.name, "licence": self.licence}
        return {"role": self.role} | {name: value for name, value in told.items() if value}


def name_model(provider: str, model: str) -> str:
    """Name of a model, the same with and without batches."""
    provider = provider.removeprefix("batch-")
    return f"{provider}:{model}" if model and model != provider else provider


def trace_sources(
    environments: Sequence[Environment],
    scenarios: Sequence[Scenario],
    trajectories: Sequence[Trajectory],
    pairs: Sequence[Pair],
    cast: Cast,
) -> Sources:
    """All authors and judges of the run, for each of its rows: a repair may come from another model
    than the record names."""
    common = {RowSource(role, name) for role in ("author", "judge") for name in cast.get(role, ())}
    found: dict[str, tuple[RowSource, ...]] = {}
    shared: dict[frozenset[RowSource], tuple[RowSource, ...]] = {}

    def note(name: str, owner: str, own: set[RowSource]) -> None:
        sources = frozenset({*found.get(owner, common), *own})
        if sources not in shared:
            shared[sources] = tuple(sorted(sources))
        found[name] = shared[sources]

    for home in environments:
        note(home.id, "", {RowSource("seed", home.origin.seed, home.licence), *_wrote(home.origin)})
    for scenario in scenarios:
        note(scenario.id, scenario.environment, _wrote(scenario.origin))
    for one in chain(trajectories, pairs):
        note(one.id, one.scenario, _acted(one.policy, one.form, cast))
    return found


def unite_sources(parts: Iterable[Sources]) -> Sources:
    """Sources of the same rows from several runs."""
    found: dict[str, set[RowSource]] = {}
    for part in parts:
        for name, sources in part.items():
            found.setdefault(name, set()).update(sources)
    return {name: tuple(sorted(sources)) for name, sources in found.items()}


def _wrote(origin: Origin) -> set[RowSource]:
    return {RowSource("author", name_model(origin.provider, origin.model))}


def trace_attempt(
    scenario: str, policy: str, form: str, sources: Sources, cast: Cast
) -> tuple[RowSource, ...]:
    """Sources of an attempt at a scenario, in a run with this cast."""
    return tuple(sorted({*sources.get(scenario, ()), *_acted(policy, form, cast)}))


def _acted(policy: str, form: str, cast: Cast) -> set[RowSource]:
    teachers = {f"{SCRIPT}{policy}"} if is_scripted(policy) else {*cast.get("teacher", ())}
    users = cast.get("user", ()) if form == "conversation" else ()
    return {
        *(RowSource("teacher", name) for name in teachers),
        *(RowSource("user", name) for name in users),
    }


def make_column(sources: Sources) -> ExportColumn[Any]:
    """The column `sources` of tables whose rows are records."""
    return ExportColumn(
        "sources",
        "json",
        "What the row rests on: role (`seed`, `author`, `judge`, `user`, `teacher`), name, and "
        "of a seed its licence.",
        lambda one: [source.describe() for source in sources.get(one.id, ())],
    )


def count_sources(ids: Iterable[str], sources: Sources) -> list[tuple[dict[str, Json], RowSource]]:
    """Each source with the number of its rows. Seeds are counted by licence."""
    met = Counter(one for name in ids for one in _merge_seeds(sources.get(name, ())))
    return [(one.describe() | {"rows": number}, one) for one, number in sorted(met.items())]


def _merge_seeds(sources: Sequence[RowSource]) -> set[RowSource]:
    return {replace(one, name="") if one.role == "seed" else one for one in sources}
