"""Recipe `envscaler`, one pass: theme → blueprint → program and tests → scenarios derived from state."""

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from envmill.drafting.assembly import Parts, assemble
from envmill.drafting.mending import Mended
from envmill.errors import SettingsError
from envmill.gates.w4 import CHECKER, TESTER
from envmill.models.door import Account
from envmill.models.prompt import Prompt, tell_prompt
from schemas.base import Json
from schemas.environment import Blueprint, Environment
from schemas.errand import Part
from schemas.origin import Origin
from schemas.prompts import (
    BlueprintInput,
    BlueprintReply,
    ChecksInput,
    ChecksReply,
    MethodsInput,
    MethodsReply,
    ProgramInput,
    ProgramReply,
    ScenarioInput,
    ScenarioReply,
    SkeletonInput,
    TestsInput,
    TestsReply,
    ThemeInput,
    ThemeReply,
)
from schemas.run import RunConfig
from schemas.scenario import Draft, Polarity
from schemas.seed import Brief, Seed
from schemas.typed_prompts import Operator

R = TypeVar("R")

WHOLE = 24
"""Tools up to which a program comes in one reply: some 800 lines, as much as most models send at once."""
_CHUNK = 8
"""Tools whose methods one reply holds."""
_PLANNED = {"brief", "name", "summary", "collections", "rules", "tools"}
_SIZES = {"tools", "collections", "rows", "distractors"}
_FOLDER = Path(__file__).parent / "prompts" / "envscaler"


