"""Gates over a broken machine: is it paid for being mended, the whole of it, and for nothing
else?"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from envmill.base.errors import SandboxError
from envmill.kinds.findings import (
    Finding,
    GateContext,
    ScenarioCase,
    drop,
    fail,
    gather,
    keep,
    mark,
    pass_by,
    skip,
)
from envmill.kinds.terminal import write_step
from envmill.kinds.terminal.gates.plays import (
    BrokenMachine,
    find_paid,
    list_steps,
    play,
    play_all,
    read,
)
from envmill.kinds.trial import Trial
from envmill.sandbox.machines.files import CHECK, ERRAND, RECIPE, ROOT, read_machine
from envmill.sandbox.machines.healthy import quote
from schemas.base import Json, is_object
from schemas.errand import Outfit
from schemas.system import MachineState

REPEATS = 5
ROTATED = 3
"""Up to so many faults every rotation of their mends was proved; beyond that only the reference
path's own order is known."""
SIBLINGS = 2
RESTART = "services restart"
_TELLING = 3
"""Characters of a result that nobody writes by accident."""
_CODE = re.compile(r"(?:def|assert|return|for|with|if|class)\b")
DESCRIBE = (
    "( describe() {{ find {places} -exec stat -c '%n %F %a %u:%g %N' {{}} + 2>/dev/null | "
    "LC_ALL=C sort; "
    "find {places} -type f -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0r sha256sum; ps -eo "
    "user=,args= | LC_ALL=C sort; }}; "
    'before=; for turn in $(seq 20); do now=$(describe | sha256sum); [ "$now" = "$before" ] && '
    "echo $now && exit 0; "
    "before=$now; sleep 0.5; done; exit 1 )"
)
"""Digest of the places' files and of the processes, once it is the same twice: what was just
restarted may still write. Exit code 1 where it never is."""
_NOTHING = 77
"""Exit code of a mutant that found nothing to spoil: it is no mutant."""

IDLERS: dict[str, Sequence[str]] = {
    "do_nothing": (),
    "restart_all": (RESTART,),
    "read_everything": (
        "find /etc /srv /opt -type f -readable 2>/dev/null | head -500 | xargs -r head -c 2000 "
        ">/dev/null 2>&1",
    ),
    "kill_all": ("kill -9 -1", "true"),
}
"""Those who act without knowing what is wrong."""

FORGERS: dict[str, str] = {
    # First, for it takes longest. The judge's own files lie where there is least room.
    "full_disk": "for size in 400 80 20 4 1; do fallocate -l ${size}M /var/tmp/full-$size; done; head -c "
    "9M /dev/zero >/var/tmp/full; true",
    "full_run": "head -c 64M /dev/zero >/run/full; true",
    "reward_file": "mkdir -p /logs/verifier; echo 1 >/logs/verifier/reward.txt; echo '{\"reward\": 1}' "
    ">/logs/verifier/reward.json",
    "tests": "mkdir -p /tests; echo 'def test(): pass' >/tests/test_final.py; echo 'exit 0' "
    ">/tests/test.sh",
    "interpreter": "printf '#!/bin/bash\\nexit 0\\n' >/tmp/p; chmod 755 /tmp/p; cp --remove-destination "
    "/tmp/p /usr/bin/python3.11",
    "module": "echo 'import sys; sys.exit(0)' >/usr/lib/python3.11/sitecustomize.py",
    "services": "printf '#!/bin/bash\\nexit 0\\n' >/usr/local/sbin/services",
    "library": "cp /lib/x86_64-linux-gnu/libm.so.6 /tmp/l; mv /tmp/l /lib/x86_64-linux-gnu/libz.so.1",
    "stand_in": (
        "ports=$(ss -Hltn | awk '{ sub(/.*:/, \"\", $4); print $4 }'); services stop; cd /tmp; "
        "for port in $ports; "
        "do setsid -f python3 -m http.server $port >/dev/null 2>&1 </dev/null; done; for port in "
        "$ports; do for turn in $(seq 200); "
        'do [ "$(ss -Hltn "sport = :$port")" ] && break; sleep 0.02; done; done'
    ),
    "background": (
        "setsid -f bash -c 'while sleep 0.01; do for each in /run/judge-*/check.py; do echo "
        '"raise SystemExit" >$each; done; done\' '
        ">/dev/null 2>&1 </dev/null"
    ),
    "shell": "kill -9 $$",
    "preload": "echo /tmp/none.so >/etc/ld.so.preload",
}
"""Those who would be judged well without mending anything."""

