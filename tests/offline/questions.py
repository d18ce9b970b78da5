"""The author asked as the factory asks it, and its programs played in the jail."""

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import offline as author
from envmill.kinds.start import CLOCK
from envmill.kinds.stateful import derive_tools
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from offline.compose import compose_domain
from offline.domain import Domain
from offline.world import play_oracle
from schemas.environment import Call, Tool
from schemas.prompts import BlueprintReply, ProgramReply, ScenarioReply, TestsReply
from schemas.seed import Brief
from schemas.tool_prompts import CasesReply
from tests.offline.jail import JAIL
from tests.soak import count

SEED = 11
THEMES = dict(read_themes())
SAMPLE = sorted(
    random.Random(os.environ.get("ENVMILL_SEED", "")).sample(sorted(THEMES), count(4, len(THEMES)))
)
"""Themes looked at closely: other ones with every commit, all of them in a soak."""
ENVIRONMENTS = [(theme, number) for theme in SAMPLE for number in range(count(2, 4))]


def pose(prompt: str, theme: str, number: int, /, **more: Any) -> dict[str, Any]:
    """Inputs of a prompt."""
    brief = {"brief": {"theme": theme, "text": THEMES.get(theme, "?"), "number": number}}
    plain: dict[str, dict[str, Any]] = {
        "blueprint": {},
        "theme": {"text": THEMES.get(theme, "?")},
        "program": {"name": "", "summary": "", "collections": {}, "rules": [], "tools": []},
        "skeleton": {"name": "", "summary": "", "collections": {}, "rules": [], "tools": []},
        "tests": {"rules": [], "tools": [], "source": ""},
        "scenario": {"name": "", "rules": [], "tools": [], "source": "", "number": 0},
        "requirements": {},
        "schema": {"name": "", "summary": "", "requirements": [], "rules": []},
        "rows": {"summary": "", "ddl": "", "requirements": [], "rules": []},
        "interface": {"summary": "", "requirements": [], "rules": [], "ddl": ""},
        "code": {"name": "", "summary": "", "ddl": "", "rows": {}, "rules": [], "tools": []},
        "toolset": {},
        "sketch": {},
        "metadata": {"summary": "", "requirements": [], "rules": [], "ddl": ""},
        "chain": {"name": "", "rules": [], "tools": [], "source": "", "number": 0},
        "trials": {"rules": [], "tools": [], "source": "", "rows": {}},
    }
    if prompt in LATER:
        return LATER[prompt](theme, number) | more
    return ({} if prompt == "theme" else brief) | plain[prompt] | more


def pose_checks(theme: str, number: int, scenario: int = 0) -> dict[str, Any]:
    """Checks for a scenario, with the changes the domain model foretells."""
    reply = ask_scenario(theme, number, scenario)
    domain = compose(theme, number)
    changes = diff_states(
        reply.initial_state, play_oracle(domain, reply.initial_state, reply.oracle, 0, "one")
    )
    return {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number}, "name": "", "summary": "", "rules": [], "tools": [],
        "number": scenario, "clock": CLOCK, "request": reply.request, "initial_state": reply.initial_state,
        "changes": [each.model_dump() for each in changes],
    }  # fmt: skip


def pose_tester(theme: str, number: int) -> dict[str, Any]:
    """Four calls of every tool, on the state of a scenario."""
    state = ask_scenario(theme, number, 0).initial_state
    wanted = dict.fromkeys((each.name for each in ask_blueprint(theme, number).tools), 4)
    brief = {"theme": theme, "text": THEMES[theme], "number": number}
    return {"brief": brief, "name": "", "rules": [], "tools": [], "state": state, "wanted": wanted}


def pose_checker(theme: str, number: int) -> dict[str, Any]:
    """A call that is rightly carried out on even numbers, and wrongly on odd ones."""
    asked = pose_tester(theme, number)
    calls = json.loads(ask("tester", theme, number))["calls"]
    wanted = "rejection" if number % 2 else "success"
    call = next(each["call"] for each in calls if each["expect"] == wanted)
    read = next(
        name for name, each in compose(theme, number).operations.items() if each.effect == "query"
    )
    call = (
        call
        if number % 2
        else next(
            each["call"]
            for each in calls
            if each["expect"] == "success" and each["call"]["name"] == read
        )
    )
    known = {key: asked[key] for key in ("brief", "name", "rules", "state")}
    tool = {"name": call["name"], "description": "", "parameters": {}, "effect": "change"}
    return known | {
        "tool": tool,
        "call": call,
        "outcome": "ok",
        "code": "",
        "message": "",
        "parts": [],
        "changes": [],
    }


