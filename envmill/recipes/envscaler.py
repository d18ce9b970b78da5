"""Recipe `envscaler`, one pass: theme → blueprint → program and tests → scenarios derived from state."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from envmill.drafting.assembly import Parts, assemble
from envmill.drafting.mending import Mended
from envmill.drafting.repair import Repair
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
        repair: Repair,
        account: Account,
        before: Blueprint | None = None,  # noqa: ARG002
    ) -> Blueprint:
        reply = await account.ask(self._blueprint, BlueprintInput(brief=seed.brief), BlueprintReply, complaint=repair.tell())
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

    async def write_program(self, blueprint: Blueprint, before: ProgramReply | None, repair: Repair, account: Account) -> ProgramReply:
        inputs = ProgramInput.model_validate(blueprint.model_dump(include=_PLANNED))
        if len(blueprint.tools) > self._whole:
            return await self._write_parts(inputs, before, repair, account)
        return await account.ask(self._program, inputs, ProgramReply, complaint=repair.tell(), stands=before)

    async def _write_parts(self, asked: ProgramInput, before: ProgramReply | None, repair: Repair, account: Account) -> ProgramReply:
        """A program too long for one reply: its class, then its methods, a few at a time; of a failed one only the parts at fault."""
        known = asked.model_dump()
        names = [tool.name for tool in asked.tools]
        kept = Parts.read(before.source, names) if before else None
        blamed = [name for name in names if repair.about([name]).complaints]
        if kept is None or not blamed:
            whole = await account.ask(self._skeleton, SkeletonInput.model_validate(known), ProgramReply, complaint=repair.tell())
            kept = Parts(whole.source, whole.class_name, kept.methods if kept else {})
        shared = known | {"skeleton": kept.skeleton, "class_name": kept.class_name}
        asking = list[Awaitable[MethodsReply]]()
        for place in range(0, len(names), _CHUNK):
            chunk = names[place : place + _CHUNK]
            if wanted := [name for name in chunk if name in blamed or name not in kept.methods]:
                inputs = MethodsInput.model_validate(shared | {"wanted": wanted})
                told = repair.about(chunk).tell() or repair.tell()
                asking.append(account.ask(self._methods, inputs, MethodsReply, part=chunk[0], complaint=told))
        methods = [*kept.methods.values(), *(reply.source for reply in await ask_all(asking))]
        return ProgramReply(source=assemble(kept.skeleton, kept.class_name, methods), class_name=kept.class_name)

    async def write_tests(
        self,
        environment: Environment,
        before: TestsReply | None,  # noqa: ARG002
        repair: Repair,
        account: Account,
        rows: Json = None,  # noqa: ARG002
    ) -> TestsReply:
        inputs = TestsInput(brief=environment.brief, rules=environment.rules, tools=environment.tools, source=_source(environment))
        return await account.ask(self._tests, inputs, TestsReply, complaint=repair.tell())

    async def write_part(self, part: Part, blueprint: Blueprint, made: Mapping[Part, str], repair: Repair, account: Account) -> str:  # noqa: ARG002
        raise SettingsError(f"Recipe {self.name} makes no errands, and {blueprint.id} is one: walk it with the recipe it came from.")

    async def debug(
        self,
        environment: Environment,  # noqa: ARG002
        program: ProgramReply,  # noqa: ARG002
        plan: TestsReply,  # noqa: ARG002
        red: Mapping[int, str],  # noqa: ARG002
        repair: Repair,  # noqa: ARG002
        account: Account,  # noqa: ARG002
    ) -> Mended | None:
        return None

    async def pose(self, environment: Environment, number: int, polarity: Polarity, repair: Repair, account: Account) -> ScenarioReply:
        return await account.ask(self._scenario, tell_place(environment, number, polarity), ScenarioReply, complaint=repair.tell())

    async def write_checks(self, environment: Environment, draft: Draft, repair: Repair, account: Account) -> ChecksReply:
        known = {"number", "request", "initial_state", "changes"}
        inputs = ChecksInput(
            brief=environment.brief,
            name=environment.name,
            rules=environment.rules,
            tools=environment.tools,
            **{name: getattr(draft, name) for name in known},
        )
        return await account.ask(self._checks, inputs, ChecksReply, complaint=repair.tell())


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


def tell_place(environment: Environment, number: int, polarity: Polarity) -> ScenarioInput:
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
    )


def _source(environment: Environment) -> str:
    return "\n".join(environment.files.values())