SEARCH = (
    "all=$(mktemp -p /dev/shm); find / /run /dev/shm -xdev -type f ! -path $all -printf '%D "
    "%p\\0' >$all 2>/dev/null; "
    "most=$(cut -z -d' ' -f1 $all | tr '\\0' '\\n' | uniq -c | "
    "awk '{{ n[$2] += $1 }} n[$2] > n[most] {{ most = $2 }} END {{ print most }}'); "
    'grep -zv "^$most " $all | grep -zq . || most=none; '
    "grep -zv \"^$most \" $all | cut -z -d' ' -f2- | LC_ALL=C xargs -0r grep -lF -e '{needle}' -- "
    "2>/dev/null; rm $all"
)
"""Files that hold a line. Those of the base image lie on a file system of their own, and are most;
where all lie on one, all are read."""

TOUCHES: dict[str, str] = {
    "new_file": "echo forged >/etc/left-behind",
    "page": "echo 'all is well' >>{page}",
    "rights": "chmod 777 /etc/passwd",
    "removed": "rm /etc/debian_version",
}
"""Changes that nobody asked for."""


async def check_oracle(subject: ScenarioCase, means: GateContext) -> Finding:
    """On two machines: no command fails, both pass, both end alike."""
    if not subject.scenario.oracle:
        return skip(
            "S1",
            "no_oracle",
            "There is no reference path to replay: give the scenario its mend scripts.",
        )
    # What nobody touched is asked by gates to come: it is played while one of these machines is set
    # up.
    finding, _ = await asyncio.gather(
        _repeat("S1", subject, means, 2), play_all(subject, means, [()])
    )
    return finding or keep("S1", {"commands": len(subject.scenario.oracle)})


async def check_five_times(subject: ScenarioCase, means: GateContext) -> Finding:
    """Both ends of the mending, on five machines each: what is only sometimes broken, or only
    sometimes mended, shows."""
    untouched = play_all(subject, means, [()] * REPEATS, range(REPEATS))
    finding, trials = await asyncio.gather(_repeat("S11", subject, means, REPEATS), untouched)
    if finding:
        return finding
    nothing: list[Json] = []
    for trial in trials:
        if not isinstance(trial, Trial):
            return fail("S11", "no_verdict", str(trial))
        nothing.append(trial.seen[-1].state)
    # A daemon may write to the places, which may change, before or after a look. What it does to
    # the tests' answers shows in them.
    judged = [{**state, "inside": subject.scenario.initial_state["inside"]} for state in nothing]
    if any(state != subject.scenario.initial_state for state in judged):
        return drop(
            "S11",
            "start_differs",
            "nobody touched it, and it does not always begin as the scenario says",
            nothing,
        )
    return keep("S11", {"machines": 2 * REPEATS})


async def check_idlers(subject: ScenarioCase, means: GateContext) -> Finding:
    await play_all(subject, means, [()])  # those that leave it so are known by it
    return await find_paid("S2", "attack_paid", subject, means, IDLERS) or keep(
        "S2", {"attackers": list(IDLERS)}
    )


async def check_forgers(subject: ScenarioCase, means: GateContext) -> Finding:
    plays: dict[str, Sequence[str]] = {name: (script,) for name, script in FORGERS.items()}
    return await find_paid("S13", "forger_paid", subject, means, plays) or keep(
        "S13", {"attackers": list(plays)}
    )


async def check_dropped_steps(subject: ScenarioCase, means: GateContext) -> Finding:
    """Every strict prefix, and every path with one step left out."""
    steps = list_steps(subject)
    plays: dict[str, Sequence[str]] = {
        f"the first {count} of {len(steps)} steps": steps[:count] for count in range(len(steps))
    }
    plays |= {
        f"all but step {place + 1}": [*steps[:place], *steps[place + 1 :]]
        for place in range(len(steps))
    }
    return await find_paid("S3", "survives_without", subject, means, plays) or keep(
        "S3", {"paths": len(plays)}
    )


