"""A model behind a vendor's wire format: written, sent, read; a field that the server refuses by
name is left out next time."""

import re
from dataclasses import replace

from envmill.base.errors import BadRequest
from envmill.models.base import Completion, Request
from envmill.models.connection import ApiConnection
from envmill.models.dialect import Dialect, ModelTerms, WireRequest, concede
from schemas.base import Json

_MOST_CONCESSIONS = 6
_STREAMING = re.compile(r"(?<![a-z_])stream(?:s|ed|ing)?(?![a-z_])", re.IGNORECASE)
"""How a server that refuses to stream speaks of it."""
_FILTERS = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
"""Codes of a question that was held back before the model saw it."""


class Vendor:
    """One model at one server."""

    def __init__(
        self, name: str, model: str, dialect: Dialect, connection: ApiConnection, endpoint: str = ""
    ) -> None:
        self.name = name
        self.model = f"{model}@{endpoint}" if endpoint else model
        """With the server's name, where it has one: two servers may call different models the
        same."""
        self._asked, self._dialect, self._connection = model, dialect, connection
        self._terms = ModelTerms(own=not connection.endpoint.url)

    async def complete(self, request: Request) -> Completion:
        """One answer. A request refused for one of its optional fields was not served, and is sent
        again without it."""
        terms = self._terms
        for _ in range(_MOST_CONCESSIONS):
            written = self._write(request, terms)
            try:
                body = await self._send(written.body)
            except BadRequest as refused:
                if _is_filtered(refused):
                    return Completion(refused.message, stop="filter", notes=written.notes)
                terms = self._concede(refused, written, terms)
                continue
            completion = self._dialect.read(body)
            return replace(completion, notes=(*written.notes, *completion.notes))
        raise BadRequest(
            f"{self.name}:{self.model} goes on refusing optional fields. Check which fields its server allows."
        )

    def _write(self, request: Request, terms: ModelTerms) -> WireRequest:
        written = self._dialect.write(request, self._asked, terms)
        if "stream" in terms.dropped or not _is_streamed(request, self._connection.endpoint.stream):
            return written
        fields = {
            name: value
            for name, value in self._dialect.streaming.items()
            if name not in terms.dropped
        }
        return replace(written, body=written.body | fields)

    async def _send(self, body: dict[str, Json]) -> dict[str, Json]:
        path, who = self._dialect.path, f"{self.name}:{self.model}"
        answer = await self._connection.ask(path, body, who)
        return self._dialect.gather(answer) if isinstance(answer, list) else answer

    def _concede(self, refused: BadRequest, written: WireRequest, terms: ModelTerms) -> ModelTerms:
        """Fields are left out from now on; a limit may have been this request's alone, and is found
        again when it is not."""
        granted = concede(refused, written, terms, self._dialect.optional)
        if (
            granted is None
            and "stream" in written.body
            and _STREAMING.search(f"{refused.facts.get('param', '')} {refused.message}")
        ):
            granted = replace(terms, dropped=terms.dropped | {"stream"})
        if granted is None:
            raise refused
        self._terms = replace(self._terms, dropped=self._terms.dropped | granted.dropped)
        return granted

    async def close(self) -> None:
        """Give back sockets; whoever else asks at this server opens new ones."""
        await self._connection.close()


def _is_streamed(request: Request, wanted: bool | None) -> bool:
    """In pieces, unless a setting says otherwise: what stands in between cuts connections on which
    nothing moves, and a stream that
    died is told from a model that thinks. SGLang gives token ids with whole answers alone."""
    return not request.sampling.logprobs if wanted is None else wanted


def _is_filtered(refused: BadRequest) -> bool:
    return str(refused.facts.get("code", "")).lower() in _FILTERS
