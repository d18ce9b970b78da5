"""One task of τ²-bench as a scenario: begun in the jail, its gold calls run there, its criteria as a verifier that means the same.

base state ─ data merged ─ functions run ─ history replayed ──► initial state
initial state ─ gold calls, no coupling between them ─────────► goals and frame (DB)
assertions · actions · words ─────────────────────────────────► generated checks, named by component
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envmill.interop.importers.tau2 import checks
from envmill.interop.importers.tau2.parity import list_changes
from envmill.interop.importers.tau2.programs import CLASS, DomainProgram
from envmill.interop.importers.tau2.release import (
    ReleasedAction,
    ReleasedCriteria,
    ReleasedMessage,
    ReleasedStart,
    ReleasedTask,
    ReleasedToolCall,
    ReleasedUser,
)
from envmill.kinds.start import CLOCK
from envmill.sandbox import Changes, CheckSession, Invoke, Observation, Program, Reset, Sandbox
from envmill.verifiers.diff import apply_changes
from schemas.base import Json, is_object
from schemas.environment import Call, Environment, Tool
from schemas.origin import Origin
from schemas.scenario import Change, Check, Scenario, Split, UserContract, Verifier

State = dict[str, Json]
SHORT = 2
"""Characters of words that anybody says by chance."""
ACTORS = {"assistant": "agent", "user": "user"}
FALLBACK = "I am not sure about that."
STOP = "what they called for is done, or nobody here can do it"


class TaskFault(Exception):
    """Why a task cannot be mapped: (code, detail)."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code, self.detail = code, detail


@dataclass(frozen=True)
class History:
    """What was done and said before the scenario begins."""

    calls: tuple[ReleasedToolCall, ...] = ()
    replies: tuple[str | None, ...] = ()
    said: tuple[str, ...] = ()
    """Messages of the agent."""
    told: str = ""
    """All of it, as the agent is told."""


@dataclass(frozen=True)
class MappedTask:
    """A scenario, and what is worth knowing about the task."""

    scenario: Scenario
    remarks: tuple[tuple[str, str, str, str], ...]
    """(part, weight, code, detail)."""


