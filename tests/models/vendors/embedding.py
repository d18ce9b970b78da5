"""Embeddings of the loopback vendor: words hashed into a few dimensions, so that like texts lie near each other."""

import base64
import math
import struct
import zlib
from typing import Any

_WIDTH = 32


def embed(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("input", [])
    texts: list[str] = [given] if isinstance(given, str) else given
    width = body.get("dimensions") or _WIDTH
    form = base64_of if body.get("encoding_format") == "base64" else list[float]
    data = [{"object": "embedding", "index": index, "embedding": form(_place(text, width))} for index, text in enumerate(texts)]
    tokens = sum(-(-len(text) // 4) for text in texts)
    return {"object": "list", "model": body.get("model", ""), "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def base64_of(vector: list[float]) -> str:
    """What the SDK asks for by itself."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _place(text: str, width: int) -> list[float]:
    counts = [0.0] * width
    for word in text.lower().split():
        counts[zlib.crc32(word.encode()) % width] += 1.0
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]