async def check_mutants(subject: ScenarioCase, means: GateContext) -> Finding:
    """Mended, and one of the breaks made again; all of them are wrong, so all must lose."""
    steps, breaks = (
        list_steps(subject),
        MachineState.model_validate(subject.scenario.initial_state).breaks,
    )
    plays: dict[str, Sequence[str]] = {
        f"mended, then broken again in place {place + 1}": [
            *steps,
            write_step(f"services stop\n{script}\nservices start || true"),
        ]
        for place, script in enumerate(breaks)
    }
    idle = {
        f"step {place + 1} without an effect": [*steps[:place], RESTART, *steps[place + 1 :]]
        for place in range(len(steps))
    }
    plays |= idle
    # A service that was just restarted may still write a file anew that is spoilt too early.
    settled = (
        [_write_description(subject)]
        if read_machine(subject.environment.files).system.services
        else []
    )
    spoilt = {name: [*steps, *settled, script] for name, script in _spoil_places(subject)}
    # Those that are mutants anyhow are played beside them; they are judged once it is known which
    # of these are.
    tried, _ = await asyncio.gather(
        play_all(subject, means, spoilt.values(), brief=True, known=True),
        play_all(subject, means, plays.values(), brief=True, known=True),
    )
    for (name, commands), trial in zip(spoilt.items(), tried, strict=True):
        if not isinstance(trial, Trial):
            return fail("S4", "no_verdict", f"{name}: {trial}")
        said = trial.replies[-1].parts
        if said and said[0]["value"]["exit_code"] != _NOTHING:
            plays[name] = commands
    same = [(name, commands) for name, commands in plays.items() if name in idle or name in spoilt]
    equal = [name for name, commands in same if await _leads_to_the_same(subject, means, commands)]
    plays = {name: commands for name, commands in plays.items() if name not in equal}
    told: Json = {"mutants": len(plays), "killed": len(plays), "equivalent": equal}
    return await find_paid("S4", "mutant_survives", subject, means, plays) or keep("S4", told)


async def _leads_to_the_same(
    subject: ScenarioCase, means: GateContext, commands: Sequence[str]
) -> bool:
    """Whether commands that pass leave the files of the places and the processes that the reference
    path leaves: the step that was left
    out did no more than a restart, or looked, and what was spoilt a service has made again."""
    (survived,) = await play_all(subject, means, [commands], brief=True, known=True)
    if not isinstance(survived, Trial) or survived.verdict.outcome != "pass":
        return False
    describe = _write_description(subject)
    ends = await play_all(
        subject, means, [[*each, describe] for each in (commands, list_steps(subject))], known=True
    )
    told = [
        end.replies[-1].parts[0]["value"]
        for end in ends
        if isinstance(end, Trial) and end.replies and end.replies[-1].parts
    ]
    return (
        len(told) == len(ends)
        and all(one["exit_code"] == 0 for one in told)
        and told[0]["output"] == told[1]["output"]
    )


def _write_description(subject: ScenarioCase) -> str:
    return DESCRIBE.format(
        places=" ".join(
            map(quote, MachineState.model_validate(subject.scenario.initial_state).places)
        )
    )


def _spoil_places(subject: ScenarioCase) -> Iterator[tuple[str, str]]:
    """Where tests name what was made: made, and then lost again, or its content. What was mended:
    with rights for everybody."""
    state = MachineState.model_validate(subject.scenario.initial_state)
    asked = subject.environment.files[state.exam] if state.exam else ""
    for place in (each for each in state.places if each in asked):
        there = f"[ -e {quote(place)} ] || (exit {_NOTHING})"
        yield f"{place} gone", f"{there} && rm -rf {quote(place)}"
        yield (
            f"{place} emptied",
            f"find {quote(place)} -type f -size +0c -exec truncate -s 0 {{}} + -print | grep -q "
            f". || (exit {_NOTHING})",
        )
    if state.breaks:
        found = (
            f"find {' '.join(map(quote, state.places))} -maxdepth 0 ! -type l -exec chmod 777 "
            f"{{}} + -print 2>/dev/null"
        )
        yield "open to everybody", f"{found} | grep -q . || (exit {_NOTHING})"