def pose_ruling(theme: str, number: int) -> dict[str, Any]:
    """An end as the reference path leaves it on even numbers, and an untouched state on odd
    ones."""
    asked = pose_checks(theme, number)
    known = {key: asked[key] for key in ("brief", "name", "rules", "request")}
    changes = [] if number % 2 else asked["changes"]
    return known | {
        "calls": [],
        "changes": changes,
        "said": [],
        "expected": asked["changes"],
        "answer": "",
        "facts": [],
    }


def pose_suspicion(theme: str, number: int) -> dict[str, Any]:
    """A request that names one row of two; on odd numbers with words that fit both."""
    words = "the label printer" if number % 2 else "the printer on the second floor"
    rows = {
        "printers": {"101": {"name": "the label printer"}, "102": {"name": "the label printer"}}
    }
    about = {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "name": theme,
        "rules": [],
        "policy": "",
        "tools": [],
    }
    asked = {
        "question": f'Does the request leave open which row is meant by "{words}"?',
        "doubt": "no",
    }
    return (
        about
        | asked
        | {
            "request": f"Please have {words} mended.",
            "told": [],
            "path": [],
            "rows": rows,
            "witness": [],
        }
    )


def pose_reader(theme: str, number: int) -> dict[str, Any]:
    """The same request and rows, to be read."""
    asked = pose_suspicion(theme, number)
    kept = ("brief", "name", "rules", "policy", "tools", "rows", "request", "told")
    return {name: asked[name] for name in kept} | {"date": "2026-03-02T09:00:00+00:00"}


def compose(theme: str, number: int, seed: int = SEED) -> Domain:
    return compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), seed)


def pose_methods(theme: str, number: int) -> dict[str, Any]:
    """Every tool of the environment at once."""
    wanted = [each.name for each in ask_blueprint(theme, number).tools]
    return pose("skeleton", theme, number) | {"skeleton": "", "class_name": "", "wanted": wanted}


def pose_cases(theme: str, number: int) -> dict[str, Any]:
    """Tests of a change that takes the key of a row."""
    name = next(
        each.name for each in compose(theme, number).changes if any(one.row for one in each.takes)
    )
    tool = {"name": name, "description": "", "parameters": {}, "effect": "change"}
    return {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "rules": [],
        "ddl": "",
        "tool": tool,
        "rows": {},
    }


def pose_debug(theme: str, number: int) -> dict[str, Any]:
    """Two red tests of a method that does nothing: one is right, one expects the contrary."""
    asked = pose_cases(theme, number)
    right = CasesReply.model_validate_json(author.answer("cases", asked, SEED, 0, 0.0)).tests
    wrong = right[-1].model_copy(
        update={"expect": "success" if right[-1].expect == "rejection" else "rejection"}
    )
    red = [
        {"number": place, "test": test.model_dump(mode="json"), "seen": "It ended otherwise."}
        for place, test in enumerate((right[0], wrong))
    ]
    source = f"def {asked['tool']['name']}(self) -> None:\n    return None\n"
    return {name: asked[name] for name in ("brief", "rules", "ddl", "tool")} | {
        "source": source,
        "red": red,
        "ended": "Two of them are red.",
    }


def pose_reword(theme: str, number: int) -> dict[str, Any]:
    """A scenario's request in fewer words."""
    reply = ask_scenario(theme, number, 0).model_dump(mode="json")
    kept = ("polarity", "request", "opening", "facts", "hidden", "goals", "initial_state", "oracle")
    about = {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "name": "",
        "rules": [],
        "tools": [],
        "number": 0,
    }
    return about | {"operator": "compression", "method": ""} | {name: reply[name] for name in kept}


def pose_grow(theme: str, number: int) -> dict[str, Any]:
    """What two tools lack on a scenario's state."""
    reply = ask_scenario(theme, number, 0).model_dump(mode="json")
    about = {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "name": "",
        "rules": [],
        "number": 0,
    }
    tools = [
        {"name": each.name, "description": "", "parameters": {}, "effect": "change"}
        for each in compose(theme, number).changes[:2]
    ]
    unreached = [{"tool": tool, "tried": []} for tool in tools]
    return (
        about
        | {name: reply[name] for name in ("request", "initial_state", "oracle")}
        | {"unreached": unreached}
    )