@dataclass
class TaskMapper:
    """Tasks of one domain."""

    program: DomainProgram
    environment: Environment
    bench: Program
    gold: Program
    sandbox: Sandbox
    base: State
    origin: Origin
    splits: Mapping[str, Sequence[str]]
    solo: bool = False
    remarks: list[tuple[str, str, str, str]] = field(
        default_factory=list[tuple[str, str, str, str]]
    )

    async def map(self, number: int, task: ReleasedTask) -> MappedTask:
        """TaskFault where it cannot be mapped."""
        self.remarks = []
        started = task.initial_state or ReleasedStart()
        history = read_history(started.message_history or [])
        initial = await self._begin(started, history)
        criteria = task.evaluation_criteria
        actions = (criteria.actions if criteria else None) or []
        calls = [
            Call(name=one.name, arguments=one.arguments, actor=self._name_actor(one))
            for one in actions
        ]
        changes = await self._run_gold(initial, actions)
        goals, guards, frame, unjudged, unchecked = await self._map_criteria(
            criteria, initial, changes, history
        )
        self._remark_on(task)
        verifier = Verifier(
            goals=goals,
            guards=guards,
            frame=frame,
            sides=dict(self.program.sides) if self._list_user_tools() else {},
            unjudged=unjudged,
        )
        request, user = self._describe_user(task, history)
        scenario = Scenario(
            environment=self.environment.id,
            number=number,
            draft="",
            initial_state=initial,
            request=request,
            user=user,
            oracle=calls,
            polarity="escalate" if _hands_over(actions) else "achieve",
            clock=CLOCK,
            seed=0,
            verifier=verifier,
            features={"released_as": task.id, "tau2": self._describe_task(task, unchecked)},
            split=_find_split(task.id, self.splits),
            oracle_reward=0.0,
            do_nothing_reward=0.0,
            say=". ".join((criteria.communicate_info if criteria else None) or []),
            origin=self.origin,
        )
        return MappedTask(scenario, tuple(self.remarks))

    def _name_actor(self, action: ReleasedAction) -> str:
        return "agent" if self.solo else ACTORS[action.requestor]

    # How it begins.

    async def _begin(self, started: ReleasedStart, history: History) -> State:
        state = self._merge(started)
        plan = list[Call]()
        for function in started.initialization_actions or []:
            method = self.program.find_method(function.env_type, function.func_name)
            if not method:
                raise TaskFault(
                    "no_function",
                    f"it begins with {function.func_name} of the {function.env_type}, which the program has not",
                )
            plan.append(_run(method, function.arguments))
        if not plan and not history.calls and state is self.base:
            return self.base
        opening = [_run("_fill", {})] if state is not self.base else []
        tools = {tool.name: tool for tool in self.environment.tools}
        replayed = [
            (call, reply)
            for call, reply in zip(history.calls, history.replies, strict=True)
            if _changes(tools.get(call.name))
        ]
        calls = [
            Call(name=call.name, arguments=call.arguments, actor=tools[call.name].actors[0])
            for call, _ in replayed
        ]
        steps = [
            Reset(state, CLOCK, 0),
            *map(Invoke, [*opening, *plan, *calls, Call(name="settle_state")]),
            Changes(),
        ]
        seen = await self.sandbox.play(self.bench, steps, hashes="none")
        for call, step in zip([*opening, *plan], seen[1:], strict=False):
            if step.outcome != "ok":
                raise TaskFault(
                    "does_not_begin",
                    f"{call.arguments.get('method')}: {step.code}: {step.message[-300:]}",
                )
        if broken := [step for step in (seen[0], *seen[-2:]) if step.outcome != "ok"]:
            raise TaskFault("does_not_begin", f"{broken[0].code}: {broken[0].message[-300:]}")
        begins = 1 + len(opening) + len(plan)
        for (call, reply), step in zip(replayed, seen[begins : begins + len(calls)], strict=True):
            if not _is_answered(step, reply):
                detail = "the history's call is answered otherwise than recorded; τ²-bench refuses to judge such a task"
                self.remarks.append((call.name, "noted", "history_differs", detail))
        return apply_changes(state, list_changes(seen[-1]))

    def _merge(self, started: ReleasedStart) -> State:
        data = started.initialization_data
        merged = self.base
        for side, given in (
            ("agent", data.agent_data if data else None),
            ("user", data.user_data if data else None),
        ):
            if given is None:
                continue
            for name, value in given.items():
                if self.program.sides.get(name) != side:
                    raise TaskFault(
                        "no_collection",
                        f"its data set {name}, which is no collection of the {side}'s side",
                    )
                merged = {**merged, name: merge(merged.get(name), value)}
            if "user" in self.program.sides.values():
                detail = "τ²-bench lets both sides share one state after it merges such data; here each side keeps its own"
                self.remarks.append(("initialization_data", "noted", "sides_shared", detail))
        return merged

    # How it is judged.

    async def _run_gold(self, initial: State, actions: Sequence[ReleasedAction]) -> list[Change]:
        """What the gold calls change. One that is refused is skipped, as there, and told of."""
        calls = [
            Call(name=one.name, arguments=one.arguments, actor=ACTORS[one.requestor])
            for one in actions
        ]
        steps = [Reset(initial, CLOCK, 0), *map(Invoke, calls), Changes()]
        seen = await self.sandbox.play(self.gold, steps, hashes="none")
        if seen[0].outcome != "ok" or seen[-1].outcome != "ok":
            raise TaskFault(
                "does_not_begin", f"gold calls: {seen[0].message or seen[-1].message}"[-300:]
            )
        for place, (action, step) in enumerate(zip(actions, seen[1:-1], strict=True), 1):
            if step.outcome != "ok":
                part = f"action {place}: {action.name}"
                self.remarks.append(
                    (
                        part,
                        "noted",
                        "gold_fails",
                        f"{step.code}: {step.message[-200:]}; it is skipped, as there",
                    )
                )
        return list_changes(seen[-1])

    async def _map_criteria(
        self,
        criteria: ReleasedCriteria | None,
        initial: State,
        changes: list[Change],
        history: History,
    ) -> tuple[list[Check], list[Check], list[list[str]], list[str], list[str]]:
        """Goals, guards, frame, what nobody here judges, and components that the benchmark leaves unchecked."""
        basis = list(dict.fromkeys(criteria.reward_basis)) if criteria else []
        found = list[Check]()
        frame: list[list[str]] = [[]]
        blind = criteria is None or (criteria.actions is None and criteria.env_assertions is None)
        unchecked = [one for one in ("DB", "ENV_ASSERTION") if one in basis] if blind else []
        if "DB" in basis and not blind:
            found += [_goal(change) for change in changes] or [checks.check_unchanged()]
            frame = [change.path for change in changes]
        if criteria and "ENV_ASSERTION" in basis:
            found += list(self._map_assertions(criteria))
        if criteria and "ACTION" in basis:
            before = [{"name": one.name, "arguments": one.arguments} for one in history.calls]
            found += [
                checks.check_action(place, one, before)
                for place, one in enumerate(criteria.actions or [], 1)
            ]
        if criteria and "COMMUNICATE" in basis:
            words = enumerate(criteria.communicate_info or [], 1)
            found += [checks.check_words(place, one, history.said) for place, one in words]
        unjudged = list(
            (criteria.nl_assertions or []) if criteria and "NL_ASSERTION" in basis else []
        )
        goals, guards = await self._sort(_drop_twins(found), initial)
        if not goals:
            goals, guards = guards or [checks.check_nothing()], []
        return goals, guards, frame, unjudged, unchecked

    def _map_assertions(self, criteria: ReleasedCriteria) -> Iterator[Check]:
        for place, one in enumerate(criteria.env_assertions or [], 1):
            method = self.program.find_method(one.env_type, one.func_name)
            if not method:
                raise TaskFault(
                    "no_function",
                    f"it asserts {one.func_name} of the {one.env_type}, which the program has not",
                )
            yield checks.check_assertion(place, one, self.program.alone, CLASS, method)

    async def _sort(
        self, found: Sequence[Check], initial: State
    ) -> tuple[list[Check], list[Check]]:
        """Guards hold at the start. One that raises there says nothing yet, and is a goal."""
        asked = [one for one in found if one.op == "generated"]
        heard = (
            await self.sandbox.judge(
                CheckSession([one.source for one in asked], initial, initial, CLOCK)
            )
            if asked
            else []
        )
        kept = {one.source for one, said in zip(asked, heard, strict=True) if said.holds is True}
        for one, said in zip(asked, heard, strict=True):
            if said.holds is None:
                detail = f"on the untouched state: {said.code}: {said.message[-200:]}; the evaluation ends in an error, as there"
                self.remarks.append((one.name[:80], "noted", "check_raises", detail))
        return [one for one in found if one.source not in kept or not one.source], [
            one for one in found if one.source in kept and one.source
        ]

    # What is worth knowing.

    def _remark_on(self, task: ReleasedTask) -> None:
        criteria = task.evaluation_criteria
        if criteria is None:
            self.remarks.append(
                (
                    "evaluation_criteria",
                    "noted",
                    "asks_nothing",
                    "it has none, so that everybody passes, as there",
                )
            )
            return
        basis = criteria.reward_basis
        if "NL_ASSERTION" in basis and criteria.nl_assertions:
            count = len(criteria.nl_assertions)
            self.remarks.append(
                (
                    "nl_assertions",
                    "noted",
                    "not_judged",
                    f"{count} are a model's to judge: where all else holds, error",
                )
            )
        for name, held in (
            ("communicate_info", "COMMUNICATE"),
            ("nl_assertions", "NL_ASSERTION"),
            ("env_assertions", "ENV_ASSERTION"),
        ):
            given: list[Json] = getattr(criteria, name) or []
            if given and held not in basis:
                self.remarks.append(
                    (
                        name,
                        "noted",
                        "never_scored",
                        f"{len(given)} are listed, and {held} is not in the basis",
                    )
                )
            if not given and held in basis:
                self.remarks.append(
                    (
                        name,
                        "noted",
                        "empty_gate",
                        f"{held} is in the basis, and nothing is listed: it passes by itself",
                    )
                )
        if "COMMUNICATE" in basis:
            for words in criteria.communicate_info or []:
                if len(words) <= SHORT:
                    self.remarks.append(
                        ("communicate_info", "noted", "free_words", f"{words!r} is said by chance")
                    )
        if "ACTION" in basis:
            for place, one in enumerate(criteria.actions or [], 1):
                if one.compare_args == [] or (one.compare_args is None and one.arguments):
                    how = (
                        "any arguments match"
                        if one.compare_args == []
                        else "a call without arguments matches"
                    )
                    self.remarks.append(
                        (f"action {place}: {one.name}", "noted", "free_arguments", how)
                    )
        if task.user_tools is not None:
            strange = sorted(set(task.user_tools) - {tool.name for tool in self._list_user_tools()})
            for name in strange:
                self.remarks.append(
                    ("user_tools", "noted", "no_function", f"{name} is no tool of the user")
                )

    def _list_user_tools(self) -> list[Tool]:
        return [
            tool for tool in self.environment.tools if self.program.actors.get(tool.name) == "user"
        ]

    def _describe_task(self, task: ReleasedTask, unchecked: Sequence[str]) -> State:
        criteria = task.evaluation_criteria
        told: State = {
            "basis": list(dict.fromkeys(criteria.reward_basis)) if criteria else None,
            "unchecked": list(unchecked),
            "splits": [name for name, ids in self.splits.items() if task.id in ids],
            "user_tools": task.user_tools,
            "issues": [_shorten_issue(one) for one in task.issues or []],
            "required_documents": task.required_documents,
            "description": task.description,
            "ticket": task.ticket,
        }
        return {name: value for name, value in told.items() if value not in (None, [])}

    # Who calls.

    def _describe_user(self, task: ReleasedTask, history: History) -> tuple[str, UserContract]:
        before = f"What was said before:\n{history.told}\n\n" if history.told else ""
        if self.solo:
            request = before + (task.ticket or "")
            return request, UserContract(opening=request)
        user = task.user_scenario
        opening, facts, hidden = read_user(user)
        allowed = [
            tool
            for tool in self._list_user_tools()
            if task.user_tools is None or tool.name in task.user_tools
        ]
        contract = UserContract(
            opening=before + opening,
            facts=facts,
            hidden=hidden,
            persona=_describe_persona(user),
            goals=[opening],
            fallbacks={"": _describe_unknown(user)},
            stop=STOP,
            able=[
                Call(name=tool.name, actor="user")
                for tool in allowed
                if not tool.parameters.get("required")
            ],
            reports=[tool.name for tool in allowed if tool.effect == "query"],
        )
        return before + "\n".join([opening, *map(str, facts.values())]), contract