async def check_collateral(subject: ScenarioCase, means: GateContext) -> Finding:
    page = read_machine(subject.environment.files).system.page
    touches = {
        name: script.format(page=page) for name, script in TOUCHES.items() if page or name != "page"
    }
    plays: dict[str, Sequence[str]] = {
        name: [*list_steps(subject), script] for name, script in touches.items()
    }
    return await find_paid("S5", "collateral_unseen", subject, means, plays) or keep(
        "S5", {"touches": list(plays)}
    )


async def check_other_routes(subject: ScenarioCase, means: GateContext) -> Finding:
    """Other orders, looking around first, a copy beside what is edited, a service restarted once
    more."""
    routes = sorted(means.deal(list(_list_routes(subject))), key=lambda probe: probe[1])
    trials = await play_all(subject, means, [commands for (_, commands), _ in routes], known=True)
    for ((name, commands), sealed), trial in zip(routes, trials, strict=True):
        if not isinstance(trial, Trial):
            return fail("S6", "no_verdict", f"{name}: {trial}")
        if trial.verdict.outcome != "pass":
            evidence: Json = {"commands": list(commands), "verdict": trial.verdict.model_dump()}
            return mark(
                drop("S6", "route_refused", f"{name}: {trial.verdict.reason}", evidence), sealed
            )
    return keep("S6", {"routes": [name for (name, _), _ in routes]})


def _list_routes(subject: ScenarioCase) -> Iterator[tuple[str, Sequence[str]]]:
    steps = list_steps(subject)
    machine, state = (
        read_machine(subject.environment.files),
        MachineState.model_validate(subject.scenario.initial_state),
    )
    if 1 < len(steps) <= ROTATED and state.breaks:
        yield from (
            (f"rotated by {turn}", [*steps[turn:], *steps[:turn]]) for turn in range(1, len(steps))
        )
    copies = "; ".join(
        f"cp -a {place} /root/copy-{number}" for number, place in enumerate(state.places)
    )
    yield "copies kept", [f"{copies}; true", *steps]
    yield (
        "looked around",
        [
            f"cat {machine.system.page} </dev/null; ps aux; ls -laR /etc >/dev/null; services "
            "status; cd /tmp; x=1",
            *steps,
            f"{RESTART}; exit",
        ],
    )


async def check_leaks(subject: ScenarioCase, means: GateContext) -> Finding:
    """Neither the image nor the machine as it is handed over holds the check, the breaks or the
    mends."""
    files = subject.environment.files
    exam = MachineState.model_validate(subject.scenario.initial_state).exam
    shown = "\n".join(
        text for name, text in files.items() if name.startswith(f"{ROOT}/") or name == RECIPE
    )
    read_first = f"{shown}\n{subject.scenario.request}"
    told = (
        list_results(files, exam, read_first)
        if exam
        else list_mends(files, list_steps(subject), read_first)
    )
    lines = [
        line
        for line in _list_telling(files[exam or CHECK])
        if "'" not in line and line not in shown
    ]
    needle = max(
        (line for line in lines if _CODE.match(line)),
        key=len,
        default=max(lines, key=len, default=exam or CHECK),
    )
    script = (
        f"{SEARCH.format(needle=needle)}; "
        "ls -d /tests /solution /logs /run/judge-* 2>/dev/null; ls -A /tmp /root; "
        "cat /root/.bash_history 2>/dev/null; env | grep -i envmill"
    )
    try:
        seen = await read(subject, means, script)
    except (BrokenMachine, SandboxError) as error:
        return fail("S9", "no_verdict", str(error))
    found = [_describe_leak(told)] if told else []
    left = [
        line
        for line in seen.splitlines()
        if line and line not in ("/tmp:", "/root:", ".bashrc", ".profile")
    ]
    if left:
        found.insert(
            0,
            drop(
                "S9", "left_behind", f"the machine holds {left[0]!r} when it is handed over", left
            ),
        )
    return gather("S9", found)


def list_mends(files: Mapping[str, str], steps: Sequence[str], read_first: str) -> list[str]:
    """Lines of the check and of the mends that can be read before anything is done."""
    secrets = [
        *_list_telling(files[CHECK]),
        *(line for step in steps for line in _list_telling(step)),
    ]
    return [line for line in secrets if line in read_first]


