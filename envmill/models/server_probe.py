"""Which models can be asked: each server is asked for its list, which costs nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from envmill.base.errors import BadRequest, KeyRefused, ModelError, SettingsError
from envmill.base.settings import Endpoint, Settings
from envmill.models.connection import ApiConnection, Connections, Vendor
from envmill.models.families import family
from envmill.models.prices import Prices
from envmill.models.role_models import VENDORS, find_endpoint
from envmill.models.shape import take_objects, take_text
from envmill.models.spec import BATCH, Spec

_LISTS: dict[Vendor, str] = {"openai": "/models", "anthropic": "/v1/models?limit=1000"}


_SERVERLESS = ("offline", "replay", f"{BATCH}lines")
_NO_LIST = "it answers, and lists no models"


@dataclass(frozen=True)
class ServerStatus:
    """A server or model as it looks from here."""

    name: str
    """Spec of a model, or name of a server."""
    server: str
    """Address."""
    key: str
    """Whether a key is set; never the key."""
    family: str
    """Whose model; empty for a server, and when unknown."""
    reachable: str
    """`yes`, or what is amiss."""
    models: int | None
    """How many models the server lists; None when it lists none."""
    priced: str
    """Source of the price; for a server, how many of its models have one."""

    @property
    def usable(self) -> bool:
        """Whether a run may name it."""
        return self.reachable in ("yes", _NO_LIST)


@dataclass(frozen=True)
class _Listing:
    told: str
    names: tuple[str, ...] | None = None


class ServerProbe:
    """Looks at servers, each once however many models are asked for there."""

    def __init__(self, settings: Settings, prices: Prices, seconds: float = 10.0) -> None:
        self._settings, self._prices, self._seconds = settings, prices, seconds
        self._connections = Connections()
        self._listed: dict[tuple[Vendor, str], asyncio.Task[_Listing]] = {}

    async def check(self, specs: Sequence[str]) -> list[ServerStatus]:
        """The models named, or every server that is set."""
        try:
            if specs:
                return list(
                    await asyncio.gather(*(self._check_model(Spec.parse(text)) for text in specs))
                )
            return list(
                await asyncio.gather(
                    *(
                        self._check_server(name, one)
                        for name, one in self._settings.endpoints.items()
                    )
                )
            )
        finally:
            await self._connections.close()

    async def _check_model(self, spec: Spec) -> ServerStatus:
        direct = spec.direct
        if spec.provider in _SERVERLESS:
            raise SettingsError(
                f"{spec.provider} asks no server, so there is nothing to reach: leave it out."
            )
        if direct.provider not in VENDORS or not spec.model:
            raise SettingsError(
                f"{spec} is not a model of a server: name one like "
                f"{', '.join(f'{one}:my-model' for one in VENDORS)}."
            )
        name = spec.endpoint or VENDORS[direct.provider][0]
        try:
            endpoint = find_endpoint(direct, self._settings)
        except SettingsError as error:
            return self._describe_model(
                spec,
                self._settings.endpoints.get(name, Endpoint("not set")),
                _Listing(error.message),
            )
        listing = await self._list(VENDORS[direct.provider][0], endpoint)
        if listing.names is not None and spec.model not in listing.names:
            near = ", ".join(_find_near(spec.model, listing.names)) or "none like it"
            listing = _Listing(f"the server lists no such model; it has {near}", listing.names)
        return self._describe_model(spec, endpoint, listing)

    def _describe_model(self, spec: Spec, endpoint: Endpoint, listing: _Listing) -> ServerStatus:
        model = f"{spec.model}@{spec.endpoint}" if spec.endpoint else spec.model
        price = self._prices.find(spec.provider, model)
        count = None if listing.names is None else len(listing.names)
        told = price.told if price else "unknown"
        return ServerStatus(
            str(spec),
            _render_url(endpoint),
            _render_key(endpoint),
            family(spec.model),
            listing.told,
            count,
            told,
        )

    async def _check_server(self, name: str, endpoint: Endpoint) -> ServerStatus:
        sdk: Vendor = "anthropic" if name == "anthropic" else "openai"
        asked = bool(endpoint.url or endpoint.key)
        listing = (
            await self._list(sdk, endpoint)
            if asked
            else _Listing(f"not set: {endpoint.key_name} is missing")
        )
        count = None if listing.names is None else len(listing.names)
        own = name in ("openai", "anthropic")
        names = [model if own else f"{model}@{name}" for model in listing.names or ()]
        priced = (
            ""
            if count is None
            else f"{sum(self._prices.find(sdk, model) is not None for model in names)} of {count}"
        )
        return ServerStatus(
            name if own else f"@{name}",
            _render_url(endpoint),
            _render_key(endpoint),
            "",
            listing.told,
            count,
            priced,
        )

    async def _list(self, sdk: Vendor, endpoint: Endpoint) -> _Listing:
        place = (sdk, endpoint.url)
        if place not in self._listed:
            connection = self._connections.of(sdk, endpoint)
            # every one before the first clock starts, since tasks begin after those that made them
            # wait
            connection.prepare()
            self._listed[place] = asyncio.create_task(_list_models(connection, self._seconds))
        return await self._listed[place]


async def _list_models(connection: ApiConnection, seconds: float) -> _Listing:
    try:
        async with asyncio.timeout(seconds):
            body = await connection.get(_LISTS[connection.vendor], "the server")
    except TimeoutError:
        return _Listing(f"no answer within {seconds:g} s")
    except KeyRefused as error:
        return _Listing(f"the key is refused: {_first_line(error)}")
    except BadRequest as error:
        return _Listing(_NO_LIST if error.facts.get("status") in (404, 501) else _first_line(error))
    except ModelError as error:
        return _Listing(_first_line(error))
    names = tuple(
        name for one in take_objects(body.get("data")) if (name := take_text(one.get("id")))
    )
    return (
        _Listing("yes", names)
        if "data" in body
        else _Listing("something answers, and it is no model server: check the address")
    )


def _first_line(error: ModelError) -> str:
    return error.message.split("\n", 1)[0]


def _find_near(model: str, names: Sequence[str]) -> list[str]:
    """The few that a slip of the pen may have meant."""
    from difflib import get_close_matches

    return get_close_matches(model, names, n=3, cutoff=0.5) or sorted(names)[:3]


def _render_url(endpoint: Endpoint) -> str:
    return endpoint.url or "the vendor's own"


def _render_key(endpoint: Endpoint) -> str:
    return "set" if endpoint.key else "not set"
