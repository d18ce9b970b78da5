"""A prompt: a hashed text file with named slots, and what it is given and must answer."""

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.models.lint import SCHEMA_SLOT, SLOT, lint, list_slots
from envmill.models.notation import render_reply
from envmill.models.rendering import render_slot
from schemas.base import Contract, digest

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_PART = re.compile(r"^\{\{> ([\w-]+)\}\}$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """Text sent to a model, with `{{slots}}` named after the fields of its input record."""

    name: str
    text: str
    hash: str
    takes: type[Contract] | None = None
    """Record that fills its slots, when its file was linted against one."""
    gives: type[Contract] | None = None
    """Record its reply must become; None for free text."""
    example: str = ""
    """Inputs to show it with, as JSON."""

    @classmethod
    def load(
        cls, path: Path, takes: type[Contract] | None = None, gives: type[Contract] | None = None
    ) -> "Prompt":
        """With its records the file is linted: a prompt that says less than it is given fails here,
        and not in the bill."""
        text = _include(path)
        if takes is not None and (faults := lint(text, takes, gives)):
            raise SettingsError(f"Prompt {path}: {'; '.join(faults)}.", faults=faults)
        example = path.with_suffix(".example.json")
        return cls(
            path.stem,
            text,
            digest(text),
            takes,
            gives,
            example.read_text(encoding="utf-8") if example.exists() else "",
        )

    def render(self, inputs: Contract, reply: type[Contract] | None) -> str:
        """Fill every slot; a slot nobody fills is a defect of the prompt, not of the model."""

        def fill(slot: re.Match[str]) -> str:
            if slot[1] == SCHEMA_SLOT and reply is not None:
                return render_reply(reply)
            try:
                return render_slot(inputs, slot[1])
            except AttributeError:
                known = ", ".join(type(inputs).model_fields)
                raise SettingsError(
                    f"Prompt {self.name} has the slot {{{{{slot[1]}}}}}, which its input lacks; "
                    f"it knows {known}."
                ) from None

        return SLOT.sub(fill, self.text)

    def cut(self, text: str) -> list[str]:
        """Rendered text in the parts that a cache can keep: what is constant, then each section
        that inputs fill, three parts at most."""
        headings = [
            section.partition("\n")[0]
            for section in _SECTION.split(self.text)[1:]
            if list_slots(section) - {SCHEMA_SLOT}
        ]
        parts, rest = list[str](), text
        for heading in headings[:2]:
            before, found, after = rest.partition(f"\n{heading}\n")
            if not found:
                break
            parts.append(f"{before}\n")
            rest = f"{heading}\n{after}"
        return [*parts, rest]

    def exemplify(self) -> Contract:
        """Its example as the record it takes."""
        if self.takes is None or not self.example:
            raise SettingsError(
                f"Prompt {self.name} has no example: put one beside it as {self.name}.example.json."
            )
        try:
            return self.takes.model_validate_json(self.example)
        except ValidationError as error:
            raise SettingsError(
                f"{self.name}.example.json does not fit {self.takes.__name__}: {error}"
            ) from error


def _include(path: Path) -> str:
    """The file's text. A line `{{> name}}` stands for the page `parts/name.md` beside its folder,
    which several prompts share."""

    def read(line: re.Match[str]) -> str:
        part = path.parent.parent / "parts" / f"{line[1]}.md"
        if not part.exists():
            raise SettingsError(f"Prompt {path} includes {line[1]!r}, and there is no {part}.")
        return part.read_text(encoding="utf-8").rstrip("\n")

    return _PART.sub(read, path.read_text(encoding="utf-8"))


def describe_prompt(prompt: Prompt | None) -> dict[str, str]:
    """A prompt as the origin of what was got with it; empty where nothing was asked."""
    return (
        {"prompt": prompt.name, "prompt_hash": prompt.hash}
        if prompt
        else {"prompt": "", "prompt_hash": ""}
    )