def pose_natural(theme: str, number: int) -> dict[str, Any]:
    """One addition."""
    call = {"name": compose(theme, number).changes[0].name, "arguments": {}}
    about = {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "name": "",
        "rules": [],
        "request": "",
    }
    return about | {"added": [{"tool": call["name"], "description": "", "call": call, "rows": {}}]}


def pose_errors(theme: str, number: int) -> dict[str, Any]:
    """Two versions of a program, both wrong about one tool."""
    tools = [
        {"name": each.name, "description": "", "effect": "change"}
        for each in compose(theme, number).changes[:2]
    ]
    about = {
        "brief": {"theme": theme, "text": THEMES[theme], "number": number},
        "name": "",
        "rules": [],
    }
    return about | {"tools": tools, "versions": [[f"{tools[0]['name']} ended in failure"]] * 2}


LATER: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "methods": pose_methods,
    "checks": pose_checks,
    "tester": pose_tester,
    "checker": pose_checker,
    "ruling": pose_ruling,
    "suspicion": pose_suspicion,
    "reader": pose_reader,
    "cases": pose_cases,
    "debug": pose_debug,
    "reword": pose_reword,
    "grow": pose_grow,
    "natural": pose_natural,
    "errors": pose_errors,
    "names": lambda theme, number: {
        "known": {theme: THEMES[theme]},
        "focus": [],
        "wanted": 5,
        "round": number,
    },
}
"""Prompts whose inputs hang on earlier replies."""


@cache
def ask(prompt: str, theme: str, number: int, scenario: int = 0, seed: int = SEED) -> str:
    """The clean reply text; only the text is kept, so that no test meets another's changes."""
    more = {"number": scenario} if prompt == "scenario" else {}
    return author.answer(prompt, pose(prompt, theme, number, **more), seed, 0, 0.0)


def ask_blueprint(theme: str, number: int, seed: int = SEED) -> BlueprintReply:
    return BlueprintReply.model_validate_json(ask("blueprint", theme, number, seed=seed))


def ask_program(theme: str, number: int) -> ProgramReply:
    return ProgramReply.model_validate_json(ask("program", theme, number))


def ask_tests(theme: str, number: int) -> TestsReply:
    return TestsReply.model_validate_json(ask("tests", theme, number))


def ask_scenario(theme: str, number: int, scenario: int) -> ScenarioReply:
    return ScenarioReply.model_validate_json(ask("scenario", theme, number, scenario))


@dataclass(frozen=True)
class Play:
    """What a program made of some calls."""

    outcomes: list[str]
    """Per call: empty when it succeeded, the rejection's code, or `failure: …`."""
    results: list[Any]
    """Per call: what it returned."""
    state: dict[str, Any]
    """The state after the last one."""


Plays = list[tuple[dict[str, Any], list[Call]]]
"""States, and the calls to make on each."""


def read_tools(theme: str, number: int, program: ProgramReply) -> list[Tool]:
    """The interface as the factory derives it."""
    return derive_tools(
        program.source,
        program.class_name,
        {each.name: each.effect for each in ask_blueprint(theme, number).tools},
    )


def run(theme: str, number: int, plays: Plays, program: ProgramReply | None = None) -> list[Play]:
    """Play calls in the jail, each list in a fresh session; another program than the clean one may
    stand in."""
    program = program or ask_program(theme, number)
    jailed = Program(
        {"office.py": program.source},
        f"office:{program.class_name}",
        read_tools(theme, number, program),
    )

    async def go(sandbox: Sandbox) -> list[Play]:
        played = [[Reset(state, CLOCK, 7), *map(Invoke, calls), Look()] for state, calls in plays]
        return [_read(await sandbox.play(jailed, steps, hashes="none")) for steps in played]

    return JAIL.enter(go)


def _read(seen: list[Observation]) -> Play:
    assert seen[0].outcome == "ok", seen[0]
    spoken = {"ok": "", "rejection": "{0.code}", "failure": "failure: {0.message}"}
    results = [[part.get("value") for part in each.parts] for each in seen[1:-1]]
    return Play(
        [spoken[each.outcome].format(each) for each in seen[1:-1]], results, seen[-1].state or {}
    )
