"""S5: collateral change is seen: an additional change anywhere else, after the right end, loses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.agents.attackers.state_index import read_rows
from envmill.gates.base import Finding, GateContext, ScenarioCase, drop, keep, mark, pass_by, skip
from envmill.gates.exploring.equivalence import is_exempt
from envmill.gates.exploring.trials import Trials
from envmill.gates.s4 import list_mutants
from schemas.base import Json, is_array, is_object
from schemas.database import Table
from schemas.ledger import ReasonClass
from schemas.rollout import Verdict
from schemas.scenario import Verifier

GATE = "S5"
CODES: Mapping[str, ReasonClass] = {
    "not_judged": "proof",
    "collateral_unseen": "proof",
}


@dataclass(frozen=True)
class Tampering:
    """An end with one change too many."""

    what: str
    """In words."""
    final: dict[str, Json]
    sealed: bool = False
    """Whether it is a sealed probe."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """Tries tools first, as mutants; then changes the final state itself, one place of each
    collection at a time."""
    if not subject.scenario.oracle:
        return await check_without_oracle(subject, means)
    judged = await judge_tampered(subject, means)
    if not judged and means.probes != "sealed":
        return pass_by(
            GATE, "nothing_to_change", "The state has no rows besides those the oracle changed."
        )
    if unheard := next((pair for pair in judged if pair[1].outcome == "error"), None):
        return mark(
            drop(
                GATE,
                "not_judged",
                f"{unheard[0].what}: {unheard[1].reason}",
                unheard[1].model_dump(),
            ),
            unheard[0].sealed,
        )
    unseen = [
        (tampering.what, tampering.sealed)
        for tampering, verdict in judged
        if verdict.outcome == "pass"
    ]
    through = [
        mutant
        for mutant in await list_mutants(subject, means)
        if mutant.attempt.label == "extra_write"
    ]
    called = [each.attempt for each in through if each.fate == "survived"]
    unseen += [
        (f"{attempt.calls[attempt.place].name} was called besides", attempt.sealed)
        for attempt in called
    ]
    if unseen:
        unseen.sort(key=lambda one: one[1])
        words = f"it passes although {unseen[0][0]}"
        return mark(
            drop(GATE, "collateral_unseen", words, [what for what, _ in unseen[:20]]), unseen[0][1]
        )
    return keep(
        GATE,
        {"directly": len(judged), "through_tools": sum(each.fate == "killed" for each in through)},
    )


async def judge_tampered(
    subject: ScenarioCase, means: GateContext
) -> list[tuple[Tampering, Verdict]]:
    """The right end with each tampering that is run, judged; nothing is played for it."""
    trials = Trials.of(subject, means)
    ending = (await trials.oracle())[0].ending
    if ending is None:
        return []

    async def judge_all() -> list[tuple[Tampering, Verdict]]:
        tampered = tamper(
            ending.initial, ending.final, subject.environment.tables, subject.scenario.verifier
        )
        judged = list[tuple[Tampering, Verdict]]()
        for each, sealed in means.deal(list(tampered)):
            judged.append(
                (
                    replace(each, sealed=sealed),
                    await trials.judge(replace(ending, final=each.final)),
                )
            )
        return judged

    return await trials.once(f"{means.probes} tampered", judge_all)


async def check_without_oracle(subject: ScenarioCase, means: GateContext) -> Finding:
    """From the start, a verifier can at best show that its guards and its frame would notice."""
    trials = Trials.of(subject, means)
    ending = (await trials.nothing()).ending
    if ending is None:
        return skip(
            GATE,
            "no_oracle",
            "There is no reference path, and the untouched state cannot be judged.",
        )
    verdicts = [
        (each, await trials.judge(replace(ending, final=each.final)))
        for each in tamper(ending.initial, ending.final, subject.environment.tables)
    ]
    seen = [
        each.what
        for each, verdict in verdicts
        if 0.0 in (verdict.components.get("guards"), verdict.components.get("frame"))
    ]
    missed = [each.what for each, _ in verdicts if each.what not in seen]
    if verdicts and not missed:
        return keep(GATE, {"directly": len(verdicts), "from": "the untouched state"})
    detail = (
        f"There is no reference path; from the untouched state {len(seen)} of {len(verdicts)} "
        "changes break a guard or the frame."
    )
    return skip(GATE, "no_oracle", detail, {"seen": seen[:20], "missed": missed[:20]})


def tamper(
    initial: dict[str, Json],
    final: dict[str, Json],
    tables: Sequence[Table] = (),
    verifier: Verifier | None = None,
) -> Iterator[Tampering]:
    """Per collection: an untouched row changed, an untouched row gone, a row more, and an untouched
    field of a changed row."""
    for name, value in final.items():
        rows, before = read_rows(value), read_rows(initial.get(name))
        untouched = [key for key in rows if rows[key] == before.get(key)]
        touched = [key for key in rows if key in before and rows[key] != before[key]]
        if untouched:
            key = untouched[-1]
            yield from _change_row(final, name, key, before)
            yield Tampering(f"{name}.{key} is gone", {**final, name: _without(value, key)})
            yield Tampering(
                f"{name} has a row more", {**final, name: _with(value, f"{key}_again", rows[key])}
            )
        for key in touched[:1]:
            spared = [
                column for column in rows[key] if is_exempt(tables, (name, key, column), verifier)
            ]
            yield from _change_row(final, name, key, before, spared)
        if not rows and not is_object(value) and not is_array(value):
            yield Tampering(f"{name} is another value", {**final, name: _alter(value)})


def _change_row(
    final: dict[str, Json], name: str, key: str, before: dict[str, Json], spared: Sequence[str] = ()
) -> Iterator[Tampering]:
    """Alters the last plain field that still has its original value."""
    row: Json = read_rows(final[name])[key]
    kept = [
        field
        for field, value in row.items()
        if field in before[key] and before[key][field] == value
    ]
    fields = [field for field in kept if field != "id" and field not in spared]
    if fields:
        altered = row | {fields[-1]: _alter(row[fields[-1]])}
        yield Tampering(
            f"{name}.{key}.{fields[-1]} is another value",
            {**final, name: _with(final[name], key, altered)},
        )


def _alter(value: Json) -> Json:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value} (touched)" if isinstance(value, str) else "touched"


def _with(rows: Json, key: str, row: Json) -> Json:
    if is_object(rows):
        return {**rows, key: row}
    return [*(each for each in rows if each.get("id") != key), {**row, "id": key}]


def _without(rows: Json, key: str) -> Json:
    if is_object(rows):
        return {name: row for name, row in rows.items() if name != key}
    return [row for row in rows if row.get("id") != key]