def _shorten_issue(issue: Json) -> Json:
    """What it is about. Who reported it is nobody's business."""
    kept = ("id", "title", "status")
    return {name: issue.get(name) for name in kept} if is_object(issue) else None


def read_user(user: ReleasedUser) -> tuple[str, dict[str, Json], list[str]]:
    """What the user opens with, what else they know, and which of it they tell only when asked."""
    told = user.instructions
    if isinstance(told, str):
        return told.strip() or "Hello.", {}, []
    facts: dict[str, Json] = (
        {"personal details": told.known_info.strip()}
        if told.known_info and told.known_info.strip()
        else {}
    )
    return told.reason_for_call.strip() or "Hello.", facts, list(facts)


def _describe_persona(user: ReleasedUser) -> str:
    told = user.instructions
    parts = [user.persona or "", "" if isinstance(told, str) else told.task_instructions]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _describe_unknown(user: ReleasedUser) -> str:
    told = user.instructions
    return (
        FALLBACK
        if isinstance(told, str) or not (told.unknown_info or "").strip()
        else (told.unknown_info or "").strip()
    )


def read_history(messages: Sequence[ReleasedMessage]) -> History:
    """Calls with the replies that follow them; TaskFault where they do not."""
    calls, replies, said, told = (
        list[ReleasedToolCall](),
        list[str | None](),
        list[str](),
        list[str](),
    )
    left = list(messages)[::-1]
    while left:
        message = left.pop()
        if message.role == "tool":
            raise TaskFault(
                "bad_history", "a reply of a tool stands in its history without its call"
            )
        if message.content:
            told.append(f"{message.role}: {message.content}")
            said += [message.content] if message.role == "assistant" else []
        for call in message.tool_calls or []:
            reply = left.pop() if left else None
            if reply is None or reply.role != "tool" or reply.id != call.id:
                raise TaskFault("bad_history", f"its history does not say what {call.name} replied")
            calls.append(call)
            replies.append(reply.content)
            told.append(
                f"{message.role} called {call.name}({json.dumps(call.arguments, ensure_ascii=False)}): {reply.content or ''}"
            )
    return History(tuple(calls), tuple(replies), tuple(said), "\n".join(told))


