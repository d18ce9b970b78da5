"""Two locks, compared in words: what came, what went and why, and what made it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envmill.pipeline.rebuilding import compare_tokenizers, list_changed_options
from schemas.lock import DataLock, LockedModel, LockedScenario

_LISTED = 20
"""Lines of a group; the rest is counted."""


def explain_difference(before: DataLock, after: DataLock) -> dict[str, list[str]]:
    """Title of a group → its lines; nothing where the locks say the same."""
    groups: dict[str, Iterable[str]] = {
        "runs": _compare_runs(before, after),
        "options": _compare_options(before, after),
        "versions": _compare_versions(before, after),
        "scenarios gone": _list_gone(before, after),
        "scenarios added": _list_added(before, after),
        "verifiers changed": _list_verifiers(before, after),
        "scenarios changed": _list_changed(before, after),
        "environments": _compare_hashes("environment", before.environments, after.environments),
        "trajectories": _compare_hashes("trajectory", before.trajectories, after.trajectories),
        "pairs": _compare_hashes("pair", before.pairs, after.pairs),
        "attempts": _compare_hashes("rollout", before.attempts, after.attempts),
        "transcripts": _compare_hashes("transcript of", before.transcripts, after.transcripts),
        "withdrawn": (
            f"{name}: {why}"
            for name, why in after.withdrawn.items()
            if name not in before.withdrawn
        ),
        "prompts": _compare_prompts(before, after),
        "models": _compare_models(before, after),
        "order": _compare_order(before, after),
        "files": _compare_files(before, after),
    }
    told = {title: list(lines) for title, lines in groups.items()}
    return {title: _cut(lines) for title, lines in told.items() if lines}


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - _LISTED
    return lines if more <= 0 else [*lines[:_LISTED], f"and {more} more"]


def _compare_runs(before: DataLock, after: DataLock) -> Iterator[str]:
    for run in sorted(before.runs.keys() | after.runs.keys()):
        if run not in after.runs:
            yield f"run {run} is in the first lock only"
        elif run not in before.runs:
            yield f"run {run} is in the second lock only"
        else:
            yield from (
                f"run {run}, {line}"
                for line in list_changed_options(before.runs[run], after.runs[run])
            )


def _compare_options(before: DataLock, after: DataLock) -> Iterator[str]:
    yield from list_changed_options(
        before.options.model_dump(mode="json"), after.options.model_dump(mode="json")
    )
    yield from compare_tokenizers(before.tokenizer, after.tokenizer)
    if before.terms != after.terms:
        yield "terms: their text is another one"


def _compare_versions(before: DataLock, after: DataLock) -> Iterator[str]:
    then, now = before.versions.model_dump(mode="json"), after.versions.model_dump(mode="json")
    yield from list_changed_options(then, now)
    if [*before.judged_by] != [*after.judged_by]:
        yield f"rewards: judged by {_name_versions(before)}, then by {_name_versions(after)}"


def _name_versions(lock: DataLock) -> str:
    return ", ".join(version or "an unknown version" for version in lock.judged_by) or "none"


def _list_gone(before: DataLock, after: DataLock) -> Iterator[str]:
    drafts = {one.draft for one in after.scenarios.values()}
    for name, one in before.scenarios.items():
        if name not in after.scenarios and one.draft not in drafts:
            yield f"{name}: {_find_reason(name, one, before, after)}"


def _find_reason(name: str, one: LockedScenario, before: DataLock, after: DataLock) -> str:
    """Why the second lock lacks it, as far as that lock tells."""
    if why := after.withdrawn.get(name) or after.withdrawn.get(one.environment):
        return f"withdrawn: {why}"
    if why := after.stays.get(name) or after.stays.get(one.draft):
        return why
    if before.runs.keys() - after.runs.keys():
        return "its run is in the first lock only"
    return "its run does not have it any more"


def _list_added(before: DataLock, after: DataLock) -> Iterator[str]:
    drafts = {one.draft for one in before.scenarios.values()}
    for name, one in after.scenarios.items():
        if name not in before.scenarios and one.draft not in drafts:
            why = before.stays.get(name) or before.stays.get(one.draft)
            yield f"{name} of split {one.split}" + (f"; before: {why}" if why else "")


def _list_verifiers(before: DataLock, after: DataLock) -> Iterator[str]:
    """Scenarios of one draft whose verifiers differ. Another verifier makes another scenario id."""
    found = {one.draft: (name, one) for name, one in after.scenarios.items()}
    for name, one in before.scenarios.items():
        now, other = found.get(one.draft, ("", one))
        if now and other.verifier != one.verifier:
            yield (
                f"{name} is {now} now"
                if now != name
                else f"{name}: its verifier was changed under the same id"
            )


def _list_changed(before: DataLock, after: DataLock) -> Iterator[str]:
    """Split, tier, or what is measured of a scenario."""
    for name in before.scenarios.keys() & after.scenarios.keys():
        one, other = before.scenarios[name], after.scenarios[name]
        told = [
            f"{what} {then} became {now}" for what, then, now in _pair_up(one, other) if then != now
        ]
        if told or one.content != other.content:
            yield f"{name}: {', '.join(told) or 'what was measured of it is another value'}"


def _pair_up(one: LockedScenario, other: LockedScenario) -> Iterator[tuple[str, str, str]]:
    yield "split", one.split, other.split
    yield "tier", one.tier, other.tier


def _compare_hashes(
    what: str, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    gone, come = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    changed = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    for told, names in (("gone", gone), ("added", come), ("changed", changed)):
        yield from (f"{what} {name}: {told}" for name in names)


def _compare_prompts(before: DataLock, after: DataLock) -> Iterator[str]:
    for name in sorted(before.prompts.keys() | after.prompts.keys()):
        then, now = before.prompts.get(name), after.prompts.get(name)
        if then != now:
            told = "came" if then is None else "went" if now is None else "has another text"
            yield f"prompt {name} {told}"


def _compare_models(before: DataLock, after: DataLock) -> Iterator[str]:
    then, now = ({_name_model(one) for one in each.models} for each in (before, after))
    yield from (f"{one}: gone" for one in sorted(then - now))
    yield from (f"{one}: added" for one in sorted(now - then))


def _name_model(one: LockedModel) -> str:
    return f"{one.role}: {one.model}" + (f" ({one.served})" if one.served else "")


def _compare_order(before: DataLock, after: DataLock) -> Iterator[str]:
    """Files in which the rows that both have follow each other otherwise."""
    then, now = _list_orders(before), _list_orders(after)
    for name in sorted(then.keys() & now.keys()):
        if _keep(then[name], {*now[name]}) != _keep(now[name], {*then[name]}):
            yield f"{name}: its rows are in another order"


def _list_orders(lock: DataLock) -> dict[str, list[str]]:
    return {f"{one.name}/{name}": ids for one in lock.folders for name, ids in one.order.items()}


def _keep(ids: Sequence[str], known: set[str]) -> list[str]:
    return [one for one in ids if one in known]


def _compare_files(before: DataLock, after: DataLock) -> Iterator[str]:
    then, now = (
        {f"{one.name}/{name}": found for one in each.folders for name, found in one.files.items()}
        for each in (before, after)
    )
    same = sum(now.get(name) == found for name, found in then.items())
    if then != now:
        yield (
            f"{same} of {len(then)} files are the same; {len(now.keys() - then.keys())} came, "
            f"{len(then.keys() - now.keys())} went"
        )
