"""Token ids for the rows of an export. A row that cannot be encoded exactly is left out, and
counted under its reason."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from envmill.agents.transcript import list_tools
from envmill.interop.exporters import preferences, rl, sft
from envmill.interop.exporters.base import ExportSet
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.tokens.refusal import TokenRefusal
from envmill.interop.tokens.rows import TokenEnd, TokenPair, TokenRow, TokenSheet
from envmill.interop.tokens.tokenizer import ChatTokenizer
from envmill.interop.tokens.turns import ChatEncoder, EncodedChat, SaidTurn
from schemas.base import Json
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.stored import pick

_NOTHING: Mapping[str, Sequence[Json]] = MappingProxyType({})
EXPORTERS = (sft.NAME, rl.NAME, preferences.NAME)
"""Exporters whose rows have token ids."""


def encode_export_set(export_set: ExportSet, chat: ChatTokenizer, exporter: str) -> ExportSet:
    """The export set with the ids of one exporter's rows, without rows that have no ids."""
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    trajectories: dict[str, Sequence[TokenRow]] = {}
    pairs: dict[str, TokenPair] = {}
    prompts: dict[tuple[str, str], list[int]] = {}
    for trajectory in export_set.trajectories if exporter == sft.NAME else ():
        try:
            trajectories[trajectory.id] = encode_trajectory(chat, trajectory)
        except TokenRefusal as refusal:
            left_out[refusal.reason].append(trajectory.id)
    for pair in export_set.pairs if exporter == preferences.NAME else ():
        try:
            pairs[pair.id] = encode_pair(chat, pair, export_set.sampled)
        except TokenRefusal as refusal:
            left_out[refusal.reason].append(pair.id)
    for row in (
        (row for rows in rl.group_posings(export_set).values() for row in rows)
        if exporter == rl.NAME
        else ()
    ):
        try:
            prompts[row.scenario.id, row.form] = ChatEncoder.of(
                chat, row.prompt, row.tools
            ).encode_prompt()
        except TokenRefusal as refusal:
            left_out[refusal.reason].append(f"{row.scenario.id} {row.form}")
    homes = {one.id: one for one in export_set.environments}
    attempts: dict[str, Sequence[TokenRow]] = {}
    for one in export_set.transcripts if exporter == rl.NAME else ():
        try:
            talk = one.messages, list_tools(homes[one.environment])
            attempts[one.id] = _encode_talk(chat, *talk, one.loss, one.sampled)
        except TokenRefusal as refusal:
            left_out[refusal.reason].append(one.id)
    told = {reason: sorted(ids) for reason, ids in left_out.items()}
    sheet = TokenSheet(chat.describe(), trajectories, pairs, prompts, attempts, told)
    kept = {
        "trajectories": tuple(one for one in export_set.trajectories if one.id in trajectories)
        if exporter == sft.NAME
        else export_set.trajectories,
        "pairs": tuple(one for one in export_set.pairs if one.id in pairs)
        if exporter == preferences.NAME
        else export_set.pairs,
        "transcripts": pick(export_set.transcripts, attempts),
    }
    return replace(export_set, tokens=sheet, **kept)


def encode_trajectory(chat: ChatTokenizer, trajectory: Trajectory) -> list[TokenRow]:
    """The whole, and beginnings where the template writes earlier turns differently. Parts from
    which nothing is learnt are left out."""
    return _encode_talk(
        chat, trajectory.messages, trajectory.tools, trajectory.loss, trajectory.sampled
    )


def _encode_talk(
    chat: ChatTokenizer,
    messages: Sequence[Json],
    tools: Sequence[Json],
    loss: Sequence[bool],
    given: Sequence[Json],
) -> list[TokenRow]:
    encoder = ChatEncoder.of(chat, messages, describe_tools(tools))
    learnt = {place for place, learns in enumerate(loss) if learns}
    parts = [part for part in encoder.encode_parts() if learnt & {one.place for one in part.turns}]
    if not parts:
        raise TokenRefusal("nothing_learnt", "no turn is trained on")
    sampled = {place: tokens for place, tokens in enumerate(given) if tokens}
    return [_make_row(number, part, learnt, sampled) for number, part in enumerate(parts)]


