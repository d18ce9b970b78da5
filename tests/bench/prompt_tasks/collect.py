"""Make `sent.jsonl.xz`: `python -m tests.bench.prompt_tasks.collect EXCHANGES CHECKOUT`.

EXCHANGES holds what was sent to the recorded author and what came back, one file for each recipe;
CHECKOUT is a checkout of 405286e. A prompt is taken only if a template of that checkout renders to
exactly its text; the slots are read from it. The first request for each recorded task is kept: a
repair was a new prompt then and is a turn of the conversation today, which would compare
mechanisms.
"""

import json
import lzma
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from schemas.base import canonical_json
from tests.bench.prompt_tasks.sent import STORE, Sent
from tests.real_authors.corpus import ROOT, list_items, read_json

_SLOT = re.compile(r"\{\{(\w+)\}\}")


def main(exchanges: Path, checkout: Path) -> None:
    paths = [
        path
        for path in sorted(checkout.glob("envmill/**/prompts/**/*.md"))
        if "agents" not in path.parts
    ]
    templates = {path: _compile(path) for path in paths}
    found = [
        sent
        for file in sorted(exchanges.glob("*.jsonl"))
        if not file.stem.startswith("actor")
        for sent in _read(file, templates)
    ]
    with lzma.open(STORE, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(canonical_json(asdict(sent)) + "\n" for sent in found)
    sys.stdout.write(
        f"{len(found)} tasks, {sum(len(sent.text) for sent in found)} characters, "
        f"{STORE.stat().st_size} bytes\n"
    )


def _compile(path: Path) -> re.Pattern[str]:
    """The template as an expression over what it renders to."""
    parts = _SLOT.split(path.read_text(encoding="utf-8"))
    return re.compile(
        "".join(
            re.escape(part) if place % 2 == 0 else f"(?P<{part}>.*?)"
            for place, part in enumerate(parts)
        ),
        re.DOTALL,
    )


def _read(file: Path, templates: dict[Path, re.Pattern[str]]) -> Iterator[Sent]:
    replies, seen, recipe = _list_replies(file.stem), set[str](), file.stem
    themes = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        exchange: dict[str, Any] = json.loads(line)
        text = exchange["messages"][0]["content"]
        path, slots = next(
            (path, hit.groupdict())
            for path, form in templates.items()
            if (hit := form.fullmatch(text))
        )
        place = replies.get(_normalise(exchange["reply"]))
        if path.stem == "theme":
            place, themes = ("mined", f"theme.{themes:02}"), themes + 1
        if path.stem == "label" and place:
            document, _, tool = place[1].split(".")
            place = ("mined", f"label.{document}.{tool}")
        item, stem = place or (_find_item(recipe, slots), f"{path.stem}.{slots['number']}")
        if slots.pop("complaint", ""):
            continue
        slots.pop("reply_schema", None)
        shape = (exchange["response_format"] or {}).get("json_schema", {}).get("schema")
        sent = Sent(recipe, exchange["number"], item, stem, text, shape, slots)
        if sent.id not in seen:
            seen.add(sent.id)
            yield sent


def _list_replies(recipe: str) -> dict[str, tuple[str, str]]:
    """Recorded reply → item and stem."""
    paths = sorted((*(ROOT / recipe).glob("*/rejected/*.json"), *(ROOT / recipe).glob("*/*.json")))
    found: dict[str, tuple[str, str]] = {}
    for path in paths:
        old = path.parent.name == "rejected"
        found[canonical_json(read_json(path))] = (
            path.parts[-3 if old else -2],
            path.stem.rpartition(".")[0] if old else path.stem,
        )
    return found


def _normalise(reply: str) -> str:
    try:
        return canonical_json(json.loads(reply))
    except ValueError:
        return reply


def _find_item(recipe: str, slots: dict[str, str]) -> str:
    """By its brief, where the reply was written anew when it was recorded."""
    theme = json.loads(slots["brief"])["theme"]
    return next(
        item.name
        for item in list_items()
        if item.recipe == recipe and item.seed.brief.theme == theme
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
