"""Compares a blind reader's understanding with what the reference path does and the verifier
demands.

wanted changes ─► played: passes? ─yes─► no difference
                     └─no─► each change beside a write of the path ─► rows, values, decisions ─► put into the path: passes? ─no─► difference
answers ─► facts of the verifier      readings ─► pairs that end differently
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.trials import Attempt, Trials, list_writes
from envmill.gates.reading.known_values import list_leaves, read_day, read_plain_number
from envmill.gates.s8 import list_plain
from envmill.language.words import find_words, normalise, split_words
from envmill.verifiers.facts import communicates
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call
from schemas.reading import ReadChange, ReaderReply, TwoReadings, Understanding
from schemas.scenario import LEFT_ALONE, Fact

_OTHERS = 6
"""Number of other rows tried where a reader finds several possible. One that passes shows that the
choice is free."""
_LONGEST = 300
"""Characters of a candidate in a question."""
_UNLIKE = "something else altogether"

Place = tuple[str, str]
"""Table and key."""


@dataclass(frozen=True)
class PathDisagreement:
    """One point on which the reader and the path disagree."""

    code: str
    words: str
    """For the author: what the reader understood, and what the path does."""
    question: str
    """For the judge: a neutral question, in which the order of the candidates does not tell whose
    they are."""
    seen: Json


@dataclass(frozen=True)
class _Pair:
    """A write of the path, and the reader's change that corresponds to it."""

    place: int
    call: Call
    change: ReadChange


async def find_differences(
    subject: ScenarioCase, means: GateContext, reply: ReaderReply
) -> list[PathDisagreement]:
    """Most certain ones first: rows and values, answers, decisions, and finally readings."""
    comparison = _Comparison(subject, means, reply)
    found = [
        *await comparison.compare_changes(),
        *comparison.compare_answers(),
        *comparison.compare_readings(),
    ]
    return list({one.question: one for one in found}.values())