def merge(before: Json, given: Json) -> Json:
    """Objects are merged key by key; lists and everything else are replaced."""
    if not (is_object(before) and is_object(given)):
        return given
    return {**before, **{name: merge(before.get(name), value) for name, value in given.items()}}


def _is_answered(step: Observation, recorded: str | None) -> bool:
    """Whether a call is answered as recorded: as JSON where both are."""
    part: Json = step.parts[0] if step.outcome == "ok" and step.parts else {}
    said: Json = part.get("value", part.get("text")) if is_object(part) else None
    try:
        wanted: Json = json.loads(recorded or "null")
    except (ValueError, RecursionError):
        wanted = recorded
    return said == wanted


def _goal(change: Change) -> Check:
    path = ".".join(change.path)
    if change.op == "remove":
        return Check(name=f"{path} is gone", op="absent", path=change.path)
    return Check(
        name=f"{path} is {change.after!r}"[:200], op="equals", path=change.path, value=change.after
    )


def _drop_twins(found: Sequence[Check]) -> list[Check]:
    """A check that is listed twice asks once."""
    return list({(one.source or one.name): one for one in found}.values())


def _run(method: str, arguments: dict[str, Json]) -> Call:
    return Call(name="run_function", arguments={"method": method, "arguments": arguments})


def _changes(tool: Tool | None) -> bool:
    return tool is not None and tool.effect == "change"


def _hands_over(actions: Sequence[ReleasedAction]) -> bool:
    return [one.name for one in actions] == ["transfer_to_human_agents"]


def _find_split(name: str, splits: Mapping[str, Sequence[str]]) -> Split:
    """Its own training split where it is in one; all else is for testing."""
    return "train" if name in splits.get("train", ()) else "test"