def _make_row(
    number: int, part: EncodedChat, learnt: set[int], sampled: Mapping[int, Json]
) -> TokenRow:
    known = [one for one in part.turns if one.place in sampled]
    return TokenRow(
        number,
        part.ids,
        part.mask,
        part.mask_turns(learnt),
        [one.place for one in part.turns],
        part.quoted,
        part.thinking_left_out,
        _list_logprobs(part, known, sampled) if sampled else None,
        len(known),
    )


def _list_logprobs(
    part: EncodedChat, turns: Sequence[SaidTurn], sampled: Mapping[int, Json]
) -> list[float | None]:
    """Log probabilities per token, from turns whose ids the server sampled."""
    logprobs: list[float | None] = [None] * len(part.ids)
    for turn in turns:
        told = _align(part, turn, sampled[turn.place])
        logprobs[turn.first : turn.first + len(told)] = told
    return logprobs


def _align(part: EncodedChat, turn: SaidTurn, sampled: Json) -> Sequence[float | None]:
    """Log probabilities of a turn's tokens, if its ids are those that the server sampled. Some
    servers leave out the token that ends a turn."""
    ids, given = part.ids[turn.first : turn.last], sampled["ids"]
    if given not in (ids, ids[:-1]):
        place = next(
            (
                one
                for one, (ours, theirs) in enumerate(zip(ids, given, strict=False))
                if ours != theirs
            ),
            min(len(ids), len(given)),
        )
        raise TokenRefusal(
            "tokens_differ",
            f"message {turn.place}, token {place} of {len(given)} sampled and {len(ids)} encoded",
        )
    return sampled["logprobs"] or [None] * len(given)


def encode_pair(
    chat: ChatTokenizer, pair: Pair, sampled: Mapping[str, Sequence[Json]] = _NOTHING
) -> TokenPair:
    """Ids of the prompt, and of both attempts after it. Both must begin with the ids of the prompt
    and continue with the sampled ids."""
    chosen = _encode_end(chat, pair, pair.better, pair.better_loss, sampled.get(pair.chosen, ()))
    rejected = _encode_end(chat, pair, pair.worse, pair.worse_loss, sampled.get(pair.rejected, ()))
    if chosen.prompt != rejected.prompt:
        raise TokenRefusal("prefix_broken", "the prompt has other ids in the other attempt")
    return TokenPair(chosen, rejected)


def _encode_end(
    chat: ChatTokenizer,
    pair: Pair,
    end: Sequence[Json],
    loss: Sequence[bool],
    given: Sequence[Json],
) -> TokenEnd:
    """Ids of one attempt after those of the prompt."""
    size = len(pair.shared)
    encoder = ChatEncoder.of(chat, [*pair.shared, *end], describe_tools(pair.tools))
    prompt, whole = encoder.encode_prompt(size), next(encoder.encode_parts(), None)
    learnt = {size + place for place, learns in enumerate(loss) if learns}
    if whole is None or not learnt:
        raise TokenRefusal("nothing_learnt", "no turn of the attempt is compared")
    if whole.ids[: len(prompt)] != prompt:
        raise TokenRefusal("prefix_broken", "the attempt does not begin with the ids of the prompt")
    if missing := learnt - {one.place for one in whole.turns}:
        raise TokenRefusal(
            "prefix_broken",
            f"the template writes message {min(missing)} differently when later messages follow",
        )
    sampled = {place: tokens for place, tokens in enumerate(given) if tokens}
    known = [one for one in whole.turns if one.place in sampled]
    logprobs = _list_logprobs(whole, known, sampled)[len(prompt) :]
    after = sum(one.place >= size for one in known)
    return TokenEnd(
        prompt,
        whole.ids[len(prompt) :],
        whole.mask_turns(learnt)[len(prompt) :],
        logprobs if after else None,
        after,
    )