class EnvScaler:
    """Environments as one Python class over JSON state."""

    name = "envscaler"
    operators: tuple[Operator, ...] = ()

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        """Programs of more tools than `whole` are written in parts."""
        self._themes, self._whole = themes, whole
        self._theme = Prompt.load(_FOLDER / "theme.md", ThemeInput, ThemeReply)
        self._blueprint = Prompt.load(_FOLDER / "blueprint.md", BlueprintInput, BlueprintReply)
        self._program = Prompt.load(_FOLDER / "program.md", ProgramInput, ProgramReply)
        self._skeleton = Prompt.load(_FOLDER / "skeleton.md", SkeletonInput, ProgramReply)
        self._methods = Prompt.load(_FOLDER / "methods.md", MethodsInput, MethodsReply)
        self._tests = Prompt.load(_FOLDER / "tests.md", TestsInput, TestsReply)
        self._scenario = Prompt.load(_FOLDER / "scenario.md", ScenarioInput, ScenarioReply)
        self._checks = Prompt.load(_FOLDER / "checks.md", ChecksInput, ChecksReply)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {
            "environments-mine": (self._theme,),
            "environments-generate": (self._blueprint,),
            "environments-build": (self._program, self._skeleton, self._methods, self._tests),
            "environments-verify": (TESTER, CHECKER),
            "scenarios-generate": (self._scenario,),
            "scenarios-build": (self._checks,),
        }

    def pick_seeds(self, config: RunConfig) -> list[Seed]:
        """Themes in turn, so that every domain gets its share; later rounds ask for another variation."""
        picked: list[Seed] = []
        for index in range(config.environments):
            theme, text = self._themes[index % len(self._themes)]
            number = index // len(self._themes)
            brief = Brief.model_validate({"theme": theme, "text": text, "number": number} | config.model_dump(include=_SIZES))
            picked.append(Seed(recipe=self.name, brief=brief, licence="Apache-2.0"))
        return picked

    async def find_theme(self, text: str, account: Account) -> ThemeReply:
        return await account.ask(self._theme, ThemeInput(text=text), ThemeReply)

    def pick_texts(self, config: RunConfig) -> list[str]:  # noqa: ARG002
        return []

    async def grow(self, text: str, account: Account) -> list[ThemeReply]:
        return [await self.find_theme(text, account)]

    def make_seed(self, theme: ThemeReply, licence: str, source: str, config: RunConfig) -> Seed:
        brief = Brief.model_validate({"theme": theme.theme, "text": theme.description, "number": 0} | config.model_dump(include=_SIZES))
        scores = {"usefulness": theme.usefulness, "modelability": theme.modelability}
        return Seed.model_validate({"recipe": self.name, "brief": brief, "licence": licence, "source": source} | scores)

    async def think_up(
        self,
        seed: Seed,
        failure: str,
        locked: Sequence[str],
        account: Account,
        before: Blueprint | None = None,  # noqa: ARG002
    ) -> Blueprint:
        reply = await account.ask(self._blueprint, BlueprintInput(brief=seed.brief, failure=failure, locked=list(locked)), BlueprintReply)
        return Blueprint(
            kind="stateful",
            brief=seed.brief,
            name=reply.name,
            summary=reply.summary,
            collections=reply.collections,
            rules=reply.rules,
            tools=reply.tools,
            policy_document=reply.policy,
            licence=seed.licence,
            origin=self._tell_origin(seed, account, self._blueprint),
        )

    def _tell_origin(self, seed: Seed, account: Account, prompt: Prompt) -> Origin:
        """Of a blueprint, by the prompt that decides about it."""
        return Origin(recipe=self.name, seed=seed.id, provider=account.provider, model=account.model, **tell_prompt(prompt))

    async def write_program(self, blueprint: Blueprint, failed: str, failure: str, locked: Sequence[str], account: Account) -> ProgramReply:
        repair = {"failed_source": failed, "failure": failure, "locked": list(locked)}
        inputs = ProgramInput.model_validate(blueprint.model_dump(include=_PLANNED) | repair)
        if len(blueprint.tools) > self._whole:
            return await self._write_parts(inputs, account)
        return await account.ask(self._program, inputs, ProgramReply)

    async def _write_parts(self, asked: ProgramInput, account: Account) -> ProgramReply:
        """A program too long for one reply: its class, then its methods, a few at a time; of a failed one only what is at fault."""
        known = asked.model_dump()
        names = [tool.name for tool in asked.tools]
        kept = Parts.read(asked.failed_source, names)
        blamed = [name for name in names if re.search(rf"\b{name}\b", asked.failure)]
        if kept is None or not blamed:
            reply = await account.ask(self._skeleton, SkeletonInput.model_validate(known), ProgramReply)
            kept = Parts(reply.source, reply.class_name, kept.methods if kept else {})
        missing = [name for name in names if name in blamed or name not in kept.methods]
        shared = known | {"skeleton": kept.skeleton, "class_name": kept.class_name}
        chunks = [missing[place : place + _CHUNK] for place in range(0, len(missing), _CHUNK)]
        inputs = [MethodsInput.model_validate(shared | {"wanted": chunk}) for chunk in chunks]
        written = await ask_all([account.ask(self._methods, one, MethodsReply) for one in inputs])
        methods = [*kept.methods.values(), *(reply.source for reply in written)]
        return ProgramReply(source=assemble(kept.skeleton, kept.class_name, methods), class_name=kept.class_name)

    async def write_tests(
        self,
        environment: Environment,
        failure: str,
        account: Account,
        rows: Json = None,  # noqa: ARG002
    ) -> TestsReply:
        inputs = TestsInput(
            brief=environment.brief, rules=environment.rules, tools=environment.tools, source=_source(environment), failure=failure
        )
        return await account.ask(self._tests, inputs, TestsReply)

    async def write_part(self, part: Part, blueprint: Blueprint, made: Mapping[Part, str], failure: str, account: Account) -> str:  # noqa: ARG002
        raise SettingsError(f"Recipe {self.name} makes no errands, and {blueprint.id} is one: walk it with the recipe it came from.")

    async def debug(
        self,
        environment: Environment,  # noqa: ARG002
        program: ProgramReply,  # noqa: ARG002
        plan: TestsReply,  # noqa: ARG002
        red: Mapping[int, str],  # noqa: ARG002
        locked: Sequence[str],  # noqa: ARG002
        account: Account,  # noqa: ARG002
    ) -> Mended | None:
        return None

    async def pose(
        self, environment: Environment, number: int, polarity: Polarity, failure: str, locked: Sequence[str], account: Account
    ) -> ScenarioReply:
        return await account.ask(self._scenario, tell_place(environment, number, polarity, failure, locked), ScenarioReply)

    async def write_checks(
        self, environment: Environment, draft: Draft, failure: str, locked: Sequence[str], account: Account
    ) -> ChecksReply:
        known = {"number", "request", "initial_state", "changes"}
        inputs = ChecksInput(
            brief=environment.brief,
            name=environment.name,
            rules=environment.rules,
            tools=environment.tools,
            failure=failure,
            locked=list(locked),
            **{name: getattr(draft, name) for name in known},
        )
        return await account.ask(self._checks, inputs, ChecksReply)


async def ask_all(asked: Sequence[Awaitable[R]]) -> list[R]:
    """All to their end before the first error counts: what is under way is paid for, and belongs to this subject."""
    replies, errors = list[R](), list[BaseException]()
    for one in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(one, BaseException):
            errors.append(one)
        else:
            replies.append(one)
    if errors:
        raise errors[0]
    return replies


def tell_place(environment: Environment, number: int, polarity: Polarity, failure: str, locked: Sequence[str]) -> ScenarioInput:
    """What whoever writes a scenario is told."""
    return ScenarioInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        tools=environment.tools,
        source=_source(environment),
        policy=environment.policy_document,
        number=number,
        polarity=polarity,
        failure=failure,
        locked=list(locked),
    )


def _source(environment: Environment) -> str:
    return "\n".join(environment.files.values())
