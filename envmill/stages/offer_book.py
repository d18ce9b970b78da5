"""The offer book of a process: chains that authors may be offered, by environment."""

import asyncio
import pickle
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from envmill.lake.spool import RowSpool
from envmill.toolgraph.offers import ChainOffers

_RECENT = 64  # environments whose offers are held in memory


class OfferBook:
    """Offers of each environment, drawn on first use; concurrent callers wait. The latest are held
    in memory, the others on disk."""

    def __init__(self) -> None:
        self._recent: OrderedDict[str, ChainOffers] = OrderedDict()
        self._known = RowSpool().shelve(pickle.dumps, pickle.loads)
        self._drawing: dict[tuple[str, asyncio.AbstractEventLoop], asyncio.Lock] = {}

    async def find(self, name: str, make: Callable[[], Awaitable[ChainOffers]]) -> ChainOffers:
        """Those of a name."""
        key = name, asyncio.get_running_loop()
        async with self._drawing.setdefault(key, asyncio.Lock()):
            offers: ChainOffers | None = self._recent.get(name) or self._known.get(name)
            if offers is None:
                offers = await make()
                self._known.put(name, offers)
            self._recent[name] = offers
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return offers