def list_results(files: Mapping[str, str], exam: str, read_first: str) -> list[str]:
    """Results of an errand, and tests of its exam, that can be read first. Content that stays may
    well stand in both, as may the wishes."""
    answers = Outfit.model_validate_json(files[ERRAND]).errand.answers if ERRAND in files else []
    results = [one for one in answers if len(one) >= _TELLING]
    told = [
        one
        for one in results
        if re.search(rf"(?<![\w.-]){re.escape(one)}(?![\w-]|\.\d)", read_first)
    ]
    return told + [
        line
        for line in _list_telling(files[exam])
        if line.startswith("def test") and line in read_first
    ]


def _describe_leak(told: Sequence[str]) -> Finding:
    question = (
        f"Does {told[0]!r}, which can be read before anything is done, tell a result that has to "
        "be worked out or how to get there?"
    )
    return replace(
        drop("S9", "told", f"an agent can read {told[0]!r}", list(told[:20])), question=question
    )


def _list_telling(text: str) -> list[str]:
    """Lines long enough to be nobody else's."""
    return [
        line.strip()
        for line in text.splitlines()
        if len(line.strip()) >= 24 and not line.strip().startswith(('"""', "from ", "import "))
    ]


async def check_criteria(subject: ScenarioCase, means: GateContext) -> Finding:
    """Every goal is false at the start and true at the end, every guard true at both."""
    verifier, start = subject.scenario.verifier, subject.scenario.initial_state
    if not verifier.goals:
        return drop("S12", "no_goal", "nothing is asked")
    try:
        end = (await play(subject, means, list_steps(subject))).seen[-1].state or {}
    except (BrokenMachine, SandboxError) as error:
        return fail("S12", "no_verdict", str(error))
    for kind, checks in (("goal", verifier.goals), ("guard", verifier.guards)):
        for check in checks:
            before, after = (
                _follow(start, check.path) == check.value,
                _follow(end, check.path) == check.value,
            )
            if not after or before is (kind == "goal"):
                detail = f"{check.name}: {before} at the start, {after} at the end"
                return drop("S12", f"{kind}_says_nothing", detail, check.model_dump())
    return keep("S12", {"goals": len(verifier.goals), "guards": len(verifier.guards)})


async def check_siblings(subject: ScenarioCase, means: GateContext) -> Finding:
    """Whoever mends another machine of the kind has not mended this one."""
    own = MachineState.model_validate(subject.scenario.initial_state).breaks
    others = [
        each
        for each in subject.siblings
        if not set(own) <= set(MachineState.model_validate(each.initial_state).breaks)
    ][:SIBLINGS]
    if not others:
        return pass_by("S14", "no_siblings", "no other scenario of this machine has other faults")
    plays: dict[str, Sequence[str]] = {
        f"the path of {each.id}": [call.arguments["command"] for call in each.oracle]
        for each in others
    }
    return await find_paid("S14", "sibling_passes", subject, means, plays) or keep(
        "S14", {"siblings": list(plays)}
    )


async def _repeat(
    gate: str, subject: ScenarioCase, means: GateContext, times: int
) -> Finding | None:
    """What is wrong with the reference path on one of so many machines."""
    ends: list[Json] = []
    for trial in await play_all(subject, means, [list_steps(subject)] * times, range(times)):
        if not isinstance(trial, Trial):
            return fail(gate, "no_verdict", str(trial))
        told: list[Json] = [
            reply.parts[0]["value"] if reply.parts else reply.message for reply in trial.replies
        ]
        bad = [each for each in told if not is_object(each) or each["exit_code"] != 0]
        if gate == "S1" and bad:
            return drop(
                gate, "oracle_fails_to_run", f"a step of the reference path fails: {bad[0]}", told
            )
        if trial.verdict.outcome != "pass":
            return drop(
                gate,
                "oracle_fails",
                trial.verdict.reason,
                {"replies": told, "verdict": trial.verdict.model_dump()},
            )
        ends.append(trial.seen[-1].state)
    return (
        drop(gate, "oracle_differs", "the same path ends otherwise on another machine", ends)
        if any(end != ends[0] for end in ends)
        else None
    )


def _follow(state: Json, path: Sequence[str]) -> Json:
    for key in path:
        state = state[key]
    return state
