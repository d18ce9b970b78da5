"""Operators over states, reference paths, verifiers and texts of scenarios."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from envmill.gates.base import ScenarioCase
from schemas.base import canonical_json
from schemas.scenario import Scenario
from tests.recipes.multiplied.operators import Dice, Operator, shuffle


def _repose(posed: ScenarioCase, **fields: Any) -> ScenarioCase:
    return replace(
        posed, scenario=Scenario.model_validate(posed.scenario.model_dump() | {"id": ""} | fields)
    )


def _list_writes(posed: ScenarioCase) -> list[int]:
    changing = {tool.name for tool in posed.environment.tools if tool.effect == "change"}
    return [
        place
        for place, call in enumerate(posed.scenario.oracle)
        if call.name in changing and not call.label
    ]


def leave_out_write(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    oracle = posed.scenario.oracle
    for place in shuffle(_list_writes(posed), dice) if not posed.scenario.parts else ():
        yield _repose(posed, oracle=[*oracle[:place], *oracle[place + 1 :]])


def _recall(posed: ScenarioCase, place: int, **fields: Any) -> ScenarioCase:
    oracle = [call.model_dump() for call in posed.scenario.oracle]
    oracle[place] |= fields
    return _repose(posed, oracle=oracle)


def call_nobody(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    for place in shuffle(range(len(posed.scenario.oracle)), dice):
        yield _recall(posed, place, name=f"{posed.scenario.oracle[place].name}_of_old")


def call_with_another_key(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """A change of another record of the same table."""
    tables: list[Any] = [
        held for held in posed.scenario.initial_state.values() if isinstance(held, dict)
    ]
    for place in shuffle(_list_writes(posed), dice):
        arguments = posed.scenario.oracle[place].arguments
        for name, value in arguments.items():
            others = [
                key
                for held in tables
                if isinstance(value, str) and value in held
                for key in held
                if key != value
            ]
            if others:
                yield _recall(posed, place, arguments=arguments | {name: dice.choice(others)})


def look_again(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """The last look-up once more, right after it."""
    oracle = [call.model_dump() for call in posed.scenario.oracle]
    changing = {tool.name for tool in posed.environment.tools if tool.effect == "change"}
    plain = [
        place
        for place, call in enumerate(posed.scenario.oracle)
        if call.name not in changing and not call.label and not call.uses
    ]
    for place in shuffle(plain, dice) if not posed.scenario.parts else ():
        yield _repose(posed, oracle=[*oracle[: place + 1], oracle[place], *oracle[place + 1 :]])


def shuffle_rows(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """Under a number of its own: ids do not see the order of rows, and gates remember trials by
    id."""
    for version in range(3):
        state = {
            name: dict(shuffle(list(held.items()), dice))
            if isinstance(held, dict) and all(isinstance(row, dict) for row in held.values())
            else held
            for name, held in posed.scenario.initial_state.items()
        }
        yield _repose(posed, initial_state=state, number=posed.scenario.number + 100 + version)


def lose_row(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """A record that the path changes by its key."""
    state: Any = posed.scenario.initial_state
    goals = {
        tuple(goal.path[:2])
        for goal in posed.scenario.verifier.goals
        if goal.op == "equals" and len(goal.path) > 2
    }
    for table, key in shuffle(sorted(goals), dice):
        if key in state.get(table, {}):
            yield _repose(
                posed,
                initial_state=state
                | {table: {name: row for name, row in state[table].items() if name != key}},
            )


def _reverify(posed: ScenarioCase, **fields: Any) -> ScenarioCase:
    return _repose(posed, verifier=posed.scenario.verifier.model_dump() | fields)


def leave_out_goal(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    goals = posed.scenario.verifier.goals
    if "$row" not in canonical_json([goal.model_dump() for goal in goals]):
        for place in shuffle(range(len(goals)), dice):
            yield _reverify(posed, goals=[*goals[:place], *goals[place + 1 :]])


def want_other_value(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    goals = [goal.model_dump() for goal in posed.scenario.verifier.goals]
    for place in shuffle(
        [place for place, goal in enumerate(goals) if goal["op"] == "equals"], dice
    ):
        value = goals[place]["value"]
        other = (
            (not value)
            if isinstance(value, bool)
            else value + 1
            if isinstance(value, int | float)
            else f"{value} of nobody"
        )
        if not isinstance(value, dict | list):
            yield _reverify(
                posed, goals=[*goals[:place], goals[place] | {"value": other}, *goals[place + 1 :]]
            )


def open_frame(posed: ScenarioCase, _: Dice) -> Iterator[ScenarioCase]:
    if not posed.scenario.verifier.worded:
        yield _reverify(posed, frame=[[name] for name in posed.scenario.initial_state])


def close_frame(posed: ScenarioCase, _: Dice) -> Iterator[ScenarioCase]:
    if posed.scenario.verifier.goals:
        yield _reverify(posed, frame=[])


def want_other_fact(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    facts = [fact.model_dump() for fact in posed.scenario.verifier.facts]
    for place in shuffle(range(len(facts)), dice):
        if facts[place]["kind"] in ("text", "number"):
            value = facts[place]["value"]
            other = (
                value + 1009
                if isinstance(value, int | float) and not isinstance(value, bool)
                else f"{value} of nobody"
            )
            yield _reverify(
                posed,
                facts=[
                    *facts[:place],
                    facts[place] | {"value": other, "also": []},
                    *facts[place + 1 :],
                ],
            )


def leave_out_fact(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    facts = posed.scenario.verifier.facts
    for place in shuffle(range(len(facts)), dice) if posed.scenario.polarity == "answer" else ():
        yield _reverify(posed, facts=[*facts[:place], *facts[place + 1 :]])


def double_weights(posed: ScenarioCase, _: Dice) -> Iterator[ScenarioCase]:
    goals = [
        goal.model_dump() | {"weight": goal.weight * 2} for goal in posed.scenario.verifier.goals
    ]
    facts = [
        fact.model_dump() | {"weight": fact.weight * 2} for fact in posed.scenario.verifier.facts
    ]
    yield _reverify(posed, goals=goals, facts=facts)


def shuffle_goals(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    goals = [goal.model_dump() for goal in posed.scenario.verifier.goals]
    if len(goals) > 1 and "$row" not in canonical_json(goals):
        yield _reverify(
            posed, goals=shuffle(goals, dice), frame=shuffle(posed.scenario.verifier.frame, dice)
        )


def _say(posed: ScenarioCase, before: str = "", after: str = "") -> ScenarioCase:
    """Words around all that the person asks."""
    scenario = posed.scenario
    parts, user = [part.model_dump() for part in scenario.parts], scenario.user.model_dump()
    user["opening"] = f"{before}{user['opening']}{'' if parts else after}"
    if parts:
        parts[0]["request"], parts[-1]["request"] = (
            before + parts[0]["request"],
            parts[-1]["request"] + after,
        )
        if user.get("later"):
            user["later"][-1] += after
    return _repose(posed, request=f"{before}{scenario.request}{after}", user=user, parts=parts)


def tell_tool(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    for name in shuffle(
        sorted({call.name for call in posed.scenario.oracle if "_" in call.name}), dice
    ):
        yield _say(posed, after=f" Use {name} for this.")


def tell_answer(posed: ScenarioCase, dice: Dice) -> Iterator[ScenarioCase]:
    """What is to be found out stands in the request."""
    facts = posed.scenario.verifier.facts if posed.scenario.polarity == "answer" else []
    for fact in shuffle([fact for fact in facts if fact.kind in ("text", "number")], dice):
        if str(fact.value) not in posed.scenario.request:
            yield _say(posed, after=f" I believe that {fact.name} is {fact.value}.")


def say_nothing_of_it(posed: ScenarioCase, _: Dice) -> Iterator[ScenarioCase]:
    user = posed.scenario.user.model_dump() | {
        "opening": "Please do what has to be done.",
        "facts": {},
        "hidden": [],
        "wordings": {},
    }
    if posed.scenario.polarity in ("achieve", "answer") and not posed.scenario.parts:
        yield _repose(posed, request="Please do what has to be done.", user=user)


def _politely(before: str, after: str) -> Callable[[ScenarioCase, Dice], Iterator[ScenarioCase]]:
    def vary(posed: ScenarioCase, _: Dice) -> Iterator[ScenarioCase]:
        yield _say(posed, before, after)

    return vary


SCENARIOS = (
    Operator("path", "write_left_out", False, leave_out_write),
    Operator("path", "unknown_tool", False, call_nobody),
    Operator("path", "another_key", False, call_with_another_key),
    Operator("state", "row_lost", False, lose_row),
    Operator("verifier", "goal_left_out", False, leave_out_goal),
    Operator("verifier", "other_value", False, want_other_value),
    Operator("verifier", "frame_open", False, open_frame),
    Operator("verifier", "frame_closed", False, close_frame),
    Operator("verifier", "other_fact", False, want_other_fact),
    Operator("verifier", "fact_left_out", False, leave_out_fact),
    Operator("text", "tool_told", False, tell_tool),
    Operator("text", "answer_told", False, tell_answer),
    Operator("text", "nothing_said", False, say_nothing_of_it),
    Operator("path", "look_again", True, look_again),
    Operator("state", "rows_shuffled", True, shuffle_rows),
    Operator("verifier", "weights_doubled", True, double_weights),
    Operator("verifier", "goals_shuffled", True, shuffle_goals),
    Operator("text", "thanks", True, _politely("", " Thank you very much.")),
    Operator("text", "greeting", True, _politely("Good morning. ", "")),
    Operator("text", "blank_lines", True, _politely("", "\n\n")),
)
