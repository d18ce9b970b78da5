"""A scenario of an environment of tools as a Harbor folder: a server of its tools where the agent
is, and a judge where it never was.

environment/  program and initial state, served over MCP by root to an agent that is not
tests/        the same with the verifier and the judge     solution/  the reference path, over MCP

Only a recording of the calls and the last words go from one container to the other. The judge makes
the calls again.
"""

from collections.abc import Mapping
from pathlib import Path
from string import Template

import orjson

from envmill.agents.briefing import brief_agent
from envmill.interop.bundles.digests import render_digests
from envmill.interop.bundles.envrun.digests import DIGESTS
from envmill.interop.bundles.envrun.layout import SCENARIOS, VERIFIER
from envmill.interop.harbor.layout import (
    ARTIFACTS,
    CONFIG,
    ENVIRONMENT,
    INSTRUCTION,
    JUDGE,
    README,
    RECIPE,
    SOLUTION,
    SOLVE,
    TEST,
    TESTS,
)
from envmill.interop.harbor.recipe import BASE
from envmill.interop.harbor.toml import render_toml
from envmill.interop.harbor.writing import AGENT, CONTAINER, describe_task, read_program
from envmill.interop.harbor.writing import JUDGE as JUDGING
from envmill.sandbox.containers.image import SUITE, list_packages
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Scenario

SERVER, URL = "world", "http://127.0.0.1:8765/mcp"
USER, HOME = "agent", "/srv/world"
ANSWER, RECORDINGS = "/srv/answer.txt", "/var/lib/world/recordings"
IMAGE = f"{BASE}:1"
BEGIN = "/usr/local/sbin/begin-world"
_RECIPE = f"""FROM {IMAGE}
COPY world {HOME}
COPY begin.sh {BEGIN}
RUN useradd --create-home --shell /bin/bash {USER} && chmod -R u=rwX,go= {HOME} && install -d -m 700 /var/lib/world {RECORDINGS} \\
    && install -o {USER} -m 644 /dev/null {ANSWER}
"""
_APART = f"""FROM {IMAGE}
COPY . /{TESTS}/
RUN mkdir -p /var/lib/begun /logs/verifier {ARTIFACTS} && touch /var/lib/begun/apart
"""
COLLECT = (
    f"rm -rf {ARTIFACTS}; mkdir -p {ARTIFACTS}; "
    f"f=$(ls -t {RECORDINGS}/*.jsonl 2>/dev/null | while read -r f; do [ $(wc -l <$f) -gt 1 ] && "
    "echo $f && break; done); "
    f'[ -z "$f" ] || cp $f {ARTIFACTS}/moves.jsonl; '
    f"head -c 65536 {ANSWER} >{ARTIFACTS}/answer.txt; touch {ARTIFACTS}/collected; true"
)
"""The last session in which a tool was called: a client that connects again begins anew."""
_TOLD = (
    f"Your tools are those of the MCP server `{SERVER}`. "
    f"Before you end, write what you have to tell the user into `{ANSWER}`: nothing else that you "
    "say is read."
)


def write_world(
    environment: Environment,
    scenario: Scenario,
    packed: Mapping[str, bytes],
    limits: Mapping[str, float],
    canary: str,
) -> dict[str, bytes]:
    """Path → content. `packed` is the scenario's bundle folder, without its reference path."""
    name = f"{scenario.number:03d}"
    texts = {
        CONFIG: render_toml(_describe_config(environment, scenario, limits, canary)),
        INSTRUCTION: write_instruction(environment, scenario),
        README: _write_readme(environment, scenario, canary),
        RECIPE: _RECIPE,
        f"{ENVIRONMENT}/begin.sh": read_program("begin_world.sh").replace("SCENARIO", name),
        JUDGE: _APART,
        TEST: read_program("test.sh"),
        f"{TESTS}/judge.py": read_program("judge_world.py"),
        f"{TESTS}/scenario.txt": f"{name}\n",
        SOLVE: '#!/bin/bash\nexec /usr/bin/python3 -I -B "$(dirname "$(readlink -f '
        '"$0")")/play.py"\n',
        f"{SOLUTION}/play.py": read_program("play_world.py"),
        f"{SOLUTION}/calls.json": _render(list_steps(scenario)),
    }
    files = {path: text.encode() for path, text in texts.items()}
    files |= {
        f"{ENVIRONMENT}/{SERVER}/{path}": content for path, content in hide_verifier(packed).items()
    }
    files |= {f"{TESTS}/{SERVER}/{path}": content for path, content in packed.items()}
    return dict(sorted(files.items()))


def write_instruction(environment: Environment, scenario: Scenario) -> str:
    """What the agent reads."""
    told = brief_agent(environment, scenario.clock)
    return (
        "\n\n".join(part.strip() for part in (told, scenario.request, _TOLD) if part.strip()) + "\n"
    )


def list_steps(scenario: Scenario) -> Json:
    """The reference path, and what is said at its end."""
    return {
        "calls": [{"name": call.name, "arguments": call.arguments} for call in scenario.oracle],
        "said": [scenario.say] if scenario.say else [],
    }


def hide_verifier(packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """A bundle folder that can be served and not judged."""
    judging = (f"{SCENARIOS}/", "envrun/judge/")
    kept = {
        path: content
        for path, content in packed.items()
        if not path.startswith(judging) or path.endswith("/scenario.json")
    }
    kept.pop(DIGESTS, None)
    assert not [path for path in kept if path.endswith(VERIFIER)]
    return kept | {DIGESTS: render_digests(kept)}


def _describe_config(
    environment: Environment, scenario: Scenario, limits: Mapping[str, float], canary: str
) -> Json:
    return {
        **describe_task(environment, scenario, canary),
        "agent": {"timeout_sec": limits.get("seconds", AGENT), "user": USER},
        "verifier": {
            "timeout_sec": JUDGING,
            "environment_mode": "separate",
            "environment": CONTAINER,
            "collect": [{"command": COLLECT, "timeout_sec": 60.0, "user": "root"}],
        },
        "environment": {
            **CONTAINER,
            "mcp_servers": [{"name": SERVER, "transport": "streamable-http", "url": URL}],
            "healthcheck": {
                "command": f"bash {BEGIN}",
                "interval_sec": 1.0,
                "timeout_sec": 60.0,
                "retries": 3,
            },
        },
    }


def _write_readme(environment: Environment, scenario: Scenario, canary: str) -> str:
    paper = (Path(__file__).parent / "papers" / "WORLD.md").read_text(encoding="utf-8")
    return Template(paper).substitute(
        summary=environment.summary, scenario=scenario.id, base=IMAGE, suite=SUITE, packages=",".join(list_packages()),
        split=scenario.split, licence=environment.licence, canary=canary,
    )  # fmt: skip


def _render(value: Json) -> str:
    return orjson.dumps(
        value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    ).decode()