class _Comparison:
    """Compares one reply with one scenario."""

    def __init__(self, subject: ScenarioCase, means: GateContext, reply: ReaderReply) -> None:
        self._subject, self._scenario, self._reply = subject, subject.scenario, reply
        self._stock = StateIndex.of(subject.scenario.initial_state)
        self._trials = Trials.of(subject, means)
        self._tools = {tool.name: tool for tool in subject.environment.tools}
        self._writes = list_writes(subject)
        changing = {tool.name for tool in subject.environment.tools if tool.effect == "change"}
        self._changes = [self._resolve(one) for one in reply.changes if one.tool in changing]

    async def compare_changes(self) -> list[PathDisagreement]:
        doing = [one for one in self._changes if one.decision == "do"]
        if await self._passes(self._put_after_reads(doing)) and not any(
            one.undetermined for one in self._changes
        ):
            return []
        pairs = self._pair()
        found = [each for pair in pairs for each in await self._compare_pair(pair)]
        paired = {pair.place for pair in pairs}
        taken = [pair.change for pair in pairs]
        rest = [one for one in doing if not any(one is other for other in taken)]
        for place in (one for one in self._writes if one not in paired):
            found += self._compare_unread(place, rest)
        covered = {
            row
            for place in self._writes
            for row in self._list_rows(self._scenario.oracle[place].arguments)
        }
        if self._scenario.polarity in ("refuse", "escalate"):
            found += [
                self._describe_asked(one)
                for one in self._changes
                if one.decision == "ask" and one.undetermined
            ]
        extra = [
            one
            for one in rest
            if not (rows := set(self._list_rows(one.arguments))) or not rows <= covered
        ]
        if extra and self._scenario.polarity == "clarify":
            return [*found, self._describe_clear(extra)]
        return [*found, *map(self._describe_extra, extra)]

    def _pair(self) -> list[_Pair]:
        """Each write with the most similar change of the same tool."""
        pairs: list[_Pair] = []
        left = list(enumerate(self._changes))
        ranked = [
            (self._score(self._scenario.oracle[place], change), -place, -number)
            for place in self._writes
            for number, change in left
            if change.tool == self._scenario.oracle[place].name
        ]
        places, numbers = set[int](), set[int]()
        for _, place, number in sorted(ranked, reverse=True):
            if -place not in places and -number not in numbers:
                places.add(-place)
                numbers.add(-number)
                pairs.append(_Pair(-place, self._scenario.oracle[-place], self._changes[-number]))
        return sorted(pairs, key=lambda pair: pair.place)

    def _score(self, call: Call, change: ReadChange) -> float:
        shared = [name for name in call.arguments if name in change.arguments]
        return sum(
            1.0 if self._is_same(name, call.arguments[name], change.arguments[name]) else -0.5
            for name in shared
        )

    async def _compare_pair(self, pair: _Pair) -> list[PathDisagreement]:
        call, change, found = pair.call, pair.change, list[PathDisagreement]()
        for name, value in change.arguments.items():
            ours = call.arguments.get(name)
            if name in call.arguments and self._is_same(name, ours, value):
                continue
            if name not in call.arguments and not self._is_telling(name, value):
                continue
            if not await self._passes(self._swap(pair, name, ours, value)):
                found.append(self._describe_other(pair, name, ours, value))
        told = {name.split(".")[0] for name in change.undetermined}
        lacking = [name for name in call.arguments if name in told and name not in change.arguments]
        for name in lacking:
            if not await self._is_free(pair, name):
                found.append(self._describe_open(pair, name))
        chosen = change.decision == "ask" and lacking
        if not found and not chosen and change.decision != "do":
            found.append(self._describe_decision(pair))
        return found

    def _compare_unread(self, place: int, rest: Sequence[ReadChange]) -> list[PathDisagreement]:
        """A write without a corresponding change of the reader. Nothing is reported if another
        change covers its rows."""
        call = self._scenario.oracle[place]
        rows = set(self._list_rows(call.arguments))
        if rows and any(rows <= set(self._list_rows(change.arguments)) for change in rest):
            return []
        words = (
            f"call {place + 1}, {_render(call.name, call.arguments)}: a reader who saw only the "
            "request finds nothing that asks for it"
        )
        question = (
            f"Is {call.name} with {call.arguments} something that neither the request nor a rule "
            "or the policy document asks for?"
        )
        return [
            PathDisagreement(
                "read_otherwise", words, question, {"call": place + 1, "unread": call.name}
            )
        ]

    def _describe_extra(self, change: ReadChange) -> PathDisagreement:
        told = _render(change.tool, change.arguments)
        words = (
            f"a reader who saw only the request understands {change.words!r} as {told}, which "
            "the reference path does not do"
        )
        question = (
            f"Do the words {change.words!r}, with the rules and the policy document, ask for "
            f"{told}, which the calls do not do?"
        )
        return PathDisagreement(
            "read_otherwise", words, question, {"wanted": change.model_dump(mode="json")}
        )

    def _describe_clear(self, changes: Sequence[ReadChange]) -> PathDisagreement:
        """The agent should ask what is meant, but the reader finds it clear."""
        said = " … ".join(dict.fromkeys(one.words for one in changes))
        told = " and ".join(_render(one.tool, one.arguments) for one in changes)
        words = (
            f"a reader who saw only the request understands {said!r} as {told}, and would not "
            "ask what is meant"
        )
        question = (
            f"Can the words {said!r} be understood in both of these ways, and would the work "
            "then end differently: "
        )
        question += (
            f"(a) {told} is asked for and can be done at once; (b) the person has to be asked "
            "first what is meant?"
        )
        return PathDisagreement(
            "two_readings",
            words,
            question,
            {"wanted": [one.model_dump(mode="json") for one in changes]},
        )

    def _describe_asked(self, change: ReadChange) -> PathDisagreement:
        """The path does nothing, but the reader would have to ask first."""
        lacking = ", ".join(change.undetermined)
        words = (
            f"by the words {change.words!r} a reader cannot tell which {lacking} of "
            f"{change.tool} is meant, and would ask"
        )
        question = (
            f"Do the words {change.words!r}, with what the user can tell and the rows, leave "
            f"open which {lacking} of {change.tool} "
        )
        question += "is meant?"
        return PathDisagreement(
            "two_readings", words, question, {"asked": change.model_dump(mode="json")}
        )

    def _describe_other(self, pair: _Pair, name: str, ours: Json, theirs: Json) -> PathDisagreement:
        """Both candidates, sorted."""
        both = sorted({self._describe(name, one) for one in (ours, theirs) if one is not None})
        told = "no value" if ours is None else self._describe(name, ours)
        words = (
            f"call {pair.place + 1}, {pair.call.name}: by the words {pair.change.words!r} a "
            f"reader takes {name} to be "
        )
        words += f"{self._describe(name, theirs)}; the reference path uses {told}"
        question = (
            f"For {name} of {pair.call.name} (call {pair.place + 1}), do the request and what the "
            "user tells call for another value "
            f"than the one that was used? Candidates: {'; '.join(both)}."
        )
        return PathDisagreement(
            "read_otherwise",
            words,
            question,
            {"call": pair.place + 1, "argument": name, "path": ours, "reader": theirs},
        )

    def _describe_open(self, pair: _Pair, name: str) -> PathDisagreement:
        words = (
            f"call {pair.place + 1}, {pair.call.name}: by the words {pair.change.words!r} a "
            f"reader cannot tell which {name} is meant; the "
        )
        words += f"reference path uses {self._describe(name, pair.call.arguments[name])}"
        question = (
            "Do the request and what the user can tell, with the rows, rules and policy, leave "
            f"open what {name} of {pair.call.name} "
            f"(call {pair.place + 1}) has to be?"
        )
        return PathDisagreement(
            "two_readings",
            words,
            question,
            {"call": pair.place + 1, "argument": name, "reader": "undetermined"},
        )

    def _describe_decision(self, pair: _Pair) -> PathDisagreement:
        does = {
            "refuse": "refuse it",
            "pass_on": "pass it on to somebody else",
            "ask": "ask the person first",
        }[pair.change.decision]
        told = _render(pair.call.name, pair.call.arguments)
        words = (
            f"call {pair.place + 1}, {told}: by the words {pair.change.words!r} a reader would "
            f"{does}"
        )
        if pair.change.decision == "ask":  # in the form `single` nobody answers
            words += (
                ", and the request does not answer it: say in it what the person would answer, "
                "or that they agree"
            )
        question = (
            f"By the request, the rules and the policy document, should the agent {does} instead "
            f"of calling {told}?"
        )
        code = "two_readings" if pair.change.decision == "ask" else "read_otherwise"
        return PathDisagreement(
            code, words, question, {"call": pair.place + 1, "reader": pair.change.decision}
        )

    def _put_after_reads(self, changes: Sequence[ReadChange]) -> tuple[Call, ...]:
        reads = [
            call for place, call in enumerate(self._scenario.oracle) if place not in self._writes
        ]
        return (*reads, *(Call(name=one.tool, arguments=one.arguments) for one in changes))

    def _swap(self, pair: _Pair, name: str, ours: Json, theirs: Json) -> tuple[Call, ...]:
        """The path with the reader's value. Later calls that name the row change, too."""
        keyed = ours is not None and bool(self._stock.find_home(ours, name))

        def put(place: int, call: Call) -> Call:
            if place == pair.place:
                return call.model_copy(update={"arguments": {**call.arguments, name: theirs}})
            if not keyed or place < pair.place:
                return call
            return call.model_copy(
                update={
                    "arguments": {
                        one: theirs if value == ours else value
                        for one, value in call.arguments.items()
                    }
                }
            )

        return tuple(put(place, call) for place, call in enumerate(self._scenario.oracle))

    async def _passes(self, calls: tuple[Call, ...]) -> bool:
        """Whether these calls pass with the last words of the path."""
        if any(call.name not in self._tools for call in calls):
            return False
        (trial,) = await self._trials.play([Attempt("as read", calls, self._trials.last_words())])
        return trial.verdict.outcome == "pass"

    async def _is_free(self, pair: _Pair, name: str) -> bool:
        """Whether the verifier accepts another value, so that the agent may choose."""
        ours = pair.call.arguments[name]
        others: Iterable[Json] = _list_unlike(ours)
        if home := self._stock.find_home(ours, name):
            others = [type(ours)(key) for key in self._stock.rows[home] if key != str(ours)][
                :_OTHERS
            ]
        for other in others:
            if await self._passes(self._swap(pair, name, ours, other)):
                return True
        return False

    def _resolve(self, change: ReadChange) -> ReadChange:
        """Replaces names of rows by their keys, and drops empty and unknown arguments."""
        tool = self._tools[change.tool]
        known: Mapping[str, Json] = tool.parameters.get("properties", {})
        named = {
            name: self._find_key(name, value)
            for name, value in change.arguments.items()
            if name in known and value is not None
        }
        return change.model_copy(update={"arguments": named})

    def _find_key(self, name: str, value: Json) -> Json:
        """The key of the only row with this name in the parameter's table; otherwise the value
        itself."""
        if (
            not isinstance(value, str)
            or self._stock.find_home(value, name)
            or not (home := self._stock.find_pointed(name))
        ):
            return value
        bearing = [
            key
            for key, row in self._stock.rows[home].items()
            if is_object(row) and value in row.values()
        ]
        return bearing[0] if len(bearing) == 1 else value

    def _is_same(self, name: str, ours: Json, theirs: Json) -> bool:
        if is_object(ours) or is_object(theirs) or is_array(ours) or is_array(theirs):
            one, other = (sorted(map(_fold, list_leaves(value))) for value in (ours, theirs))
            return one == other
        if isinstance(ours, bool) or isinstance(theirs, bool) or self._stock.find_home(ours, name):
            return str(ours).casefold() == str(theirs).casefold()
        return _fold(ours) == _fold(theirs)

    def _is_telling(self, name: str, value: Json) -> bool:
        """Whether a value matters that the path leaves out: it is not the default, and not a free
        text."""
        schema: Mapping[str, Json] = {}
        for tool in self._tools.values():
            schema = tool.parameters.get("properties", {}).get(name, schema)
        if schema.get("default") == value:
            return False
        return not isinstance(value, str) or bool(
            self._stock.find_home(value, name) or read_day(value)
        )

    def _list_rows(self, arguments: Mapping[str, Json]) -> Iterator[Place]:
        for name, value in list_plain(arguments):
            if home := self._stock.find_home(value, name.split(".")[-1]):
                yield home, str(value)

    def _describe(self, name: str, value: Json) -> str:
        """The value; for a row, its key and its fields."""
        home = self._stock.find_home(value, name)
        if not home:
            return canonical_json(value)[:_LONGEST]
        row = self._stock.rows[home][str(value)]
        shown = (
            ", ".join(
                f"{field} {one}"
                for field, one in sorted(row.items())
                if str(one) != str(value) and one not in ("", None)
            )
            if row
            else ""
        )
        return f"{value} ({shown})"[:_LONGEST]

    def compare_answers(self) -> Iterator[PathDisagreement]:
        """Facts that no answer contains, although an answer says something else instead."""
        facts = [
            replace_rivals(fact) for fact in self._scenario.verifier.facts if fact.kind != "pattern"
        ]
        whole = "\n".join(f"{one.question} {one.answer}" for one in self._reply.answers)
        unmet = [
            fact
            for fact in facts
            if not any(communicates(fact, one.answer) for one in self._reply.answers)
            and not communicates(fact, whole)
        ]
        spare = [
            one.answer
            for one in self._reply.answers
            if not any(communicates(fact, one.answer) for fact in facts)
        ]
        for fact in unmet:
            if instead := self._find_instead(fact, spare):
                told = sorted((repr(str(fact.value)), repr(instead[:_LONGEST])))
                words = (
                    f"to be told is {fact.value!r} ({fact.name}); a reader who saw only the "
                    f"request answers {instead!r}"
                )
                question = (
                    f"Asked for {fact.name!r}, is another answer right than the one in the last "
                    f"words? Candidates: {'; '.join(told)}."
                )
                yield PathDisagreement(
                    "read_otherwise",
                    words,
                    question,
                    {"fact": fact.name, "value": fact.value, "reader": instead},
                )

    def _find_instead(self, fact: Fact, spare: Sequence[str]) -> str:
        """The answer on the same subject: it names another value of the field, or has the fact's
        type and mentions its words; otherwise empty."""
        questions = {one.answer: one.question for one in self._reply.answers}
        rivals = self._list_rivals(fact)
        about = set(split_words(normalise(fact.name)))
        ranked = sorted(
            spare,
            key=lambda one: -len(about & set(split_words(normalise(f"{questions[one]} {one}")))),
        )
        for answer in ranked:
            text = normalise(answer)
            near = about & set(split_words(normalise(f"{questions[answer]} {answer}")))
            if fact.kind == "text" and any(find_words(text, str(rival)) for rival in rivals):
                return answer
            if near and fact.kind != "text":
                return answer
        alone = (
            self._scenario.polarity == "answer"
            and len(self._scenario.verifier.facts) == 1
            and len(spare) == 1
        )
        return spare[0] if alone else ""

    def _list_rivals(self, fact: Fact) -> list[str]:
        """Other values of the fields that contain the fact's value, and the verifier's rivals."""
        same = [values for values in self._stock.fields.values() if fact.value in values]
        return [
            str(one)
            for values in (*same, fact.rivals)
            for one in values
            if one != fact.value and len(str(one)) > 1
        ]

    def compare_readings(self) -> Iterator[PathDisagreement]:
        for pair in self._reply.readings:
            if self._ends_differently(pair):
                one, other = sorted((_describe(pair.one), _describe(pair.other)))
                words = f"a reader finds two readings of {pair.words!r}: {one}; {other}"
                question = (
                    f"Can the words {pair.words!r} be understood in both of these ways, and "
                    "would the work then end differently: "
                )
                question += f"(a) {one}; (b) {other}?"
                yield PathDisagreement(
                    "two_readings", words, question, pair.model_dump(mode="json")
                )

    def _ends_differently(self, pair: TwoReadings) -> bool:
        """Whether the readings lead to different ends. If the path changes nothing, exactly one
        reading must act: such requests may have two readings on purpose."""
        doing = [one.decision == "do" for one in (pair.one, pair.other)]
        if self._scenario.polarity in LEFT_ALONE:
            return any(doing) and not all(doing)
        return any(doing) or self._scenario.polarity == "answer"


def replace_rivals(fact: Fact) -> Fact:
    """The fact without rivals, expected in any message, because a reader may say more."""
    return fact.model_copy(update={"where": "any", "rivals": []})


def _describe(reading: Understanding) -> str:
    done = {
        "do": "",
        "refuse": ", to be refused",
        "pass_on": ", to be passed on",
        "ask": ", to be asked about first",
    }
    return f"{reading.meaning.rstrip('.')}{done[reading.decision]}"


def _render(tool: str, arguments: Mapping[str, Json]) -> str:
    return f"{tool}({', '.join(f'{name}={canonical_json(value)}' for name, value in arguments.items())})"[
        :_LONGEST
    ]


def _fold(value: Json) -> str:
    """A comparable form of a plain value."""
    if (number := read_plain_number(value)) is not None:
        return f"{number.normalize():f}"
    if day := read_day(value):
        return f"{day}{str(value)[10:].replace(' ', 'T')[:6].ljust(6)}".strip()
    return " ".join(split_words(normalise(str(value))))


def _list_unlike(value: Json) -> list[Json]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1]
    if day := read_day(value):
        return [(date.fromisoformat(day) + timedelta(days=1)).isoformat() + value[10:]]
    return [_UNLIKE] if isinstance(value, str) else []
